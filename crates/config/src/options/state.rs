//! Which backend holds the state, and in which form.

use super::section::options;
use crate::choices;
use crate::{Alias, Choice, ConfigOption, MemorySize};

choices! {
    /// The kinds of state backends.
    pub enum StateBackendType {
        /// Hash tables in memory.
        Memory = Choice::new("memory").also(&[
            "hashmap",
            "filesystem",
            "jobmanager",
            "HashMapStateBackend",
            "HashMapStateBackendFactory",
            "MemoryStateBackend",
            "MemoryStateBackendFactory",
            "FsStateBackend",
            "FsStateBackendFactory",
            "HDFSBackedStateStoreProvider",
        ]),
        /// RocksDB on the local disk.
        RocksDb = Choice::new("rocksdb").also(&[
            "EmbeddedRocksDBStateBackend",
            "EmbeddedRocksDBStateBackendFactory",
            "RocksDBStateBackend",
            "RocksDBStateBackendFactory",
            "RocksDBStateStoreProvider",
        ]),
    }
    known:
        Choice::new("tiered").refused("not yet available; take 'rocksdb', whose checkpoints 'tiered' will restore"),
        Choice::new("forst")
            .also(&["ForStStateBackend", "ForStStateBackendFactory"])
            .refused("Headpond has no ForSt; take 'rocksdb'"),
}

choices! {
    /// How SQL rows are written into state.
    pub enum SerializationFormat {
        /// Headpond's own compact form.
        Row = Choice::new("row"),
        /// Protobuf messages.
        Protobuf = Choice::new("protobuf"),
        /// Avro records.
        Avro = Choice::new("avro"),
    }
}

options! {
    "State",
    "Which backend holds the state of the keys, and in which form. A job may go from `memory` to `rocksdb` between two \
     runs: `rocksdb` restores the checkpoints of both. `memory` restores only its own, so the way back is to start anew.";

    /// Which backend holds the state.
    STATE_BACKEND_TYPE: StateBackendType = ConfigOption::new(
        "state.backend.type",
        "memory",
        "Which backend holds the state: `memory` is fast and must fit, `rocksdb` keeps it on the local disk. Flink's and \
         Spark's names and class names are understood, such as `hashmap`, `HashMapStateBackend`, \
         `MemoryStateBackend`, `HDFSBackedStateStoreProvider`, `EmbeddedRocksDBStateBackend` and \
         `RocksDBStateStoreProvider`.",
    )
    .aliases(&[
        Alias::new("state.backend"),
        Alias::new("spark.sql.streaming.stateStore.providerClass"),
    ]);
    /// How SQL rows are written into state.
    STATE_SERIALIZATION_FORMAT: SerializationFormat = ConfigOption::new(
        "state.serialization.format",
        "row",
        "How the values of SQL state are written: `row` (compact, the fastest), `protobuf` or `avro`. Keys always have \
         Headpond's own form.",
    );
    /// How much memory the state of the `memory` backend may take.
    STATE_MEMORY_LIMIT: Option<MemorySize> = ConfigOption::unset(
        "state.backend.memory.limit",
        "a share of the memory that the container or the machine has",
        "How much memory the `memory` backend may take in all workers together. When the state nears it the job stops \
         with a message, and its last checkpoint can be restored with `rocksdb`.",
    )
    .at_least(1 << 20);
}
