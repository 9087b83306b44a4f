//! What a batch's rows say of time.

use super::spec::{RowTime, WindowSpec, Windows};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType};
use arrow_array::{Array, RecordBatch, TimestampMillisecondArray};
use headpond_runtime::operator::OperatorContext;

/// Rows that have no time.
pub(super) const WITHOUT_TIME: &str = "rows without event time";

/// The times and the watermarks of a batch's rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowTimes<'a> {
    times: Times<'a>,
    row_watermarks: Option<&'a [i64]>,
    event_time_ms: i64,
}

#[derive(Debug, Clone, Copy)]
enum Times<'a> {
    Of(&'a TimestampMillisecondArray),
    /// The windows' starts and ends.
    Assigned(&'a TimestampMillisecondArray, &'a TimestampMillisecondArray),
    Now(i64),
}

impl<'a> RowTimes<'a> {
    /// The times of `rows`.
    pub(super) fn new(spec: &WindowSpec, rows: &'a RecordBatch, cx: &OperatorContext<'_>) -> Self {
        let times = |column: usize| rows.column(column).as_primitive::<TimestampMillisecondType>();
        let watermarks = |column: usize| rows.column(column).as_primitive::<Int64Type>().values().as_ref();
        RowTimes {
            times: match spec.windows {
                Windows::OfTime { time: RowTime::Event(time), .. } => Times::Of(times(time)),
                Windows::OfTime { time: RowTime::Processing, .. } => Times::Now(cx.processing_time_ms),
                Windows::Assigned { start, end } => Times::Assigned(times(start), times(end)),
            },
            row_watermarks: spec.row_watermark.map(watermarks),
            event_time_ms: if spec.is_event_time() { cx.event_time_ms } else { i64::MIN },
        }
    }

    /// A row's time, if it has one.
    #[inline]
    pub(super) fn time_ms(&self, row: usize) -> Option<i64> {
        match self.times {
            Times::Of(times) => times.is_valid(row).then(|| times.value(row)),
            Times::Assigned(starts, _) => starts.is_valid(row).then(|| starts.value(row)),
            Times::Now(now_ms) => Some(now_ms),
        }
    }

    /// The window that a row has been given, if it has one.
    #[inline]
    pub(super) fn assigned(&self, row: usize) -> Option<(i64, i64)> {
        match self.times {
            Times::Assigned(starts, ends) if starts.is_valid(row) && ends.is_valid(row) => {
                Some((starts.value(row), ends.value(row)))
            }
            _ => None,
        }
    }

    /// The watermark just before a row: what was promised of its source, and what the operator knows of all.
    #[inline]
    pub(super) fn watermark_ms(&self, row: usize) -> i64 {
        match self.row_watermarks {
            Some(watermarks) => watermarks[row].max(self.event_time_ms),
            None => self.event_time_ms,
        }
    }
}
