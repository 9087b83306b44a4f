//! An operator's time: set by its owner, read by expiry wherever it runs.

use std::sync::atomic::{AtomicI64, Ordering};

/// The time an operator's state lives by, in milliseconds since the epoch: processing time or event time. It never goes
/// back. Cleaners on other threads read it while the operator moves it on.
#[derive(Debug)]
pub struct OperatorClock(AtomicI64);

impl OperatorClock {
    /// A clock that stands at `now_ms`.
    pub fn new(now_ms: i64) -> Self {
        OperatorClock(AtomicI64::new(now_ms))
    }

    /// The present, in milliseconds since the epoch.
    #[inline]
    pub fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Acquire)
    }

    /// Moves the clock on to `now_ms`; an earlier time is ignored.
    #[inline]
    pub fn advance_to(&self, now_ms: i64) {
        self.0.fetch_max(now_ms, Ordering::AcqRel);
    }
}

impl Default for OperatorClock {
    fn default() -> Self {
        OperatorClock::new(i64::MIN)
    }
}
