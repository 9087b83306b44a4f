//! Windows as functions of a row's time.
//!
//! A row at time `t` belongs to the tumbling window that begins at the greatest `offset + n · size` not after `t`; to
//! all hopping windows of `size` that begin at some `offset + n · slide` and hold `t`; or to the session of its key in
//! which no two rows that follow each other are more than `gap` apart.
//!
//! The table functions `TUMBLE`, `HOP` and `SESSION` add three columns that *call* functions of these windows
//! ([`WindowCall`]); a `GROUP BY` over such calls makes a windowed aggregate, which never computes them row by row.
//! Outside of a `GROUP BY`, tumbling windows are plain values of a row, a row of hopping windows becomes several rows
//! ([`HopFactory`]), and sessions are refused.

mod call;
mod function;
mod hop;
mod interval;
mod kind;
mod local_time;

pub(crate) use call::{WindowCall, WindowShape};
pub(crate) use function::{window_functions, window_udf};
pub(crate) use hop::HopFactory;
pub(crate) use interval::interval_ms;
pub(crate) use kind::WindowKind;

/// What a window function tells of a row's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WindowPart {
    /// Its first millisecond.
    Start,
    /// The first millisecond after it.
    End,
    /// Its last millisecond.
    Time,
}

impl WindowPart {
    /// All of them, in the order of the columns that a table function adds.
    pub(crate) const ALL: [WindowPart; 3] = [WindowPart::Start, WindowPart::End, WindowPart::Time];

    /// The name of the column that a table function adds.
    pub(crate) fn column(self) -> &'static str {
        match self {
            WindowPart::Start => "window_start",
            WindowPart::End => "window_end",
            WindowPart::Time => "window_time",
        }
    }

    /// The part of the window from `start_ms` to `end_ms`.
    pub(crate) fn of(self, start_ms: i64, end_ms: i64) -> i64 {
        match self {
            WindowPart::Start => start_ms,
            WindowPart::End => end_ms,
            WindowPart::Time => end_ms.saturating_sub(1),
        }
    }
}

/// The beginning of the last window that begins at or before `time_ms`, where one begins every `slide_ms`, which is
/// positive.
#[inline]
pub(crate) fn window_start(time_ms: i64, slide_ms: i64, offset_ms: i64) -> i64 {
    if let Some(into) = time_ms.checked_sub(offset_ms)
        && let Some(start_ms) = time_ms.checked_sub(into.rem_euclid(slide_ms))
    {
        return start_ms;
    }
    let into = i128::from(time_ms) - i128::from(offset_ms);
    let start = i128::from(time_ms) - into.rem_euclid(i128::from(slide_ms));
    i64::try_from(start).unwrap_or(i64::MIN)
}
