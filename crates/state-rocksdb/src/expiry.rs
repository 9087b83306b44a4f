//! What expires, and the filter that leaves it out of merged files.
//!
//! Each column family of a state with a TTL has a filter. It is *inert* until the job has registered the state, since
//! only the job knows how long entries live now; and but for the merges that the planner starts, each with the time up
//! to which it may take what has expired. That time is the operator's clock, except where a checkpoint's files are not
//! listed yet: what is merged into them has expired at their cut, or an operator restored there would miss what it saw
//! the first time.
//!
//! The filter runs inside RocksDB, where a panic would abort the process. It reads eight bytes and has nothing that can
//! fail.

use crate::age::{Ages, AgesBuilder};
use headpond_state::OperatorClock;
use headpond_state::ttl::{self, TimeDomain, TtlConfig};
use parking_lot::{Mutex, MutexGuard};
use rust_rocksdb::compaction_filter::CompactionFilter;
use rust_rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};
use rust_rocksdb::{CompactionDecision, Options};
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A moment in both domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockTimes {
    processing_ms: i64,
    event_ms: i64,
}

impl ClockTimes {
    /// The present.
    pub(crate) fn now(clock: &OperatorClock) -> ClockTimes {
        ClockTimes { processing_ms: clock.now_ms(), event_ms: clock.event_time_ms() }
    }

    /// The time in a domain, in milliseconds.
    pub(crate) fn time_in(self, domain: TimeDomain) -> i64 {
        match domain {
            TimeDomain::ProcessingTime => self.processing_ms,
            TimeDomain::EventTime => self.event_ms,
        }
    }
}

/// The expiry of a state.
#[derive(Debug)]
pub(crate) struct Expiry {
    domain: TimeDomain,
    /// How long entries lived in the run that a restore continues.
    restored_ttl_ms: i64,
    /// How long entries live; 0 until the job has said so.
    ttl_ms: AtomicI64,
    /// When that was, once the domain's time has begun; the lowest number before.
    since_ms: AtomicI64,
    /// What a merge takes for the present; the lowest number outside of one.
    merge_ms: AtomicI64,
    /// The ages of what the merge has kept.
    kept: Mutex<Option<Ages>>,
    reclaimed_bytes: AtomicU64,
}

impl Expiry {
    /// The expiry of a state of which only the domain is known yet.
    pub(crate) fn inert(ttl: TtlConfig) -> Arc<Expiry> {
        Arc::new(Expiry {
            domain: ttl.domain,
            restored_ttl_ms: ttl.ttl_ms,
            ttl_ms: AtomicI64::new(0),
            since_ms: AtomicI64::new(i64::MIN),
            merge_ms: AtomicI64::new(i64::MIN),
            kept: Mutex::default(),
            reclaimed_bytes: AtomicU64::new(0),
        })
    }

    /// Takes the job's word for how long entries live.
    pub(crate) fn activate(&self, ttl: TtlConfig, moment: ClockTimes) {
        self.ttl_ms.store(ttl.ttl_ms, Ordering::Release);
        self.at(moment);
    }

    /// The time to live and the time of its domain, once the job has registered the state and that time has begun.
    pub(crate) fn at(&self, moment: ClockTimes) -> Option<(i64, i64)> {
        let (ttl_ms, now_ms) = (self.ttl_ms.load(Ordering::Acquire), moment.time_in(self.domain));
        if ttl_ms <= 0 || now_ms == i64::MIN {
            return None;
        }
        // Set once, by whoever comes first.
        let _ = self.since_ms.compare_exchange(i64::MIN, now_ms, Ordering::AcqRel, Ordering::Acquire);
        Some((ttl_ms, now_ms))
    }

    /// What the ages of entries are taken to be that a restore brought, and of which nothing is known: any within a
    /// time to live.
    pub(crate) fn restored_ages(&self) -> Option<Ages> {
        let since_ms = self.since_ms.load(Ordering::Acquire);
        let span_ms = self.restored_ttl_ms.max(self.ttl_ms.load(Ordering::Acquire));
        (since_ms != i64::MIN).then(|| Ages::even(since_ms.saturating_sub(span_ms), since_ms))
    }

    /// Begins a merge that may take what has expired at `moment`.
    pub(crate) fn begin_merge(&self, moment: ClockTimes) {
        *self.kept() = None;
        self.merge_ms.store(moment.time_in(self.domain), Ordering::Release);
    }

    /// Ends the merge: the ages of what it has kept. `None`: the filter has not run, or has kept nothing.
    pub(crate) fn end_merge(&self) -> Option<Ages> {
        self.merge_ms.store(i64::MIN, Ordering::Release);
        self.kept().take()
    }

    /// Bytes of keys and values that merges have left out.
    pub(crate) fn reclaimed_bytes(&self) -> u64 {
        self.reclaimed_bytes.load(Ordering::Relaxed)
    }

    /// Makes the column family's merges ask this.
    pub(crate) fn install(self: &Arc<Self>, options: &mut Options) {
        options.set_compaction_filter_factory(FilterFactory(Arc::clone(self)));
    }

    fn kept(&self) -> MutexGuard<'_, Option<Ages>> {
        self.kept.lock()
    }
}

/// Makes a filter for each merge.
struct FilterFactory(Arc<Expiry>);

impl CompactionFilterFactory for FilterFactory {
    type Filter = Filter;

    fn create(&mut self, _: CompactionFilterContext) -> Filter {
        let expiry = Arc::clone(&self.0);
        let now_ms = expiry.merge_ms.load(Ordering::Acquire);
        let ttl_ms = match now_ms {
            // Not one of our merges, or event time has not begun.
            i64::MIN => 0,
            _ => expiry.ttl_ms.load(Ordering::Acquire),
        };
        let ages = AgesBuilder::new(now_ms.saturating_sub(ttl_ms), ttl_ms);
        Filter { expiry, ttl_ms, now_ms, ages, removed_bytes: 0 }
    }

    fn name(&self) -> &CStr {
        c"headpond.expiry"
    }
}

/// Leaves out what has expired, and notes how old the rest is.
struct Filter {
    expiry: Arc<Expiry>,
    /// 0: the filter is inert.
    ttl_ms: i64,
    now_ms: i64,
    ages: AgesBuilder,
    removed_bytes: u64,
}

impl CompactionFilter for Filter {
    fn filter(&mut self, _: u32, key: &[u8], value: &[u8]) -> CompactionDecision {
        if self.ttl_ms <= 0 {
            return CompactionDecision::Keep;
        }
        // A value too short for a timestamp is kept, for the read that will say so.
        let Ok(ttl::Stamped { stamp_ms, .. }) = ttl::open(value) else { return CompactionDecision::Keep };
        let bytes = (key.len() as u64).saturating_add(value.len() as u64);
        if stamp_ms.saturating_add(self.ttl_ms) <= self.now_ms {
            self.removed_bytes = self.removed_bytes.saturating_add(bytes);
            return CompactionDecision::Remove;
        }
        self.ages.add(stamp_ms, bytes);
        CompactionDecision::Keep
    }

    fn name(&self) -> &CStr {
        c"headpond.expiry"
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        if self.ttl_ms <= 0 {
            return;
        }
        self.expiry.reclaimed_bytes.fetch_add(self.removed_bytes, Ordering::Relaxed);
        let mut kept = self.expiry.kept();
        let ages = self.ages.build();
        *kept = match kept.take() {
            // A merge in several parts has a filter for each.
            Some(others) => Some(others.with(ages)),
            None => Some(ages),
        };
    }
}
