//! The values of groups, with how many rows have each: what DISTINCT and the extremes of changing rows need.
//!
//! An entry is `key | namespace | set (int16) | value`, its value the version of this form and, for each of the set's
//! filters, the count of the rows with that value as a LEB128 number. The value is a key component (see
//! `headpond_state::encoding`), all its bits flipped in a set whose greatest value is the first. A batch's entries are
//! read with one call and written with one.
//!
//! A value that comes to a set or leaves it is a *transition*: cells of DISTINCT aggregates fold transitions as others
//! fold rows. An extreme that leaves its set is replaced by the set's first value.
//!
//! With a TTL, entries live as long as their group: an entry counts if its stamp is not before the group's `since`. A
//! group that begins anew counts from then on, so older entries are void. While a group lives, its entries are
//! rewritten before the backend could reclaim them: at a touch a quarter of the TTL after `since`, which then is now.
//! So their TTL is a quarter longer.

mod counts;
mod extremes;
mod lifetime;

use self::counts::{VERSION, read_counts, write_counts};
use super::accumulators::Accumulators;
use super::fold::selection;
use super::grouping::Grouping;
use super::layout::{AggregatePlan, CellSpec, SetOrder, SetSpec};
use super::transitions::{Transition, Transitions};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use headpond_rows::arrow::field_type;
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::key::KeyEncoder;
use headpond_state::backend::KeyBatch;
use headpond_state::encoding::{KeySchema, put_datum, put_i16};
use headpond_state::schema::{Datum, FieldType};
use headpond_state::ttl::TtlConfig;
use headpond_state::{
    CodecId, Context, Error, KeyedStateBackend, MaxParallelism, Result, StateDescriptor, StateId, StateKind, WriteBatch,
};

/// The name of the state.
pub(super) const VALUES: &str = "values";

/// The declaration of the state of values. `namespace` names the parts of the namespace.
///
/// # Errors
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a type that state cannot hold.
pub(crate) fn values_descriptor(plan: &AggregatePlan, namespace: &[&str]) -> Result<StateDescriptor> {
    Ok(StateDescriptor::new(VALUES, StateKind::Map, CodecId::new("counts", VERSION))
        .with_key_schema(plan.key_schema.to_string())
        .with_value_schema(plan.layout.sets_schema())
        .with_columns(plan.values_shown(namespace)?)
        .with_ttl(plan.ttl.map(|ttl| TtlConfig { ttl_ms: ttl.ttl_ms.saturating_add(ttl.ttl_ms / 4 + 1), ..ttl })))
}

/// The sets of an operator's groups on a worker.
#[derive(Debug)]
pub(super) struct ValueSets {
    state: StateId,
    sets: Vec<Set>,
    cells: Vec<CellSpec>,
    retracts: bool,
    ttl: Option<TtlConfig>,
    sorted: bool,
    prefix_len: usize,
    keys: KeyBatch,
    entries: Grouping,
    writes: WriteBatch,
}

#[derive(Debug)]
struct Set {
    spec: SetSpec,
    encoder: KeyEncoder,
    ty: FieldType,
    schema: KeySchema,
}

/// A batch with its groups.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupedBatch<'a> {
    pub(super) changes: &'a ChangeBatch,
    /// 1 for a row that comes, -1 for one that is taken back; `None`: all come.
    pub(super) signs: Option<&'a [i64]>,
    /// The groups, whose keys may end with a namespace.
    pub(super) groups: &'a Grouping,
    /// Processing time.
    pub(super) now_ms: i64,
}

/// The entries that a batch touches in a set, with their counts before and after, one for each filter.
#[derive(Debug, Default)]
struct Counts {
    before: Vec<u64>,
    after: Vec<u64>,
}

impl ValueSets {
    /// The sets that `plan` needs; their state is registered.
    pub(super) fn open(
        plan: &AggregatePlan,
        namespace: &[&str],
        state: &mut dyn KeyedStateBackend,
        sorted: bool,
        max_parallelism: MaxParallelism,
    ) -> Result<Self> {
        let set = |spec: &SetSpec| {
            let ty = field_type(plan.input.field(spec.argument))?;
            let encoder = KeyEncoder::new(&plan.input, &[spec.argument], max_parallelism)?;
            Ok(Set { spec: spec.clone(), encoder, schema: KeySchema::new(vec![ty.clone()]), ty })
        };
        Ok(ValueSets {
            state: state.register(&values_descriptor(plan, namespace)?)?,
            sets: plan.layout.sets.iter().map(set).collect::<Result<_>>()?,
            cells: plan.layout.cells.clone(),
            retracts: plan.layout.retracts,
            ttl: plan.ttl,
            sorted,
            prefix_len: max_parallelism.prefix_len(),
            keys: KeyBatch::new(),
            entries: Grouping::default(),
            writes: WriteBatch::new(),
        })
    }

    /// Counts a batch's values, puts the extremes into their cells and gives the transitions. The groups' rows are
    /// counted already.
    pub(super) fn apply(
        &mut self,
        batch: GroupedBatch<'_>,
        accumulators: &mut Accumulators,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<Transitions> {
        self.refresh(batch, accumulators, state)?;
        let mut transitions = Transitions::default();
        for set in 0..self.sets.len() {
            self.apply_set(set, batch, accumulators, state, &mut transitions).map_err(in_values)?;
        }
        self.remove_dead(batch, accumulators, state)?;
        Ok(transitions)
    }

    fn apply_set(
        &mut self,
        index: usize,
        batch: GroupedBatch<'_>,
        accumulators: &mut Accumulators,
        state: &mut dyn KeyedStateBackend,
        transitions: &mut Transitions,
    ) -> Result<()> {
        let rows = self.locate(index, batch)?;
        if rows.is_empty() {
            return Ok(());
        }
        let ValueSets { entries, keys, sorted, .. } = self;
        entries.group(rows.len(), |row| keys.get(row), *sorted);
        // From here on an entry's first row is one of the batch, not one of the selected.
        let first_rows: Vec<u32> = entries.first_rows().iter().map(|row| rows[*row as usize]).collect();
        let counts = self.count(index, batch, &rows, &first_rows, accumulators, state)?;
        self.write(index, batch, &first_rows, &counts, accumulators, state)?;
        if self.sets[index].spec.order == SetOrder::Any {
            self.give_transitions(index, batch, &first_rows, &counts, transitions);
            return Ok(());
        }
        self.settle_extremes(index, batch, &first_rows, &counts, accumulators, state)
    }

    /// Makes the entry keys of the rows that a set counts, and gives the rows.
    fn locate(&mut self, index: usize, batch: GroupedBatch<'_>) -> Result<Vec<u32>> {
        let set = &self.sets[index];
        let flip = if set.spec.order == SetOrder::Greatest { u8::MAX } else { 0 };
        let values = set.encoder.encode(batch.changes)?;
        let mut selected: Option<BooleanBuffer> = None;
        for filter in &set.spec.filters {
            let rows = selection(batch.changes, Some(set.spec.argument), *filter)
                .unwrap_or_else(|| BooleanBuffer::new_set(batch.changes.num_rows()));
            selected = Some(match selected {
                Some(others) => &others | &rows,
                None => rows,
            });
        }
        self.keys.clear();
        let mut rows = Vec::new();
        for row in selected.iter().flat_map(BooleanBuffer::set_indices) {
            let group = batch.groups.groups()[row] as usize;
            self.keys.push_with(|out| {
                out.extend_from_slice(batch.groups.keys().get(group));
                put_i16(index as i16, out);
                out.extend(values.get(row)[self.prefix_len..].iter().map(|byte| byte ^ flip));
            });
            rows.push(row as u32);
        }
        Ok(rows)
    }

    /// The counts of a batch's entries.
    fn count(
        &mut self,
        index: usize,
        batch: GroupedBatch<'_>,
        rows: &[u32],
        first_rows: &[u32],
        accumulators: &Accumulators,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<Counts> {
        let filters = &self.sets[index].spec.filters;
        let width = filters.len();
        let mut counts = Counts { before: vec![0; self.entries.len() * width], after: Vec::new() };
        let (before, has_ttl) = (&mut counts.before, self.ttl.is_some());
        state.read_many(self.state, self.entries.keys(), &mut |entry, stored| {
            let Some(stored) = stored else { return Ok(()) };
            let group = batch.groups.groups()[first_rows[entry] as usize] as usize;
            let counts = &mut before[entry * width..(entry + 1) * width];
            read_counts(stored, has_ttl.then(|| accumulators.since_ms[group]), counts)
        })?;
        counts.after = counts.before.clone();
        for (at, filter) in filters.iter().enumerate() {
            let counted = selection(batch.changes, None, *filter);
            for (row, entry) in rows.iter().zip(self.entries.groups()) {
                if counted.as_ref().is_some_and(|counted| !counted.value(*row as usize)) {
                    continue;
                }
                let count = &mut counts.after[*entry as usize * width + at];
                // What was never counted cannot be taken back.
                *count = match batch.signs {
                    Some(signs) => count.saturating_add_signed(signs[*row as usize]),
                    None if self.retracts => count.saturating_add(1),
                    None => 1,
                };
            }
        }
        Ok(counts)
    }

    fn write(
        &mut self,
        index: usize,
        batch: GroupedBatch<'_>,
        first_rows: &[u32],
        counts: &Counts,
        accumulators: &Accumulators,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<()> {
        let width = self.sets[index].spec.filters.len();
        let stamp_ms = self.ttl.map(|ttl| ttl.stamp_ms(batch.now_ms, None));
        self.writes.clear();
        for (entry, key) in self.entries.keys().iter().enumerate() {
            let at = entry * width..(entry + 1) * width;
            let (before, after) = (&counts.before[at.clone()], &counts.after[at]);
            if before == after {
                continue;
            }
            let group = batch.groups.groups()[first_rows[entry] as usize] as usize;
            if accumulators.rows[group] > 0 && after.iter().any(|count| *count > 0) {
                self.writes.put_with(self.state, key, |out| write_counts(after, stamp_ms, out));
            } else if before.iter().any(|count| *count > 0) {
                self.writes.delete(self.state, key);
            }
        }
        if self.writes.is_empty() {
            return Ok(());
        }
        state.write(&mut self.writes)
    }

    fn give_transitions(
        &self,
        set: usize,
        batch: GroupedBatch<'_>,
        first_rows: &[u32],
        counts: &Counts,
        transitions: &mut Transitions,
    ) {
        let width = self.sets[set].spec.filters.len();
        for filter in 0..width {
            let mut signs = vec![0i64; batch.changes.num_rows()];
            let mut rows = BooleanBufferBuilder::new(signs.len());
            rows.append_n(signs.len(), false);
            for (entry, row) in first_rows.iter().enumerate() {
                let at = entry * width + filter;
                let sign = i64::from(counts.after[at] > 0) - i64::from(counts.before[at] > 0);
                if sign != 0 {
                    signs[*row as usize] = sign;
                    rows.set_bit(*row as usize, true);
                }
            }
            transitions.0.push(Transition { set, filter, signs, rows: rows.finish() });
        }
    }
}

impl Set {
    fn encode(&self, datum: &Datum) -> Result<Vec<u8>> {
        let mut value = Vec::new();
        put_datum(&self.ty, datum, &mut value)?;
        if self.spec.order == SetOrder::Greatest {
            value.iter_mut().for_each(|byte| *byte = !*byte);
        }
        Ok(value)
    }

    fn decode(&self, value: &[u8]) -> Result<Datum> {
        let decoded = match self.spec.order {
            SetOrder::Greatest => self.schema.decode(&value.iter().map(|byte| !byte).collect::<Vec<u8>>()),
            SetOrder::Least | SetOrder::Any => self.schema.decode(value),
        };
        decoded?.pop().ok_or_else(|| Error::corrupt("a set has an entry without a value"))
    }
}

#[cold]
fn in_values(error: Error) -> Error {
    error.with(Context::State, VALUES)
}
