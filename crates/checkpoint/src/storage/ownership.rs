//! One attempt at a time owns a job.

use super::owned::Owned;
use super::{CheckpointStorage, names_of, record_of};
use crate::decisions::ids::next_id;
use crate::decisions::references::References;
use crate::store::Ownership;
use headpond_state::{AttemptId, CheckpointId, Error, Result};
use std::collections::BTreeSet;
use std::sync::Arc;

impl CheckpointStorage {
    /// Makes `attempt` the job's owner until the last clone of this storage and the last of its sinks and sources is
    /// dropped, or until [`release`](Self::release). Creates the job's directory, and clears what a dead attempt left
    /// half done. Does nothing if `attempt` owns it already.
    ///
    /// # Errors
    /// [`Fenced`](headpond_state::ErrorKind::Fenced) when another attempt runs the job,
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when the directory cannot be created or written,
    /// [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted) when its disk is full.
    pub fn own(&self, attempt: &AttemptId) -> Result<()> {
        let mut owned = self.inner.owned();
        if let Some(owner) = owned.as_ref() {
            return if owner.attempt == *attempt {
                Ok(())
            } else {
                Err(Error::fenced(format!("the job is being run by {} in this process", owner.attempt)))
            };
        }
        let (store, layout) = (&self.inner.store, &self.inner.layout);
        let lock = store.acquire(&layout.owner(), &attempt.0, self.inner.options.ownership_patience)?;
        store.clear_staging(layout.directory())?;
        let mut known = BTreeSet::new();
        let mut references = self.inner.references();
        for id in self.existing()? {
            known.insert(id);
            match self.read_manifest(id) {
                Ok(Some(manifest)) => references.committed(id, record_of(&manifest), names_of(&manifest)),
                // A directory without a manifest: an attempt died in it. Its number stays taken for this attempt.
                Ok(None) => store.remove_directory(&layout.checkpoint(id))?,
                Err(error) => {
                    tracing::info!(checkpoint = id.0, %error, "a checkpoint's manifest cannot be read");
                    references.unreadable(id);
                }
            }
        }
        *owned = Some(Owned {
            attempt: attempt.clone(),
            known,
            given_up: BTreeSet::new(),
            uncertain: None,
            lock: Arc::from(lock),
        });
        Ok(())
    }

    /// Lets go of the job before the last clone is dropped. Checkpoints in flight can no longer be committed.
    pub fn release(&self) {
        *self.inner.owned() = None;
        *self.inner.references() = References::default();
    }

    /// A number for the next checkpoint, beyond every existing one, unfinished and damaged ones included.
    ///
    /// The owner counts on from what it knows, whatever has come since: whoever does not know of a checkpoint, because
    /// a listing did not show it or because it is another attempt's, meets it under its own number.
    ///
    /// # Errors
    /// As the store's.
    pub fn next_id(&self) -> Result<CheckpointId> {
        let known = self.inner.owned().as_ref().map(|owned| owned.known.clone());
        match known {
            Some(known) => next_id(known),
            None => next_id(self.existing()?),
        }
    }

    /// What tells whether this attempt still owns the job.
    pub(super) fn ownership(&self) -> Result<Arc<dyn Ownership>> {
        self.as_owner(|owned| Arc::clone(&owned.lock))
    }

    /// Runs `with` on what the owning attempt knows.
    pub(super) fn as_owner<T>(&self, with: impl FnOnce(&mut Owned) -> T) -> Result<T> {
        let mut owned = self.inner.owned();
        let owned =
            owned.as_mut().ok_or_else(|| Error::closed("this attempt does not own the job, or has let go of it"))?;
        Ok(with(owned))
    }
}
