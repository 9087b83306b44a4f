//! What was committed last, and what of it waits to be put together with later files.

use super::directory::{Directory, failed, part, staged_name};
use super::staged_file::PreparedFile;
use headpond_runtime::{Error, Result};
use headpond_state::{AttemptId, CheckpointId, Context, Remedy};
use serde::{Deserialize, Serialize};

const COMMITTED: &str = "committed";

/// The note of the last commit. It is written as the checkpoint's number alone where nothing is held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Committed {
    pub(super) checkpoint: CheckpointId,
    /// Committed files that readers do not see yet, in the order of their names.
    pub(super) held_back: Vec<HeldBack>,
}

/// A committed file that waits to be put together with later ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeldBack {
    #[serde(flatten)]
    pub(super) file: PreparedFile,
    /// When it was committed, in milliseconds since the epoch.
    pub(super) since_ms: u64,
}

impl Committed {
    pub(super) fn new(checkpoint: CheckpointId) -> Self {
        Committed { checkpoint, held_back: Vec::new() }
    }

    fn text(&self) -> Result<Vec<u8>> {
        if self.held_back.is_empty() {
            return Ok(self.checkpoint.to_string().into_bytes());
        }
        serde_json::to_vec(self).map_err(|cause| Error::internal("the note of a commit is not JSON").because(cause))
    }
}

impl Directory {
    /// The note of the last commit.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when it says no checkpoint.
    pub(super) fn committed(&self) -> Result<Option<Committed>> {
        let name = staged_name(COMMITTED)?;
        let Some(text) = self.read(&name)? else { return Ok(None) };
        let number = str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok());
        if let Some(number) = number {
            return Ok(Some(Committed::new(CheckpointId(number))));
        }
        serde_json::from_slice(&text).map(Some).map_err(|cause| {
            Error::corrupt("the file does not say which checkpoint was committed last")
                .with(Context::Path, self.root().locate(&name).display())
                .hint("bring it back from a copy")
                .remedy(Remedy::StartAnew)
                .because(cause)
        })
    }

    /// The note of the last commit as it was at a checkpoint, or would have been.
    pub(super) fn committed_up_to(&self, checkpoint: Option<CheckpointId>) -> Result<Option<Committed>> {
        let (Some(committed), Some(checkpoint)) = (self.committed()?, checkpoint) else { return Ok(None) };
        let mut held_back = Vec::new();
        for file in committed.held_back {
            if self.locate(&file.file.staged, None)?.1.checkpoint <= checkpoint {
                held_back.push(file);
            }
        }
        Ok(Some(Committed {
            checkpoint: committed.checkpoint.min(checkpoint),
            held_back: self.not_compacted(held_back)?,
        }))
    }

    /// Checks that what has been held back up to a checkpoint can be published, or was.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt), naming what is missing or damaged.
    pub(super) fn check_held_back(&self, checkpoint: CheckpointId) -> Result<()> {
        for HeldBack { file, .. } in self.committed()?.map(|committed| committed.held_back).unwrap_or_default() {
            let (place, name) = self.locate(&file.staged, None)?;
            if name.checkpoint > checkpoint || self.check_content(&place, &file)? || self.is_published(&place, name)? {
                continue;
            }
            return Err(Error::corrupt("rows that wait to be put together with others are gone")
                .with(Context::Path, self.root().locate(&place).display())
                .with(Context::Checkpoint, name.checkpoint)
                .hint("bring the file back")
                .remedy(Remedy::StartAnew));
        }
        Ok(())
    }

    /// Makes what was published and removed durable, notes the commit, and removes what is left of earlier attempts.
    pub(super) fn settle(&self, attempt: &AttemptId, committed: Option<&Committed>) -> Result<()> {
        self.sync(None)?;
        let name = staged_name(COMMITTED)?;
        match committed {
            Some(committed) => self.replace(&name, &committed.text()?)?,
            None => self.remove_named(&name)?,
        }
        if committed.is_some_and(|committed| !committed.held_back.is_empty()) {
            // Nothing else names these files.
            self.sync_staging()?;
        }
        let own = part(&attempt.0);
        for directory in self.attempts()?.into_iter().filter(|name| *name != own) {
            // Fails, as it should, while anything is in it.
            let _ = self.root().remove_directory(&staged_name(&directory)?);
        }
        Ok(())
    }

    /// Makes the names in the staging directory durable.
    pub(super) fn sync_staging(&self) -> Result<()> {
        self.sync(staged_name(COMMITTED)?.split().0.as_ref())
    }

    /// Makes the names in a directory durable.
    pub(super) fn sync(&self, directory: Option<&headpond_files::RelativeName>) -> Result<()> {
        let synced = self.root().sync(directory);
        synced.map_err(|cause| failed("cannot sync the directory", self.root().path(), cause))
    }
}
