//! The checks of what a checkpoint has staged, or has published since.

use super::directory::{Directory, failed, name_of};
use super::staged_file::{Content, StagedFile};
use headpond_files::RelativeName;
use headpond_runtime::sink::Committable;
use headpond_runtime::{Error, Result};
use headpond_state::{Context, Remedy};
use std::io;

impl Directory {
    /// Writes to a file of a worker.
    pub(super) fn write(&self, staged: &mut StagedFile, bytes: &[u8]) -> Result<()> {
        staged.write(bytes).map_err(|cause| failed("cannot write the file", &staged.path, cause))
    }

    /// Checks that a prepared file can be published, or was.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when it was cut or altered, or is gone, and as
    /// [`prepared`](Self::prepared).
    pub(super) fn check_staged(&self, committable: &Committable) -> Result<()> {
        let from = self.staged(committable)?;
        let path = self.root().locate(&from);
        match (self.root().open(&from), Content::of(&committable.data)) {
            (Ok(found), Some(content)) => content.check(found, &path),
            (Ok(_), None) => Ok(()),
            (Err(cause), _) if cause.kind() == io::ErrorKind::NotFound => self.check_published(committable, &from),
            (Err(cause), _) => Err(failed("cannot read the file", &path, cause)),
        }
    }

    /// Checks that what is not staged any more was published.
    pub(super) fn check_published(&self, committable: &Committable, staged: &RelativeName) -> Result<()> {
        // Perhaps taken away since by whoever reads the results.
        let published = name_of(staged.split().1)?;
        if self.kind(&published)?.is_some() || self.committed()? >= Some(committable.checkpoint) {
            return Ok(());
        }
        Err(Error::corrupt("rows that were prepared for a checkpoint are gone")
            .with(Context::Path, self.root().locate(staged).display())
            .with(Context::Checkpoint, committable.checkpoint)
            .hint(
                "was the job restored to an earlier checkpoint or savepoint since, which takes back later output? Then go on \
                 from that one. Else files were removed: go back to an earlier one",
            )
            .remedy(Remedy::RestoreAnother)
            .remedy(Remedy::StartAnew))
    }
}
