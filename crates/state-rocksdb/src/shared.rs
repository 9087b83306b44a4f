//! What all databases of a backend share: block cache, account of memory, threads.

use crate::compaction::CompactionTotals;
use crate::options::RocksDbOptions;
use crate::threads::Threads;
use headpond_state::{Error, Result};
use parking_lot::Mutex;
use rust_rocksdb::{Cache, Env, HyperClockCacheOptions, WriteBufferManager};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The components that the databases of a backend share.
pub(crate) struct Shared {
    /// The settings they were made with.
    pub(crate) options: RocksDbOptions,
    /// Blocks of files, and the memtables' charge.
    pub(crate) cache: Cache,
    /// Counts what memtables take and charges it to the cache. It limits nothing: sealing is ours.
    pub(crate) memtables: WriteBufferManager,
    /// RocksDB's own threads, which flush.
    pub(crate) env: Env,
    /// Threads that compact.
    pub(crate) compactors: Threads,
    /// Threads that read what is not in memory.
    pub(crate) readers: Threads,
    /// The databases open.
    pub(crate) open: AtomicUsize,
    /// What compactions have done.
    pub(crate) compacted: Mutex<CompactionTotals>,
}

impl Shared {
    pub(crate) fn new(options: RocksDbOptions) -> Result<Shared> {
        // The number of shards follows from the capacity: a small cache has one, so that a large filter block fits.
        let cache = Cache::new_hyper_clock_cache_opts(&HyperClockCacheOptions::new(options.cache_capacity(), 0));
        let memtables = WriteBufferManager::new_write_buffer_manager_with_cache(0, false, cache.clone());
        let mut env =
            Env::new().map_err(|cause| Error::internal("RocksDB has no default environment").because(cause))?;
        let threads = i32::try_from(options.threads.max(1)).unwrap_or(i32::MAX);
        env.set_high_priority_background_threads(threads);
        env.set_low_priority_background_threads(1);
        Ok(Shared {
            cache,
            memtables,
            env,
            compactors: Threads::start("rocksdb-compact", options.threads)?,
            readers: Threads::start("rocksdb-read", options.reader_threads)?,
            open: AtomicUsize::new(0),
            compacted: Mutex::new(CompactionTotals::default()),
            options,
        })
    }

    /// The size from which a database whose process has used up its budget must seal memtables.
    pub(crate) fn fair_share(&self) -> usize {
        self.options.memtable_budget() / 2 / self.open.load(Ordering::Relaxed).max(1)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}
