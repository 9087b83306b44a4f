//! Files that were made durable for a checkpoint, and whether they can be published.

use super::directory::{ALTERED, Directory, failed, name_of, part, staged_name};
use super::file_name::FileName;
use super::staged_file::PreparedFile;
use headpond_files::RelativeName;
use headpond_runtime::sink::Committable;
use headpond_runtime::{Error, Result};
use headpond_state::{Context, Remedy};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;

/// A file of a committable, checked to be one of its worker and checkpoint.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    pub(super) committable: &'a Committable,
    pub(super) name: FileName,
    pub(super) file: PreparedFile,
}

impl Directory {
    /// What a checkpoint keeps of prepared files, and of this directory where none was prepared.
    ///
    /// # Errors
    /// As [`prepared`](Self::prepared) when the directory is gone.
    pub(super) fn committable(&self, files: &[PreparedFile]) -> Result<Value> {
        let owner = self.owner()?.ok_or_else(|| self.removed())?;
        let mut committable = json!({ "directory": self.location(), "claim": owner.claim });
        if !files.is_empty() {
            committable["files"] = serde_json::to_value(files)
                .map_err(|cause| Error::internal("prepared files are not JSON").because(cause))?;
        }
        Ok(committable)
    }

    /// What a worker without a file gives to a checkpoint: one of them names the directory, so that the rows published
    /// before are looked for there.
    ///
    /// # Errors
    /// As [`committable`](Self::committable).
    pub(super) fn committable_without_file(&self, subtask: usize) -> Result<Option<Value>> {
        if subtask == 0 { self.committable(&[]).map(Some) } else { Ok(None) }
    }

    /// The prepared files of committables, having checked that this is the directory they were prepared in, and that
    /// each is a staged file of its own worker and checkpoint.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_runtime::ErrorKind::Incompatible) when it was another,
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when it was removed or emptied since, and for committables
    /// that this sink never made.
    pub(super) fn prepared<'a>(&self, committables: &'a [Committable]) -> Result<Vec<Prepared<'a>>> {
        let owner = self.owner()?;
        for committable in committables {
            let text = |name| committable.data.get(name).and_then(Value::as_str);
            // Directories that earlier releases claimed have no name for it.
            if text("claim").is_none() || text("claim") == owner.as_ref().and_then(|owner| owner.claim.as_deref()) {
                continue;
            }
            return Err(match text("directory").filter(|before| *before != self.location()) {
                Some(before) => Error::incompatible(format!(
                    "the checkpoint's rows are in '{before}', which was the table's 'path' when it was taken"
                ))
                .with(Context::Path, self.location())
                .with(Context::Checkpoint, committable.checkpoint)
                .hint("set 'path' back")
                .remedy(Remedy::StartAnew),
                None => self.removed().with(Context::Checkpoint, committable.checkpoint),
            });
        }
        let mut prepared = Vec::new();
        let mut seen = BTreeSet::new();
        for committable in committables {
            let Committable { subtask, checkpoint, data } = committable;
            for file in files(data)? {
                let (_, name) = self.locate(&file.staged, Some((*subtask, *checkpoint)))?;
                if !seen.insert(name) {
                    return Err(altered(format!("the checkpoint has '{}' of worker {subtask} twice", self.name(name)))
                        .with(Context::Checkpoint, checkpoint));
                }
                prepared.push(Prepared { committable, name, file });
            }
        }
        Ok(prepared)
    }

    /// The place of a staged file below the sink's directory, and what its name says.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) for what is no name of one of ours, or not of the worker and
    /// checkpoint it is said to be of.
    pub(super) fn locate(
        &self,
        staged: &str,
        of: Option<(usize, headpond_state::CheckpointId)>,
    ) -> Result<(RelativeName, FileName)> {
        let found = self.parse_staged(staged);
        let is_own = |name: &FileName| of.is_none_or(|of| of == (name.subtask, name.checkpoint));
        found.filter(|(_, name)| is_own(name)).ok_or_else(|| {
            let whose = of.map(|(subtask, _)| format!(" by worker {subtask}")).unwrap_or_default();
            let message = format!("'{}' is said to be staged{whose}, which is no name of its", staged.escape_debug());
            let error = altered(message).with(Context::Path, self.root().path().display());
            match of {
                Some((_, checkpoint)) => error.with(Context::Checkpoint, checkpoint),
                None => error,
            }
        })
    }

    /// The file that `<attempt>/<name>` is below the staging directory, if that is the place of one of ours.
    pub(super) fn parse_staged(&self, text: &str) -> Option<(RelativeName, FileName)> {
        let (attempt, file) = text.split_once('/')?;
        let name = self.parse(file)?;
        let is_ours = !attempt.is_empty() && part(attempt) == attempt;
        is_ours.then(|| Some((staged_name(text).ok()?, name)))?
    }

    /// Removes a staged file that need not be published any more.
    pub(super) fn unstage(&self, file: &PreparedFile) -> Result<()> {
        self.remove_named(&self.locate(&file.staged, None)?.0)
    }

    /// Moves a prepared file to where readers look, unless that was done before.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when the file was cut, or is gone though its checkpoint was
    /// never committed.
    pub(super) fn publish(&self, file: &PreparedFile) -> Result<()> {
        let (from, name) = self.locate(&file.staged, None)?;
        let to = name_of(&self.name(name))?;
        if !self.is_staged(file)? {
            return self.check_published(&from, name);
        }
        self.root()
            .rename(&from, &to)
            .map_err(|cause| failed("cannot publish the file", &self.root().locate(&to), cause))
    }

    /// Whether a prepared file still waits to be published.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when it was cut or made longer.
    pub(super) fn is_staged(&self, file: &PreparedFile) -> Result<bool> {
        let (place, _) = self.locate(&file.staged, None)?;
        let path = self.root().locate(&place);
        let found = self.root().look_at(&place).map_err(|cause| failed("cannot look at the file", &path, cause))?;
        match (found, &file.content) {
            (Some((_, length)), Some(content)) => content.check_length(length, &path).map(|()| true),
            (found, _) => Ok(found.is_some()),
        }
    }

    /// Checks that a prepared file can be published, or was.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when it was cut or altered, or is gone.
    pub(super) fn check_staged(&self, file: &PreparedFile) -> Result<()> {
        let (place, name) = self.locate(&file.staged, None)?;
        if self.check_content(&place, file)? { Ok(()) } else { self.check_published(&place, name) }
    }

    /// Whether a prepared file is there, and its bytes are what they were.
    pub(super) fn check_content(&self, place: &RelativeName, file: &PreparedFile) -> Result<bool> {
        let path = self.root().locate(place);
        match (self.root().open(place), &file.content) {
            (Ok(found), Some(content)) => content.check(found, &path).map(|()| true),
            (Ok(_), None) => Ok(true),
            (Err(cause), _) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
            (Err(cause), _) => Err(failed("cannot read the file", &path, cause)),
        }
    }

    /// Checks that what is not staged any more was published.
    fn check_published(&self, staged: &RelativeName, name: FileName) -> Result<()> {
        // Perhaps taken away since by whoever reads the results.
        let is_committed = self.committed()?.is_some_and(|committed| committed.checkpoint >= name.checkpoint);
        if is_committed || self.is_published(staged, name)? {
            return Ok(());
        }
        Err(Error::corrupt("rows that were prepared for a checkpoint are gone")
            .with(Context::Path, self.root().locate(staged).display())
            .with(Context::Checkpoint, name.checkpoint)
            .hint(
                "was the job restored to an earlier checkpoint or savepoint since, which takes back later output? Then go on \
                 from that one. Else files were removed: go back to an earlier one",
            )
            .remedy(Remedy::RestoreAnother)
            .remedy(Remedy::StartAnew))
    }
}

/// The files that a committable names.
fn files(data: &Value) -> Result<Vec<PreparedFile>> {
    let of_another = |cause| {
        Error::incompatible("the checkpoint holds something else than staged files for this sink")
            .hint("give the table the connector that it had when the checkpoint was taken")
            .remedy(Remedy::StartAnew)
            .because(cause)
    };
    match data.get("files") {
        Some(files) => Vec::deserialize(files).map_err(of_another),
        // Earlier releases prepared one file, and named it beside the directory.
        None if data.get("staged").is_some() || data.get("claim").is_none() => {
            PreparedFile::deserialize(data).map(|file| vec![file]).map_err(of_another)
        }
        None => Ok(Vec::new()),
    }
}

fn altered(message: String) -> Error {
    Error::corrupt(message).hint(ALTERED).remedy(Remedy::RestoreAnother).remedy(Remedy::StartAnew)
}
