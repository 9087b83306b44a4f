//! One run at a time owns a sink's directory. One that has been overtaken, and finds its files gone, says so.

use super::directory::{Directory, failed, staged_name};
use super::output_lock::{Holder, OutputLock};
use super::output_owner::OutputOwner;
use headpond_runtime::sink::{OutputClaim, SinkContext, SinkJob, SinkWriter};
use headpond_runtime::{ChangeBatch, Error, ErrorKind, Keys, Result};
use headpond_state::{AttemptId, CheckpointId, Context};
use serde_json::Value;

const OWNER: &str = "owner.json";

/// A run's claim to a directory.
#[derive(Debug)]
struct DirectoryClaim {
    directory: Directory,
    job: SinkJob,
    /// Who owned the directory when it was claimed.
    before: Option<AttemptId>,
    lock: Option<OutputLock>,
}

impl OutputClaim for DirectoryClaim {
    fn take(&mut self) -> Result<()> {
        self.directory.prepare_staging()?;
        self.lock = OutputLock::acquire(self.directory.root(), &Holder::of(&self.job))?;
        match self.directory.owner_of_output()? {
            Some(owner) if Some(owner.attempt()) != self.before.as_ref() => {
                Err(owner.overtaken(self.directory.root().path()))
            }
            _ => Ok(()),
        }
    }
}

/// A writer of a run, which may be overtaken.
#[derive(Debug)]
pub(super) struct OwnersWriter<W> {
    writer: W,
    directory: Directory,
    job: SinkJob,
}

impl<W: SinkWriter> OwnersWriter<W> {
    pub(super) fn new(writer: W, directory: &Directory, job: &SinkJob) -> Self {
        OwnersWriter { writer, directory: directory.clone(), job: job.clone() }
    }
}

impl<W: SinkWriter> SinkWriter for OwnersWriter<W> {
    fn write(&mut self, batch: &ChangeBatch, keys: Option<&Keys>, cx: &mut SinkContext<'_>) -> Result<()> {
        let written = self.writer.write(batch, keys, cx);
        written.map_err(|error| self.directory.why(&self.job, error))
    }

    fn prepare(&mut self, checkpoint: CheckpointId, last: bool, cx: &mut SinkContext<'_>) -> Result<Option<Value>> {
        let prepared = self.writer.prepare(checkpoint, last, cx);
        prepared.map_err(|error| self.directory.why(&self.job, error))
    }
}

impl Directory {
    /// The reason of an error: that another run has taken the directory over, and what was staged in it away, or what
    /// the error says.
    pub(super) fn why(&self, job: &SinkJob, error: Error) -> Error {
        match self.check_newest(job) {
            Err(overtaken) if overtaken.kind() == ErrorKind::Fenced => overtaken,
            _ => error,
        }
    }

    /// Looks who owns the directory.
    ///
    /// # Errors
    /// [`Fenced`](headpond_runtime::ErrorKind::Fenced) when a run is writing to it.
    pub(super) fn claim_output(&self, job: &SinkJob) -> Result<Box<dyn OutputClaim>> {
        // First, so that whoever comes in between is noticed.
        let before = self.owner_of_output()?.map(|owner| owner.attempt().clone());
        OutputLock::check_free(self.root())?;
        Ok(Box::new(DirectoryClaim { directory: self.clone(), job: job.clone(), before, lock: None }))
    }

    /// The run that owns what is here, if one is known.
    fn owner_of_output(&self) -> Result<Option<OutputOwner>> {
        let name = staged_name(OWNER)?;
        let bytes = self.read(&name)?;
        bytes.map(|bytes| OutputOwner::decode(&bytes, &self.root().locate(&name))).transpose()
    }

    /// Replaces the run that owns what is here.
    fn write_owner(&self, owner: &OutputOwner) -> Result<()> {
        let text = serde_json::to_vec(owner)
            .map_err(|cause| Error::internal("the output's owner is not JSON").because(cause))?;
        let name = staged_name(OWNER)?;
        self.replace(&name, &text)?;
        let synced = self.root().sync(name.split().0.as_ref());
        synced.map_err(|cause| failed("cannot sync the directory", self.root().path(), cause))
    }

    /// Creates the directory with what is staged in it.
    fn prepare_staging(&self) -> Result<()> {
        self.create_staging(None).map_err(|cause| {
            failed("the sink's directory cannot be written", self.root().path(), cause)
                .with(Context::Option, "path")
                .hint("make it writable, or choose another 'path'")
        })
    }

    /// Writes down that the run owns the directory, before it takes anything back: who was overtaken finds it.
    pub(super) fn take_over(&self, job: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()> {
        self.write_owner(&OutputOwner::taken_over(self.owner_of_output()?, job, checkpoint))
    }

    /// Checks that no other run has taken the directory over.
    ///
    /// # Errors
    /// [`Fenced`](headpond_runtime::ErrorKind::Fenced), naming the other run.
    pub(super) fn check_newest(&self, job: &SinkJob) -> Result<()> {
        match self.owner_of_output()? {
            Some(owner) => owner.check_newest(job, self.root().path()),
            // Removed with the directory, which whoever misses the rows will say.
            None => Ok(()),
        }
    }

    /// Checks that the directory has what was published up to the checkpoint that the job goes on from.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_runtime::ErrorKind::Incompatible) when other checkpoints' rows are in it.
    pub(super) fn check_has_restored(&self, job: &SinkJob) -> Result<()> {
        match (self.owner_of_output()?, &job.restored) {
            (Some(owner), Some(restored)) => owner.check_has(restored, self.root().path()),
            _ => Ok(()),
        }
    }
}
