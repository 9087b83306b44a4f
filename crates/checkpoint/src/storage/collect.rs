//! Deleting what is not needed any more.

use super::CheckpointStorage;
use crate::decisions::retention;
use crate::failpoints;
use crate::layout::SharedName;
use headpond_state::{CheckpointId, Result};

/// Files that one call deletes: as many as an object store takes in one request.
const DELETED_AT_ONCE: usize = 1_000;

/// Keeps a checkpoint from being collected as long as it lives.
#[derive(Debug)]
pub struct Hold {
    storage: CheckpointStorage,
    id: CheckpointId,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.storage.inner.references().let_go(self.id);
    }
}

/// What a collection deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Checkpoints, in ascending order.
    pub checkpoints: Vec<CheckpointId>,
    /// State files.
    pub files: u64,
}

impl CheckpointStorage {
    /// Keeps a checkpoint of this attempt's whatever retention says, for somebody who reads it while the job goes on.
    pub fn hold(&self, id: CheckpointId) -> Hold {
        self.inner.references().hold(id);
        Hold { storage: self.clone(), id }
    }

    /// Deletes the checkpoints beyond the newest `retain` (at least one), and then every state file that no remaining
    /// manifest and no checkpoint in flight names. Those that are [held](Self::hold) stay. Checkpoints that this
    /// attempt's history does not contain go too: those it skipped when it fell back, and all older ones when it was
    /// started anew. Does nothing before this attempt's first commit. May run while checkpoints are under way.
    ///
    /// # Errors
    /// [`Fenced`](headpond_state::ErrorKind::Fenced) when a newer attempt owns the job, else as the store's. What was
    /// not deleted is tried again by the next call; the job can go on.
    pub fn collect(&self, retain: usize) -> Result<Collected> {
        let attempt = self.as_owner(|owned| owned.attempt.clone())?;
        let newest = {
            let observed = self.inner.references().observed();
            let mine =
                observed.into_iter().filter(|found| found.record.as_ref().is_some_and(|it| it.attempt == attempt));
            let Some(newest) = mine.map(|found| found.id).max() else { return Ok(Collected::default()) };
            newest
        };
        // Listed first, and owned after that: whatever a newer attempt stores later is not among them.
        let candidates = self.shared_files()?;
        self.ownership()?.check()?;
        let beyond = {
            let references = self.inner.references();
            let mut beyond = retention::beyond(&references.observed(), newest, retain);
            beyond.retain(|id| !references.is_held(*id));
            beyond
        };
        self.delete_beyond(beyond, &candidates)
    }

    /// Deletes these checkpoints, and those of these files that nothing names then.
    pub(super) fn delete_beyond(&self, beyond: Vec<CheckpointId>, candidates: &[SharedName]) -> Result<Collected> {
        {
            let mut references = self.inner.references();
            beyond.iter().for_each(|id| references.forget(*id));
        }
        // The manifests first: a checkpoint whose manifest exists has its files.
        self.delete_checkpoints(&beyond)?;
        self.inner.options.failpoints.reach(failpoints::DURING_COLLECT);
        let mut files = 0;
        for batch in candidates.chunks(DELETED_AT_ONCE) {
            files += self.inner.delete_unnamed(batch)?;
        }
        Ok(Collected { checkpoints: beyond, files })
    }

    fn delete_checkpoints(&self, ids: &[CheckpointId]) -> Result<()> {
        let (store, layout) = (&self.inner.store, &self.inner.layout);
        let manifests: Vec<String> = ids.iter().map(|id| layout.manifest(*id)).collect();
        if manifests.is_empty() {
            return Ok(());
        }
        let deleted = store
            .delete(&manifests)
            .and_then(|()| ids.iter().try_for_each(|id| store.remove_directory(&layout.checkpoint(*id))));
        deleted.inspect_err(|_| {
            // They may still be there, and what they name has been forgotten: spare every file until they are gone.
            let mut references = self.inner.references();
            ids.iter().for_each(|id| references.unreadable(*id));
        })
    }

    /// The state files there are. What is not named like ours is not ours.
    pub(super) fn shared_files(&self) -> Result<Vec<SharedName>> {
        let entries = self.inner.store.list(&self.inner.layout.shared())?;
        Ok(entries.iter().filter_map(|entry| SharedName::parse(entry)).collect())
    }
}
