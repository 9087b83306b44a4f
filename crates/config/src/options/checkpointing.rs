//! When checkpoints are made, where they are kept, and how many.

use super::section::options;
use crate::{Alias, ConfigOption, Location};
use std::time::Duration;

options! {
    "Checkpoints",
    "When checkpoints are made, where they are kept, and how many. Without a directory there are none, and a crash \
     loses the state.";

    /// Where checkpoints are kept.
    CHECKPOINTING_DIR: Option<Location> = ConfigOption::unset(
        "execution.checkpointing.dir",
        "no checkpoints",
        "The directory of the checkpoints: a path, relative to the current directory or absolute, a `file:` URI, or the URL \
         of a store: `s3://bucket/path`, see [Object stores](../operations/object-stores.md). Several jobs may share it.",
    )
    .aliases(&[Alias::new("state.checkpoints.dir"), Alias::new("spark.sql.streaming.checkpointLocation")]);
    /// Where savepoints go.
    SAVEPOINT_DIR: Option<Location> = ConfigOption::unset(
        "execution.checkpointing.savepoint-dir",
        "to be given with the command",
        "Where `headpond savepoint` puts savepoints when the command does not say: a directory or the URL of a store.",
    )
    .aliases(&[Alias::new("state.savepoints.dir")]);
    /// How often a checkpoint begins.
    CHECKPOINTING_INTERVAL: Duration = ConfigOption::new(
        "execution.checkpointing.interval",
        "10 s",
        "How often a checkpoint begins, if there is a directory for it. The end of the input makes one in any case.",
    )
    .at_least(1);
    /// How long a checkpoint may take.
    CHECKPOINTING_TIMEOUT: Duration = ConfigOption::new(
        "execution.checkpointing.timeout",
        "10 min",
        "How long a checkpoint may take; after that it has failed.",
    )
    .at_least(1);
    /// How long to wait between two checkpoints.
    CHECKPOINTING_MIN_PAUSE: Duration = ConfigOption::new(
        "execution.checkpointing.min-pause",
        "0 ms",
        "How long to wait after a checkpoint is done before the next one begins, even if its time has come.",
    );
    /// How many checkpoints in a row may fail.
    CHECKPOINTING_TOLERABLE_FAILURES: Option<usize> = ConfigOption::unset(
        "execution.checkpointing.tolerable-failed-checkpoints",
        "any number",
        "How many checkpoints in a row may fail before the job does. By default the job goes on whatever becomes of its \
         checkpoints, says so, and tries again after a pause of 100 ms to 10 s; what it would publish waits for the next \
         checkpoint. A job that another process has taken over stops in any case, and one whose input has ended gives up after \
         twelve attempts at its last checkpoint, about a minute.",
    );
    /// Whether checkpoints upload only what is new.
    CHECKPOINTING_INCREMENTAL: bool = ConfigOption::new(
        "execution.checkpointing.incremental",
        "true",
        "Whether a checkpoint uploads only the files that the one before does not have. Only `rocksdb` can.",
    )
    .aliases(&[Alias::new("state.backend.incremental")]);
    /// How many checkpoints are kept.
    CHECKPOINTING_NUM_RETAINED: usize = ConfigOption::new(
        "execution.checkpointing.num-retained",
        "2",
        "How many checkpoints are kept. With two or more, a damaged one is survived: the one before it takes its place.",
    )
    .aliases(&[Alias::new("state.checkpoints.num-retained")])
    .within(1, 1_000);
}
