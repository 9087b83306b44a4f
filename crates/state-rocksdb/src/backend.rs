//! The factory.

use crate::compaction::CompactionTotals;
use crate::handle_files::check_format;
use crate::options::RocksDbOptions;
use crate::reader::RocksDbReader;
use crate::restore::restore;
use crate::shared::Shared;
use headpond_state::canonical;
use headpond_state::state_reader::{CanonicalStateReader, StateReader};
use headpond_state::{
    Capabilities, KeyedBackendParams, KeyedStateBackend, KeyedStateHandle, MaxParallelism, RestoredState, Result,
    StateBackend,
};
use parking_lot::Mutex;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Keyed state in RocksDB, on local disk; named as in Flink.
///
/// A process should have one: its databases share a block cache, an account of memtable memory and threads.
#[derive(Debug)]
pub struct EmbeddedRocksDbStateBackend {
    options: RocksDbOptions,
    shared: Mutex<Option<Arc<Shared>>>,
}

impl EmbeddedRocksDbStateBackend {
    /// The backend with default settings. `incremental`: whether a checkpoint reuses files of the one before; otherwise
    /// each uploads all of them.
    pub fn new(incremental: bool) -> Self {
        Self::with_options(RocksDbOptions::new(incremental))
    }

    /// The backend with these settings.
    pub fn with_options(options: RocksDbOptions) -> Self {
        EmbeddedRocksDbStateBackend { options, shared: Mutex::new(None) }
    }

    /// The settings.
    pub fn options(&self) -> &RocksDbOptions {
        &self.options
    }

    /// What the compactions of all databases have read and written so far.
    pub fn compaction_totals(&self) -> CompactionTotals {
        self.shared.lock().as_ref().map(|shared| *shared.compacted.lock()).unwrap_or_default()
    }

    /// Bytes that block cache and memtables of all databases take.
    pub fn memory_bytes(&self) -> usize {
        self.shared.lock().as_ref().map_or(0, |shared| shared.cache.get_usage())
    }

    /// Made when the first database is opened: a backend that is only configured starts no threads.
    fn shared(&self) -> Result<Arc<Shared>> {
        let mut shared = self.shared.lock();
        if let Some(shared) = &*shared {
            return Ok(Arc::clone(shared));
        }
        Ok(Arc::clone(shared.insert(Arc::new(Shared::new(self.options.clone())?))))
    }

    /// The instance's own directory, or one in the configured local directories: always the same for the same instance,
    /// so that what a killed attempt left there is found and removed.
    fn local_dir(&self, params: &KeyedBackendParams) -> PathBuf {
        let directories = &self.options.local_directories;
        if directories.is_empty() {
            return params.local_dir.clone();
        }
        let mut hasher = DefaultHasher::new();
        params.local_dir.hash(&mut hasher);
        let hash = hasher.finish();
        let index = (hash % directories.len() as u64) as usize;
        directories[index].join(format!("headpond-{}-{hash:016x}", params.subtask))
    }
}

impl StateBackend for EmbeddedRocksDbStateBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            incremental_checkpoints: self.options.incremental,
            state_on_disk: true,
            sorted_keys_are_cheaper: true,
            single_entries_are_dear: true,
            ..Capabilities::default()
        }
    }

    fn open_keyed(
        &self,
        params: KeyedBackendParams,
        handles: &[RestoredState<'_>],
    ) -> Result<Box<dyn KeyedStateBackend>> {
        Ok(Box::new(restore(self.shared()?, &self.local_dir(&params), &params, handles)?))
    }

    fn check_handle(&self, handle: &KeyedStateHandle, max_parallelism: MaxParallelism) -> Result<()> {
        check_format(handle, max_parallelism)
    }

    fn open_reader<'a>(
        &self,
        restored: RestoredState<'a>,
        max_parallelism: MaxParallelism,
        local_dir: &Path,
    ) -> Result<Box<dyn StateReader + 'a>> {
        if restored.handle.format == canonical::FORMAT {
            return Ok(Box::new(CanonicalStateReader::open(restored, max_parallelism)?));
        }
        let shared = self.shared()?;
        Ok(Box::new(RocksDbReader::open(&shared, restored, max_parallelism, local_dir)?))
    }
}

impl fmt::Display for EmbeddedRocksDbStateBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.options.incremental {
            true => "rocksdb (incremental checkpoints)",
            false => "rocksdb (full checkpoints)",
        })
    }
}
