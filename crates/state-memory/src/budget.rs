//! Counting bytes: one budget for the process, one account for each instance.

use headpond_state::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What all instances of a backend may hold together.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Budget { limit, used: AtomicU64::new(0) }
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

/// What one instance holds, frozen copies of its snapshots included. Charged when a piece is allocated and credited
/// when it is dropped, on whichever thread.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Arc<Budget>,
    used: AtomicU64,
}

impl Account {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Account { budget, used: AtomicU64::new(0) }
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn charge(&self, bytes: usize) {
        self.used.fetch_add(bytes as u64, Ordering::Relaxed);
        self.budget.used.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn credit(&self, bytes: usize) {
        self.used.fetch_sub(bytes as u64, Ordering::Relaxed);
        self.budget.used.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// Whether the budget has room for `bytes` more.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.budget.used().saturating_add(bytes) <= self.budget.limit
    }

    /// Checks that the budget has room for `bytes` more.
    ///
    /// # Errors
    /// [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted) when it has not.
    pub(crate) fn check_room(&self, bytes: u64) -> Result<()> {
        if self.has_room(bytes) {
            return Ok(());
        }
        Err(Error::exhausted(format!(
            "state in memory reaches its limit of {}: it holds {} and needs {} more",
            Size(self.budget.limit),
            Size(self.budget.used()),
            Size(bytes)
        ))
        .hint(
            "the last checkpoint can be restored with 'rocksdb', which holds state larger than memory: \
             SET 'state.backend.type' = 'rocksdb' and run again; or raise the limit",
        ))
    }
}

/// What putting an entry adds to a state.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    /// Bytes allocated for this entry alone.
    pub(crate) bytes: usize,
    /// Bytes appended to the pages of its shard.
    pub(crate) appended: usize,
    /// New entries of the shard's index.
    pub(crate) entries: usize,
    /// The piece that is copied because a snapshot has it too: an identity and its bytes.
    pub(crate) copied: Option<(usize, usize)>,
    /// The piece whose buffers grow: an identity, other than that of a copy, and bytes.
    pub(crate) regrown: Option<(usize, usize)>,
}

impl Drop for Account {
    fn drop(&mut self) {
        // Pieces credit what they charged; what is left is the indexes' share, which goes with the instance.
        self.budget.used.fetch_sub(self.used(), Ordering::Relaxed);
    }
}

/// Bytes as people read them.
struct Size(u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes if bytes < 10 << 10 => write!(f, "{bytes} bytes"),
            bytes if bytes < 10 << 20 => write!(f, "{} KiB", bytes >> 10),
            bytes => write!(f, "{} MiB", bytes >> 20),
        }
    }
}
