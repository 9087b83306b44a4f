//! What has expired, as of a certain time, and what was removed of it.

use headpond_state::ttl;

/// When values expire, as of a certain time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expiry {
    pub(crate) ttl_ms: i64,
    pub(crate) now_ms: i64,
}

impl Expiry {
    /// When a stored value expires. One without a timestamp never does: whoever reads it will say what is wrong.
    #[inline]
    pub(crate) fn of(&self, stored: &[u8]) -> i64 {
        ttl::open(stored).map_or(i64::MAX, |opened| opened.stamp_ms.saturating_add(self.ttl_ms))
    }

    /// Whether that time has come.
    #[inline]
    pub(crate) fn is_past(&self, expires_ms: i64) -> bool {
        expires_ms <= self.now_ms
    }
}

/// What looking at a piece of a table did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Swept {
    /// The entries looked at.
    pub(crate) entries: usize,
    /// Those that had expired and are gone.
    pub(crate) removed: usize,
    /// Bytes of the removed keys and values.
    pub(crate) bytes: usize,
    /// Whether there is something else now where the piece was.
    pub(crate) again: bool,
}
