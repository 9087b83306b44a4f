//! Windows whose place does not depend on the rows: tumbling ones, hopping ones, and those that rows have been given
//! already.
//!
//! Accumulators are kept for key and window, the window as namespace, with a timer at the window's last millisecond.
//! When time reaches it, the window's row is given and its state removed. A row whose window's last millisecond the
//! watermark had reached before the row is late for it.
//!
//! Hopping windows overlap, and a row that is added to each of its windows would cost as many writes. So they are kept
//! in *slices*, the time from one window's beginning to the next one's: see [`hop`](super::hop).

use super::row_times::{RowTimes, WITHOUT_TIME};
use super::rows::ClosedWindows;
use super::spec::{WINDOWS_PER_PASS, WindowSpec, Windows, timers_descriptor};
use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::columns::{SLICE, WINDOW};
use crate::aggregate::group::{ACCUMULATORS, accumulators_descriptor, give_slices, overflow_error};
use crate::aggregate::group_codec::GroupCodec;
use crate::aggregate::grouping::Grouping;
use crate::aggregate::layout::AggregatePlan;
use crate::aggregate::transitions::Transitions;
use crate::aggregate::value_sets::{GroupedBatch, ValueSets};
use crate::expression::{WindowShape, window_start};
use arrow_array::UInt32Array;
use headpond_runtime::KeyedBatch;
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::operator::{KeyedOperator, OperatorContext, OperatorSetup, Progress};
use headpond_state::backend::KeyBatch;
use headpond_state::encoding::{EntryKeys, window_namespace, window_of_namespace};
use headpond_state::typed::{DueTimer, KeyContext, TimerCursor, Timers};
use headpond_state::{Context, Error, KeyedStateBackend, MaxParallelism, Result, StateId, WriteBatch};
use std::sync::Arc;

/// The bytes of a window's namespace.
const WINDOW_LEN: usize = 16;

/// The operator on a worker.
#[derive(Debug)]
pub(super) struct FixedWindows {
    pub(super) plan: Arc<AggregatePlan>,
    pub(super) spec: WindowSpec,
    pub(super) state: StateId,
    pub(super) timers: Timers,
    pub(super) codec: GroupCodec,
    sorted: bool,
    pub(super) max_parallelism: MaxParallelism,
    accumulators: Accumulators,
    /// The sets of values, for aggregates that need them. Those of slices cannot be merged: windows are not kept in
    /// slices then.
    sets: Option<ValueSets>,
    grouping: Grouping,
    /// The rows that are added to windows, each as often as there are windows to add it to.
    rows: Vec<u32>,
    /// `key group | key | window` of them.
    pub(super) keys: KeyBatch,
    pub(super) writes: WriteBatch,
    /// A time before which no timer is due.
    earliest_ms: i64,
    /// Where the closing of windows goes on, while it lasts.
    closing: Option<TimerCursor>,
    /// The windows that are being closed.
    pub(super) closed: ClosedWindows,
    /// What is computed and not yet given.
    pending: Option<ChangeBatch>,
}

impl FixedWindows {
    /// Opens the operator of one worker.
    pub(super) fn open(plan: Arc<AggregatePlan>, spec: WindowSpec, setup: OperatorSetup<'_>) -> Result<Self> {
        let namespace = match spec.windows {
            Windows::OfTime { shape: WindowShape::Hop { .. }, .. } => SLICE,
            _ => WINDOW,
        };
        let state = setup.state.register(&accumulators_descriptor(&plan, &namespace)?)?;
        let timers = timers_descriptor(&plan, &WINDOW);
        let mut timers = Timers::register(setup.state, &timers)?;
        let earliest = timers.earliest(setup.state)?;
        let sorted = setup.capabilities.sorted_keys_are_cheaper;
        let sets = match plan.layout.has_sets() {
            true => Some(ValueSets::open(&plan, &namespace, setup.state, sorted, setup.max_parallelism)?),
            false => None,
        };
        Ok(FixedWindows {
            sets,
            codec: GroupCodec::new(&plan, ACCUMULATORS),
            sorted,
            max_parallelism: setup.max_parallelism,
            accumulators: Accumulators::new(&plan.layout),
            grouping: Grouping::default(),
            rows: Vec::new(),
            keys: KeyBatch::new(),
            writes: WriteBatch::new(),
            earliest_ms: earliest.unwrap_or(i64::MAX),
            closing: None,
            closed: ClosedWindows::new(&plan),
            pending: None,
            plan,
            spec,
            state,
            timers,
        })
    }

    fn fold(&mut self, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<()> {
        self.assign(batch, cx)?;
        if self.rows.is_empty() {
            return Ok(());
        }
        let is_every_row = self.rows.len() == batch.changes.num_rows() && self.rows.is_sorted_by(|a, b| a < b);
        let changes = match is_every_row {
            true => batch.changes.clone(),
            false => batch.changes.take(&UInt32Array::from(self.rows.clone()))?,
        };
        let FixedWindows { grouping, keys, sorted, .. } = self;
        grouping.group(keys.len(), |row| keys.get(row), *sorted);
        self.load(cx.state)?;
        let groups = self.grouping.groups();
        self.accumulators.count_rows(groups, None);
        let transitions = match &mut self.sets {
            None => Transitions::default(),
            Some(sets) => {
                let now_ms = cx.processing_time_ms;
                let batch = GroupedBatch { changes: &changes, signs: None, groups: &self.grouping, now_ms };
                sets.apply(batch, &mut self.accumulators, &mut *cx.state)?
            }
        };
        let folded = self.accumulators.fold_cells(&self.plan.layout, &changes, groups, None, &transitions);
        folded.map_err(|overflow| {
            let row = self.rows[overflow.row] as usize;
            overflow_error(&self.plan, &batch.keys.get(row)[self.max_parallelism.prefix_len()..])
        })?;
        self.store(cx.state)
    }

    /// Finds the windows of the rows that are not late.
    fn assign(&mut self, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<()> {
        self.rows.clear();
        self.keys.clear();
        let times = RowTimes::new(&self.spec, batch.changes.rows(), cx);
        let mut late = Vec::new();
        let mut without_time = 0;
        let mut add = |row: usize, start_ms: i64, end_ms: i64| {
            self.rows.push(row as u32);
            self.keys.push_with(|out| {
                out.extend_from_slice(batch.keys.get(row));
                window_namespace(start_ms, end_ms, out);
            });
        };
        for row in 0..batch.changes.num_rows() {
            let watermark_ms = times.watermark_ms(row);
            let is_open = |end_ms: i64| end_ms.saturating_sub(1) > watermark_ms;
            let (start_ms, end_ms) = match self.spec.windows {
                Windows::OfTime { shape: WindowShape::Hop { slide_ms, size_ms, offset_ms }, .. } => {
                    let Some(time_ms) = times.time_ms(row) else {
                        without_time += 1;
                        continue;
                    };
                    let slice_ms = window_start(time_ms, slide_ms, offset_ms);
                    let first_end_ms = slice_ms.saturating_add(slide_ms);
                    let last_end_ms = slice_ms.saturating_add(size_ms);
                    if is_open(first_end_ms) && self.sets.is_none() {
                        add(row, slice_ms, first_end_ms);
                    } else if is_open(last_end_ms) {
                        // Late for some of its windows, or not in slices: it is added to each window that is open.
                        let mut end_ms = last_end_ms;
                        while end_ms >= first_end_ms && is_open(end_ms) {
                            add(row, end_ms.saturating_sub(size_ms), end_ms);
                            end_ms = end_ms.saturating_sub(slide_ms);
                        }
                    } else {
                        late.push(row as u32);
                    }
                    continue;
                }
                Windows::OfTime { shape: WindowShape::Tumble { size_ms, offset_ms }, .. } => {
                    let Some(time_ms) = times.time_ms(row) else {
                        without_time += 1;
                        continue;
                    };
                    let start_ms = window_start(time_ms, size_ms, offset_ms);
                    (start_ms, start_ms.saturating_add(size_ms))
                }
                _ => match times.assigned(row) {
                    Some(window) => window,
                    None => {
                        without_time += 1;
                        continue;
                    }
                },
            };
            if is_open(end_ms) {
                add(row, start_ms, end_ms);
            } else {
                late.push(row as u32);
            }
        }
        cx.counters.add(WITHOUT_TIME, without_time);
        self.spec.give_late(late, &batch.changes, cx)
    }

    fn load(&mut self, state: &mut dyn KeyedStateBackend) -> Result<()> {
        let FixedWindows { accumulators, codec, grouping, .. } = self;
        accumulators.clear();
        codec.read_many(state, (self.state, grouping.keys()), accumulators, |_, is_stored, accumulators| {
            if !is_stored {
                accumulators.push_new();
            }
            Ok(())
        })
    }

    fn store(&mut self, state: &mut dyn KeyedStateBackend) -> Result<()> {
        let FixedWindows { accumulators, codec, writes, timers, .. } = self;
        writes.clear();
        let prefix_len = self.max_parallelism.prefix_len();
        let mut result = Ok(());
        let mut window = Vec::with_capacity(WINDOW_LEN);
        for (group, entry) in self.grouping.keys().iter().enumerate() {
            writes.put_with(self.state, entry, |out| {
                if let Err(error) = codec.write(accumulators, group, out) {
                    result = Err(error);
                }
            });
            if accumulators.existed[group] {
                continue;
            }
            let (key, namespace) = entry[prefix_len..].split_at(entry.len() - prefix_len - WINDOW_LEN);
            let (start_ms, end_ms) = window_of_namespace(namespace)?;
            // A slice is first closed with the first window that ends with it.
            let start_ms = match self.spec.windows {
                Windows::OfTime { shape: WindowShape::Hop { size_ms, .. }, .. } => end_ms.saturating_sub(size_ms),
                _ => start_ms,
            };
            window.clear();
            window_namespace(start_ms, end_ms, &mut window);
            let due_ms = end_ms.saturating_sub(1);
            let key_group = self.max_parallelism.key_group_of_entry(entry);
            timers.put(writes, KeyContext { key_group, key, namespace: &window, row_ms: None }, due_ms);
            self.earliest_ms = self.earliest_ms.min(due_ms);
        }
        result?;
        state.write(writes)
    }

    /// Closes windows that are due until there are none, or the output is full.
    fn close_windows(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        let closing_ms = self.spec.closing_ms(cx);
        loop {
            if give_slices(&mut self.pending, cx.output) == Progress::More {
                return Ok(Progress::More);
            }
            let Some(mut cursor) = self.closing.take() else { return Ok(Progress::Done) };
            let more = match self.spec.windows {
                Windows::OfTime { shape: WindowShape::Hop { slide_ms, size_ms, .. }, .. } if self.sets.is_none() => {
                    self.close_hopping(closing_ms, slide_ms, size_ms, cx.state)?
                }
                _ => {
                    let mut due = Vec::new();
                    let more = self.timers.due(cx.state, closing_ms, WINDOWS_PER_PASS, &mut cursor, &mut due)?;
                    self.close(&due, cx.state)?;
                    more
                }
            };
            self.pending = self.closed.rows(&self.plan)?;
            if more {
                self.closing = Some(cursor);
            } else {
                self.earliest_ms = self.timers.earliest(cx.state)?.unwrap_or(i64::MAX);
            }
        }
    }

    /// Takes windows that are over out of the state.
    fn close(&mut self, due: &[DueTimer], state: &mut dyn KeyedStateBackend) -> Result<()> {
        let FixedWindows { closed, keys, codec, .. } = self;
        closed.clear();
        if due.is_empty() {
            return Ok(());
        }
        let entries = EntryKeys::new(self.max_parallelism);
        keys.clear();
        for timer in due {
            keys.push_with(|out| entries.entry(timer.key_group, &timer.key, &timer.namespace, out));
            closed.keys.push(&timer.key);
            closed.windows.push(window_of_namespace(&timer.namespace)?);
        }
        codec.read_many(
            state,
            (self.state, keys),
            &mut closed.accumulators,
            |index, is_stored, _| match is_stored {
                true => Ok(()),
                false => Err(without_accumulators().with(Context::KeyGroup, due[index].key_group.0)),
            },
        )?;
        self.writes.clear();
        for entry in self.keys.iter() {
            self.writes.delete(self.state, entry);
        }
        state.write(&mut self.writes)?;
        if let Some(sets) = &mut self.sets {
            let mut keys: Vec<&[u8]> = self.keys.iter().collect();
            keys.sort_unstable();
            sets.remove(&keys, state)?;
        }
        self.timers.remove_all(state, due)
    }
}

impl KeyedOperator for FixedWindows {
    fn process(&mut self, _input: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if !batch.changes.is_insert_only() {
            return Err(Error::internal("a window got rows that may be taken back"));
        }
        self.fold(batch, cx)?;
        Ok(Progress::Done)
    }

    fn resume(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        self.close_windows(cx)
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
}

/// The error for a timer whose window is not there.
#[cold]
pub(super) fn without_accumulators() -> Error {
    Error::corrupt("a window has a timer and no accumulators").with(Context::State, ACCUMULATORS)
}
