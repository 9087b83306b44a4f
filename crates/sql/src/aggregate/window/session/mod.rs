//! Sessions: windows that grow with their rows and end a gap after the last one.
//!
//! A key's open sessions are in one value ([`value`]), so that a batch costs one read and one write for each of its
//! keys. Rows are taken in their order: each joins the sessions that it touches, and accumulators are folded and merged
//! for the whole batch afterwards ([`open`]). Beyond [`SESSIONS_PER_VALUE`] open sessions of a key, the oldest are kept
//! one by one ([`older`]).
//!
//! *When a session is over.* A row at `t` touches a session if it lies between a gap before its first row and a gap
//! after its last one, both inclusive: rows exactly one gap apart belong together. A session that ends at `e`, a gap
//! after its last row, is therefore over when the watermark reaches `e`, and not a millisecond before: no row that is
//! ahead of its watermark can touch it any more. So the sessions of all such rows are the same, however the rows are
//! ordered. A row behind its watermark joins sessions that were not over for its watermark, or begins one that is not
//! over yet; else it is late. Whether operators have given a session already plays no part in that.
//!
//! *Timers.* A key has one live timer, at the first of its sessions' ends as it was when the timer was set. When it is
//! due, what is over is given, and the next one is set. So a session that grows row by row sets a timer once in a gap
//! and not for each row.

mod older;
mod open;
mod value;

use super::row_times::{RowTimes, WITHOUT_TIME};
use super::rows::ClosedWindows;
use super::spec::{WINDOWS_PER_PASS, WindowSpec, timers_descriptor};
use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::columns::WINDOW;
use crate::aggregate::group::{ACCUMULATORS, give_slices, overflow_error};
use crate::aggregate::grouping::Grouping;
use crate::aggregate::layout::AggregatePlan;
use crate::aggregate::overflow::Overflow;
use arrow_array::UInt32Array;
use headpond_runtime::KeyedBatch;
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::operator::{Counters, KeyedOperator, OperatorContext, OperatorSetup, Progress};
use headpond_state::backend::KeyBatch;
use headpond_state::encoding::{EntryKeys, NO_NAMESPACE};
use headpond_state::schema::RowSchema;
use headpond_state::typed::{DueTimer, KeyContext, TimerCursor, Timers};
use headpond_state::{
    Context, Error, KeyedStateBackend, MaxParallelism, Result, StateDescriptor, StateId, StateKind, WriteBatch,
};
use older::{OLDER_SESSIONS, OlderSessions, TIMES, Wanted, times_of};
use open::{OpenSessions, Origin};
use std::sync::Arc;
use value::{KeyTimes, SessionCodec, ValueBuffer};

/// How many of a key's sessions are in its value.
const SESSIONS_PER_VALUE: usize = 16;

/// The operator on a worker.
#[derive(Debug)]
pub(super) struct Sessions {
    plan: Arc<AggregatePlan>,
    spec: WindowSpec,
    gap_ms: i64,
    state: StateId,
    older: OlderSessions,
    timers: Timers,
    codec: SessionCodec,
    sorted: bool,
    max_parallelism: MaxParallelism,
    grouping: Grouping,
    open: OpenSessions,
    /// The accumulators of the open sessions.
    accumulators: Accumulators,
    /// The rows that are not late.
    rows: Vec<u32>,
    /// The sessions of these rows.
    of_rows: Vec<u32>,
    keys: KeyBatch,
    writes: WriteBatch,
    buffer: ValueBuffer,
    /// A time before which no timer is due.
    earliest_ms: i64,
    /// Where the closing of sessions goes on, while it lasts.
    closing: Option<TimerCursor>,
    /// The sessions that are being closed.
    closed: ClosedWindows,
    /// What is computed and not yet given.
    pending: Option<ChangeBatch>,
}

/// The states of sessions, with the schemas of their values.
pub(super) fn states(plan: &AggregatePlan) -> Vec<(&'static str, RowSchema)> {
    vec![(ACCUMULATORS, value::schema(&plan.layout)), (OLDER_SESSIONS, plan.layout.schema.clone())]
}

impl Sessions {
    /// Opens the operator of one worker.
    pub(super) fn open(
        plan: Arc<AggregatePlan>,
        spec: WindowSpec,
        gap_ms: i64,
        setup: OperatorSetup<'_>,
    ) -> Result<Self> {
        let codec = SessionCodec::new(&plan.layout, plan.format);
        let descriptor = StateDescriptor::new(ACCUMULATORS, StateKind::Aggregating, codec.codec().codec_id())
            .with_key_schema(plan.key_schema.to_string())
            .with_value_schema(codec.codec().schema().to_string())
            .with_columns(plan.accumulators_shown(&WINDOW)?);
        let state = setup.state.register(&descriptor)?;
        let timers = timers_descriptor(&plan, &TIMES);
        let mut timers = Timers::register(setup.state, &timers)?;
        let earliest = timers.earliest(setup.state)?;
        Ok(Sessions {
            older: OlderSessions::register(&plan, setup.state)?,
            sorted: setup.capabilities.sorted_keys_are_cheaper,
            max_parallelism: setup.max_parallelism,
            grouping: Grouping::default(),
            open: OpenSessions::default(),
            accumulators: Accumulators::new(&plan.layout),
            rows: Vec::new(),
            of_rows: Vec::new(),
            keys: KeyBatch::new(),
            writes: WriteBatch::new(),
            buffer: ValueBuffer::default(),
            earliest_ms: earliest.unwrap_or(i64::MAX),
            closing: None,
            closed: ClosedWindows::new(&plan),
            pending: None,
            plan,
            spec,
            gap_ms,
            state,
            timers,
            codec,
        })
    }

    fn fold(&mut self, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<()> {
        if batch.changes.is_empty() {
            return Ok(());
        }
        self.grouping.group(batch.changes.num_rows(), |row| batch.keys.get(row), self.sorted);
        self.load(cx.state)?;
        let times = RowTimes::new(&self.spec, batch.changes.rows(), cx);
        self.load_older(&times, batch.changes.num_rows(), cx.state)?;
        let late = self.place(&times, batch.changes.num_rows(), cx.counters);
        self.spec.give_late(late, &batch.changes, cx)?;
        if self.rows.is_empty() {
            return Ok(());
        }
        let changes = match self.rows.len() == batch.changes.num_rows() {
            true => batch.changes.clone(),
            false => batch.changes.take(&UInt32Array::from(self.rows.clone()))?,
        };
        let overflow = |key: usize| {
            let key = self.grouping.keys().get(key);
            overflow_error(&self.plan, &key[self.max_parallelism.prefix_len()..])
        };
        let folded = self.accumulators.fold(&self.plan.layout, &changes, &self.of_rows, None);
        folded.map_err(|Overflow { row }| overflow(self.open.get(self.of_rows[row]).key as usize))?;
        let merged = self.accumulators.merge_within(&self.open.merged);
        merged.map_err(|Overflow { row }| overflow(self.open.get(self.open.merged[row].0).key as usize))?;
        let passed_ms = if self.spec.is_event_time() { cx.event_time_ms } else { i64::MIN };
        self.store(passed_ms, cx.state)
    }

    /// Reads the values of the batch's keys.
    fn load(&mut self, state: &mut dyn KeyedStateBackend) -> Result<()> {
        let Sessions { accumulators, codec, buffer, open, grouping, .. } = self;
        accumulators.clear();
        open.clear();
        let read = state.read_many(self.state, grouping.keys(), &mut |key, stored| {
            open.push_key();
            let Some(stored) = stored else { return Ok(()) };
            open.keys[key].times = codec.read(stored, buffer, |_, start_ms, end_ms, stored| {
                open.push(key as u32, start_ms, end_ms, Origin::Value);
                stored.push_to(accumulators)
            })?;
            Ok(())
        });
        read.map_err(|error| error.with(Context::State, ACCUMULATORS))
    }

    /// Reads the older sessions that rows may touch.
    fn load_older(&mut self, times: &RowTimes<'_>, rows: usize, state: &mut dyn KeyedStateBackend) -> Result<()> {
        if self.open.keys.iter().all(|key| key.times.older_until_ms.is_none()) {
            return Ok(());
        }
        let mut wanted = Vec::new();
        for row in 0..rows {
            let key = self.grouping.groups()[row];
            let until_ms = self.open.keys[key as usize].times.older_until_ms;
            let (Some(until_ms), Some(time_ms)) = (until_ms, times.time_ms(row)) else { continue };
            let from_ms = time_ms.max(times.watermark_ms(row).saturating_add(1));
            if from_ms <= until_ms {
                wanted.push(Wanted { key, from_ms, to_ms: time_ms.saturating_add(self.gap_ms) });
            }
        }
        self.older.load(wanted, self.grouping.keys(), &mut self.open, &mut self.accumulators, state)
    }

    /// Finds the sessions of the rows that are not late; gives those that are.
    fn place(&mut self, times: &RowTimes<'_>, rows: usize, counters: &mut Counters) -> Vec<u32> {
        self.rows.clear();
        self.of_rows.clear();
        let mut late = Vec::new();
        let mut without_time = 0;
        for row in 0..rows {
            let Some(time_ms) = times.time_ms(row) else {
                without_time += 1;
                continue;
            };
            let key = self.grouping.groups()[row];
            let watermark_ms = times.watermark_ms(row);
            match self.open.place(key, time_ms, self.gap_ms, watermark_ms, &mut self.accumulators) {
                Some(session) => {
                    self.rows.push(row as u32);
                    self.of_rows.push(session);
                }
                None => late.push(row as u32),
            }
        }
        if !self.open.merged.is_empty() {
            for session in &mut self.of_rows {
                *session = self.open.root(*session);
            }
        }
        counters.add(WITHOUT_TIME, without_time);
        late
    }

    /// Writes the keys that have changed. Older sessions that ended at `passed_ms` or before are over.
    fn store(&mut self, passed_ms: i64, state: &mut dyn KeyedStateBackend) -> Result<()> {
        let Sessions { open, older, grouping, accumulators, codec, buffer, timers, writes, max_parallelism, .. } = self;
        let prefix_len = max_parallelism.prefix_len();
        writes.clear();
        for session in open.merged_away() {
            if let Origin::Older { end_ms, start_ms } = session.origin {
                older.delete(grouping.keys().get(session.key as usize), end_ms, start_ms, writes);
            }
        }
        let mut kept: Vec<(i64, i64, usize)> = Vec::with_capacity(SESSIONS_PER_VALUE);
        for (index, key) in open.keys.iter().enumerate().filter(|(_, key)| key.is_changed) {
            let entry = grouping.keys().get(index);
            let mut times = key.times;
            times.older_until_ms = times.older_until_ms.filter(|until_ms| *until_ms > passed_ms);
            kept.clear();
            for (number, session) in open.of_key(index) {
                if let Origin::Older { end_ms, start_ms } = session.origin {
                    if !session.is_changed {
                        continue;
                    }
                    older.delete(entry, end_ms, start_ms, writes);
                }
                let (start_ms, end_ms) = (session.start_ms, session.end_ms);
                if kept.len() < SESSIONS_PER_VALUE {
                    kept.push((start_ms, end_ms, number as usize));
                    continue;
                }
                let accumulators = (&*accumulators, number as usize);
                older.put(entry, (start_ms, end_ms), accumulators, *max_parallelism, timers, writes)?;
                self.earliest_ms = self.earliest_ms.min(end_ms);
                times.older_until_ms = Some(times.older_until_ms.map_or(end_ms, |until_ms| until_ms.max(end_ms)));
            }
            if let Some((_, first_end_ms, _)) = kept.last()
                && times.timer_ms.is_none_or(|timer_ms| timer_ms > *first_end_ms)
            {
                times.timer_ms = Some(*first_end_ms);
                self.earliest_ms = self.earliest_ms.min(*first_end_ms);
                let key_group = max_parallelism.key_group_of_entry(entry);
                let context =
                    KeyContext { key_group, key: &entry[prefix_len..], namespace: NO_NAMESPACE, row_ms: None };
                timers.put(writes, context, *first_end_ms);
            }
            let mut result = Ok(());
            writes.put_with(self.state, entry, |out| {
                result = codec.write(times, kept.iter().copied(), accumulators, buffer, out);
            });
            result?;
        }
        state.write(writes)
    }

    /// Closes sessions that are over until there are none, or the output is full.
    fn close_sessions(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        let closing_ms = self.spec.closing_ms(cx);
        loop {
            if give_slices(&mut self.pending, cx.output) == Progress::More {
                return Ok(Progress::More);
            }
            let Some(mut cursor) = self.closing.take() else { return Ok(Progress::Done) };
            let mut due = Vec::new();
            let more = self.timers.due(cx.state, closing_ms, WINDOWS_PER_PASS, &mut cursor, &mut due)?;
            self.closed.clear();
            if !due.is_empty() {
                self.close(&due, closing_ms, cx.state)?;
                self.pending = self.closed.rows(&self.plan)?;
            }
            if more {
                self.closing = Some(cursor);
            } else {
                self.earliest_ms = self.timers.earliest(cx.state)?.unwrap_or(i64::MAX);
            }
        }
    }

    /// Takes sessions that are over out of the state.
    fn close(&mut self, due: &[DueTimer], closing_ms: i64, state: &mut dyn KeyedStateBackend) -> Result<()> {
        self.writes.clear();
        if self.sorted {
            due.iter().for_each(|timer| self.timers.delete(&mut self.writes, timer.context(), timer.time_ms));
        } else {
            self.timers.delete_fired(&mut self.writes, due);
        }
        let (of_keys, of_older): (Vec<&DueTimer>, Vec<&DueTimer>) =
            due.iter().partition(|timer| timer.namespace.is_empty());
        self.close_of_keys(&of_keys, closing_ms, state)?;
        self.close_older(&of_older, state)?;
        state.write(&mut self.writes)
    }

    fn close_of_keys(&mut self, due: &[&DueTimer], closing_ms: i64, state: &mut dyn KeyedStateBackend) -> Result<()> {
        self.locate(due);
        let Sessions { keys, codec, buffer, accumulators, closed, open, .. } = self;
        accumulators.clear();
        open.clear();
        let read = state.read_many(self.state, keys, &mut |key, stored| {
            open.push_key();
            let Some(stored) = stored else { return Ok(()) };
            // A timer that has been overtaken changes nothing: the one that overtook it does.
            let is_live = |times: KeyTimes| times.timer_ms == Some(due[key].time_ms);
            let times = codec.read(stored, buffer, |times, start_ms, end_ms, stored| {
                if !is_live(times) {
                    return Ok(());
                }
                if end_ms <= closing_ms {
                    closed.keys.push(&due[key].key);
                    closed.windows.push((start_ms, end_ms));
                    return stored.push_to(&mut closed.accumulators);
                }
                open.push(key as u32, start_ms, end_ms, Origin::Value);
                stored.push_to(accumulators)
            })?;
            open.keys[key].is_changed = is_live(times);
            open.keys[key].times = times;
            Ok(())
        });
        read.map_err(|error| error.with(Context::State, ACCUMULATORS))?;
        self.store_open(due, closing_ms)
    }

    /// Writes what is still open of keys whose timers were due, with their next timers.
    fn store_open(&mut self, due: &[&DueTimer], closing_ms: i64) -> Result<()> {
        let Sessions { keys, codec, buffer, accumulators, open, writes, timers, .. } = self;
        for (index, key) in open.keys.iter().enumerate().filter(|(_, key)| key.is_changed) {
            let entry = keys.get(index);
            let mut times = key.times;
            times.older_until_ms = times.older_until_ms.filter(|until_ms| *until_ms > closing_ms);
            times.timer_ms = open.of_key(index).last().map(|(_, session)| session.end_ms);
            if times == KeyTimes::default() {
                writes.delete(self.state, entry);
                continue;
            }
            if let Some(timer_ms) = times.timer_ms {
                timers.put(writes, due[index].context(), timer_ms);
            }
            let sessions = open.of_key(index);
            let sessions = sessions.map(|(number, session)| (session.start_ms, session.end_ms, number as usize));
            let mut result = Ok(());
            writes.put_with(self.state, entry, |out| result = codec.write(times, sessions, accumulators, buffer, out));
            result?;
        }
        Ok(())
    }

    fn close_older(&mut self, due: &[&DueTimer], state: &mut dyn KeyedStateBackend) -> Result<()> {
        self.locate(due);
        let Sessions { keys, older, closed, writes, .. } = self;
        let older_state = older.state();
        let ClosedWindows { keys: closed_keys, windows, accumulators } = closed;
        older.read(keys, accumulators, state, |index| {
            let timer = due[index];
            let (end_ms, start_ms) = times_of(&timer.namespace)?;
            closed_keys.push(&timer.key);
            windows.push((start_ms, end_ms));
            writes.delete(older_state, keys.get(index));
            Ok(())
        })
    }

    /// Makes the entry keys of timers.
    fn locate(&mut self, due: &[&DueTimer]) {
        let entries = EntryKeys::new(self.max_parallelism);
        self.keys.clear();
        for timer in due {
            self.keys.push_with(|out| entries.entry(timer.key_group, &timer.key, &timer.namespace, out));
        }
    }
}

impl KeyedOperator for Sessions {
    fn process(&mut self, _input: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if !batch.changes.is_insert_only() {
            return Err(Error::internal("a window got rows that may be taken back"));
        }
        self.fold(batch, cx)?;
        Ok(Progress::Done)
    }

    fn resume(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        self.close_sessions(cx)
    }

    fn advance(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if self.spec.closing_ms(cx) < self.earliest_ms {
            return Ok(Progress::Done);
        }
        self.closing = Some(TimerCursor::default());
        self.resume(cx)
    }

    fn wake_at_ms(&self) -> Option<i64> {
        self.spec.wake_at_ms(self.earliest_ms)
    }

    fn output_watermark_ms(&self, event_time_ms: i64) -> i64 {
        match event_time_ms {
            i64::MIN | i64::MAX => event_time_ms,
            // The last millisecond of a session lies before its end, at which it is given.
            _ if self.spec.is_event_time() => event_time_ms - 1,
            _ => event_time_ms,
        }
    }
}
