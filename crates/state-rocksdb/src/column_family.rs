//! How databases and column families are opened.

use crate::options::{Compression, RocksDbOptions};
use crate::shared::Shared;
use headpond_state::{KeyGroup, MaxParallelism, MergeOperator, StateDescriptor};
use rust_rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, ColumnFamilyDescriptor, DBCompressionType, DataBlockIndexType, LogLevel,
    MergeOperands, Options,
};

/// The level most of the state lies in.
pub(crate) const BASE_LEVEL: i32 = 6;

/// RocksDB would seal a memtable at this multiple of our own limit. It must never come to that.
const OWN_SEAL_FACTOR: usize = 16;

/// How long RocksDB looks in the cache for blocks of a file it deletes: until less than one in ten is found there. Each
/// checkpoint writes files and drops others, and their blocks would stay until the cache is full.
const UNCACHE_AGGRESSIVENESS: u32 = 230;

/// The name of a state's column family.
pub(crate) fn column_family_name(state: &str) -> String {
    format!("state:{state}")
}

/// What the keys of a key group begin with.
pub(crate) fn prefix(group: u16, max: MaxParallelism) -> Vec<u8> {
    let mut prefix = Vec::with_capacity(2);
    KeyGroup(group).encode(max, &mut prefix);
    prefix
}

/// The options of a database.
pub(crate) fn database_options(shared: &Shared) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_env(&shared.env);
    options.set_write_buffer_manager(&shared.memtables);
    options.set_max_background_jobs(8);
    options.set_max_open_files(shared.options.max_open_files);
    options.set_avoid_flush_during_shutdown(true);
    options.set_max_bgerror_resume_count(0);
    // The manifest is uploaded whole with each checkpoint: it is kept small.
    options.set_max_manifest_file_size(32 << 10);
    options.set_manifest_preallocation_size(32 << 10);
    // There are no logs to replay, and nothing to dump.
    options.set_log_level(LogLevel::Warn);
    options.set_keep_log_file_num(2);
    options.set_max_log_file_size(1 << 20);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options.set_skip_stats_update_on_db_open(true);
    options.set_compaction_readahead_size(256 << 10);
    options.set_writable_file_max_buffer_size(256 << 10);
    options.set_bytes_per_sync(1 << 20);
    options
}

/// The options of a state's column family.
pub(crate) fn column_family_options(shared: &Shared, merge: Option<MergeOperator>) -> Options {
    let settings = &shared.options;
    let mut options = Options::default();
    options.set_block_based_table_factory(&table_options(shared));
    options.set_compression_type(match settings.compression {
        Compression::None => DBCompressionType::None,
        Compression::Lz4 => DBCompressionType::Lz4,
        Compression::Zstd => DBCompressionType::Zstd,
    });
    options.set_num_levels(BASE_LEVEL + 1);
    options.set_disable_auto_compactions(true);
    options.set_uncache_aggressiveness(UNCACHE_AGGRESSIVENESS);
    size_memtables(&mut options, settings);
    if let Some(operator) = merge {
        register_merge(&mut options, operator);
    }
    options
}

/// The column family of a state, to open a database with.
pub(crate) fn column_family(shared: &Shared, state: &StateDescriptor) -> ColumnFamilyDescriptor {
    ColumnFamilyDescriptor::new(column_family_name(&state.name), column_family_options(shared, state.merge))
}

fn size_memtables(options: &mut Options, settings: &RocksDbOptions) {
    let own = settings.memtable_size();
    let theirs = own.saturating_mul(OWN_SEAL_FACTOR).max(1 << 30);
    options.set_write_buffer_size(theirs);
    options.set_arena_block_size((own / 64).clamp(16 << 10, 1 << 20));
    // RocksDB would stop writes at this number; the writer waits long before.
    options.set_max_write_buffer_number(1024);
    options.set_min_write_buffer_number_to_merge(1);
    // A bloom filter of two percent of a memtable spares most searches for keys it has not.
    options.set_memtable_prefix_bloom_ratio(0.02 * own as f64 / theirs as f64);
    options.set_memtable_whole_key_filtering(true);
}

fn table_options(shared: &Shared) -> BlockBasedOptions {
    let settings = &shared.options;
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&shared.cache);
    table.set_block_size(settings.block_size);
    table.set_format_version(6);
    if settings.bloom_bits_per_key > 0.0 {
        table.set_bloom_filter(settings.bloom_bits_per_key, false);
        table.set_optimize_filters_for_memory(true);
    }
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_cache_index_and_filter_blocks(true);
    table.set_cache_index_and_filter_blocks_with_high_priority(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    table.set_pin_top_level_index_and_filter(true);
    if settings.partitioned_index_filters {
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_partition_filters(settings.bloom_bits_per_key > 0.0);
        table.set_metadata_block_size(16 << 10);
    }
    table
}

/// The callbacks run inside RocksDB, where a panic would abort the process: [`MergeOperator::fold`] has none.
fn register_merge(options: &mut Options, operator: MergeOperator) {
    let name = match operator {
        MergeOperator::Append => "headpond.append",
        MergeOperator::AddI64 => "headpond.add-i64",
    };
    options.set_merge_operator_associative(
        name,
        move |_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands| {
            let mut operands = operands.iter();
            let mut value = match existing {
                Some(existing) => existing.to_vec(),
                None => operands.next().map(<[u8]>::to_vec).unwrap_or_default(),
            };
            operands.for_each(|operand| operator.fold(&mut value, operand));
            Some(value)
        },
    );
}
