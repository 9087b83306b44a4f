//! The factory.

use crate::budget::{Account, Budget};
use crate::keyed::MemoryKeyedState;
use headpond_state::canonical;
use headpond_state::state_reader::{CanonicalStateReader, StateReader};
use headpond_state::{
    Capabilities, KeyedBackendParams, KeyedStateBackend, KeyedStateHandle, MaxParallelism, RestoredState, Result,
    StateBackend,
};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A state backend that keeps everything in memory.
///
/// ```
/// use headpond_state_memory::MemoryStateBackend;
/// let backend = MemoryStateBackend::with_limit(512 << 20);
/// assert_eq!(backend.to_string(), "memory");
/// ```
#[derive(Debug)]
pub struct MemoryStateBackend {
    budget: Arc<Budget>,
}

/// Flink's name for [`MemoryStateBackend`].
pub type HashMapStateBackend = MemoryStateBackend;

impl MemoryStateBackend {
    /// A backend without a limit.
    pub fn new() -> Self {
        Self::with_limit(u64::MAX)
    }

    /// A backend whose instances hold at most about `bytes` bytes together. A write beyond it fails with
    /// [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted).
    pub fn with_limit(bytes: u64) -> Self {
        MemoryStateBackend { budget: Arc::new(Budget::new(bytes)) }
    }

    /// Bytes that all instances hold now, with copies frozen by snapshots.
    pub fn used_bytes(&self) -> u64 {
        self.budget.used()
    }
}

impl Default for MemoryStateBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for MemoryStateBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory")
    }
}

impl StateBackend for MemoryStateBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities { key_groups_are_local: true, range_deletes_are_cheap: true, ..Capabilities::default() }
    }

    fn open_keyed(
        &self,
        params: KeyedBackendParams,
        restore: &[RestoredState<'_>],
    ) -> Result<Box<dyn KeyedStateBackend>> {
        let account = Arc::new(Account::new(Arc::clone(&self.budget)));
        Ok(Box::new(MemoryKeyedState::open(params, account, restore)?))
    }

    fn check_handle(&self, handle: &KeyedStateHandle, _: MaxParallelism) -> Result<()> {
        canonical::check_format(handle)
    }

    fn open_reader<'a>(
        &self,
        restored: RestoredState<'a>,
        max_parallelism: MaxParallelism,
        _: &Path,
    ) -> Result<Box<dyn StateReader + 'a>> {
        Ok(Box::new(CanonicalStateReader::open(restored, max_parallelism)?))
    }
}
