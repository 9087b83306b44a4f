//! An operator's time: set by its owner, read by expiry wherever it runs.

use crate::ttl::TimeDomain;
use std::sync::atomic::{AtomicI64, Ordering};

/// The time an operator's state lives by, in milliseconds since the epoch, in either domain. It never goes back.
/// Cleaners on other threads read it while the operator moves it on.
#[derive(Debug)]
pub struct OperatorClock {
    processing_time_ms: AtomicI64,
    event_time_ms: AtomicI64,
}

impl OperatorClock {
    /// A clock whose processing time stands at `now_ms`, and that has seen no watermark.
    pub fn new(now_ms: i64) -> Self {
        OperatorClock { processing_time_ms: AtomicI64::new(now_ms), event_time_ms: AtomicI64::new(i64::MIN) }
    }

    /// Processing time.
    #[inline]
    pub fn now_ms(&self) -> i64 {
        self.processing_time_ms.load(Ordering::Acquire)
    }

    /// Event time: the operator's watermark.
    #[inline]
    pub fn event_time_ms(&self) -> i64 {
        self.event_time_ms.load(Ordering::Acquire)
    }

    /// The present in a domain.
    #[inline]
    pub fn now_in(&self, domain: TimeDomain) -> i64 {
        match domain {
            TimeDomain::ProcessingTime => self.now_ms(),
            TimeDomain::EventTime => self.event_time_ms(),
        }
    }

    /// Moves processing time on to `now_ms`; an earlier time is ignored.
    #[inline]
    pub fn advance_to(&self, now_ms: i64) {
        self.processing_time_ms.fetch_max(now_ms, Ordering::AcqRel);
    }

    /// Moves event time on to `watermark_ms`; an earlier one is ignored.
    #[inline]
    pub fn advance_event_time_to(&self, watermark_ms: i64) {
        self.event_time_ms.fetch_max(watermark_ms, Ordering::AcqRel);
    }
}

impl Default for OperatorClock {
    fn default() -> Self {
        OperatorClock::new(i64::MIN)
    }
}
