//! Sinks: where rows go, exactly once if the sink can.
//!
//! Each worker has a [`SinkWriter`]. At a checkpoint's cut the writer *prepares*: it makes what it has written since
//! the last cut durable but invisible and returns a *committable*, any JSON value that names it. Committables are part
//! of the checkpoint's manifest. Once the manifest is durable, the leader calls [`Sink::commit`] with the committables
//! of all workers, and calls it again after every restore from that checkpoint: commit is idempotent.
//!
//! An output has one owner. A run [claims](Sink::claim) it before it looks for a checkpoint, [takes](OutputClaim::take)
//! it directly before it touches it, and holds it to its end.

use crate::batch::ChangeBatch;
use crate::key::Keys;
use crate::operator::no_migration;
use arrow_schema::SchemaRef;
pub use headpond_checkpoint::decisions::output::CheckpointRef;
use headpond_state::{AttemptId, CheckpointId, KeyedStateBackend, MaxParallelism, Migration, Result, StateDescriptor};
use serde_json::Value;
use std::fmt::Debug;

/// A sink for rows.
pub trait Sink: Debug + Send + Sync {
    /// The states of their own that writers register (the current row of every key); none by default. Where there are
    /// some, the runtime opens a keyed state backend for each writer and includes it in checkpoints. Only for sinks
    /// whose rows are exchanged by key.
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

    /// Checks that the sink can go on behind a checkpoint with these committables. Changes nothing: it is asked before
    /// a job is deployed, too.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) when what was written before is elsewhere.
    fn check_restored(&self, _job: &SinkJob, _committables: &[Committable]) -> Result<()> {
        Ok(())
    }

    /// Looks who owns the output, and changes nothing. Called once, before the run looks for a checkpoint. The default
    /// is for sinks whose output any number of runs may write to.
    ///
    /// # Errors
    /// [`Fenced`](headpond_state::ErrorKind::Fenced) when another run writes to it, naming that run.
    fn claim(&self, _job: &SinkJob) -> Result<Box<dyn OutputClaim>> {
        Ok(Box::new(Unclaimed))
    }

    /// Checks what was staged for a checkpoint and may not be published yet, before the job goes on from it. Changes
    /// nothing.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_state::ErrorKind::Corrupt), naming what is missing or damaged: the job falls back to an
    /// older checkpoint; [`Incompatible`](headpond_state::ErrorKind::Incompatible) when the output belongs to other
    /// checkpoints.
    fn check_staged(&self, _job: &SinkJob, _checkpoint: CheckpointId, _committables: &[Committable]) -> Result<()> {
        Ok(())
    }

    /// Whether output published after a checkpoint can be taken back when the job falls back to it. Where it cannot,
    /// falling back must accept duplicates ([`Remedy::AllowDuplicates`](headpond_state::Remedy::AllowDuplicates)).
    fn can_rewind(&self) -> bool;

    /// Checks that the sink can be written, before the job starts.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a place that cannot be written: path and way out.
    fn check(&self, job: &SinkJob) -> Result<()>;

    /// Takes back whatever was published or staged after `checkpoint` (`None`: a job that starts anew), by any attempt.
    /// Called once by the leader before any writer opens, and before the commits that a restore repeats.
    fn rewind(&self, job: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()>;

    /// Opens the writer of one worker.
    fn open(&self, setup: SinkSetup<'_>) -> Result<Box<dyn SinkWriter>>;

    /// Publishes what was prepared for `checkpoint` (and for earlier ones that came to nothing), by all workers.
    /// Idempotent.
    fn commit(&self, job: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()>;
}

/// The run a sink serves.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SinkJob {
    /// The job's name.
    pub job: String,
    /// This run.
    pub attempt: AttemptId,
    /// Where its checkpoints go, if it takes any.
    pub checkpoints: Option<String>,
    /// The checkpoint it goes on from, once that is known.
    pub restored: Option<CheckpointRef>,
}

impl SinkJob {
    /// A run without checkpoints, yet.
    pub fn new(job: impl Into<String>, attempt: AttemptId) -> Self {
        SinkJob { job: job.into(), attempt, checkpoints: None, restored: None }
    }

    /// The same run, going on from a checkpoint.
    #[must_use]
    pub fn restored_from(&self, restored: CheckpointRef) -> Self {
        SinkJob { restored: Some(restored), ..self.clone() }
    }
}

/// A run's claim to an output. Dropping it lets the output go.
pub trait OutputClaim: Debug + Send + Sync {
    /// Makes the run the output's one owner, until the claim is dropped or the process dies. Called once, directly
    /// before the output is touched.
    ///
    /// # Errors
    /// [`Fenced`](headpond_state::ErrorKind::Fenced) when another run owns it, or has owned it since it was claimed.
    fn take(&mut self) -> Result<()>;
}

/// The claim to an output that any number of runs may write to.
#[derive(Debug)]
pub struct Unclaimed;

impl OutputClaim for Unclaimed {
    fn take(&mut self) -> Result<()> {
        Ok(())
    }
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

    /// Makes what was written since the last cut durable and returns its committable, if there is any. `last` says that
    /// the input has ended and no further cut follows.
    fn prepare(&mut self, checkpoint: CheckpointId, last: bool, cx: &mut SinkContext<'_>) -> Result<Option<Value>>;
}
