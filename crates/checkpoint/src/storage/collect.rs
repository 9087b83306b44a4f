//! Deleting what is not needed any more.

use super::CheckpointStorage;
use crate::decisions::retention;
use crate::failpoints;
use crate::layout::SharedName;
use headpond_state::{CheckpointId, Result};

/// What a collection deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Checkpoints, in ascending order.
    pub checkpoints: Vec<CheckpointId>,
    /// State files.
    pub files: u64,
}

impl CheckpointStorage {
    /// Deletes the checkpoints beyond the newest `retain` (at least one), and then every state file that no remaining manifest
    /// and no checkpoint in flight names. Checkpoints that this attempt's history does not contain go too: those it skipped
    /// when it fell back, and all older ones when it was started anew. Does nothing before this attempt's first commit. May run while checkpoints are
    /// under way.
    ///
    /// # Errors
    /// As the store's. What was not deleted is tried again by the next call; the job can go on.
    pub fn collect(&self, retain: usize) -> Result<Collected> {
        let attempt = self.as_owner(|owned| owned.attempt.clone())?;
        let beyond = {
            let mut references = self.inner.references();
            let observed = references.observed();
            let mine = observed.iter().filter(|found| found.record.as_ref().is_some_and(|it| it.attempt == attempt));
            let Some(newest) = mine.map(|found| found.id).max() else { return Ok(Collected::default()) };
            let beyond = retention::beyond(&observed, newest, retain);
            for id in &beyond {
                references.forget(*id);
            }
            beyond
        };
        // The manifests first: a checkpoint whose manifest exists has its files.
        self.delete_checkpoints(&beyond)?;
        self.inner.options.failpoints.reach(failpoints::DURING_COLLECT);
        let files = self.delete_files()?;
        Ok(Collected { checkpoints: beyond, files })
    }

    fn delete_checkpoints(&self, ids: &[CheckpointId]) -> Result<()> {
        let (store, layout) = (&self.inner.store, &self.inner.layout);
        for (index, id) in ids.iter().enumerate() {
            let deleted = store.delete(&layout.manifest(*id)).and_then(|()| store.delete(&layout.checkpoint(*id)));
            if let Err(error) = deleted {
                // They may still be there, and what they name has been forgotten: spare every file until they are gone.
                let mut references = self.inner.references();
                ids[index..].iter().for_each(|left| references.unreadable(*left));
                return Err(error);
            }
        }
        Ok(())
    }

    fn delete_files(&self) -> Result<u64> {
        let mut deleted = 0;
        for entry in self.inner.store.list(&self.inner.layout.shared())? {
            // What is not named like ours is not ours.
            let Some(name) = SharedName::parse(&entry) else { continue };
            // Held over check and deletion; see `References`.
            let references = self.inner.references();
            if references.may_delete(&name) {
                self.inner.store.delete(&self.inner.layout.shared_file(&name))?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }
}
