//! Sinks: where rows go, exactly once if the sink can.
//!
//! Each worker has a [`SinkWriter`]. At a checkpoint's cut the writer *prepares*: it makes what it has written since
//! the last cut durable but invisible and returns a *committable*, any JSON value that names it. Committables are part of the
//! checkpoint's manifest. Once the manifest is durable, worker 0 calls [`Sink::commit`] with the committables of all
//! workers, and calls it again after every restore from that checkpoint: commit is idempotent.

use crate::batch::ChangeBatch;
use crate::key::Keys;
use crate::operator::no_migration;
use arrow_schema::SchemaRef;
use headpond_state::{AttemptId, CheckpointId, KeyedStateBackend, MaxParallelism, Migration, Result, StateDescriptor};
use serde_json::Value;
use std::fmt::Debug;

/// A sink for rows.
pub trait Sink: Debug + Send + Sync {
    /// The states of their own that writers register (the current row of every key); none by default. Where there are some, the
    /// runtime opens a keyed state backend for each writer and includes it in checkpoints. Only for sinks whose rows are
    /// exchanged by key.
    ///
    /// # Errors
    /// As [`open`](Self::open) would register them.
    fn states(&self) -> Result<Vec<StateDescriptor>> {
        Ok(Vec::new())
    }

    /// Whether writers keep state of their own.
    fn is_stateful(&self) -> bool {
        !matches!(self.states(), Ok(states) if states.is_empty())
    }

    /// How a restored state becomes the one declared now, as
    /// [`KeyedOperatorFactory::migration`](crate::operator::KeyedOperatorFactory::migration).
    ///
    /// # Errors
    /// As there.
    fn migration(&self, restored: &StateDescriptor, declared: &StateDescriptor) -> Result<Migration> {
        no_migration(restored, declared)
    }

    /// Checks that the sink can go on behind a checkpoint with these committables. Changes nothing: it is asked before a job is
    /// deployed, too.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) when what was written before is elsewhere.
    fn check_restored(&self, _job: &SinkJob, _committables: &[Committable]) -> Result<()> {
        Ok(())
    }

    /// Whether output published after a checkpoint can be taken back when the job falls back to it. Where it cannot, falling back asks
    /// for `--allow-duplicates`.
    fn can_rewind(&self) -> bool;

    /// Checks that the sink can be written, before the job starts.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a place that cannot be written: path and way out.
    fn check(&self, job: &SinkJob) -> Result<()>;

    /// Takes back whatever was published or staged after `checkpoint` (`None`: a job that starts anew), by any attempt.
    /// Called once on worker 0 before any writer opens, and before the commits that a restore repeats.
    fn rewind(&self, job: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()>;

    /// Opens the writer of one worker.
    fn open(&self, setup: SinkSetup<'_>) -> Result<Box<dyn SinkWriter>>;

    /// Publishes what was prepared for `checkpoint` (and for earlier ones that came to nothing), by all workers. Idempotent.
    fn commit(&self, job: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()>;
}

/// The run a sink serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkJob {
    /// The job's name.
    pub job: String,
    /// This run.
    pub attempt: AttemptId,
}

/// What a writer prepared: the key to publishing it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Committable {
    /// The worker that prepared it.
    pub subtask: usize,
    /// The checkpoint it was prepared for; older than the one it is committed with when that one was aborted.
    pub checkpoint: CheckpointId,
    /// What the sink's commit needs.
    pub data: Value,
}

/// What a writer is opened with.
#[derive(Debug)]
pub struct SinkSetup<'a> {
    /// The run.
    pub job: &'a SinkJob,
    /// The worker's index.
    pub subtask: usize,
    /// The number of workers.
    pub parallelism: usize,
    /// The number of key groups.
    pub max_parallelism: MaxParallelism,
    /// The columns of every batch.
    pub schema: SchemaRef,
    /// The writer's state, restored, when [`Sink::is_stateful`].
    pub state: Option<&'a mut dyn KeyedStateBackend>,
}

/// What a writer works with during a call.
#[derive(Debug)]
pub struct SinkContext<'a> {
    /// The writer's state when [`Sink::is_stateful`].
    pub state: Option<&'a mut (dyn KeyedStateBackend + 'static)>,
}

/// Writes the rows of one worker.
pub trait SinkWriter: Debug + Send {
    /// Takes rows; `keys` are theirs when they were exchanged by key.
    fn write(&mut self, batch: &ChangeBatch, keys: Option<&Keys>, cx: &mut SinkContext<'_>) -> Result<()>;

    /// Makes what was written since the last cut durable and returns its committable, if there is any. `last` says that the input
    /// has ended and no further cut follows.
    fn prepare(&mut self, checkpoint: CheckpointId, last: bool, cx: &mut SinkContext<'_>) -> Result<Option<Value>>;
}
