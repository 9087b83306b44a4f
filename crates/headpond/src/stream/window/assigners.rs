//! Which windows a record is in.

use std::time::Duration;

/// Windows of one size, one behind the other, beginning at the epoch.
#[doc(alias = "TumblingEventTimeWindows")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TumblingWindows {
    size_ms: i64,
    offset_ms: i64,
}

impl TumblingWindows {
    /// Windows of this size, in whole milliseconds and at least one.
    pub fn of(size: Duration) -> Self {
        TumblingWindows { size_ms: milliseconds(size).max(1), offset_ms: 0 }
    }

    /// Moves the windows' bounds: with an hour, those of a day begin at one o'clock UTC.
    #[must_use]
    pub fn with_offset(self, offset: Duration) -> Self {
        TumblingWindows { offset_ms: milliseconds(offset), ..self }
    }
}

/// Windows of one size that begin every so often: a record is in several if they overlap, and may be in none otherwise.
#[doc(alias = "SlidingEventTimeWindows")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoppingWindows {
    size_ms: i64,
    slide_ms: i64,
    offset_ms: i64,
}

impl HoppingWindows {
    /// Windows of this size, one every `slide`; both in whole milliseconds and at least one.
    pub fn of(size: Duration, slide: Duration) -> Self {
        HoppingWindows { size_ms: milliseconds(size).max(1), slide_ms: milliseconds(slide).max(1), offset_ms: 0 }
    }

    /// Moves the windows' bounds.
    #[must_use]
    pub fn with_offset(self, offset: Duration) -> Self {
        HoppingWindows { offset_ms: milliseconds(offset), ..self }
    }
}

/// Windows that last as long as a key's records are no more than a gap apart.
#[doc(alias = "EventTimeSessionWindows")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionWindows {
    pub(super) gap_ms: i64,
}

impl SessionWindows {
    /// Sessions that end when nothing has come for this long; in whole milliseconds and at least one. Records exactly
    /// one gap apart are in one session.
    pub fn with_gap(gap: Duration) -> Self {
        SessionWindows { gap_ms: milliseconds(gap).max(1) }
    }
}

/// Windows whose bounds follow from a timestamp alone.
pub trait FixedWindows: Copy + Send + Sync + 'static {
    /// The windows that have this timestamp, by their beginnings, the latest first, and their size, all in
    /// milliseconds.
    fn starts_ms(&self, timestamp_ms: i64) -> impl Iterator<Item = i64>;

    /// The size of a window in milliseconds.
    fn size_ms(&self) -> i64;
}

impl FixedWindows for TumblingWindows {
    fn starts_ms(&self, timestamp_ms: i64) -> impl Iterator<Item = i64> {
        std::iter::once(aligned_ms(timestamp_ms, self.size_ms, self.offset_ms))
    }

    fn size_ms(&self) -> i64 {
        self.size_ms
    }
}

impl FixedWindows for HoppingWindows {
    fn starts_ms(&self, timestamp_ms: i64) -> impl Iterator<Item = i64> {
        let HoppingWindows { size_ms, slide_ms, offset_ms } = *self;
        let latest_ms = aligned_ms(timestamp_ms, slide_ms, offset_ms);
        std::iter::successors(Some(latest_ms), move |start_ms| start_ms.checked_sub(slide_ms))
            .take_while(move |start_ms| timestamp_ms.saturating_sub(*start_ms) < size_ms)
    }

    fn size_ms(&self) -> i64 {
        self.size_ms
    }
}

/// The greatest `offset + n * step` that is not above a timestamp.
fn aligned_ms(timestamp_ms: i64, step_ms: i64, offset_ms: i64) -> i64 {
    let behind = i128::from(timestamp_ms) - i128::from(offset_ms);
    timestamp_ms.saturating_sub(behind.rem_euclid(i128::from(step_ms)) as i64)
}

pub(super) fn milliseconds(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_before_the_epoch_is_in_a_window_too() {
        let windows = TumblingWindows { size_ms: 10, offset_ms: 3 };
        let start_ms = |ms| windows.starts_ms(ms).next().expect("one window");
        assert_eq!([-8, -7, 2, 3, 12, 13].map(start_ms), [-17, -7, -7, 3, 3, 13]);
        assert_eq!(start_ms(i64::MIN), i64::MIN);
    }

    #[test]
    fn windows_that_hop_overlap_or_leave_gaps() {
        let starts = |size_ms, slide_ms, ms| {
            HoppingWindows { size_ms, slide_ms, offset_ms: 0 }.starts_ms(ms).collect::<Vec<_>>()
        };
        assert_eq!(starts(10, 5, 12), [10, 5]);
        assert_eq!(starts(10, 4, 9), [8, 4, 0]);
        assert_eq!(starts(2, 5, 4), Vec::<i64>::new());
        assert_eq!(starts(2, 5, 6), [5]);
    }
}
