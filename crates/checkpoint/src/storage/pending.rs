//! A checkpoint in flight.

use super::intake::{Claims, Intake, TakenFiles};
use super::{CheckpointStorage, record_of};
use crate::layout::SharedName;
use crate::manifest::{Manifest, Stats};
use headpond_state::{AttemptId, CheckpointId, CheckpointSink, Context, Error, Result};
use std::sync::Arc;

/// A checkpoint that has been begun: its plan. It takes files until it is [committed](CheckpointStorage::commit),
/// [aborted](CheckpointStorage::abort) or [cancelled](Self::cancel); dropping it aborts it.
#[derive(Debug)]
pub struct PendingCheckpoint {
    pub(super) storage: CheckpointStorage,
    pub(super) id: CheckpointId,
    pub(super) attempt: AttemptId,
    pub(super) base: Option<CheckpointId>,
    pub(super) incremental: bool,
    claims: Arc<dyn Claims>,
    pub(super) intake: Arc<Intake>,
}

impl PendingCheckpoint {
    /// The checkpoint's number.
    pub fn id(&self) -> CheckpointId {
        self.id
    }

    /// The checkpoint this one continues, if there is one.
    pub fn base(&self) -> Option<CheckpointId> {
        self.base
    }

    /// Whether the base's files may be reused.
    pub fn is_incremental(&self) -> bool {
        self.incremental
    }

    /// Where the snapshots' files go. May be used from any number of threads.
    pub fn sink(&self) -> Arc<dyn CheckpointSink> {
        Arc::clone(&self.intake) as Arc<dyn CheckpointSink>
    }

    /// What answers an intake of this checkpoint that is elsewhere.
    pub fn claims(&self) -> Arc<dyn Claims> {
        Arc::clone(&self.claims)
    }

    /// Takes over what an intake of this checkpoint has taken in elsewhere.
    ///
    /// # Errors
    /// [`Closed`](headpond_state::ErrorKind::Closed) when the checkpoint was cancelled;
    /// [`Internal`](headpond_state::ErrorKind::Internal) when a file was reused that the base does not name. The files
    /// are discarded then.
    pub fn take_over(&self, files: TakenFiles) -> Result<()> {
        let stranger = files.reused().find(|name| !self.claims.may_reuse(self.id, name)).cloned();
        match stranger {
            None => self.intake.take_over(files),
            Some(stranger) => {
                let path = self.storage.inner.layout.shared_file(&stranger);
                self.storage.files().discard(files);
                Err(Error::internal("a file was reused that the checkpoint's base does not name")
                    .with(Context::Path, path)
                    .with(Context::Checkpoint, self.id))
            }
        }
    }

    /// Makes every later call of the sink, and the next read of a running one, fail with
    /// [`Closed`](headpond_state::ErrorKind::Closed).
    pub fn cancel(&self) {
        self.intake.cancel();
    }

    /// What has been stored and reused so far.
    pub fn stats(&self) -> Stats {
        self.intake.progress().stats()
    }
}

impl Drop for PendingCheckpoint {
    fn drop(&mut self) {
        self.intake.cancel();
        // One lock after the other: a put takes the references while it holds the progress.
        let keep_claims = self.intake.progress().keep_claims;
        if !keep_claims {
            self.storage.inner.references().abort(self.id);
        }
    }
}

impl CheckpointStorage {
    /// Begins checkpoint `id`.
    ///
    /// `base` is the checkpoint this one continues, full or incremental: the last committed one, or at first the
    /// restored one. It is pinned until this checkpoint is resolved. A base that is not a checkpoint of this directory
    /// (a restored savepoint) is no base: everything is stored anew. Once the attempt owns the job, this does no I/O.
    ///
    /// # Errors
    /// As [`own`](Self::own), if `attempt` does not own the job yet; [`Fenced`](headpond_state::ErrorKind::Fenced) when
    /// `id` exists; [`Invalid`](headpond_state::ErrorKind::Invalid) when `id` is in flight.
    pub fn begin(
        &self,
        id: CheckpointId,
        attempt: &AttemptId,
        base: Option<&Manifest>,
        incremental: bool,
    ) -> Result<PendingCheckpoint> {
        self.own(attempt)?;
        let existed = self.as_owner(|owned| {
            owned.given_up.insert(id);
            !owned.known.insert(id)
        })?;
        let mut references = self.inner.references();
        if existed && references.in_flight(id) {
            return Err(Error::invalid("this checkpoint has been begun already").with(Context::Checkpoint, id));
        }
        if references.observed().iter().any(|found| found.id == id) {
            return Err(crate::decisions::fencing::fenced(id));
        }
        let of_this_job = base.filter(|base| base.job == self.inner.job);
        let record = of_this_job.map(|base| (base.checkpoint, record_of(base)));
        let has_base = references.begin(id, record.as_ref().map(|(id, record)| (*id, record)));
        drop(references);
        let claims: Arc<dyn Claims> = Arc::new(OwnClaims { storage: self.clone(), incremental });
        Ok(PendingCheckpoint {
            storage: self.clone(),
            id,
            attempt: attempt.clone(),
            base: record.map(|(id, _)| id).filter(|_| has_base),
            incremental,
            intake: self.files().intake(id, Arc::clone(&claims)),
            claims,
        })
    }

    /// Gives a checkpoint up: what it stored goes, its claims are released. Later calls of its sink fail.
    pub fn abort(&self, pending: PendingCheckpoint) {
        drop(pending);
    }
}

/// Names as the owner of the job knows them.
#[derive(Debug)]
struct OwnClaims {
    storage: CheckpointStorage,
    incremental: bool,
}

impl Claims for OwnClaims {
    fn claim(&self, checkpoint: CheckpointId, name: &SharedName) -> Result<()> {
        self.storage.inner.claim(checkpoint, name);
        Ok(())
    }

    fn may_reuse(&self, checkpoint: CheckpointId, name: &SharedName) -> bool {
        self.incremental && self.storage.inner.references().may_reuse(checkpoint, name)
    }
}
