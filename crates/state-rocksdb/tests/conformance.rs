//! The contract of a state backend, with settings that make it work hard on little data.

use headpond_state_rocksdb::{CompactionOptions, EmbeddedRocksDbStateBackend, RocksDbOptions};

mod as_configured_by_default {
    use super::*;
    headpond_state_conformance::conformance_tests!(|| EmbeddedRocksDbStateBackend::new(true));
}

/// Memtables of 64 KiB, a cache of 1 MiB, merges after every second flush.
mod with_hardly_any_memory {
    use super::*;

    fn tiny() -> EmbeddedRocksDbStateBackend {
        EmbeddedRocksDbStateBackend::with_options(RocksDbOptions {
            memory_budget: 1 << 20,
            write_buffer_size: 64 << 10,
            write_buffer_count: 2,
            reader_threads: 2,
            compaction: CompactionOptions {
                run_limit: 2,
                stop_limit: 4,
                file_size_min: 32 << 10,
                dead_min: 256 << 10,
                ..CompactionOptions::default()
            },
            ..RocksDbOptions::default()
        })
    }

    headpond_state_conformance::conformance_tests!(tiny);
}

mod with_full_checkpoints {
    use super::*;
    use headpond_state_conformance::scenarios;

    #[test]
    fn a_full_checkpoint_reuses_nothing() {
        scenarios::incremental::a_full_checkpoint_reuses_nothing(&|| EmbeddedRocksDbStateBackend::new(false));
    }

    #[test]
    fn a_chain_of_checkpoints_restores_from_its_last() {
        scenarios::incremental::a_chain_of_checkpoints_restores_from_its_last(&|| {
            EmbeddedRocksDbStateBackend::new(false)
        });
    }
}
