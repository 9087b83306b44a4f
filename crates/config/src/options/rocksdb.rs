//! RocksDB by Flink's names.

use super::section::options;
use crate::choices;
use crate::{Alias, Choice, ConfigOption, MemorySize, Support};
use std::path::PathBuf;

choices! {
    /// How RocksDB arranges its files.
    pub enum CompactionStyle {
        /// In levels.
        Level = Choice::new("LEVEL"),
    }
    known:
        Choice::new("UNIVERSAL").refused("checkpoints are planned with levels; leave 'LEVEL'"),
        Choice::new("FIFO").refused("it would drop state; set 'table.exec.state.ttl' to let state expire"),
        Choice::new("NONE").refused("files would never be merged; leave 'LEVEL'"),
}

choices! {
    /// How RocksDB compresses its files.
    pub enum Compression {
        /// Not at all.
        None = Choice::new("NO_COMPRESSION").also(&["none"]),
        /// By LZ4: fast.
        Lz4 = Choice::new("LZ4_COMPRESSION").also(&["lz4"]),
        /// By Zstandard: small.
        Zstd = Choice::new("ZSTD_COMPRESSION").also(&["zstd"]),
    }
    known:
        Choice::new("SNAPPY_COMPRESSION")
            .also(&["snappy"])
            .refused("this build has no Snappy; take 'LZ4_COMPRESSION', which is as fast"),
}

choices! {
    /// Sets of options by Flink's names.
    pub enum PredefinedOptions {
        /// Headpond's own defaults.
        Default = Choice::new("DEFAULT"),
        /// For disks that spin.
        SpinningDiskOptimized = Choice::new("SPINNING_DISK_OPTIMIZED"),
        /// For disks that spin, with more memory.
        SpinningDiskOptimizedHighMem = Choice::new("SPINNING_DISK_OPTIMIZED_HIGH_MEM"),
        /// For solid-state disks.
        FlashSsdOptimized = Choice::new("FLASH_SSD_OPTIMIZED"),
    }
}

options! {
    "RocksDB",
    "How the `rocksdb` backend works, by Flink's names. The defaults are not Flink's: they were measured for large batches \
     and small checkpoints.";

    /// Where the databases are.
    ROCKSDB_LOCAL_DIRS: Vec<PathBuf> = ConfigOption::new(
        "state.backend.rocksdb.localdir",
        "",
        "Local directories for the databases, separated by `,`; operators take turns. Without one they are under the job's \
         own directory, never silently in the system's temporary folder.",
    )
    .aliases(&[Alias::new("state.backend.rocksdb.local-dir")]);
    /// How much memory cache and memtables have together.
    ROCKSDB_MEMORY_BUDGET: MemorySize = ConfigOption::new(
        "state.backend.rocksdb.memory.fixed-per-tm",
        "512 mb",
        "How much memory the block cache and the memtables of all workers may take together.",
    )
    .aliases(&[Alias::in_unit("spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB", "mb")])
    .at_least(4 << 20);
    /// Flink's budget for each slot.
    ROCKSDB_MEMORY_FIXED_PER_SLOT: Option<MemorySize> = ConfigOption::unset(
        "state.backend.rocksdb.memory.fixed-per-slot",
        "not supported",
        "Flink's budget for each slot.",
    )
    .support(Support::Refused(
        "the workers of a process share one budget: set 'state.backend.rocksdb.memory.fixed-per-tm' to this size times \
         the parallelism",
    ));
    /// Whether there is a budget at all.
    ROCKSDB_MEMORY_MANAGED: bool = ConfigOption::new(
        "state.backend.rocksdb.memory.managed",
        "true",
        "Whether RocksDB's memory is bounded.",
    )
    .aliases(&[Alias::new("spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage")])
    .support(Support::NoEffect("RocksDB's memory is always bounded, by 'state.backend.rocksdb.memory.fixed-per-tm'"));
    /// The part of the budget for memtables.
    ROCKSDB_WRITE_BUFFER_RATIO: f64 = ConfigOption::new(
        "state.backend.rocksdb.memory.write-buffer-ratio",
        "0.5",
        "The part of the budget that memtables may take.",
    )
    .aliases(&[Alias::new("spark.sql.streaming.stateStore.rocksdb.writeBufferCacheRatio")])
    .within(0, 1);
    /// The part of the cache for index and filter blocks.
    ROCKSDB_HIGH_PRIORITY_POOL_RATIO: f64 = ConfigOption::new(
        "state.backend.rocksdb.memory.high-prio-pool-ratio",
        "0.1",
        "The part of the cache that index and filter blocks have to themselves.",
    )
    .aliases(&[Alias::new("spark.sql.streaming.stateStore.rocksdb.highPriorityPoolRatio")])
    .within(0, 1)
    .support(Support::NoEffect("RocksDB's own ratio is kept"));
    /// Whether indexes and filters are cached in parts.
    ROCKSDB_PARTITIONED_INDEX_FILTERS: bool = ConfigOption::new(
        "state.backend.rocksdb.memory.partitioned-index-filters",
        "false",
        "Whether indexes and filters are split into blocks that are cached one by one. Worth it when the filters of all \
         files, 1.25 bytes a key, are larger than the memory budget; else it costs a tenth of the speed.",
    );
    /// Whether each checkpoint compacts first.
    ROCKSDB_COMPACT_ON_CHECKPOINT: bool = ConfigOption::new(
        "state.backend.rocksdb.compact-on-checkpoint",
        "false",
        "Whether each checkpoint compacts the whole database first. Reads get cheaper, and each checkpoint uploads \
         nearly everything; the summary shows what it costs.",
    )
    .aliases(&[
        Alias::new("spark.sql.streaming.stateStore.rocksdb.compactOnCommit"),
        Alias::new("spark.sql.streaming.rocksdb.compactOnCommit.enabled"),
    ]);
    /// A set of options by name.
    ROCKSDB_PREDEFINED_OPTIONS: PredefinedOptions = ConfigOption::new(
        "state.backend.rocksdb.predefined-options",
        "DEFAULT",
        "A set of options by name; single options that are set win over it.",
    );
    /// The size of the block cache.
    ROCKSDB_BLOCK_CACHE_SIZE: Option<MemorySize> = ConfigOption::unset(
        "state.backend.rocksdb.block.cache-size",
        "the memory budget",
        "The size of the block cache that all workers share; memtables are charged to it.",
    )
    .aliases(&[Alias::in_unit("spark.sql.streaming.stateStore.rocksdb.blockCacheSizeMB", "mb")])
    .at_least(1 << 20);
    /// The size of a block.
    ROCKSDB_BLOCK_SIZE: MemorySize = ConfigOption::new(
        "state.backend.rocksdb.block.blocksize",
        "8 kb",
        "About how much data a block has.",
    )
    .aliases(&[Alias::in_unit("spark.sql.streaming.stateStore.rocksdb.blockSizeKB", "kb")])
    .within(1 << 10, 1 << 30);
    /// The size of a memtable.
    ROCKSDB_WRITE_BUFFER_SIZE: MemorySize = ConfigOption::new(
        "state.backend.rocksdb.writebuffer.size",
        "64 mb",
        "How much a memtable holds before it is flushed; less if the budget asks for it.",
    )
    .aliases(&[Alias::in_unit("spark.sql.streaming.stateStore.rocksdb.writeBufferSizeMB", "mb")])
    .within(64 << 10, 1 << 40);
    /// How many memtables there may be.
    ROCKSDB_WRITE_BUFFER_COUNT: u32 = ConfigOption::new(
        "state.backend.rocksdb.writebuffer.count",
        "4",
        "How many memtables a state may have, the flushing ones included.",
    )
    .aliases(&[Alias::new("spark.sql.streaming.stateStore.rocksdb.maxWriteBufferNumber")])
    .within(2, 64);
    /// How many memtables are flushed together.
    ROCKSDB_WRITE_BUFFER_NUMBER_TO_MERGE: u32 = ConfigOption::new(
        "state.backend.rocksdb.writebuffer.number-to-merge",
        "1",
        "How many memtables are merged before they are flushed.",
    )
    .support(Support::Only(&["1"], "a checkpoint flushes its memtables, however few there are"));
    /// Whether files have bloom filters.
    ROCKSDB_USE_BLOOM_FILTER: bool = ConfigOption::new(
        "state.backend.rocksdb.use-bloom-filter",
        "true",
        "Whether files have bloom filters, which spare reads of keys that are not there.",
    );
    /// How many bits a bloom filter has for each key.
    ROCKSDB_BLOOM_FILTER_BITS_PER_KEY: f64 = ConfigOption::new(
        "state.backend.rocksdb.bloom-filter.bits-per-key",
        "10",
        "How many bits a bloom filter has for each key.",
    )
    .within(1, 100);
    /// How files are arranged.
    ROCKSDB_COMPACTION_STYLE: CompactionStyle = ConfigOption::new(
        "state.backend.rocksdb.compaction.style",
        "LEVEL",
        "How files are arranged; there is one way.",
    );
    /// Whether the sizes of levels follow the last one.
    ROCKSDB_COMPACTION_DYNAMIC_LEVELS: bool = ConfigOption::new(
        "state.backend.rocksdb.compaction.level.use-dynamic-size",
        "true",
        "Whether the sizes of the levels follow from the size of the last one.",
    )
    .support(Support::NoEffect(PLANNED));
    /// The size of the first level.
    ROCKSDB_COMPACTION_MAX_LEVEL_BASE: Option<MemorySize> = ConfigOption::unset(
        "state.backend.rocksdb.compaction.level.max-size-level-base",
        "planned",
        "The size of the first sorted level.",
    )
    .support(Support::NoEffect(PLANNED));
    /// The least size of a file.
    ROCKSDB_COMPACTION_TARGET_FILE_SIZE: MemorySize = ConfigOption::new(
        "state.backend.rocksdb.compaction.level.target-file-size-base",
        "2 mb",
        "The least size of a file that compaction writes; files grow with the state. Smaller files make incremental \
         checkpoints smaller.",
    )
    .within(64 << 10, 1 << 40);
    /// At how many flushed files something is merged.
    ROCKSDB_COMPACTION_RUN_LIMIT: u32 = ConfigOption::new(
        "state.backend.rocksdb.compaction.level0.file-num-trigger",
        "8",
        "How many flushed files may gather before some are merged. More of them make reads dearer and checkpoints smaller.",
    )
    .within(2, 1_000);
    /// How files are compressed.
    ROCKSDB_COMPRESSION: Compression = ConfigOption::new(
        "state.backend.rocksdb.compression.per.level",
        "LZ4_COMPRESSION",
        "How files are compressed, the same on all levels.",
    );
    /// How many threads flush and compact.
    ROCKSDB_THREADS: u32 = ConfigOption::new(
        "state.backend.rocksdb.thread.num",
        "2",
        "How many threads flush, and as many that compact, for all workers together.",
    )
    .within(1, 1_024);
    /// How many files may be open.
    ROCKSDB_OPEN_FILES: i32 = ConfigOption::new(
        "state.backend.rocksdb.files.open",
        "512",
        "How many files a database keeps open; -1 is no limit.",
    )
    .aliases(&[Alias::new("spark.sql.streaming.stateStore.rocksdb.maxOpenFiles")])
    .at_least(-1);
}

const PLANNED: &str = "Headpond plans compaction around checkpoints, see 'state.backend.rocksdb.compaction.level0.\
                       file-num-trigger'";
