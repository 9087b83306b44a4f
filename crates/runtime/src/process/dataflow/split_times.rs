//! The splits of a source on one worker, and the event time they make together.

use super::event_time::{CombinedWatermark, Sender};
use super::read_ahead::{BatchEnd, ReadAhead, Released};
use crate::batch::ChangeBatch;
use headpond_checkpoint::manifest::SplitState;
use serde_json::Value;

/// What was taken of each split, and what that says of event time: the least watermark of those that are neither idle
/// nor have ended.
#[derive(Debug)]
pub(super) struct SplitTimes {
    states: Vec<SplitState>,
    times: Vec<Sender>,
    /// What the splits say together, until one of them says something new.
    combined: Option<CombinedWatermark>,
    /// Others may come. While there are none the source is idle, and does not end.
    watched: bool,
}

impl SplitTimes {
    /// The splits as a checkpoint has them, or unread.
    pub(super) fn new(states: impl Iterator<Item = SplitState>, watched: bool) -> Self {
        let states: Vec<SplitState> = states.collect();
        let times = states.iter().map(restored).collect();
        SplitTimes { states, times, combined: None, watched }
    }

    /// The positions of splits that were begun and have not ended, by index.
    pub(super) fn positions(&self) -> Vec<(usize, Value)> {
        let begun = self.states.iter().enumerate().filter(|(_, state)| !state.finished && !state.position.is_null());
        begun.map(|(index, state)| (index, state.position.clone())).collect()
    }

    /// Adds a split and returns its index.
    pub(super) fn add(&mut self, state: SplitState) -> usize {
        self.times.push(restored(&state));
        self.states.push(state);
        self.combined = None;
        self.states.len() - 1
    }

    /// The splits for a checkpoint.
    pub(super) fn states(&self) -> &[SplitState] {
        &self.states
    }

    /// Takes note of what the first rows of splits say.
    pub(super) fn not_before(&mut self, bounds: &[(usize, i64)]) {
        for &(index, bound_ms) in bounds {
            self.states[index].not_before_ms = Some(bound_ms);
            self.observe(index, bound_ms, false);
        }
    }

    /// Takes note of rows that were taken, and returns them.
    pub(super) fn took(&mut self, index: usize, released: Released) -> ChangeBatch {
        let Released { rows, watermark_ms, batch_end } = released;
        let state = &mut self.states[index];
        let count = rows.num_rows() as u64;
        state.rows += count;
        state.rows_past_position += count;
        if let Some(BatchEnd { position, skipped }) = batch_end {
            state.position = position;
            state.rows_past_position = 0;
            state.skipped += skipped;
        }
        state.watermark_ms = (watermark_ms != i64::MIN).then_some(watermark_ms);
        (state.idle, state.not_before_ms) = (false, None);
        self.observe(index, watermark_ms, false);
        rows
    }

    /// The least watermark that a split was read up to: of what was taken or, where something waits, of that.
    pub(super) fn read_ms(&self, ahead: &ReadAhead) -> i64 {
        let reads = self.times.iter().enumerate().filter_map(|(index, time)| match ahead.read_ms(index) {
            Some(read_ms) => Some(read_ms),
            None => time.active_ms(),
        });
        reads.min().unwrap_or(i64::MAX)
    }

    /// Whether of a split that was not read further than `read_ms` nothing waits.
    pub(super) fn lacks_at(&self, read_ms: i64, ahead: &ReadAhead) -> bool {
        let mut times = self.times.iter().enumerate();
        times.any(|(index, time)| ahead.read_ms(index).is_none() && time.active_ms().is_some_and(|at| at <= read_ms))
    }

    /// A split has had no rows for too long.
    pub(super) fn idle(&mut self, index: usize) {
        self.states[index].idle = true;
        self.observe(index, i64::MIN, true);
    }

    /// A split has ended.
    pub(super) fn ended(&mut self, index: usize) {
        self.states[index].finished = true;
        self.observe(index, i64::MAX, false);
    }

    /// The event time of all splits.
    pub(super) fn combined(&mut self) -> CombinedWatermark {
        let to_come = self.watched.then_some(Sender::TO_COME);
        *self.combined.get_or_insert_with(|| CombinedWatermark::of(self.times.iter().copied().chain(to_come)))
    }

    /// The greatest watermark of any split.
    pub(super) fn greatest_ms(&self) -> i64 {
        super::event_time::greatest_ms(self.times.iter().copied())
    }

    fn observe(&mut self, index: usize, time_ms: i64, idle: bool) {
        self.times[index].observe(time_ms, idle);
        self.combined = None;
    }
}

fn restored(state: &SplitState) -> Sender {
    let mut time = Sender::SILENT;
    time.observe(state.watermark_ms.or(state.not_before_ms).unwrap_or(i64::MIN), state.idle);
    if state.finished {
        time.observe(i64::MAX, false);
    }
    time
}
