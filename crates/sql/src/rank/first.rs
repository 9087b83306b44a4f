//! One row of each key, of rows that only come: deduplication.
//!
//! State `first row`: for each key, the columns that are not the key's, as a row in the configured format. Of a batch's
//! rows of a key only the first in order is compared with the stored one. If it goes before it, it is stored and given
//! (`+I`, or `-U` and `+U`); a row that does not leaves no trace.

use super::RankPlan;
use super::sort_key::SortKeys;
use crate::aggregate::Grouping;
use crate::mini_batch::ChangelogOutput;
use crate::stored_rows::StoredRows;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use headpond_rows::arrow::{column_of, datum_at, row_schema};
use headpond_rows::{RowCodec, RowEvolution};
use headpond_runtime::KeyedBatch;
use headpond_runtime::batch::{ChangeBatch, arrow_error};
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress};
use headpond_state::schema::Datum;
use headpond_state::{Error, Migration, Result, StateDescriptor, StateKind, WriteBatch};
use std::sync::Arc;

/// The name of the state.
const FIRST_ROW: &str = "first row";

/// Makes the operator of each worker.
#[derive(Debug)]
pub(crate) struct FirstRowFactory {
    plan: Arc<RankPlan>,
    codec: RowCodec,
}

impl FirstRowFactory {
    /// A factory of operators that follow `plan`, whose limit is 1.
    pub(crate) fn new(plan: RankPlan) -> Result<Self> {
        let codec = RowCodec::new(plan.format, row_schema(&plan.input.fields()[plan.key_columns..])?);
        Ok(FirstRowFactory { plan: Arc::new(plan), codec })
    }

    /// What is kept, for `EXPLAIN`.
    pub(crate) fn kept(&self) -> String {
        format!("state `{FIRST_ROW}` ({}): {}", self.plan.format, self.codec.schema())
    }
}

impl KeyedOperatorFactory for FirstRowFactory {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let plan = Arc::clone(&self.plan);
        let descriptor = StateDescriptor::new(FIRST_ROW, StateKind::Value, self.codec.codec_id())
            .with_key_schema(plan.key_schema.to_string())
            .with_value_schema(self.codec.schema().to_string())
            .with_columns(plan.key_shown())
            .with_basis(plan.basis())
            .with_ttl(plan.ttl);
        Ok(Box::new(FirstRow {
            rows: StoredRows {
                name: FIRST_ROW,
                state: setup.state.register(&descriptor)?,
                codec: self.codec.clone(),
                ttl: plan.ttl,
            },
            sorted: setup.capabilities.sorted_keys_are_cheaper,
            sort_keys: SortKeys::new(&plan, setup.max_parallelism)?,
            grouping: Grouping::default(),
            writes: WriteBatch::new(),
            changelog: ChangelogOutput::new(Arc::clone(&plan.output), plan.overwrites, plan.mini_batch),
            plan,
        }))
    }

    fn migration(&self, restored: &StateDescriptor, declared: &StateDescriptor) -> Result<Migration> {
        RankPlan::check_basis(restored, declared)?;
        RowEvolution::default().migration(restored, declared)
    }
}

/// The operator on a worker.
#[derive(Debug)]
struct FirstRow {
    plan: Arc<RankPlan>,
    rows: StoredRows,
    sorted: bool,
    sort_keys: SortKeys,
    grouping: Grouping,
    writes: WriteBatch,
    changelog: ChangelogOutput,
}

impl KeyedOperator for FirstRow {
    fn process(&mut self, _input: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if !batch.changes.is_insert_only() {
            return Err(Error::internal("a deduplication of rows that only come got rows that are taken back"));
        }
        if batch.changes.is_empty() {
            return Ok(Progress::Done);
        }
        self.apply(batch, cx)?;
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

impl FirstRow {
    fn apply(&mut self, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<()> {
        let changes = &batch.changes;
        self.grouping.group(changes.num_rows(), |row| batch.keys.get(row), self.sorted);
        let sort_keys = self.sort_keys.of_batch(changes)?;
        let mut best: Vec<u32> = self.grouping.first_rows().to_vec();
        for (row, group) in self.grouping.groups().iter().enumerate() {
            let first = &mut best[*group as usize];
            let order = sort_keys.get(row).cmp(sort_keys.get(*first as usize));
            if order.is_lt() || order.is_eq() && self.plan.later_first {
                *first = row as u32;
            }
        }
        let stored = self.rows.load(self.grouping.keys(), &mut *cx.state, cx.processing_time_ms)?;
        let replaced = self.replaced(changes, &stored, &best, |row| sort_keys.get(row as usize))?;
        self.store(changes, &replaced, &best, cx)?;
        self.buffer_changes(changes, &stored, &replaced, &best, cx.processing_time_ms)
    }

    /// The groups whose row is another one now.
    fn replaced<'k>(
        &self,
        changes: &ChangeBatch,
        stored: &[Option<Vec<Datum>>],
        best: &[u32],
        sort_key: impl Fn(u32) -> &'k [u8],
    ) -> Result<Vec<usize>> {
        let mut replaced = Vec::new();
        let mut stored_key = Vec::new();
        for (group, stored) in stored.iter().enumerate() {
            if let Some(stored) = stored {
                let row = best[group] as usize;
                let columns = changes.rows().columns()[..self.plan.key_columns].iter();
                let key = columns.map(|column| datum_at(column.as_ref(), row)).collect::<Result<Vec<_>>>()?;
                self.sort_keys.of_row(stored, self.plan.key_columns, &key, &mut stored_key)?;
                let order = sort_key(best[group]).cmp(&stored_key);
                if order.is_gt() || order.is_eq() && !self.plan.later_first {
                    continue;
                }
            }
            replaced.push(group);
        }
        Ok(replaced)
    }

    fn store(
        &mut self,
        changes: &ChangeBatch,
        replaced: &[usize],
        best: &[u32],
        cx: &mut OperatorContext<'_>,
    ) -> Result<()> {
        let columns = &changes.rows().columns()[self.plan.key_columns..];
        self.writes.clear();
        for group in replaced {
            let at = best[*group] as usize;
            let row = columns.iter().map(|column| datum_at(column.as_ref(), at)).collect::<Result<Vec<_>>>()?;
            self.rows.put(self.grouping.keys().get(*group), &row, cx.processing_time_ms, &mut self.writes)?;
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
        replaced: &[usize],
        best: &[u32],
        now_ms: i64,
    ) -> Result<()> {
        let take = |column: &ArrayRef, groups: &[usize]| {
            let rows: UInt32Array = groups.iter().map(|group| best[*group]).collect::<Vec<_>>().into();
            arrow_select::take::take(column, &rows, None).map_err(arrow_error)
        };
        let columns = changes.rows().columns();
        let after = columns.iter().map(|column| take(column, replaced)).collect::<Result<Vec<_>>>()?;
        let updated: Vec<usize> = replaced.iter().copied().filter(|group| stored[*group].is_some()).collect();
        let mut before = Vec::with_capacity(columns.len());
        for (index, column) in columns.iter().enumerate() {
            before.push(match index.checked_sub(self.plan.key_columns) {
                None => take(column, &updated)?,
                Some(index) => {
                    let rows = updated.iter().filter_map(|group| stored[*group].as_ref());
                    column_of(column.data_type(), &rows.map(|row| row[index].clone()).collect::<Vec<_>>())?
                }
            });
        }
        let (before, after) = (self.batch_of(before, updated.len())?, self.batch_of(after, replaced.len())?);
        let (before, after) = (self.changelog.buffer.add_rows(before), self.changelog.buffer.add_rows(after));
        let mut updates = 0;
        for (row, group) in replaced.iter().enumerate() {
            let old = stored[*group].is_some().then(|| {
                updates += 1;
                (before, updates - 1)
            });
            self.changelog.buffer.change(self.grouping.keys().get(*group), old, Some((after, row)));
        }
        self.changelog.buffer.count(changes.num_rows(), now_ms);
        Ok(())
    }

    fn batch_of(&self, mut columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        if self.plan.numbered {
            columns.push(Arc::new(Int64Array::from(vec![1; rows])));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.plan.output), columns, &options).map_err(arrow_error)
    }
}
