//! The job as a whole.

use super::section::options;
use crate::choices;
use crate::{Alias, Choice, ConfigOption, Location, OptionValue, Support, Value, ValueType};
use std::time::Duration;

/// Where a job starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restore {
    /// At the job's last checkpoint, if there is one.
    Latest,
    /// Anew.
    None,
    /// At the checkpoint there.
    From(Location),
}

impl OptionValue for Restore {
    const TYPE: ValueType = ValueType::WordOrLocation(&["latest", "none"]);

    fn from_value(value: Option<&Value>) -> Option<Self> {
        match value {
            Some(Value::Text(text)) => Some(match text.as_str() {
                "latest" => Restore::Latest,
                "none" => Restore::None,
                path => Restore::From(Location::from(path)),
            }),
            _ => None,
        }
    }
}

choices! {
    /// How a job runs.
    pub enum RuntimeMode {
        /// As a stream: results appear as they change.
        Streaming = Choice::new("streaming"),
        /// As the sources ask for, which is always as a stream.
        Automatic = Choice::new("automatic"),
    }
    known:
        Choice::new("batch").refused("Headpond runs jobs as streams; a bounded source simply ends"),
}

options! {
    "The job",
    "How a job is called, how wide it is, and where it starts.";

    /// The job's name.
    PIPELINE_NAME: Option<String> = ConfigOption::unset(
        "pipeline.name",
        "the name of the SQL file, without its ending",
        "The job's name. Its checkpoints are found by it, so two jobs that share a checkpoint directory need two names.",
    );
    /// How many workers run the job.
    PARALLELISM: usize = ConfigOption::new(
        "parallelism.default",
        "1",
        "How many workers run the job, each a thread. It may change between two runs: state is redistributed.",
    )
    .aliases(&[Alias::new("table.exec.resource.default-parallelism")])
    .within(1, 32_768);
    /// How many key groups there are.
    MAX_PARALLELISM: u32 = ConfigOption::new(
        "pipeline.max-parallelism",
        "128",
        "How many key groups the keys are divided into, and so the greatest parallelism that the job can ever have. It \
         is fixed by the job's first checkpoint; another value is then ignored with a warning.",
    )
    .within(1, 32_768);
    /// Where the job starts.
    RESTORE: Restore = ConfigOption::new(
        "execution.restore",
        "latest",
        "Where the job starts: at its `latest` checkpoint if there is one, at `none` (anew), or at the checkpoint at a \
         path or URL.",
    )
    .aliases(&[Alias::new("execution.state-recovery.path"), Alias::new("execution.savepoint.path")]);
    /// How the job runs.
    RUNTIME_MODE: RuntimeMode = ConfigOption::new(
        "execution.runtime-mode",
        "streaming",
        "How the job runs. There is one way, `streaming`; `automatic` means the same.",
    )
    .support(Support::NoEffect("Headpond runs every job as a stream"));
    /// How long a tick lasts.
    TICK_INTERVAL: Duration = ConfigOption::new(
        "pipeline.tick.interval",
        "5 ms",
        "How long sources collect rows before they are processed together. Longer ticks cost latency and save work.",
    )
    .within(1, 60_000);
    /// How many rows a tick takes.
    TICK_MAX_ROWS: usize = ConfigOption::new(
        "pipeline.tick.max-rows",
        "131072",
        "How many rows each worker takes into one tick at most. Large batches halve what RocksDB costs per row.",
    )
    .within(1, 16_777_216);
}
