//! Time to live: when a state's entries expire, and the envelope that remembers it.
//!
//! A state with a TTL stores each value as `timestamp (8 bytes, big-endian, ms) | value`. The timestamp is the last
//! access that counts ([`UpdateType`]); the entry has expired once `timestamp + ttl <= now`, computed with saturation.
//! Reads are right without any cleaner: an expired value is not returned ([`StateVisibility`]). Cleaners only give
//! space back: each backend's own, driven by the operator's clock. They may take whatever has expired under the TTL
//! that the job registered, and nothing before it has registered it; nothing that was accessed since; and out of a
//! checkpoint's files only what had expired at its cut.
//!
//! The duration of a TTL may change between runs, its domain may not. Entries then live by the new one from their last
//! access on: what a longer TTL would still show is gone only if a cleaner took it before, what a shorter one ends is
//! hidden at once.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The bytes of the timestamp before a value.
const STAMP_LEN: usize = 8;

/// A stored value of a state with a TTL, out of its envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamped<'a> {
    /// The last access that counts, in milliseconds.
    pub stamp_ms: i64,
    /// The value.
    pub value: &'a [u8],
}

/// Opens the envelope of a stored value, whether it has expired or not.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) for bytes too short to have a timestamp.
#[inline]
pub fn open(stored: &[u8]) -> Result<Stamped<'_>> {
    match stored.split_first_chunk::<STAMP_LEN>() {
        Some((stamp, value)) => Ok(Stamped { stamp_ms: i64::from_be_bytes(*stamp), value }),
        None => Err(too_short(stored.len())),
    }
}

/// Opens the envelope of a stored value, if its state has a TTL. `None`: the value has expired, and is not to be seen.
///
/// # Errors
/// As [`open`].
#[inline]
pub fn visible<'a>(ttl: Option<&TtlConfig>, stored: &'a [u8], now_ms: i64) -> Result<Option<&'a [u8]>> {
    let Some(ttl) = ttl else { return Ok(Some(stored)) };
    let Stamped { stamp_ms, value } = open(stored)?;
    Ok(ttl.is_visible(stamp_ms, now_ms).then_some(value))
}

/// Begins the envelope of a value that is appended next: its timestamp, if the value has one because its state has a
/// TTL.
#[inline]
pub fn seal(stamp_ms: impl Into<Option<i64>>, out: &mut Vec<u8>) {
    if let Some(stamp_ms) = stamp_ms.into() {
        out.extend_from_slice(&stamp_ms.to_be_bytes());
    }
}

#[cold]
fn too_short(len: usize) -> Error {
    Error::corrupt(format!("a value with a TTL has {len} bytes, its timestamp alone takes {STAMP_LEN}"))
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
