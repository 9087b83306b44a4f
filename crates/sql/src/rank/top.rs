//! The first N rows of each key.
//!
//! State `rows`: `key | sort key | row` with the count of such rows, `row` being the columns that are not the key's, as
//! key components. Of rows that only come the first N are kept; of rows that may be taken back all are, since any may
//! move up. A batch scans the beginning of each of its keys once, far enough to know the first rows after what it takes
//! back, and works out the change in memory.
//!
//! With the rows' numbers a change is one of a place: the row at it is another one. Without, rows enter and leave.

use super::sort_key::SortKeys;
use super::{RankPlan, WITHOUT_STATE};
use crate::aggregate::Grouping;
use crate::mini_batch::{ChangelogOutput, Pick};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use headpond_rows::arrow::{column_of, field_type};
use headpond_runtime::KeyedBatch;
use headpond_runtime::batch::{ChangeBatch, arrow_error};
use headpond_runtime::key::KeyEncoder;
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress};
use headpond_state::backend::{KeyBatch, ScanRange};
use headpond_state::columns::{UserKeyColumn, UserKeyColumns};
use headpond_state::encoding::{KeySchema, put_null, put_u64};
use headpond_state::schema::Datum;
use headpond_state::{
    CodecId, Context, Entry, EntryConversion, Error, KeyedStateBackend, MaxParallelism, Migration, Result,
    StateColumns, StateDescriptor, StateId, StateKind, WriteBatch, ttl,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The name of the state.
const ROWS: &str = "rows";
/// The version of an entry's value, its first byte.
const VERSION: u8 = 1;

/// Makes the operator of each worker.
#[derive(Debug)]
pub(crate) struct TopRowsFactory {
    plan: Arc<RankPlan>,
    row_schema: KeySchema,
}

impl TopRowsFactory {
    /// A factory of operators that follow `plan`.
    pub(crate) fn new(plan: RankPlan) -> Result<Self> {
        let types = plan.input.fields()[plan.key_columns..].iter().map(|field| field_type(field));
        let row_schema = KeySchema::new(types.collect::<Result<_>>()?);
        Ok(TopRowsFactory { plan: Arc::new(plan), row_schema })
    }

    /// What is kept, for `EXPLAIN`.
    pub(crate) fn kept(&self) -> String {
        let which = if self.plan.retracts { "all" } else { "the first" };
        format!("state `{ROWS}`: {which} rows in order: {}", self.value_schema())
    }

    /// What people see of the state: the rows. Their sort keys say nothing more.
    fn shown(&self) -> Result<StateColumns> {
        let plan = &self.plan;
        let mut components = Vec::new();
        for sort in &plan.order {
            components.push(UserKeyColumn {
                descending: sort.descending,
                moved_nulls: sort.nulls_first == sort.descending,
                ..UserKeyColumn::new("", field_type(plan.input.field(sort.column))?)
            });
        }
        for (field, ty) in plan.input.fields()[plan.key_columns..].iter().zip(self.row_schema.types()) {
            components.push(UserKeyColumn::new(field.name(), ty.clone()));
        }
        Ok(StateColumns { user_key: UserKeyColumns::all(components), ..plan.key_shown() })
    }

    fn value_schema(&self) -> String {
        self.value_schema_of(self.row_schema.types().len())
    }

    /// The schema as it would be with the first columns only.
    fn value_schema_of(&self, columns: usize) -> String {
        let plan = &self.plan;
        let named = plan.input.fields()[plan.key_columns..].iter().zip(self.row_schema.types());
        let columns = named.take(columns).map(|(field, ty)| format!("{} {ty}", field.name()));
        format!("{} by {}", columns.collect::<Vec<_>>().join(", "), plan.order_text())
    }

    /// What a descriptor's schema ends with. Rows beyond the N first ones are gone where rows only come: another N has
    /// another state.
    fn kept_text(&self) -> String {
        if self.plan.retracts { String::new() } else { format!(", the first {}", self.plan.limit) }
    }
}

impl KeyedOperatorFactory for TopRowsFactory {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let plan = Arc::clone(&self.plan);
        let descriptor = StateDescriptor::new(ROWS, StateKind::Map, CodecId::new("counted-rows", VERSION))
            .with_key_schema(plan.key_schema.to_string())
            .with_value_schema(self.value_schema() + &self.kept_text())
            .with_basis(plan.basis())
            .with_columns(self.shown()?)
            .with_ttl(plan.ttl);
        let columns: Vec<usize> = (plan.key_columns..plan.input.fields().len()).collect();
        Ok(Box::new(TopRows {
            state: setup.state.register(&descriptor)?,
            max_parallelism: setup.max_parallelism,
            sort_keys: SortKeys::new(&plan, setup.max_parallelism)?,
            row_encoder: KeyEncoder::new(&plan.input, &columns, setup.max_parallelism)?,
            row_schema: self.row_schema.clone(),
            grouping: Grouping::default(),
            writes: WriteBatch::new(),
            changelog: ChangelogOutput::new(Arc::clone(&plan.output), plan.overwrites, plan.mini_batch),
            plan,
        }))
    }

    fn migration(&self, restored: &StateDescriptor, declared: &StateDescriptor) -> Result<Migration> {
        RankPlan::check_basis(restored, declared)?;
        let types = self.row_schema.types();
        let older = |known: &usize| self.value_schema_of(*known) + &self.kept_text() == restored.value_schema;
        let known = (1..types.len()).find(older).filter(|_| !self.plan.retracts);
        let Some(known) = known.filter(|known| types[*known..].iter().all(|ty| ty.nullable)) else {
            let (was, is) = (&restored.value_schema, &declared.value_schema);
            return Err(Error::incompatible(format!("the rows were `{was}` and are now `{is}`"))
                .with(Context::State, ROWS)
                .hint("columns can only be added behind the others, where rows only come and the limit stays"));
        };
        let new = &self.plan.input.fields()[self.plan.key_columns + known..];
        let changes = new.iter().map(|field| format!("`{}` is new: NULL in the rows there are", field.name()));
        Ok(Migration { changes: changes.collect(), conversion: Arc::new(MoreColumns(types.len() - known)) })
    }
}

/// So many columns come behind those of a row, which is the end of an entry's key.
#[derive(Debug)]
struct MoreColumns(usize);

impl EntryConversion for MoreColumns {
    fn convert(&self, entry: Entry<'_>, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<()> {
        key.extend_from_slice(entry.key);
        (0..self.0).for_each(|_| put_null(key));
        value.extend_from_slice(entry.value);
        Ok(())
    }
}

/// The operator on a worker.
#[derive(Debug)]
struct TopRows {
    plan: Arc<RankPlan>,
    state: StateId,
    max_parallelism: MaxParallelism,
    sort_keys: SortKeys,
    row_encoder: KeyEncoder,
    row_schema: KeySchema,
    grouping: Grouping,
    writes: WriteBatch,
    changelog: ChangelogOutput,
}

/// A row as a group has it: its sort key and its columns, with where the former ends.
type RankedRow = (Vec<u8>, usize);

/// A group's rows.
#[derive(Debug, Default)]
struct Group {
    /// What the batch does to the counts of rows.
    changes: BTreeMap<Vec<u8>, (i64, usize)>,
    /// The first rows before the batch, with their counts.
    stored: BTreeMap<Vec<u8>, (u64, usize)>,
    /// Whether those are all.
    is_complete: bool,
}

impl Group {
    /// How many rows have to be known: enough for the first ones when the batch's are taken back.
    fn rows_wanted(&self, limit: usize) -> u64 {
        let taken = self.changes.values().map(|(change, _)| change.min(&0).unsigned_abs()).sum::<u64>();
        taken.saturating_add(limit as u64)
    }

    /// Whether the stored rows tell the count of a row.
    fn knows(&self, row: &[u8]) -> bool {
        self.is_complete || self.stored.last_key_value().is_some_and(|(last, _)| row <= last.as_slice())
    }
}

impl KeyedOperator for TopRows {
    fn process(&mut self, _input: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if batch.changes.is_empty() {
            return Ok(Progress::Done);
        }
        self.apply(batch, cx).map_err(|error| error.with(Context::State, ROWS))?;
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

impl TopRows {
    fn apply(&mut self, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<()> {
        // Scans go through the keys in ascending order.
        self.grouping.group(batch.changes.num_rows(), |row| batch.keys.get(row), true);
        let mut groups = self.changes(&batch.changes)?;
        self.scan(&mut groups, &mut *cx.state, cx.processing_time_ms)?;
        let further = self.read_further(&groups, &mut *cx.state, cx.processing_time_ms)?;
        let mut rows = Emitted::default();
        let mut lost = 0;
        let stamp_ms = self.plan.ttl.map(|ttl| ttl.stamp_ms(cx.processing_time_ms, None));
        self.writes.clear();
        for (index, group) in groups.iter().enumerate() {
            let after = self.settle(index, group, &further, stamp_ms, &mut lost);
            let before = first_places(&group.stored, self.plan.limit);
            self.compare(index, &before, &after, &mut rows);
        }
        cx.counters.add(WITHOUT_STATE, lost);
        if !self.writes.is_empty() {
            cx.state.write(&mut self.writes)?;
        }
        self.buffer_changes(&batch.changes, rows, cx.processing_time_ms)
    }

    /// The batch's changes by group and row.
    fn changes(&self, changes: &ChangeBatch) -> Result<Vec<Group>> {
        let sort_keys = self.sort_keys.of_batch(changes)?;
        let values = self.row_encoder.encode(changes)?;
        let mut groups: Vec<Group> = Vec::new();
        groups.resize_with(self.grouping.len(), Group::default);
        for (row, group) in self.grouping.groups().iter().enumerate() {
            let sort_key = sort_keys.get(row);
            let place = [sort_key, &values.get(row)[self.max_parallelism.prefix_len()..]].concat();
            let sign = if changes.kind(row).is_retraction() { -1 } else { 1 };
            groups[*group as usize].changes.entry(place).or_insert((0, sort_key.len())).0 += sign;
        }
        Ok(groups)
    }

    /// Scans the first rows of the groups.
    fn scan(&self, groups: &mut [Group], state: &mut dyn KeyedStateBackend, now_ms: i64) -> Result<()> {
        let keys = self.grouping.keys();
        let ranges: Vec<ScanRange<'_>> = keys.iter().map(ScanRange::prefix).collect();
        let wanted: Vec<u64> = groups.iter().map(|group| group.rows_wanted(self.plan.limit)).collect();
        let mut known = vec![0u64; groups.len()];
        groups.iter_mut().for_each(|group| group.is_complete = true);
        state.scan_many(self.state, &ranges, &mut |index, entry| {
            let Some((count, sort_len)) = self.value(entry.value, now_ms)? else {
                return Ok(ControlFlow::Continue(()));
            };
            let place = entry.key[keys.get(index).len()..].to_vec();
            groups[index].stored.insert(place, (count, sort_len));
            known[index] = known[index].saturating_add(count);
            if known[index] >= wanted[index] {
                groups[index].is_complete = false;
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The counts of changed rows beyond those that were scanned.
    fn read_further(
        &self,
        groups: &[Group],
        state: &mut dyn KeyedStateBackend,
        now_ms: i64,
    ) -> Result<BTreeMap<(usize, Vec<u8>), u64>> {
        let mut further = BTreeMap::new();
        if !self.plan.retracts {
            return Ok(further);
        }
        let mut places = Vec::new();
        let mut keys = KeyBatch::new();
        for (index, group) in groups.iter().enumerate() {
            for place in group.changes.keys().filter(|place| !group.knows(place)) {
                keys.push_with(|out| {
                    out.extend_from_slice(self.grouping.keys().get(index));
                    out.extend_from_slice(place);
                });
                places.push((index, place.clone()));
            }
        }
        state.read_many(self.state, &keys, &mut |at, stored| {
            let Some(stored) = stored else { return Ok(()) };
            if let Some((count, _)) = self.value(stored, now_ms)? {
                further.insert(places[at].clone(), count);
            }
            Ok(())
        })?;
        Ok(further)
    }

    /// Writes a group's changes and gives its first rows after them.
    fn settle(
        &mut self,
        index: usize,
        group: &Group,
        further: &BTreeMap<(usize, Vec<u8>), u64>,
        stamp_ms: Option<i64>,
        lost: &mut u64,
    ) -> Vec<RankedRow> {
        let mut rows = group.stored.clone();
        let mut changed: BTreeMap<&[u8], u64> = BTreeMap::new();
        for (place, (change, sort_len)) in &group.changes {
            if *change == 0 {
                continue;
            }
            let is_known = group.knows(place);
            if !is_known && !self.plan.retracts {
                // Behind the first rows, and no row before it will ever go.
                continue;
            }
            let before = match is_known {
                true => group.stored.get(place).map_or(0, |(count, _)| *count),
                false => further.get(&(index, place.clone())).copied().unwrap_or(0),
            };
            *lost += change.min(&0).unsigned_abs().saturating_sub(before);
            let after = before.saturating_add_signed(*change);
            changed.insert(place, before);
            if is_known {
                rows.insert(place.clone(), (after, *sort_len));
            } else {
                self.write(index, place, before, after, *sort_len, stamp_ms);
            }
        }
        let first = first_places(&rows, self.plan.limit);
        let mut left = self.plan.limit as u64;
        for (place, (count, sort_len)) in &rows {
            let kept = if self.plan.retracts { *count } else { left.min(*count) };
            left -= left.min(*count);
            let before = group.stored.get(place).map_or(0, |(count, _)| *count);
            let before = changed.get(place.as_slice()).copied().unwrap_or(before);
            self.write(index, place, before, kept, *sort_len, stamp_ms);
        }
        first
    }

    fn write(&mut self, group: usize, place: &[u8], before: u64, after: u64, sort_len: usize, stamp_ms: Option<i64>) {
        if before == after {
            return;
        }
        let key = [self.grouping.keys().get(group), place].concat();
        if after == 0 {
            self.writes.delete(self.state, &key);
            return;
        }
        self.writes.put_with(self.state, &key, |out| {
            ttl::seal(stamp_ms, out);
            out.push(VERSION);
            put_u64(after, out);
            put_u64(sort_len as u64, out);
        });
    }

    /// An entry's count and the length of its sort key; `None` when it has expired.
    fn value(&self, stored: &[u8], now_ms: i64) -> Result<Option<(u64, usize)>> {
        let Some(value) = ttl::visible(self.plan.ttl.as_ref(), stored, now_ms)? else { return Ok(None) };
        let numbers = value.strip_prefix(&[VERSION]).and_then(|rest| rest.split_first_chunk::<8>());
        let numbers = numbers.and_then(|(count, rest)| Some((*count, <[u8; 8]>::try_from(rest).ok()?)));
        let (count, sort_len) = numbers.ok_or_else(|| Error::corrupt("a row has no count that this release knows"))?;
        Ok(Some((u64::from_be_bytes(count), u64::from_be_bytes(sort_len) as usize)))
    }

    /// Notes how a group's first rows have changed.
    fn compare(&self, group: usize, before: &[RankedRow], after: &[RankedRow], rows: &mut Emitted) {
        if self.plan.numbered {
            for number in 0..before.len().max(after.len()) {
                let (old, new) = (before.get(number), after.get(number));
                if old.map(|(place, _)| place) != new.map(|(place, _)| place) {
                    let old = old.map(|place| rows.row(group, place, number));
                    let new = new.map(|place| rows.row(group, place, number));
                    let key = [self.grouping.keys().get(group), &(number as u64).to_be_bytes()].concat();
                    rows.changes.push((key, old, new));
                }
            }
            return;
        }
        let (old, new) = (counted(before), counted(after));
        let count =
            |of: &BTreeMap<&[u8], (u64, &RankedRow)>, place: &[u8]| of.get(place).map_or(0, |(count, _)| *count);
        let mut change = |place: &RankedRow, number: u64, leaves: bool| {
            let row = rows.row(group, place, 0);
            let key = [self.grouping.keys().get(group), &place.0, &number.to_be_bytes()].concat();
            rows.changes.push(if leaves { (key, Some(row), None) } else { (key, None, Some(row)) });
        };
        for (place, (count_before, row)) in &old {
            (count(&new, place)..*count_before).for_each(|number| change(row, number, true));
        }
        for (place, (count_after, row)) in &new {
            (count(&old, place)..*count_after).for_each(|number| change(row, number, false));
        }
    }

    /// Turns rows into columns and buffers their changes.
    fn buffer_changes(&mut self, changes: &ChangeBatch, rows: Emitted, now_ms: i64) -> Result<()> {
        let first_rows = self.grouping.first_rows();
        let of_keys: UInt32Array = rows.groups.iter().map(|group| first_rows[*group]).collect::<Vec<_>>().into();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.plan.output.fields().len());
        for column in &changes.rows().columns()[..self.plan.key_columns] {
            columns.push(arrow_select::take::take(column, &of_keys, None).map_err(arrow_error)?);
        }
        let decoded = rows.places.iter().map(|place| self.row_schema.decode(place)).collect::<Result<Vec<_>>>()?;
        for (index, column) in changes.rows().columns()[self.plan.key_columns..].iter().enumerate() {
            let values: Vec<Datum> = decoded.iter().map(|row| row[index].clone()).collect();
            columns.push(column_of(column.data_type(), &values)?);
        }
        if self.plan.numbered {
            columns.push(Arc::new(rows.numbers.iter().map(|number| *number as i64 + 1).collect::<Int64Array>()));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.groups.len()));
        let batch =
            RecordBatch::try_new_with_options(Arc::clone(&self.plan.output), columns, &options).map_err(arrow_error)?;
        let batch = self.changelog.buffer.add_rows(batch);
        let pick = |row: Option<usize>| -> Option<Pick> { row.map(|row| (batch, row)) };
        for (key, old, new) in &rows.changes {
            self.changelog.buffer.change(key, pick(*old), pick(*new));
        }
        self.changelog.buffer.count(changes.num_rows(), now_ms);
        Ok(())
    }
}

/// The rows that changes refer to.
#[derive(Debug, Default)]
struct Emitted {
    groups: Vec<usize>,
    places: Vec<Vec<u8>>,
    numbers: Vec<usize>,
    /// What changes, with the row before and the row after.
    changes: Vec<(Vec<u8>, Option<usize>, Option<usize>)>,
}

impl Emitted {
    fn row(&mut self, group: usize, (place, sort_len): &RankedRow, number: usize) -> usize {
        self.groups.push(group);
        self.places.push(place[*sort_len..].to_vec());
        self.numbers.push(number);
        self.groups.len() - 1
    }
}

/// The first rows, each as often as it is there.
fn first_places(rows: &BTreeMap<Vec<u8>, (u64, usize)>, limit: usize) -> Vec<RankedRow> {
    let each = rows.iter().flat_map(|(place, (count, sort_len))| {
        let times = usize::try_from(*count).unwrap_or(usize::MAX).min(limit);
        std::iter::repeat_n((place.clone(), *sort_len), times)
    });
    each.take(limit).collect()
}

/// How often each row is there.
fn counted(places: &[RankedRow]) -> BTreeMap<&[u8], (u64, &RankedRow)> {
    let mut counts = BTreeMap::new();
    for place in places {
        counts.entry(place.0.as_slice()).or_insert((0, place)).0 += 1;
    }
    counts
}
