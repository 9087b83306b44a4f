//! How a job takes checkpoints.

use headpond_checkpoint::storage::CheckpointStorage;
use std::time::Duration;

/// How a job takes checkpoints.
#[derive(Debug, Clone)]
pub struct Checkpointing {
    /// Where they go.
    pub storage: CheckpointStorage,
    /// The time between two cuts; `None`: only the last one.
    pub interval: Option<Duration>,
    /// The least time between a checkpoint's end and the next one's cut.
    pub min_pause: Duration,
    /// The time after which a checkpoint has failed.
    pub timeout: Duration,
    /// The consecutive failures that the job survives; `None`: any number. A checkpoint of another attempt ends the job
    /// in any case.
    pub tolerable_failures: Option<u32>,
    /// How many checkpoints are kept.
    pub retained: usize,
    /// Whether files of the last checkpoint are reused.
    pub incremental: bool,
    /// Whether backends compact their files at each checkpoint.
    pub compact: bool,
    /// A hook for crash tests, called before and after sinks commit.
    pub failpoints: headpond_checkpoint::failpoints::Failpoints,
}

impl Checkpointing {
    /// Flink's defaults, with a cut every 10 s; but a job outlives its checkpoints' failures.
    pub fn new(storage: CheckpointStorage) -> Self {
        Checkpointing {
            storage,
            interval: Some(Duration::from_secs(10)),
            min_pause: Duration::ZERO,
            timeout: Duration::from_secs(600),
            tolerable_failures: None,
            retained: 2,
            incremental: true,
            compact: false,
            failpoints: Default::default(),
        }
    }
}

/// The manifest is durable, the sinks' output is not published yet.
pub const BEFORE_SINK_COMMIT: &str = "before-sink-commit";
/// Some sinks have published their output, others have not.
pub const DURING_SINK_COMMIT: &str = "during-sink-commit";
/// All output is published.
pub const AFTER_SINK_COMMIT: &str = "after-sink-commit";
