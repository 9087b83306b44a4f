//! The settings of the backend. `docs/operations/rocksdb.md` says what they were measured to do.

use std::path::PathBuf;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Settings of [`EmbeddedRocksDbStateBackend`](crate::EmbeddedRocksDbStateBackend). Sizes are in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct RocksDbOptions {
    /// Whether a checkpoint may reuse files of the one before (`state.backend.incremental`).
    pub incremental: bool,
    /// Directories on local disks to deal the databases to; empty: each instance's own directory
    /// (`state.backend.rocksdb.localdir`).
    pub local_directories: Vec<PathBuf>,
    /// What block cache and memtables of all databases of the process may take together
    /// (`state.backend.rocksdb.memory.managed`).
    pub memory_budget: usize,
    /// The share of the budget memtables may take (`state.backend.rocksdb.memory.write-buffer-ratio`).
    pub write_buffer_ratio: f64,
    /// The size of the block cache, memtables included, where it is not to follow from the budget
    /// (`state.backend.rocksdb.block.cache-size`).
    pub block_cache_size: Option<usize>,
    /// The size at which a memtable is sealed (`state.backend.rocksdb.writebuffer.size`).
    pub write_buffer_size: usize,
    /// The most memtables of a state, sealed ones included (`state.backend.rocksdb.writebuffer.count`).
    pub write_buffer_count: usize,
    /// The size of a block of a file (`state.backend.rocksdb.block.blocksize`).
    pub block_size: usize,
    /// Bits per key of the bloom filters; 0: no filters (`state.backend.rocksdb.bloom-filter.bits-per-key`).
    pub bloom_bits_per_key: f64,
    /// Whether indexes and filters are split into blocks that are cached one by one
    /// (`state.backend.rocksdb.memory.partitioned-index-filters`).
    pub partitioned_index_filters: bool,
    /// How files are compressed (`state.backend.rocksdb.compression.per.level`).
    pub compression: Compression,
    /// Threads that flush, and as many that compact, for all databases of the process
    /// (`state.backend.rocksdb.thread.num`).
    pub threads: usize,
    /// Threads that fetch what a batch of reads does not find in memory.
    pub reader_threads: usize,
    /// The most files a database keeps open; -1: all (`state.backend.rocksdb.files.open`).
    pub max_open_files: i32,
    /// When files are merged.
    pub compaction: CompactionOptions,
}

/// When files are merged, and how large they become.
///
/// Flushed files gather in level 0 as *runs*, each of which a read may have to look into. At
/// [`run_limit`](Self::run_limit) of them something is merged: a file that overlaps little of the *base* (the last
/// level, where most of the state lies) goes there at once; otherwise the runs become one larger run, and the whole
/// base is rewritten only when what has gathered since is at least [`rewrite_ratio`](Self::rewrite_ratio) of it.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionOptions {
    /// The number of files in level 0 at which something is merged
    /// (`state.backend.rocksdb.compaction.level0.file-num-trigger`).
    pub run_limit: usize,
    /// The number of files in level 0 at which writes wait for a merge.
    pub stop_limit: usize,
    /// The share of the base's bytes or entries that must have gathered above it before all of it is rewritten. Less
    /// means less disk and more upload.
    pub rewrite_ratio: f64,
    /// Bytes of the base a flushed file may overlap, as a multiple of its own, to be merged at once.
    pub cheap_overlap: f64,
    /// Bytes that may be dead, expired or deleted, as a share of what is alive: with more than that and
    /// [`dead_min`](Self::dead_min), files are merged to give them back.
    pub dead_ratio: f64,
    /// Bytes that may be dead however little is alive.
    pub dead_min: u64,
    /// The number of files the base is split into, within the limits below.
    pub base_files: u64,
    /// The least size of a file of the base (`state.backend.rocksdb.compaction.level.target-file-size-base`).
    pub file_size_min: u64,
    /// The greatest size of a file.
    pub file_size_max: u64,
}

/// How files are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// LZ4: cheap.
    Lz4,
    /// Zstandard: smaller, several times the CPU.
    Zstd,
}

/// Flink's names for sets of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredefinedOptions {
    /// The defaults.
    Default,
    /// For spinning disks: larger blocks and files.
    SpinningDiskOptimized,
    /// For spinning disks and much memory: also more and larger memtables and a larger cache.
    SpinningDiskOptimizedHighMem,
    /// For flash: more threads that read.
    FlashSsdOptimized,
}

impl Default for RocksDbOptions {
    fn default() -> Self {
        RocksDbOptions {
            incremental: true,
            local_directories: Vec::new(),
            memory_budget: 512 * MIB,
            write_buffer_ratio: 0.5,
            block_cache_size: None,
            write_buffer_size: 64 * MIB,
            write_buffer_count: 4,
            block_size: 8 * KIB,
            bloom_bits_per_key: 10.0,
            partitioned_index_filters: false,
            compression: Compression::Lz4,
            threads: 2,
            reader_threads: 16,
            max_open_files: 512,
            compaction: CompactionOptions::default(),
        }
    }
}

impl Default for CompactionOptions {
    fn default() -> Self {
        CompactionOptions {
            run_limit: 8,
            stop_limit: 48,
            rewrite_ratio: 0.5,
            cheap_overlap: 2.0,
            dead_ratio: 0.1,
            dead_min: 8 * MIB as u64,
            base_files: 128,
            file_size_min: 2 * MIB as u64,
            file_size_max: 64 * MIB as u64,
        }
    }
}

impl RocksDbOptions {
    /// The defaults, with or without incremental checkpoints.
    pub fn new(incremental: bool) -> Self {
        RocksDbOptions { incremental, ..RocksDbOptions::default() }
    }

    /// Replaces what the set of settings is about.
    #[must_use]
    pub fn with_predefined(mut self, predefined: PredefinedOptions) -> Self {
        match predefined {
            PredefinedOptions::Default => {}
            PredefinedOptions::SpinningDiskOptimized => self.spinning_disk(),
            PredefinedOptions::SpinningDiskOptimizedHighMem => {
                self.spinning_disk();
                self.memory_budget = self.memory_budget.max(1024 * MIB);
                self.write_buffer_size = 128 * MIB;
            }
            PredefinedOptions::FlashSsdOptimized => self.reader_threads = 32,
        }
        self
    }

    fn spinning_disk(&mut self) {
        self.block_size = 64 * KIB;
        self.reader_threads = 4;
        self.compaction.file_size_min = 16 * MIB as u64;
        self.compaction.file_size_max = 256 * MIB as u64;
    }

    /// The capacity of the block cache; memtables are charged to it.
    pub(crate) fn cache_capacity(&self) -> usize {
        self.block_cache_size.unwrap_or(self.memory_budget)
    }

    /// What the memtables of the process may take together.
    pub(crate) fn memtable_budget(&self) -> usize {
        let share = (self.memory_budget as f64 * self.write_buffer_ratio.clamp(0.05, 0.95)) as usize;
        share.max(2 * MIB)
    }

    /// The size at which a memtable is sealed: as set, but never more than a third of what memtables may take, so that
    /// one can fill while another is flushed.
    pub(crate) fn memtable_size(&self) -> usize {
        self.write_buffer_size.min(self.memtable_budget() / 3).max(64 * KIB)
    }
}
