//! `GROUP BY` without windows: a result that changes with every batch.
//!
//! For each key of a batch the operator emits the new result (`+I`) or, where there was one, the old (`-U`) and the new
//! (`+U`), unless they are equal; with mini-batching, for the batches of several ticks together. Where the sink
//! overwrites rows by the same key, `-U` is left out. A group whose last row is taken back is deleted (`-D`).

use super::accumulators::Accumulators;
use super::group_codec::GroupCodec;
use super::grouping::Grouping;
use super::layout::{AggregatePlan, OutputColumn};
use super::migration::migration;
use super::overflow::Overflow;
use super::results::results;
use super::transitions::Transitions;
use super::value_sets::{GroupedBatch, ValueSets};
use crate::mini_batch::{ChangelogBuffer, differing_rows};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use headpond_runtime::KeyedBatch;
use headpond_runtime::batch::{ChangeBatch, ChangeKind, arrow_error};
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress};
use headpond_state::{
    Context, Error, KeyedStateBackend, Migration, Result, StateDescriptor, StateId, StateKind, WriteBatch, ttl,
};
use std::sync::Arc;

pub(super) use crate::mini_batch::give_slices;

/// The name of the state that holds groups' accumulators.
pub(super) const ACCUMULATORS: &str = "accumulators";

/// Rows taken back from groups that have no state any more: it has expired.
const WITHOUT_STATE: &str = "rows taken back without state";

/// Makes the operator of each worker.
#[derive(Debug)]
pub(crate) struct GroupAggregateFactory {
    plan: Arc<AggregatePlan>,
}

impl GroupAggregateFactory {
    /// A factory of operators that follow `plan`.
    pub(crate) fn new(plan: AggregatePlan) -> Self {
        GroupAggregateFactory { plan: Arc::new(plan) }
    }
}

impl KeyedOperatorFactory for GroupAggregateFactory {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let state = setup.state.register(&accumulators_descriptor(&self.plan, &[])?)?;
        Ok(Box::new(GroupAggregate {
            codec: GroupCodec::new(&self.plan, ACCUMULATORS),
            sorted: setup.capabilities.sorted_keys_are_cheaper,
            prefix_len: setup.max_parallelism.prefix_len(),
            accumulators: Accumulators::new(&self.plan.layout),
            grouping: Grouping::default(),
            writes: WriteBatch::new(),
            changelog: self
                .plan
                .mini_batch
                .map(|_| ChangelogBuffer::new(Arc::clone(&self.plan.output), self.plan.overwrites)),
            pending: None,
            plan: Arc::clone(&self.plan),
            sets: match self.plan.layout.has_sets() {
                true => Some(ValueSets::open(
                    &self.plan,
                    &[],
                    setup.state,
                    setup.capabilities.sorted_keys_are_cheaper,
                    setup.max_parallelism,
                )?),
                false => None,
            },
            state,
        }))
    }

    fn migration(&self, restored: &StateDescriptor, declared: &StateDescriptor) -> Result<Migration> {
        migration(&self.plan, restored, declared)
    }
}

/// The declaration of the state that holds groups' accumulators.
/// `namespace` names the parts of the namespace.
///
/// # Errors
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a type that state cannot hold.
pub(super) fn accumulators_descriptor(plan: &AggregatePlan, namespace: &[&str]) -> Result<StateDescriptor> {
    let codec = plan.codec();
    Ok(StateDescriptor::new(ACCUMULATORS, StateKind::Aggregating, codec.codec_id())
        .with_key_schema(plan.key_schema.to_string())
        .with_value_schema(codec.schema().to_string())
        .with_columns(plan.accumulators_shown(namespace)?)
        .with_basis(plan.layout.basis())
        .with_ttl(plan.ttl))
}

/// The operator on a worker.
#[derive(Debug)]
struct GroupAggregate {
    plan: Arc<AggregatePlan>,
    state: StateId,
    /// The sets of values, for aggregates that need them.
    sets: Option<ValueSets>,
    codec: GroupCodec,
    sorted: bool,
    prefix_len: usize,
    accumulators: Accumulators,
    grouping: Grouping,
    writes: WriteBatch,
    /// The changes that a mini-batch holds back.
    changelog: Option<ChangelogBuffer>,
    /// What is computed and not yet given.
    pending: Option<ChangeBatch>,
}

impl KeyedOperator for GroupAggregate {
    fn process(&mut self, _input: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if batch.changes.is_empty() {
            return Ok(Progress::Done);
        }
        self.pending = self.fold(batch, cx)?;
        self.resume(cx)
    }

    fn resume(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        Ok(give_slices(&mut self.pending, cx.output))
    }

    fn advance(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if let (Some(changelog), Some(mini_batch)) = (&mut self.changelog, self.plan.mini_batch)
            && mini_batch.is_due(changelog, cx)
        {
            self.pending = changelog.take()?;
        }
        self.resume(cx)
    }

    fn wake_at_ms(&self) -> Option<i64> {
        self.plan.mini_batch?.due_ms(self.changelog.as_ref()?)
    }
}

impl GroupAggregate {
    /// Folds a batch into the state and returns how the result changes.
    fn fold(&mut self, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Option<ChangeBatch>> {
        let changes = &batch.changes;
        self.grouping.group(changes.num_rows(), |row| batch.keys.get(row), self.sorted);
        self.load(&mut *cx.state, cx.processing_time_ms)?;
        if let Some(kept) = self.without_lost(batch) {
            cx.counters.add(WITHOUT_STATE, (changes.num_rows() - kept.len()) as u64);
            return self.fold(&KeyedBatch { changes: changes.take(&kept)?, keys: batch.keys.take(&kept) }, cx);
        }
        let before = results(&self.plan, &self.accumulators)?;
        let signs = signs(changes);
        let (groups, signs) = (self.grouping.groups(), signs.as_deref());
        self.accumulators.count_rows(groups, signs);
        let transitions = match &mut self.sets {
            None => Transitions::default(),
            Some(sets) => {
                let now_ms = cx.processing_time_ms;
                let batch = GroupedBatch { changes, signs, groups: &self.grouping, now_ms };
                sets.apply(batch, &mut self.accumulators, &mut *cx.state)?
            }
        };
        let folded = self.accumulators.fold_cells(&self.plan.layout, changes, groups, signs, &transitions);
        folded.map_err(|overflow| self.overflow(overflow, batch))?;
        cx.counters.add(WITHOUT_STATE, self.lost_retractions());
        self.store(cx)?;
        let after = results(&self.plan, &self.accumulators)?;
        if self.changelog.is_some() {
            self.buffer_changes(changes.rows(), &before, &after, cx.processing_time_ms)?;
            return Ok(None);
        }
        self.changes(changes.rows(), &before, &after)
    }

    /// Holds the changes of a batch back.
    fn buffer_changes(
        &mut self,
        rows: &RecordBatch,
        before: &[ArrayRef],
        after: &[ArrayRef],
        now_ms: i64,
    ) -> Result<()> {
        let Some(changelog) = &mut self.changelog else { return Ok(()) };
        let groups = self.grouping.len();
        let first_rows = UInt32Array::from(self.grouping.first_rows().to_vec());
        let mut keys = Vec::with_capacity(self.plan.key_columns);
        for column in &rows.columns()[..self.plan.key_columns] {
            keys.push(arrow_select::take::take(column, &first_rows, None).map_err(arrow_error)?);
        }
        let mut side = |results: &[ArrayRef]| {
            let column = |column: &OutputColumn| match *column {
                OutputColumn::Key(index) => Ok(Arc::clone(&keys[index])),
                OutputColumn::Call(index) => Ok(Arc::clone(&results[index])),
                OutputColumn::Window(_) => Err(Error::internal("a group without windows has a window's column")),
            };
            let columns = self.plan.output_columns.iter().map(column).collect::<Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(groups));
            let rows = RecordBatch::try_new_with_options(Arc::clone(&self.plan.output), columns, &options);
            Ok::<usize, Error>(changelog.add_rows(rows.map_err(arrow_error)?))
        };
        let (before, after) = (side(before)?, side(after)?);
        for (group, key) in self.grouping.keys().iter().enumerate() {
            let old = self.accumulators.existed[group].then_some((before, group));
            let new = (self.accumulators.rows[group] > 0).then_some((after, group));
            changelog.change(key, old, new);
        }
        changelog.count(rows.num_rows(), now_ms);
        Ok(())
    }

    fn load(&mut self, state: &mut dyn KeyedStateBackend, now_ms: i64) -> Result<()> {
        self.accumulators.clear();
        let GroupAggregate { accumulators, codec, plan, .. } = self;
        let read = state.read_many(self.state, self.grouping.keys(), &mut |_, stored| {
            let value = match stored {
                None => None,
                Some(stored) => ttl::visible(plan.ttl.as_ref(), stored, now_ms)?,
            };
            match value {
                None => {
                    accumulators.push_new();
                    Ok(())
                }
                Some(value) => codec.read(value, accumulators),
            }
        });
        read.map_err(|error| error.with(Context::State, ACCUMULATORS))?;
        self.accumulators.begin(now_ms);
        Ok(())
    }

    /// The rows without those that are taken back from groups without state before any have come; `None`: there are
    /// none of them. What comes after them begins the group anew.
    fn without_lost(&self, batch: &KeyedBatch) -> Option<UInt32Array> {
        batch.changes.kinds()?;
        let mut rows = self.accumulators.rows.clone();
        let mut kept = Vec::with_capacity(batch.changes.num_rows());
        for (row, group) in self.grouping.groups().iter().enumerate() {
            let group = *group as usize;
            let is_retraction = batch.changes.kind(row).is_retraction();
            if is_retraction && !self.accumulators.existed[group] && rows[group] == 0 {
                continue;
            }
            rows[group] += if is_retraction { -1 } else { 1 };
            kept.push(row as u32);
        }
        (kept.len() < batch.changes.num_rows()).then(|| kept.into())
    }

    /// The rows taken back from groups that had none.
    fn lost_retractions(&self) -> u64 {
        self.accumulators.rows.iter().map(|rows| rows.min(&0).unsigned_abs()).sum()
    }

    fn store(&mut self, cx: &mut OperatorContext<'_>) -> Result<()> {
        let GroupAggregate { accumulators, codec, plan, writes, .. } = self;
        writes.clear();
        let stamp_ms = plan.ttl.map(|ttl| ttl.stamp_ms(cx.processing_time_ms, None));
        // Where nothing is computed, only whether there are rows counts.
        let is_fixed = plan.calls.is_empty() && !plan.layout.retracts && plan.ttl.is_none();
        let mut result = Ok(());
        for (group, key) in self.grouping.keys().iter().enumerate() {
            if is_fixed && accumulators.existed[group] {
                continue;
            }
            if accumulators.rows[group] <= 0 {
                if accumulators.existed[group] {
                    writes.delete(self.state, key);
                }
                continue;
            }
            writes.put_with(self.state, key, |out| {
                ttl::seal(stamp_ms, out);
                if let Err(error) = codec.write(accumulators, group, out) {
                    result = Err(error);
                }
            });
        }
        result?;
        if writes.is_empty() {
            return Ok(());
        }
        cx.state.write(writes)
    }

    fn changes(&self, rows: &RecordBatch, before: &[ArrayRef], after: &[ArrayRef]) -> Result<Option<ChangeBatch>> {
        let changed = differing(before, after, self.grouping.len())?;
        let mut kinds: Vec<u8> = Vec::with_capacity(2 * self.grouping.len());
        let mut picks: Vec<(usize, usize)> = Vec::with_capacity(2 * self.grouping.len());
        for group in 0..self.grouping.len() {
            let existed = self.accumulators.existed[group];
            let exists = self.accumulators.rows[group] > 0;
            match (existed, exists) {
                (false, true) => {
                    kinds.push(ChangeKind::Insert as u8);
                    picks.push((1, group));
                }
                (true, true) if changed.value(group) => {
                    if !self.plan.overwrites {
                        kinds.push(ChangeKind::UpdateBefore as u8);
                        picks.push((0, group));
                    }
                    kinds.push(ChangeKind::UpdateAfter as u8);
                    picks.push((1, group));
                }
                (true, false) => {
                    kinds.push(ChangeKind::Delete as u8);
                    picks.push((0, group));
                }
                _ => {}
            }
        }
        if picks.is_empty() {
            return Ok(None);
        }
        let first_rows = self.grouping.first_rows();
        let key_rows: UInt32Array = picks.iter().map(|(_, group)| first_rows[*group]).collect::<Vec<_>>().into();
        let mut columns = Vec::with_capacity(self.plan.output_columns.len());
        for column in &self.plan.output_columns {
            columns.push(match *column {
                OutputColumn::Key(index) => {
                    arrow_select::take::take(rows.column(index), &key_rows, None).map_err(arrow_error)?
                }
                OutputColumn::Call(index) => {
                    let sides: [&dyn Array; 2] = [before[index].as_ref(), after[index].as_ref()];
                    arrow_select::interleave::interleave(&sides, &picks).map_err(arrow_error)?
                }
                OutputColumn::Window(_) => {
                    return Err(Error::internal("a group without windows has a window's column"));
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(picks.len()));
        let rows =
            RecordBatch::try_new_with_options(Arc::clone(&self.plan.output), columns, &options).map_err(arrow_error)?;
        ChangeBatch::with_kinds(rows, kinds.into()).map(Some)
    }

    #[cold]
    fn overflow(&self, overflow: Overflow, batch: &KeyedBatch) -> Error {
        overflow_error(&self.plan, &batch.keys.get(overflow.row)[self.prefix_len..])
    }
}

/// The error for a sum beyond its type.
#[cold]
pub(super) fn overflow_error(plan: &AggregatePlan, key: &[u8]) -> Error {
    Error::invalid(format!("a SUM has grown beyond its type in {}", plan.shown_key(key)))
        .hint("cast the argument to a wider type, such as DECIMAL(38, 0) or DOUBLE; the state then begins anew")
}

/// 1 for each row that comes, -1 for each that is taken back; `None`: all come.
fn signs(changes: &ChangeBatch) -> Option<Vec<i64>> {
    let kinds = changes.kinds()?;
    let is_retraction = |kind: u8| kind == ChangeKind::UpdateBefore as u8 || kind == ChangeKind::Delete as u8;
    Some(kinds.values().iter().map(|kind| if is_retraction(*kind) { -1 } else { 1 }).collect())
}

/// The rows in which any of the columns differ.
fn differing(before: &[ArrayRef], after: &[ArrayRef], rows: usize) -> Result<BooleanArray> {
    let mut differing: Option<BooleanArray> = None;
    for (before, after) in before.iter().zip(after) {
        let column = differing_rows(before, after)?;
        if column.true_count() == rows {
            return Ok(column);
        }
        differing = Some(match differing {
            None => column,
            Some(others) => BooleanArray::new(others.values() | column.values(), None),
        });
    }
    Ok(differing.unwrap_or_else(|| BooleanArray::from(vec![false; rows])))
}
