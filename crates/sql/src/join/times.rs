//! Rows' times, and which of them match.

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, TimestampMillisecondArray};

/// The shortest bucket: about an exact time there are not many rows to drop at a time.
const BUCKET_MS_MIN: i64 = 1000;

/// What tells a row's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JoinTime {
    /// The column.
    pub(crate) column: usize,
    /// What is added to it, in milliseconds: -1 for the end of a window, whose last millisecond is the row's time.
    pub(crate) shift_ms: i64,
}

impl JoinTime {
    /// The times of these rows.
    pub(super) fn of(self, rows: &RecordBatch) -> Times<'_> {
        Times { values: rows.column(self.column).as_primitive(), shift_ms: self.shift_ms }
    }
}

/// The times of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times<'a> {
    pub(super) values: &'a TimestampMillisecondArray,
    shift_ms: i64,
}

impl Times<'_> {
    /// The time of a row that has one.
    #[inline]
    pub(super) fn value(self, row: usize) -> i64 {
        self.values.value(row).saturating_add(self.shift_ms)
    }
}

/// Which times match.
#[derive(Debug, Clone)]
pub(crate) struct IntervalSpec {
    /// How much later than the left row's time the right row's time is at least (below zero: how much earlier at most),
    /// in milliseconds.
    pub(crate) lower_ms: i64,
    /// How much later it is at most, in milliseconds.
    pub(crate) upper_ms: i64,
    /// The rows' times.
    pub(crate) times: [JoinTime; 2],
    /// How far a row may lie behind its split's watermark by more than it takes to be there in time: 1 where a row may
    /// be as old as the watermark, 0 where such a row's window is over.
    pub(crate) grace_ms: i64,
    /// The columns of the row watermarks, where there are any.
    pub(crate) row_watermarks: [Option<usize>; 2],
}

impl IntervalSpec {
    /// The length of a bucket.
    pub(crate) fn bucket_ms(&self) -> i64 {
        self.upper_ms.saturating_sub(self.lower_ms).max(BUCKET_MS_MIN)
    }

    /// How long beyond its time a row of a side is kept.
    pub(crate) fn keep_ms(&self, side: usize) -> i64 {
        let span = if side == 0 { self.upper_ms } else { self.lower_ms.saturating_neg() };
        span.saturating_add(self.grace_ms)
    }

    /// Whether a row came when what it could match is gone. `watermark_ms` is the one before it.
    #[inline]
    pub(super) fn is_late(&self, time_ms: i64, watermark_ms: i64) -> bool {
        time_ms <= watermark_ms.saturating_sub(self.grace_ms)
    }

    /// The times of the other side that match a row of a side.
    pub(super) fn matching(&self, side: usize, time_ms: i64) -> (i64, i64) {
        match side {
            0 => (time_ms.saturating_add(self.lower_ms), time_ms.saturating_add(self.upper_ms)),
            _ => (time_ms.saturating_sub(self.upper_ms), time_ms.saturating_sub(self.lower_ms)),
        }
    }
}

/// The beginning of the bucket in which a time lies.
pub(super) fn bucket_start(time_ms: i64, bucket_ms: i64) -> i64 {
    crate::expression::window_start(time_ms, bucket_ms, 0)
}
