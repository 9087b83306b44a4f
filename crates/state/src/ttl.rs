//! Time to live: when a state's entries expire, and the envelope that remembers it.
//!
//! A state with a TTL stores each value as `timestamp (8 bytes, big-endian, ms) | value`. The timestamp is the last
//! access that counts ([`UpdateType`]); the entry has expired once `timestamp + ttl <= now`, computed with saturation.
//! Reads are right without any cleaner: an expired value is not returned ([`StateVisibility`]). Cleaners only give
//! space back: each backend's own, driven by the operator's clock. They may take whatever has expired under the TTL that the job
//! registered, and nothing before it has registered it; nothing that was accessed since; and out of a checkpoint's files only what
//! had expired at its cut.
//!
//! The duration of a TTL may change between runs, its domain may not. Entries then live by the new one from their last access on:
//! what a longer TTL would still show is gone only if a cleaner took it before, what a shorter one ends is hidden at once.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The bytes of the timestamp before a value.
pub const STAMP_LEN: usize = 8;

/// Appends the timestamp that comes before a value.
#[inline]
pub fn put_stamp(stamp_ms: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&stamp_ms.to_be_bytes());
}

/// The timestamp of a stored value, in milliseconds, and the value.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) for bytes too short to have a timestamp.
#[inline]
pub fn split_stamp(stored: &[u8]) -> Result<(i64, &[u8])> {
    match stored.split_first_chunk::<STAMP_LEN>() {
        Some((stamp, value)) => Ok((i64::from_be_bytes(*stamp), value)),
        None => {
            Err(Error::corrupt(format!("a value with a TTL has {} bytes, its timestamp alone takes 8", stored.len())))
        }
    }
}

/// The expiry of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TtlConfig {
    /// How long an entry lives after the last access that counts, in milliseconds; greater than zero.
    pub ttl_ms: i64,
    /// Which accesses count.
    pub update: UpdateType,
    /// Whether an expired entry may still be seen.
    pub visibility: StateVisibility,
    /// Whose time it is.
    pub domain: TimeDomain,
}

impl TtlConfig {
    /// Expiry `ttl_ms` after the last write, in processing time; expired entries are never seen.
    pub fn new(ttl_ms: i64) -> Self {
        TtlConfig {
            ttl_ms,
            update: UpdateType::OnCreateAndWrite,
            visibility: StateVisibility::NeverReturnExpired,
            domain: TimeDomain::ProcessingTime,
        }
    }

    /// The stamp of an access at `now_ms` on behalf of a row of the given timestamp.
    #[inline]
    pub fn stamp_ms(&self, now_ms: i64, row_ms: Option<i64>) -> i64 {
        match (self.domain, row_ms) {
            (TimeDomain::EventTime, Some(row_ms)) => now_ms.max(row_ms),
            _ => now_ms,
        }
    }

    /// Whether a value last accessed at `stamp_ms` is seen at `now_ms`.
    #[inline]
    pub fn is_visible(&self, stamp_ms: i64, now_ms: i64) -> bool {
        self.visibility == StateVisibility::ReturnExpiredIfNotCleanedUp || !self.is_expired(stamp_ms, now_ms)
    }

    /// The stamp that a read at `now_ms` gives a value it has seen, if the read prolongs the value's life. An expired
    /// value does not come back to life.
    #[inline]
    pub fn refreshed(&self, stamp_ms: i64, now_ms: i64, row_ms: Option<i64>) -> Option<i64> {
        let fresh_ms = self.stamp_ms(now_ms, row_ms);
        (self.update == UpdateType::OnReadAndWrite && stamp_ms < fresh_ms && !self.is_expired(stamp_ms, now_ms))
            .then_some(fresh_ms)
    }

    /// Whether an entry last accessed at `stamp_ms` has expired at `now_ms`.
    #[inline]
    pub fn is_expired(&self, stamp_ms: i64, now_ms: i64) -> bool {
        stamp_ms.saturating_add(self.ttl_ms) <= now_ms
    }
}

/// Which accesses prolong an entry's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateType {
    /// Writes.
    OnCreateAndWrite,
    /// Writes and reads.
    OnReadAndWrite,
}

/// Whether an expired entry that no cleaner has taken yet may be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateVisibility {
    /// Never.
    NeverReturnExpired,
    /// As long as it is there.
    ReturnExpiredIfNotCleanedUp,
}

/// Whose time a TTL or a timer follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeDomain {
    /// The machine's clock.
    ProcessingTime,
    /// The operator's event time: an access's stamp is the later of the row's timestamp and the event time.
    EventTime,
}
