//! All changes of rows of which a source gives the current ones: Flink's `ChangelogNormalize`.
//!
//! State `last row`: for each key, the columns that are not the key's, as a row in the configured format. An upsert
//! becomes `+I`, or `-U` and `+U`; one that repeats the stored row gives nothing. A deletion, of which only the key
//! need be known, becomes `-D` of the stored row; one of a key without a row gives nothing. So what a source says
//! twice, after a restart of its own, say, counts once.

use crate::aggregate::Grouping;
use crate::mini_batch::{ChangelogOutput, MiniBatch};
use crate::stored_rows::StoredRows;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use headpond_rows::arrow::{column_of, datum_at, row_schema};
use headpond_rows::{RowCodec, RowEvolution, RowFormat};
use headpond_runtime::KeyedBatch;
use headpond_runtime::batch::{ChangeBatch, ChangeKind, arrow_error};
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress};
use headpond_state::encoding::KeySchema;
use headpond_state::schema::{Datum, Field, RowSchema};
use headpond_state::ttl::TtlConfig;
use headpond_state::{Migration, Result, StateColumns, StateDescriptor, StateKind, WriteBatch};
use std::sync::Arc;

/// The name of the state.
const LAST_ROW: &str = "last row";

/// What an operator is made from.
#[derive(Debug, Clone)]
pub(crate) struct NormalizePlan {
    /// The columns of rows.
    pub(crate) schema: SchemaRef,
    /// Those of the key.
    pub(crate) key: Vec<usize>,
    /// The types of the key.
    pub(crate) key_schema: KeySchema,
    /// The form in which rows are kept.
    pub(crate) format: RowFormat,
    /// When they expire.
    pub(crate) ttl: Option<TtlConfig>,
    /// Whether and how long changes are buffered.
    pub(crate) mini_batch: Option<MiniBatch>,
}

/// Makes the operator of each worker.
#[derive(Debug)]
pub(crate) struct NormalizeFactory {
    plan: Arc<NormalizePlan>,
    codec: RowCodec,
    /// The columns that are kept: those that are not the key's.
    kept: Arc<[usize]>,
}

impl NormalizeFactory {
    pub(crate) fn new(plan: NormalizePlan) -> Result<Self> {
        let kept: Arc<[usize]> = (0..plan.schema.fields().len()).filter(|column| !plan.key.contains(column)).collect();
        let fields = kept.iter().map(|column| &plan.schema.fields()[*column]);
        let codec = RowCodec::new(plan.format, row_schema(fields)?);
        Ok(NormalizeFactory { plan: Arc::new(plan), codec, kept })
    }

    /// What is kept, for `EXPLAIN`.
    pub(crate) fn kept(&self) -> String {
        format!("state `{LAST_ROW}` ({}): {}", self.plan.format, self.codec.schema())
    }
}

impl KeyedOperatorFactory for NormalizeFactory {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let plan = Arc::clone(&self.plan);
        let shown = plan.key.iter().zip(plan.key_schema.types());
        let shown = shown.map(|(column, ty)| Field::new(plan.schema.field(*column).name(), ty.clone()));
        let columns = StateColumns { key: RowSchema::new(shown.collect()), ..StateColumns::default() };
        let names: Vec<&str> = plan.schema.fields().iter().map(|field| field.name().as_str()).collect();
        // Named, so that the job is not restored with other columns: NULL is no value that the source gave.
        let descriptor = StateDescriptor::new(LAST_ROW, StateKind::Value, self.codec.codec_id())
            .with_key_schema(plan.key_schema.to_string())
            .with_value_schema(self.codec.schema().to_string())
            .with_columns(columns)
            .with_basis(format!("rows with {}", names.join(", ")))
            .with_ttl(plan.ttl);
        Ok(Box::new(Normalize {
            rows: StoredRows {
                name: LAST_ROW,
                state: setup.state.register(&descriptor)?,
                codec: self.codec.clone(),
                ttl: plan.ttl,
            },
            kept: Arc::clone(&self.kept),
            sorted: setup.capabilities.sorted_keys_are_cheaper,
            grouping: Grouping::default(),
            writes: WriteBatch::new(),
            changelog: ChangelogOutput::new(Arc::clone(&plan.schema), false, plan.mini_batch),
            plan,
        }))
    }

    fn migration(&self, restored: &StateDescriptor, declared: &StateDescriptor) -> Result<Migration> {
        declared.check_restored_key(restored)?;
        RowEvolution::default().migration(restored, declared)
    }
}

/// The operator on a worker.
#[derive(Debug)]
struct Normalize {
    plan: Arc<NormalizePlan>,
    rows: StoredRows,
    kept: Arc<[usize]>,
    sorted: bool,
    grouping: Grouping,
    writes: WriteBatch,
    changelog: ChangelogOutput,
}

impl KeyedOperator for Normalize {
    fn process(&mut self, _input: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        match without_old_rows(batch)? {
            Some(batch) => self.apply(&batch, cx)?,
            None => self.apply(batch, cx)?,
        }
        self.changelog.end_batch(cx.output)
    }

    fn resume(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        Ok(self.changelog.resume(cx.output))
    }

    fn advance(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        self.changelog.advance(cx)
    }

    fn wake_at_ms(&self) -> Option<i64> {
        self.changelog.due_ms()
    }
}

/// The batch without the old rows of updates, which the state knows; `None` where it has none.
fn without_old_rows(batch: &KeyedBatch) -> Result<Option<KeyedBatch>> {
    let Some(kinds) = batch.changes.kinds() else { return Ok(None) };
    let old = ChangeKind::UpdateBefore as u8;
    if !kinds.values().contains(&old) {
        return Ok(None);
    }
    let others = kinds.values().iter().zip(0..).filter(|(kind, _)| **kind != old).map(|(_, row)| row);
    let others: UInt32Array = others.collect::<Vec<u32>>().into();
    Ok(Some(KeyedBatch { changes: batch.changes.take(&others)?, keys: batch.keys.take(&others) }))
}

impl Normalize {
    fn apply(&mut self, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<()> {
        let changes = &batch.changes;
        if changes.is_empty() {
            return Ok(());
        }
        self.grouping.group(changes.num_rows(), |row| batch.keys.get(row), self.sorted);
        // Of a key's changes within a batch only the last one counts.
        let mut last: Vec<u32> = self.grouping.first_rows().to_vec();
        for (row, group) in self.grouping.groups().iter().enumerate() {
            last[*group as usize] = row as u32;
        }
        let stored = self.rows.load(self.grouping.keys(), &mut *cx.state, cx.processing_time_ms)?;
        self.store(changes, &stored, &last, cx)?;
        self.buffer_changes(changes, &stored, &last, cx.processing_time_ms)
    }

    fn store(
        &mut self,
        changes: &ChangeBatch,
        stored: &[Option<Vec<Datum>>],
        last: &[u32],
        cx: &mut OperatorContext<'_>,
    ) -> Result<()> {
        let columns = changes.rows().columns();
        self.writes.clear();
        for (group, (stored, row)) in stored.iter().zip(last).enumerate() {
            let (row, key) = (*row as usize, self.grouping.keys().get(group));
            if changes.kind(row).is_retraction() {
                if stored.is_some() {
                    self.writes.delete(self.rows.state, key);
                }
                continue;
            }
            let values = self.kept.iter().map(|column| datum_at(columns[*column].as_ref(), row));
            let values = values.collect::<Result<Vec<_>>>()?;
            self.rows.put(key, &values, cx.processing_time_ms, &mut self.writes)?;
        }
        if self.writes.is_empty() {
            return Ok(());
        }
        cx.state.write(&mut self.writes)
    }

    fn buffer_changes(
        &mut self,
        changes: &ChangeBatch,
        stored: &[Option<Vec<Datum>>],
        last: &[u32],
        now_ms: i64,
    ) -> Result<()> {
        let is_gone = |group: usize| changes.kind(last[group] as usize).is_retraction();
        let known: Vec<usize> = (0..stored.len()).filter(|group| stored[*group].is_some()).collect();
        let columns = &changes.rows().columns()[..self.plan.schema.fields().len()];
        let mut before: Vec<Option<ArrayRef>> = vec![None; columns.len()];
        for &column in &self.plan.key {
            let rows: UInt32Array = known.iter().map(|group| last[*group]).collect::<Vec<_>>().into();
            before[column] = Some(arrow_select::take::take(&columns[column], &rows, None).map_err(arrow_error)?);
        }
        for (place, &column) in self.kept.iter().enumerate() {
            let values = known.iter().filter_map(|group| stored[*group].as_ref()).map(|row| row[place].clone());
            before[column] = Some(column_of(columns[column].data_type(), &values.collect::<Vec<_>>())?);
        }
        let before = self.batch_of(before.into_iter().flatten().collect(), known.len())?;
        let after = self.batch_of(columns.to_vec(), changes.num_rows())?;
        let (before, after) = (self.changelog.buffer.add_rows(before), self.changelog.buffer.add_rows(after));
        let mut olds = 0;
        for (group, stored) in stored.iter().enumerate() {
            let old = stored.is_some().then(|| {
                olds += 1;
                (before, olds - 1)
            });
            let new = (!is_gone(group)).then_some((after, last[group] as usize));
            if old.is_some() || new.is_some() {
                self.changelog.buffer.change(self.grouping.keys().get(group), old, new);
            }
        }
        self.changelog.buffer.count(changes.num_rows(), now_ms);
        Ok(())
    }

    fn batch_of(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.plan.schema), columns, &options).map_err(arrow_error)
    }
}
