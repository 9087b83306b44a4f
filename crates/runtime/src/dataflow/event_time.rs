//! Event time from the watermarks of all senders.

use crate::message::Watermark;

/// The latest watermark of every sender of every input; event time is the least of them, and never goes back.
#[derive(Debug)]
pub(crate) struct EventTime {
    watermarks_ms: Vec<Vec<i64>>,
    now_ms: i64,
}

impl EventTime {
    /// For `inputs` inputs from `peers` workers each, standing at `restored_ms` (`i64::MIN` for a fresh start).
    pub(crate) fn new(inputs: usize, peers: usize, restored_ms: i64) -> Self {
        EventTime { watermarks_ms: vec![vec![i64::MIN; peers]; inputs], now_ms: restored_ms }
    }

    pub(crate) fn observe(&mut self, input: usize, watermark: Watermark) {
        let latest = &mut self.watermarks_ms[input][watermark.from];
        *latest = (*latest).max(watermark.time_ms);
    }

    /// Moves event time on to the least watermark and returns it.
    pub(crate) fn advance(&mut self) -> i64 {
        let least = self.watermarks_ms.iter().flatten().copied().min().unwrap_or(i64::MAX);
        self.now_ms = self.now_ms.max(least);
        self.now_ms
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.now_ms
    }
}
