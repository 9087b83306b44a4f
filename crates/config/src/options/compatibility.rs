//! Lines that people have in their files and that need no change: they ask for what happens anyway.

use super::section::options;
use crate::choices;
use crate::{Alias, Choice, ConfigOption, Support};

choices! {
    /// How often a row may count after a crash.
    pub enum CheckpointingMode {
        /// Once.
        ExactlyOnce = Choice::new("EXACTLY_ONCE"),
        /// Once at least, which once is.
        AtLeastOnce = Choice::new("AT_LEAST_ONCE"),
    }
}

choices! {
    /// What becomes of checkpoints when a job is stopped.
    pub enum CheckpointRetention {
        /// They stay.
        RetainOnCancellation = Choice::new("RETAIN_ON_CANCELLATION"),
    }
    known:
        Choice::new("DELETE_ON_CANCELLATION").refused("checkpoints stay when a job stops; delete the directory yourself"),
        Choice::new("NO_EXTERNALIZED_CHECKPOINTS")
            .refused("checkpoints stay when a job stops; leave out 'execution.checkpointing.dir' to have none"),
}

choices! {
    /// Where checkpoints are stored.
    pub enum CheckpointStorage {
        /// In a directory.
        Filesystem = Choice::new("filesystem").also(&["FileSystemCheckpointStorage"]),
    }
    known:
        Choice::new("jobmanager")
            .also(&["JobManagerCheckpointStorage"])
            .refused("checkpoints are kept in a directory; set 'execution.checkpointing.dir'"),
}

options! {
    "Accepted for compatibility",
    "Lines from Flink and Spark that ask for what Headpond does anyway. They are accepted with a warning where that is \
     worth saying; a value that Headpond cannot honour is refused.";

    /// How often a row may count after a crash.
    CHECKPOINTING_MODE: CheckpointingMode = ConfigOption::new(
        "execution.checkpointing.mode",
        "EXACTLY_ONCE",
        "How often a row may count after a crash.",
    )
    .support(Support::NoEffect("every checkpoint is exactly once"));
    /// Whether barriers overtake rows.
    CHECKPOINTING_UNALIGNED: bool = ConfigOption::new(
        "execution.checkpointing.unaligned.enabled",
        "false",
        "Whether checkpoints overtake rows.",
    )
    .aliases(&[Alias::new("execution.checkpointing.unaligned")])
    .support(Support::NoEffect("checkpoints do not wait for rows of other ticks"));
    /// What becomes of checkpoints when a job is stopped.
    CHECKPOINTING_RETENTION: CheckpointRetention = ConfigOption::new(
        "execution.checkpointing.externalized-checkpoint-retention",
        "RETAIN_ON_CANCELLATION",
        "What becomes of checkpoints when a job is stopped: they stay.",
    );
    /// How many checkpoints may be in progress.
    CHECKPOINTING_MAX_CONCURRENT: u32 = ConfigOption::new(
        "execution.checkpointing.max-concurrent-checkpoints",
        "1",
        "How many checkpoints may be in progress.",
    )
    .support(Support::Only(&["1"], "checkpoints follow one another"));
    /// Where checkpoints are stored.
    CHECKPOINT_STORAGE: CheckpointStorage = ConfigOption::new(
        "execution.checkpointing.storage",
        "filesystem",
        "Where checkpoints are stored: in a directory.",
    )
    .aliases(&[Alias::new("state.checkpoint-storage")]);
    /// Whether a copy of the checkpoint stays on the local disk.
    CHECKPOINTING_LOCAL_BACKUP: bool = ConfigOption::new(
        "execution.checkpointing.local-backup.enabled",
        "false",
        "Whether a copy of the checkpoint stays on the local disk.",
    )
    .aliases(&[Alias::new("state.backend.local-recovery")])
    .support(Support::NoEffect("checkpoints are on a local disk"));
    /// Whether RocksDB writes a changelog between snapshots.
    SPARK_CHANGELOG_CHECKPOINTING: bool = ConfigOption::new(
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
        "false",
        "Whether Spark's RocksDB uploads changelogs between snapshots.",
    )
    .support(Support::NoEffect("checkpoints are incremental, see 'execution.checkpointing.incremental'"));
    /// Whether the client waits for the job.
    DML_SYNC: bool = ConfigOption::new(
        "table.dml-sync",
        "true",
        "Whether the client waits for the job.",
    )
    .support(Support::NoEffect("'headpond run' always waits for the job"));
}
