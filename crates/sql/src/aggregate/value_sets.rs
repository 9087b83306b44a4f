//! The values of groups, with how many rows have each: what DISTINCT and the extremes of changing rows need.
//!
//! An entry is `key | namespace | set (int16) | value`, its value the version of this form and, for each of the set's filters, the
//! count of the rows with that value as a LEB128 number. The value is a key component (see `headpond_state::encoding`), all its bits
//! flipped in a set whose greatest value is the first. A batch's entries are read with one call and written with one.
//!
//! A value that comes to a set or leaves it is a *transition*: cells of DISTINCT aggregates fold transitions as others fold rows. An
//! extreme that leaves its set is replaced by the set's first value.
//!
//! With a TTL, entries live as long as their group: an entry counts if its stamp is not before the group's `since`. A group that
//! begins anew counts from then on, so older entries are void. While a group lives, its entries are rewritten before the backend
//! could reclaim them: at a touch a quarter of the TTL after `since`, which then is now. So their TTL is a quarter longer.

use super::accumulators::{Accumulators, selection};
use super::grouping::Grouping;
use super::layout::{AggregatePlan, CellSpec, Feed, SetOrder, SetSpec};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::datum::field_type;
use headpond_runtime::key::KeyEncoder;
use headpond_state::backend::{KeyBatch, ScanRange};
use headpond_state::encoding::{KeySchema, put_datum, put_i16};
use headpond_state::row::{Datum, FieldType};
use headpond_state::ttl::{self, TtlConfig};
use headpond_state::{
    CodecId, Context, Error, Flow, KeyedStateBackend, MaxParallelism, Result, StateDescriptor, StateId, StateKind,
    WriteBatch,
};

/// The name of the state.
pub(super) const VALUES: &str = "values";
/// The version of an entry's value, its first byte.
const VERSION: u8 = 1;
/// Beyond this many entries of a group a range of them is removed, which costs all later reads a little.
const REMOVED_ONE_BY_ONE: usize = 64;
/// How many entries of a group are rewritten at a time.
const REWRITTEN_AT_A_TIME: usize = 4096;

/// The declaration of the state of values.
pub(crate) fn values_descriptor(plan: &AggregatePlan) -> StateDescriptor {
    StateDescriptor::new(VALUES, StateKind::Map, CodecId::new("counts", VERSION))
        .with_key_schema(plan.key_schema.to_string())
        .with_value_schema(plan.layout.sets_schema())
        .with_ttl(plan.ttl.map(|ttl| TtlConfig { ttl_ms: ttl.ttl_ms.saturating_add(ttl.ttl_ms / 4 + 1), ..ttl }))
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

/// The values that came and went with a batch, by set and filter: each is a row of the batch with that value and a sign.
#[derive(Debug, Default)]
pub(super) struct Transitions(Vec<Transition>);

#[derive(Debug)]
struct Transition {
    set: usize,
    filter: usize,
    signs: Vec<i64>,
    rows: BooleanBuffer,
}

impl Transitions {
    /// The signs of all rows and which rows stand for a transition.
    pub(super) fn of(&self, set: usize, filter: usize) -> Option<(&[i64], &BooleanBuffer)> {
        let transition = self.0.iter().find(|transition| transition.set == set && transition.filter == filter)?;
        Some((&transition.signs, &transition.rows))
    }
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
            state: state.register(&values_descriptor(plan))?,
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

    /// Counts a batch's values, puts the extremes into their cells and gives the transitions. The groups' rows are counted already.
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
        let mut result = Ok(());
        let (before, has_ttl) = (&mut counts.before, self.ttl.is_some());
        state.read_many(self.state, self.entries.keys(), &mut |entry, stored| {
            let Some(stored) = stored else { return };
            let group = batch.groups.groups()[first_rows[entry] as usize] as usize;
            let counts = &mut before[entry * width..(entry + 1) * width];
            if let Err(error) = read_counts(stored, has_ttl.then(|| accumulators.since_ms[group]), counts) {
                result = Err(error);
            }
        })?;
        result?;
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

    /// Puts the extremes of the groups into their cells.
    fn settle_extremes(
        &self,
        index: usize,
        batch: GroupedBatch<'_>,
        first_rows: &[u32],
        counts: &Counts,
        accumulators: &mut Accumulators,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<()> {
        let set = &self.sets[index];
        let cell = self.cells.iter().position(|cell| cell.feed == Feed::First { set: index });
        let cell = cell.ok_or_else(|| Error::internal("a set of values has no aggregate"))?;
        let mut extremes: Vec<Option<Extreme>> = vec![None; accumulators.len()];
        for (entry, key) in self.entries.keys().iter().enumerate() {
            let (came, went) = (counts.after[entry] > 0, counts.before[entry] > 0);
            if came == went {
                continue;
            }
            let group = batch.groups.groups()[first_rows[entry] as usize] as usize;
            let value = &key[batch.groups.keys().get(group).len() + SET_LEN..];
            let extreme = match &mut extremes[group] {
                Some(extreme) => extreme,
                unknown => unknown.insert(Extreme::of(set, &accumulators.cells[cell].datum(group))?),
            };
            if went && extreme.value.as_deref() == Some(value) {
                extreme.is_gone = true;
            }
            if came && extreme.candidate.as_deref().is_none_or(|candidate| value < candidate) {
                extreme.candidate = Some(value.to_vec());
            }
        }
        let mut sought = Vec::new();
        for (group, extreme) in extremes.iter().enumerate() {
            let Some(Extreme { value, candidate, is_gone }) = extreme else { continue };
            let is_beyond = match (value, candidate) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(value), Some(candidate)) => candidate < value,
            };
            match candidate {
                Some(candidate) if is_beyond => accumulators.cells[cell].replace(group, set.decode(candidate)?)?,
                _ if *is_gone => sought.push(group),
                _ => {}
            }
        }
        self.seek(index, cell, batch, sought, accumulators, state)
    }

    /// Finds the first values of groups.
    fn seek(
        &self,
        index: usize,
        cell: usize,
        batch: GroupedBatch<'_>,
        mut groups: Vec<usize>,
        accumulators: &mut Accumulators,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<()> {
        let keys = batch.groups.keys();
        groups.retain(|group| accumulators.rows[*group] > 0);
        groups.sort_unstable_by(|a, b| keys.get(*a).cmp(keys.get(*b)));
        let mut prefixes = KeyBatch::new();
        for group in &groups {
            accumulators.cells[cell].replace(*group, Datum::Null)?;
            prefixes.push_with(|out| {
                out.extend_from_slice(keys.get(*group));
                put_i16(index as i16, out);
            });
        }
        let ranges: Vec<ScanRange<'_>> = prefixes.iter().map(ScanRange::prefix).collect();
        let mut result = Ok(());
        state.scan_many(self.state, &ranges, &mut |range, entry| {
            let group = groups[range];
            let mut count = [0];
            let since_ms = self.ttl.map(|_| accumulators.since_ms[group]);
            let first = read_counts(entry.value, since_ms, &mut count).and_then(|()| {
                if count[0] == 0 {
                    return Ok(Flow::Continue);
                }
                let value = self.sets[index].decode(&entry.key[prefixes.get(range).len()..])?;
                accumulators.cells[cell].replace(group, value)?;
                Ok(Flow::Stop)
            });
            first.unwrap_or_else(|error| {
                result = Err(error);
                Flow::Stop
            })
        })?;
        result
    }

    /// Rewrites the entries of groups that have not been for a quarter of the TTL.
    fn refresh(
        &mut self,
        batch: GroupedBatch<'_>,
        accumulators: &mut Accumulators,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<()> {
        let Some(ttl) = self.ttl else { return Ok(()) };
        let stamp_ms = ttl.stamp_ms(batch.now_ms, None);
        for group in 0..accumulators.len() {
            let since_ms = accumulators.since_ms[group];
            if !accumulators.existed[group] || batch.now_ms.saturating_sub(since_ms) < ttl.ttl_ms / 4 + 1 {
                continue;
            }
            let prefix = batch.groups.keys().get(group);
            let mut after: Option<Vec<u8>> = None;
            loop {
                let mut range = ScanRange::prefix(prefix).limit(REWRITTEN_AT_A_TIME);
                if let Some(after) = &after {
                    range = range.after(after);
                }
                let (mut seen, mut last) = (0, Vec::new());
                let mut result = Ok(());
                let (writes, id) = (&mut self.writes, self.state);
                writes.clear();
                state.scan(id, &range, &mut |entry| {
                    seen += 1;
                    last.clear();
                    last.extend_from_slice(entry.key);
                    match ttl::split_stamp(entry.value) {
                        Ok((stamp, counts)) if stamp >= since_ms => writes.put_with(id, entry.key, |out| {
                            ttl::put_stamp(stamp_ms, out);
                            out.extend_from_slice(counts);
                        }),
                        Ok(_) => {}
                        Err(error) => result = Err(error),
                    }
                    Flow::Continue
                })?;
                result.map_err(in_values)?;
                state.write(&mut self.writes)?;
                if seen < REWRITTEN_AT_A_TIME {
                    break;
                }
                after = Some(last);
            }
            accumulators.since_ms[group] = stamp_ms;
        }
        Ok(())
    }

    /// Removes what is left of groups that have no rows any more.
    fn remove_dead(
        &mut self,
        batch: GroupedBatch<'_>,
        accumulators: &Accumulators,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<()> {
        let keys = batch.groups.keys();
        let is_dead = |group: &usize| accumulators.existed[*group] && accumulators.rows[*group] <= 0;
        let mut dead: Vec<usize> = (0..accumulators.len()).filter(is_dead).collect();
        dead.sort_unstable_by(|a, b| keys.get(*a).cmp(keys.get(*b)));
        self.remove(&dead.iter().map(|group| keys.get(*group)).collect::<Vec<_>>(), state)
    }

    /// Removes all values of keys, which ascend: a few one by one, more with a range.
    pub(super) fn remove(&mut self, keys: &[&[u8]], state: &mut dyn KeyedStateBackend) -> Result<()> {
        let ranges: Vec<ScanRange<'_>> = keys.iter().map(|key| ScanRange::prefix(key)).collect();
        let (writes, id) = (&mut self.writes, self.state);
        writes.clear();
        let mut end = Vec::new();
        let mut seen = (usize::MAX, 0);
        state.scan_many(id, &ranges, &mut |range, entry| {
            seen = if seen.0 == range { (range, seen.1 + 1) } else { (range, 1) };
            if seen.1 <= REMOVED_ONE_BY_ONE {
                writes.delete(id, entry.key);
                return Flow::Continue;
            }
            end.clear();
            end.extend_from_slice(keys[range]);
            put_i16(i16::MAX, &mut end);
            writes.delete_range(id, entry.key, &end);
            Flow::Stop
        })?;
        if writes.is_empty() {
            return Ok(());
        }
        state.write(writes)
    }
}

/// The bytes of a set's number in an entry's key.
const SET_LEN: usize = 2;

/// A group's extreme as a batch finds it, as bytes that are less the further it is out.
#[derive(Debug, Clone)]
struct Extreme {
    value: Option<Vec<u8>>,
    /// The furthest value that came.
    candidate: Option<Vec<u8>>,
    is_gone: bool,
}

impl Extreme {
    fn of(set: &Set, datum: &Datum) -> Result<Self> {
        let value = if datum.is_null() { None } else { Some(set.encode(datum)?) };
        Ok(Extreme { value, candidate: None, is_gone: false })
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

/// Reads an entry's counts. With `since_ms` it has a stamp, and its counts are 0 where that is earlier.
fn read_counts(stored: &[u8], since_ms: Option<i64>, counts: &mut [u64]) -> Result<()> {
    let mut rest = stored;
    if let Some(since_ms) = since_ms {
        let (stamp_ms, value) = ttl::split_stamp(stored)?;
        if stamp_ms < since_ms {
            return Ok(());
        }
        rest = value;
    }
    let damaged = || Error::corrupt("a value of a group has no counts that this release knows");
    let Some((&VERSION, mut bytes)) = rest.split_first() else { return Err(damaged()) };
    for count in counts.iter_mut() {
        let (mut number, mut shift) = (0u64, 0u32);
        loop {
            let Some((byte, after)) = bytes.split_first() else { return Err(damaged()) };
            bytes = after;
            number |= u64::from(byte & 0x7f).checked_shl(shift).ok_or_else(damaged)?;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        *count = number;
    }
    if bytes.is_empty() { Ok(()) } else { Err(damaged()) }
}

fn write_counts(counts: &[u64], stamp_ms: Option<i64>, out: &mut Vec<u8>) {
    if let Some(stamp_ms) = stamp_ms {
        ttl::put_stamp(stamp_ms, out);
    }
    out.push(VERSION);
    for count in counts {
        let mut number = *count;
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }
}

#[cold]
fn in_values(error: Error) -> Error {
    error.with(Context::State, VALUES)
}
