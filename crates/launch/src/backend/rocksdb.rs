//! The settings of RocksDB.

use headpond_config::options;
use headpond_config::{Config, ConfigOption, MemorySize, OptionValue};
use headpond_state_rocksdb::{Compression, PredefinedOptions, RocksDbOptions};

pub(super) fn rocksdb_options(config: &Config) -> RocksDbOptions {
    let predefined = match config.get(&options::ROCKSDB_PREDEFINED_OPTIONS) {
        options::PredefinedOptions::Default => PredefinedOptions::Default,
        options::PredefinedOptions::SpinningDiskOptimized => PredefinedOptions::SpinningDiskOptimized,
        options::PredefinedOptions::SpinningDiskOptimizedHighMem => PredefinedOptions::SpinningDiskOptimizedHighMem,
        options::PredefinedOptions::FlashSsdOptimized => PredefinedOptions::FlashSsdOptimized,
    };
    let mut rocksdb = RocksDbOptions::default().with_predefined(predefined);
    let chosen = Chosen { config, all: predefined == PredefinedOptions::Default };

    rocksdb.incremental = config.get(&options::CHECKPOINTING_INCREMENTAL);
    rocksdb.local_directories = config.get(&options::ROCKSDB_LOCAL_DIRS);
    chosen.apply(&options::ROCKSDB_MEMORY_BUDGET, |size| rocksdb.memory_budget = bytes(size));
    chosen.apply(&options::ROCKSDB_WRITE_BUFFER_RATIO, |ratio| rocksdb.write_buffer_ratio = ratio);
    chosen.apply(&options::ROCKSDB_BLOCK_CACHE_SIZE, |size| rocksdb.block_cache_size = size.map(bytes));
    chosen.apply(&options::ROCKSDB_WRITE_BUFFER_SIZE, |size| rocksdb.write_buffer_size = bytes(size));
    chosen.apply(&options::ROCKSDB_WRITE_BUFFER_COUNT, |count| rocksdb.write_buffer_count = count as usize);
    chosen.apply(&options::ROCKSDB_BLOCK_SIZE, |size| rocksdb.block_size = bytes(size));
    chosen.apply(&options::ROCKSDB_BLOOM_FILTER_BITS_PER_KEY, |bits| rocksdb.bloom_bits_per_key = bits);
    if !config.get(&options::ROCKSDB_USE_BLOOM_FILTER) {
        rocksdb.bloom_bits_per_key = 0.0;
    }
    chosen.apply(&options::ROCKSDB_PARTITIONED_INDEX_FILTERS, |split| rocksdb.partitioned_index_filters = split);
    chosen.apply(&options::ROCKSDB_COMPRESSION, |compression| {
        rocksdb.compression = match compression {
            options::Compression::None => Compression::None,
            options::Compression::Lz4 => Compression::Lz4,
            options::Compression::Zstd => Compression::Zstd,
        }
    });
    chosen.apply(&options::ROCKSDB_THREADS, |threads| rocksdb.threads = threads as usize);
    chosen.apply(&options::ROCKSDB_OPEN_FILES, |files| rocksdb.max_open_files = files);
    chosen.apply(&options::ROCKSDB_COMPACTION_RUN_LIMIT, |runs| rocksdb.compaction.run_limit = runs as usize);
    chosen.apply(&options::ROCKSDB_COMPACTION_TARGET_FILE_SIZE, |size| {
        rocksdb.compaction.file_size_min = size.bytes();
        rocksdb.compaction.file_size_max = rocksdb.compaction.file_size_max.max(size.bytes());
    });
    rocksdb
}

/// Which options count: all, or over a predefined set those that someone has set.
struct Chosen<'c> {
    config: &'c Config,
    all: bool,
}

impl Chosen<'_> {
    fn apply<T: OptionValue>(&self, option: &ConfigOption<T>, apply: impl FnOnce(T)) {
        if self.all || self.config.is_set(option) {
            apply(self.config.get(option));
        }
    }
}

fn bytes(size: MemorySize) -> usize {
    usize::try_from(size.bytes()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(settings: &[&str]) -> Config {
        let mut config = Config::default();
        settings.iter().for_each(|setting| config.define(setting).expect("the setting is right"));
        config
    }

    #[test]
    fn the_registrys_defaults_are_those_of_the_backend() {
        assert_eq!(rocksdb_options(&Config::default()), RocksDbOptions::default());
    }

    #[test]
    fn a_single_option_wins_over_a_predefined_set() {
        let set = "state.backend.rocksdb.predefined-options=SPINNING_DISK_OPTIMIZED";
        let predefined = RocksDbOptions::default().with_predefined(PredefinedOptions::SpinningDiskOptimized);
        assert_eq!(rocksdb_options(&config(&[set])), predefined);
        let single = rocksdb_options(&config(&[set, "state.backend.rocksdb.block.blocksize=16 kb"]));
        assert_eq!(single, RocksDbOptions { block_size: 16 << 10, ..predefined });
    }

    #[test]
    fn names_of_other_systems_are_wired_too() {
        let names = ["spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB=128", "state.backend.incremental=false"];
        let options = rocksdb_options(&config(&names));
        assert_eq!((options.memory_budget, options.incremental), (128 << 20, false));
        let unfiltered = rocksdb_options(&config(&["state.backend.rocksdb.use-bloom-filter=false"]));
        assert_eq!(unfiltered.bloom_bits_per_key, 0.0);
    }
}
