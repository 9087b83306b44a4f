//! How a job runs, and what it starts from.

use crate::checkpointing::Checkpointing;
use headpond_checkpoint::{LocalStores, Stores};
use headpond_state::{MaxParallelism, StateBackend};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a job runs.
#[derive(Debug, Clone)]
pub struct JobOptions {
    /// The job's name: its identity across runs.
    pub name: String,
    /// The number of workers.
    pub parallelism: usize,
    /// The number of key groups. A restored job keeps the one it has.
    pub max_parallelism: MaxParallelism,
    /// Where keyed state is held.
    pub backend: Arc<dyn StateBackend>,
    /// Local disk for backends that need it; each operator and worker gets a directory of its own below it, which its
    /// backend makes and removes.
    pub local_dir: PathBuf,
    /// Checkpoints; `None`: a crash loses the state.
    pub checkpointing: Option<Checkpointing>,
    /// What to start from.
    pub restore: Restore,
    /// Opens the store of the checkpoint to restore, if one is named.
    pub stores: Arc<dyn Stores>,
    /// Whether a sink that cannot take back what it published may publish it again when the job falls back.
    pub allow_duplicates: bool,
    /// Whether state, positions and output of a checkpoint that the job has no place for may be left behind.
    pub allow_dropped_state: bool,
    /// Whether an operator that the checkpoint does not have may begin empty in front of what goes on.
    pub allow_empty_state: bool,
    /// The least time between two ticks that read rows: the latency below which batches are not split further.
    pub tick_interval: Duration,
    /// The most rows one source takes into one tick on one worker, give or take a reader's batch, and the most an
    /// operator gets at once. State is read and written in such batches, sorted: the larger they are, the less a row
    /// costs, and the longer a cut waits for the ticks before it.
    pub rows_per_tick: usize,
    /// The most ticks that may be unfinished before sources pause.
    pub ticks_in_flight: u64,
    /// How long a source may have nothing to read on a worker before event time goes on without it, until it has rows
    /// again; `None`: event time waits. A source's watermark strategy may
    /// [say otherwise](crate::source::WatermarkStrategy::idle_timeout).
    pub source_idle_timeout: Option<Duration>,
    /// Serializes what travels between the workers of the process, as between processes. For tests.
    pub serialized_channels: bool,
}

impl JobOptions {
    /// Options with their defaults: one worker, no checkpoints.
    pub fn new(name: impl Into<String>, backend: Arc<dyn StateBackend>, local_dir: impl Into<PathBuf>) -> Self {
        JobOptions {
            name: name.into(),
            parallelism: 1,
            max_parallelism: MaxParallelism::DEFAULT,
            backend,
            local_dir: local_dir.into(),
            checkpointing: None,
            restore: Restore::Latest,
            stores: Arc::new(LocalStores::default()),
            allow_duplicates: false,
            allow_dropped_state: false,
            allow_empty_state: false,
            tick_interval: Duration::from_millis(5),
            rows_per_tick: 131_072,
            ticks_in_flight: 3,
            source_idle_timeout: None,
            serialized_channels: false,
        }
    }
}

/// What a job starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restore {
    /// Its newest checkpoint that verifies; nothing if it has none.
    Latest,
    /// Nothing.
    None,
    /// The checkpoint at this path: `<dir>/<job>/chk-<n>`.
    From(String),
}
