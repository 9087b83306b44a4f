//! Whose an output is: the newest run that took it over, and the runs that published what is in it.
//!
//! `<path>/.staging/owner.json`, replaced by each run before it takes anything back. A run that finds another's name in
//! it has been overtaken and touches nothing.

use super::output_lock::Holder;
use headpond_checkpoint::decisions::output::{CheckpointRef, OutputHistory};
use headpond_runtime::sink::SinkJob;
use headpond_runtime::{Error, Result};
use headpond_state::{AttemptId, CheckpointId, Context, Remedy};
use serde::{Deserialize, Serialize};
use std::path::Path;

const VERSION: u32 = 1;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OutputOwner {
    version: u32,
    owner: Holder,
    history: OutputHistory,
}

impl OutputOwner {
    /// The owner in the bytes of the file.
    pub(super) fn decode(bytes: &[u8], path: &Path) -> Result<Self> {
        let found: OutputOwner = serde_json::from_slice(bytes).map_err(|cause| {
            Error::corrupt("the file does not say who published what is in its directory")
                .with(Context::Path, path.display())
                .because(cause)
                .hint("move the directory away")
                .remedy(Remedy::StartAnew)
        })?;
        if found.version != VERSION {
            return Err(Error::incompatible("a later release of Headpond wrote to the sink's directory")
                .with(Context::Path, path.display())
                .hint("use that release, or choose another 'path'"));
        }
        Ok(found)
    }

    /// The owner once a run has taken the output over, at `checkpoint` or to begin anew.
    pub(super) fn taken_over(before: Option<Self>, job: &SinkJob, checkpoint: Option<CheckpointId>) -> Self {
        let restored = checkpoint.map(|checkpoint| match &job.restored {
            Some(restored) => restored.clone(),
            None => CheckpointRef { attempt: AttemptId(String::new()), checkpoint },
        });
        let before = before.map(|before| before.history);
        let history = OutputHistory::taken_over(before, job.attempt.clone(), restored.as_ref());
        OutputOwner { version: VERSION, owner: Holder::of(job), history }
    }

    /// The run that owns the output.
    pub(super) fn attempt(&self) -> &AttemptId {
        &self.history.newest
    }

    /// Checks that the output has what was published up to the checkpoint that the job goes on from.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_runtime::ErrorKind::Incompatible), naming who published instead.
    pub(super) fn check_has(&self, restored: &CheckpointRef, directory: &Path) -> Result<()> {
        if self.history.has(restored) {
            return Ok(());
        }
        let checkpoints = self.owner.checkpoints();
        Err(Error::incompatible(format!(
            "the output does not go on from this checkpoint: another run has taken back or replaced the rows behind it ({})",
            self.owner
        ))
        .with(Context::Path, directory.display())
        .with(Context::Checkpoint, restored.checkpoint)
        .hint(format!("go on with that run's checkpoints ({checkpoints}), or give this job another 'path'"))
        .remedy(Remedy::StartAnew))
    }

    /// Checks that `job` is still the newest run.
    ///
    /// # Errors
    /// [`Fenced`](headpond_runtime::ErrorKind::Fenced), naming the newer one.
    pub(super) fn check_newest(&self, job: &SinkJob, directory: &Path) -> Result<()> {
        if self.history.newest == job.attempt { Ok(()) } else { Err(self.overtaken(directory)) }
    }

    /// The error of a run that has been overtaken by this one.
    pub(super) fn overtaken(&self, directory: &Path) -> Error {
        Error::fenced(format!("the output has been taken over by another run ({})", self.owner))
            .with(Context::Path, directory.display())
            .hint("let one of the two run; this one stops and leaves the output as it is")
    }
}
