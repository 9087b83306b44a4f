//! A join of rows that lie in a span of event time around each other.
//!
//! A row is kept until event time, the least of both inputs, has passed the latest time that a row of the other side
//! may have to match it. It lies in a *bucket* of event time about as long as the span, so a row looks into two of
//! them, and a bucket goes as a whole: no timers, no expiry of single rows.
//!
//! A row is late if its time is before the watermark that its split had before it; in a join of windows, if its
//! window's last millisecond is not beyond it. Late rows are counted and dropped. Every row that is not late finds all
//! earlier rows that were not late either, whatever the order in which the inputs arrive: event time never passes a
//! watermark before all rows in front of it have been joined.
//!
//! Rows without a match are given when their bucket goes.

use super::buckets::{Bucket, Buckets};
use super::deltas::{Deltas, sorted};
use super::emission::{Columns, Emission};
use super::plan::{Alone, JoinPlan};
use super::regular::{SEQUENCE, restored_sequence};
use super::rows::{Kept, SideRows, any_null, number_columns, push_row};
use super::stored::Stored;
use super::times::{IntervalSpec, bucket_start};
use super::work::{Buffers, Join, Work};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use headpond_runtime::KeyedBatch;
use headpond_runtime::operator::{
    Counters, KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress,
};
use headpond_state::encoding::{EntryKeys, put_i64};
use headpond_state::{Error, KeyGroup, Migration, Result, StateDescriptor};
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;

/// Makes the operator of each worker.
#[derive(Debug)]
pub(crate) struct IntervalJoinFactory {
    plan: Arc<JoinPlan>,
    spec: IntervalSpec,
}

impl IntervalJoinFactory {
    /// A factory of operators that follow `plan` for the times of `spec`.
    pub(crate) fn new(plan: JoinPlan, spec: IntervalSpec) -> Self {
        IntervalJoinFactory { plan: Arc::new(plan), spec }
    }

    /// For `EXPLAIN`: what a side keeps.
    ///
    /// # Errors
    /// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a column that state cannot hold.
    pub(crate) fn described(&self, side: usize) -> Result<String> {
        Ok(SideRows::new(&self.plan, side, Some(self.spec.bucket_ms()))?.described())
    }
}

impl KeyedOperatorFactory for IntervalJoinFactory {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let (plan, spec) = (&self.plan, &self.spec);
        let bucket_ms = spec.bucket_ms();
        let mut side = |side| Stored::register(setup.state, plan, side, SideRows::new(plan, side, Some(bucket_ms))?);
        let sides = [side(0)?, side(1)?];
        let mut buckets = |side: usize| {
            let last_ms = spec.keep_ms(side).saturating_add(bucket_ms - 1);
            Buckets::restored(setup.state, sides[side].state, last_ms)
        };
        Ok(Box::new(IntervalJoin {
            buckets: [buckets(0)?, buckets(1)?],
            entries: EntryKeys::new(setup.max_parallelism),
            ranges_are_cheap: setup.capabilities.range_deletes_are_cheap,
            sequence: restored_sequence(setup.restored),
            sides,
            spec: spec.clone(),
            stage: Stage::Pairs,
            work: None,
            closing: None,
            buffers: Buffers::default(),
            places: Vec::new(),
            key_groups: Vec::new(),
            plan: Arc::clone(plan),
        }))
    }

    fn migration(&self, restored: &StateDescriptor, declared: &StateDescriptor) -> Result<Migration> {
        let side = |side| SideRows::new(&self.plan, side, Some(self.spec.bucket_ms()));
        SideRows::migration(&[side(0)?, side(1)?], restored, declared)
    }
}

/// The operator on a worker.
#[derive(Debug)]
struct IntervalJoin {
    plan: Arc<JoinPlan>,
    spec: IntervalSpec,
    sides: [Stored; 2],
    buckets: [Buckets; 2],
    entries: EntryKeys,
    /// Whether the deletion of a range costs no more than its entries do.
    ranges_are_cheap: bool,
    /// A number that no row has yet.
    sequence: u64,
    work: Option<Work>,
    stage: Stage,
    closing: Option<Closing>,
    buffers: Buffers,
    /// Where a bucket begins, and a row for it.
    places: Vec<(i64, u32)>,
    /// The key groups of the batch's rows that have a key, with the indices of these rows.
    key_groups: Vec<(KeyGroup, Range<u32>)>,
}

/// What is next for the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Pairs.
    Pairs,
    /// Rows of its own are given alone where they have to be at once.
    Alone,
    /// Its rows are kept.
    Keep,
}

/// Buckets that go.
#[derive(Debug)]
struct Closing {
    side: usize,
    due: Vec<Bucket>,
    /// Their rows without a match.
    emission: Emission,
}

impl KeyedOperator for IntervalJoin {
    fn process(&mut self, input: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if !batch.changes.is_insert_only() {
            return Err(Error::internal("an interval join got rows that may be taken back"));
        }
        let deltas = self.in_time(input, batch, cx);
        self.find_key_groups(batch, &deltas);
        self.locate(input, batch, &deltas);
        self.work = Some(Work::new(input, batch.clone(), deltas, cx.processing_time_ms));
        self.stage = Stage::Pairs;
        self.resume(cx)
    }

    fn resume(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if let Some(mut work) = self.work.take() {
            let progress = self.run(&mut work, cx)?;
            if progress == Progress::More {
                self.work = Some(work);
            }
            return Ok(progress);
        }
        self.close(cx)
    }

    fn advance(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        self.begin_closing(0, cx.event_time_ms);
        self.close(cx)
    }

    fn output_watermark_ms(&self, event_time_ms: i64) -> i64 {
        if event_time_ms == i64::MAX {
            return event_time_ms;
        }
        // A row that comes matches rows that are so much older; one without a match is given when its bucket goes.
        let behind_ms = self.spec.keep_ms(0).max(self.spec.keep_ms(1)).max(0);
        let alone = (0..2).any(|side| self.plan.kind.gives_alone(side) == Some(Alone::WithoutMatch));
        let bucket_ms = if alone { self.spec.bucket_ms() } else { 0 };
        event_time_ms.saturating_sub(behind_ms).saturating_sub(bucket_ms)
    }

    fn details(&self) -> Value {
        json!({ SEQUENCE: self.sequence })
    }
}

impl IntervalJoin {
    /// The rows that are not late and have a time and a key, in the order of their keys; behind them those that can
    /// have no match and are given alone.
    fn in_time(&self, side: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Deltas {
        let rows = batch.changes.rows();
        let times = self.spec.times[side].of(rows);
        let watermarks =
            self.spec.row_watermarks[side].map(|column| rows.column(column).as_primitive::<Int64Type>().values());
        let nulls = any_null(rows, &self.plan.sides[side].key_without_null);
        let mut in_time = Vec::with_capacity(rows.num_rows());
        let mut without_match = Vec::new();
        let mut late = 0;
        for row in 0..rows.num_rows() {
            let watermark_ms = watermarks.map_or(cx.event_time_ms, |watermarks| watermarks[row]);
            if times.values.is_null(row) {
                without_match.push(row as u32);
            } else if self.spec.is_late(times.value(row), watermark_ms) {
                late += 1;
            } else if nulls.as_ref().is_some_and(|nulls| nulls[row]) {
                without_match.push(row as u32);
            } else {
                in_time.push(row as u32);
            }
        }
        cx.counters.add(Counters::LATE_ROWS, late);
        let in_time = sorted(in_time.into_iter(), |row| batch.keys.get(row as usize));
        Deltas::of_rows(&in_time, &without_match)
    }

    /// Finds the batch's key groups with the indices of their rows.
    fn find_key_groups(&mut self, batch: &KeyedBatch, deltas: &Deltas) {
        self.key_groups.clear();
        for (index, delta) in deltas.keyed_deltas().iter().enumerate() {
            let key_group = batch.keys.key_group(delta.row as usize);
            match self.key_groups.last_mut() {
                Some((last, rows)) if *last == key_group => rows.end = index as u32 + 1,
                _ => self.key_groups.push((key_group, index as u32..index as u32 + 1)),
            }
        }
    }

    /// Tells the probe where the rows' matches may be.
    fn locate(&mut self, side: usize, batch: &KeyedBatch, deltas: &Deltas) {
        let times = self.spec.times[side].of(batch.changes.rows());
        let bucket_ms = self.spec.bucket_ms();
        let matching = |index: u32| self.spec.matching(side, times.value(deltas.deltas[index as usize].row as usize));
        let IntervalJoin { buffers: Buffers { probe, .. }, buckets, entries, places, key_groups, .. } = self;
        probe.clear();
        let mut prefix = Vec::new();
        for (key_group, rows) in key_groups.iter() {
            let key_group = *key_group;
            places.clear();
            for index in rows.clone() {
                let (first_ms, last_ms) = matching(index);
                let starts = buckets[1 - side].between(key_group, bucket_start(first_ms, bucket_ms), last_ms);
                places.extend(starts.iter().map(|start_ms| (*start_ms, index)));
            }
            sort_by_bucket(places);
            for (start_ms, index) in places.drain(..) {
                let row = deltas.deltas[index as usize].row as usize;
                prefix.clear();
                let key = &batch.keys.get(row)[batch.keys.max_parallelism().prefix_len()..];
                entries.timed(key_group, start_ms, key, &[], &mut prefix);
                probe.push_times(&prefix, matching(index), (index, index + 1));
            }
        }
    }

    fn run(&mut self, work: &mut Work, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        let plan = Arc::clone(&self.plan);
        loop {
            let join = Join { plan: &plan, other: &self.sides[1 - work.side], timed: true, changing: false };
            if work.give(join, &self.buffers.candidates, cx.output)? == Progress::More {
                return Ok(Progress::More);
            }
            self.stage = match self.stage {
                Stage::Pairs => match work.pairs(join, &mut self.buffers, cx)? {
                    Progress::More => return Ok(Progress::More),
                    Progress::Done => Stage::Alone,
                },
                Stage::Alone => {
                    self.give_alone(work, cx.event_time_ms);
                    Stage::Keep
                }
                Stage::Keep => {
                    self.keep(work, cx)?;
                    return Ok(Progress::Done);
                }
            };
        }
    }

    /// Gives the batch's rows alone that have a match, or will never have one.
    fn give_alone(&self, work: &mut Work, event_time_ms: i64) {
        let times = self.spec.times[work.side].of(work.batch.changes.rows());
        let keyed = work.deltas.keyed();
        let keep_ms = self.spec.keep_ms(work.side);
        for (index, delta) in work.deltas.deltas.iter().enumerate() {
            let is_final = match self.plan.kind.gives_alone(work.side) {
                None => return,
                Some(Alone::WithMatch) => true,
                Some(Alone::WithoutMatch) => {
                    index >= keyed || !is_kept(times.value(delta.row as usize), keep_ms, event_time_ms)
                }
            };
            if is_final && work.is_given_alone(&self.plan, delta.matches) {
                work.emission.own(delta.row, 1);
            }
        }
    }

    /// Writes the batch's rows to their side.
    fn keep(&mut self, work: &Work, cx: &mut OperatorContext<'_>) -> Result<()> {
        let Work { side, batch, .. } = work;
        let times = self.spec.times[*side].of(batch.changes.rows());
        let bucket_ms = self.spec.bucket_ms();
        let Stored { state, rows, .. } = &self.sides[*side];
        let keep_ms = self.spec.keep_ms(*side);
        let IntervalJoin {
            buffers: Buffers { writes, scratch, numbers, .. },
            buckets,
            entries,
            places,
            sequence,
            key_groups,
            ..
        } = self;
        let mut entry = Vec::new();
        let number_columns = number_columns(batch.changes.rows(), rows);
        writes.clear();
        for (key_group, indices) in key_groups.iter() {
            let key_group = *key_group;
            places.clear();
            places.extend(indices.clone().filter_map(|index| {
                let time_ms = times.value(work.deltas.deltas[index as usize].row as usize);
                is_kept(time_ms, keep_ms, cx.event_time_ms).then(|| (bucket_start(time_ms, bucket_ms), index))
            }));
            sort_by_bucket(places);
            for (start_ms, index) in places.drain(..) {
                let delta = &work.deltas.deltas[index as usize];
                let row = delta.row as usize;
                buckets[*side].insert(Bucket { key_group, start_ms });
                entry.clear();
                let key = &batch.keys.get(row)[batch.keys.max_parallelism().prefix_len()..];
                entries.timed(key_group, start_ms, key, &[], &mut entry);
                put_i64(times.value(row), &mut entry);
                entry.extend_from_slice(&sequence.to_be_bytes());
                *sequence += 1;
                let kept = Kept { copies: 1, matches: delta.matches.min(1) };
                let mut result = Ok(());
                writes.put_with(*state, &entry, |out| {
                    if let Some(columns) = &number_columns
                        && rows.put_numbers(
                            kept,
                            work.now_ms,
                            numbers,
                            columns.iter().map(|column| column.get(row)),
                            out,
                        )
                    {
                        return;
                    }
                    let columns = |datums: &mut Vec<_>| push_row(batch.changes.rows(), rows.columns, row, datums);
                    result = rows.put(kept, work.now_ms, scratch, columns, out);
                });
                result?;
            }
        }
        cx.state.write(writes)
    }

    /// Finds the buckets of sides from `side` on that event time has passed.
    fn begin_closing(&mut self, side: usize, event_time_ms: i64) {
        for side in side..2 {
            let due = self.buckets[side].due(event_time_ms);
            if due.is_empty() {
                continue;
            }
            let probe = &mut self.buffers.probe;
            probe.clear();
            if self.plan.kind.gives_alone(side) == Some(Alone::WithoutMatch) {
                let mut prefix = Vec::new();
                for bucket in &due {
                    prefix.clear();
                    self.entries.timer_bound(bucket.key_group, bucket.start_ms, &mut prefix);
                    probe.push(&prefix, (0, 0));
                }
            }
            self.closing = Some(Closing { side, due, emission: Emission::default() });
            return;
        }
    }

    /// Gives the rows without a match of buckets that event time has passed, and drops the buckets.
    fn close(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        let plan = Arc::clone(&self.plan);
        while let Some(mut closing) = self.closing.take() {
            let stored = &self.sides[closing.side];
            let Buffers { probe, candidates, .. } = &mut self.buffers;
            let columns = Columns { side: 1 - closing.side, own: &[], other: &candidates.columns };
            if closing.emission.give(&plan, false, columns, cx.output)? == Progress::More {
                self.closing = Some(closing);
                return Ok(Progress::More);
            }
            if probe.read(cx.state, stored, cx.processing_time_ms, candidates)? {
                for (entry, kept) in candidates.kept.iter().enumerate().filter(|(_, kept)| kept.matches == 0) {
                    closing.emission.other(entry as u32, kept.copies);
                }
                self.closing = Some(closing);
                continue;
            }
            let buckets = &mut self.buckets[closing.side];
            buckets.drop(cx.state, stored.state, &closing.due, self.ranges_are_cheap, &mut self.buffers.writes)?;
            self.begin_closing(closing.side + 1, cx.event_time_ms);
        }
        Ok(Progress::Done)
    }
}

/// Sorts rows, which are in the order of their keys, by their buckets: as a rule they lie in very few.
fn sort_by_bucket(places: &mut Vec<(i64, u32)>) {
    const FEW: usize = 8;
    let mut starts: Vec<i64> = Vec::with_capacity(FEW);
    for (start_ms, _) in places.iter() {
        if starts.last() != Some(start_ms) && !starts.contains(start_ms) {
            if starts.len() == FEW {
                places.sort_unstable();
                return;
            }
            starts.push(*start_ms);
        }
    }
    if starts.len() > 1 {
        starts.sort_unstable();
        let mut sorted = Vec::with_capacity(places.len());
        for of_bucket in starts {
            for place in places.iter() {
                if place.0 == of_bucket {
                    sorted.push(*place);
                }
            }
        }
        *places = sorted;
    }
}

/// Whether a row that is not late may still come for a row of that time.
#[inline]
fn is_kept(time_ms: i64, keep_ms: i64, event_time_ms: i64) -> bool {
    time_ms.saturating_add(keep_ms) > event_time_ms
}
