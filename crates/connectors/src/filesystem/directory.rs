//! The directory a sink writes to: who owns it, what is staged in it, what is published.
//!
//! ```text
//! <path>/_headpond.json                        which INSERT of which job writes here
//! <path>/.staging/owner.lock                   held by the run that writes here
//! <path>/.staging/owner.json                   the newest run, and those that published what is here
//! <path>/.staging/committed                    the last committed checkpoint, and what of it waits for more
//! <path>/.staging/<attempt>/open-<worker>-0    being written
//! <path>/.staging/<attempt>/part-0-7.json      durable, prepared by worker 0 for checkpoint 7
//! <path>/part-0-7.json                         published
//! ```
//!
//! Publishing is a rename: a file is either staged or published, and publishing it again changes nothing. Files with
//! other names are left alone. The marker also names the *claim*, the run that made the directory the INSERT's own; so
//! does whatever is prepared. Rows of a checkpoint are thereby never published into another directory than the one
//! with the rows before them.
//!
//! Others may write to the directory too, and a checkpoint's committables come from a file. So symbolic links below the
//! directory are not followed, and a committable names a staged file of its own worker and checkpoint or nothing.

use super::file_name::FileName;
use super::staged_file::{ClosedFile, PreparedFile, StagedFile};
use headpond_files::{EntryKind, RelativeName, Root, is_link};
use headpond_runtime::sink::{Committable, SinkJob};
use headpond_runtime::{Error, Result};
use headpond_state::{AttemptId, CheckpointId, Context, Remedy};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MARKER: &str = "_headpond.json";
const STAGING: &str = ".staging";
/// The marker and the note of the last commit are a few hundred bytes.
const NOTE_BYTES_MAX: u64 = 1 << 20;
const OUT_OF_DISK: &str = "free some space and run the job again: it goes on from its last checkpoint";
const NOT_WRITABLE: &str = "make it writable and run the job again: it goes on from its last checkpoint";
const LINK: &str = "headpond follows no links below the directory of a sink: remove it, or choose another 'path'";
pub(super) const ALTERED: &str = "the checkpoint's manifest was altered: bring it back as it was";
const NOT_THERE: &str = "was the sink's directory removed? bring it back from a copy";

/// A directory that files are written to.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    root: Root,
    /// What names of published files begin with.
    kind: &'static str,
    /// What they end with.
    ending: &'static str,
}

/// Who writes here.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    version: u32,
    job: String,
    insert: String,
    /// The run that made the directory the INSERT's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) claim: Option<String>,
}

impl Directory {
    pub(super) fn new(path: PathBuf, kind: &'static str, ending: &'static str) -> Self {
        Directory { root: Root::new(path), kind, ending }
    }

    pub(super) fn root(&self) -> &Root {
        &self.root
    }

    pub(super) fn name(&self, name: FileName) -> String {
        name.text(self.kind, self.ending)
    }

    /// What a file name says, if it is one of ours.
    pub(super) fn parse(&self, text: &str) -> Option<FileName> {
        FileName::parse(text, self.kind, self.ending)
    }

    /// Checks that files can be written here and that nobody else does.
    ///
    /// # Errors
    /// [`Invalid`](headpond_runtime::ErrorKind::Invalid), naming the directory and the way out.
    pub(super) fn check(&self, job: &SinkJob, insert: &str) -> Result<()> {
        let probe = staged_name(&format!("probe-{}", part(&job.attempt.0)))?;
        let unwritable = |cause: io::Error| {
            failed("the sink's directory cannot be written", self.root.path(), cause)
                .with(Context::Option, "path")
                .hint("make it writable, or choose another 'path'")
        };
        self.create_staging(None).map_err(unwritable)?;
        let probed = || {
            gone(self.root.remove_file(&probe))?;
            self.root.create_new(&probe)?;
            self.root.remove_file(&probe)
        };
        probed().map_err(unwritable)?;
        match self.owner()? {
            Some(owner) => self.check_owner(&owner, job, insert),
            None => match self.published()?.first() {
                Some(name) => Err(Error::invalid("the directory has files that Headpond would write and did not")
                    .with(Context::Path, self.root.path().join(self.name(*name)).display())
                    .hint("move them away, or choose another 'path'")),
                None => Ok(()),
            },
        }
    }

    /// Checks that this is the directory that a checkpoint's rows are in, and that the INSERT may write to it.
    ///
    /// # Errors
    /// As [`check`](Self::check), [`prepared`](Self::prepared) and [`check_has_restored`](Self::check_has_restored).
    pub(super) fn check_restored(&self, job: &SinkJob, insert: &str, committables: &[Committable]) -> Result<()> {
        if let Some(owner) = self.owner()? {
            self.check_owner(&owner, job, insert)?;
        }
        self.check_has_restored(job)?;
        if committables.is_empty() { Ok(()) } else { self.prepared(committables).map(drop) }
    }

    /// Makes the directory the INSERT's own.
    pub(super) fn claim(&self, job: &SinkJob, insert: &str) -> Result<()> {
        if let Some(owner) = self.owner()? {
            return self.check_owner(&owner, job, insert);
        }
        let claim = Some(job.attempt.0.clone());
        let owner = Owner { version: 1, job: job.job.clone(), insert: insert.to_owned(), claim };
        let text =
            serde_json::to_string(&owner).map_err(|cause| Error::internal("the marker is not JSON").because(cause))?;
        self.create_staging(None).map_err(|cause| failed("cannot create the directory", self.root.path(), cause))?;
        self.replace(&name_of(MARKER)?, text.as_bytes())
    }

    pub(super) fn owner(&self) -> Result<Option<Owner>> {
        let Some(text) = self.read(&name_of(MARKER)?)? else { return Ok(None) };
        let marker = self.root.path().join(MARKER);
        serde_json::from_slice(&text).map(Some).map_err(|cause| {
            Error::invalid("the file does not say who writes to its directory")
                .with(Context::Path, marker.display())
                .because(cause)
                .hint("choose another 'path', or empty the directory")
        })
    }

    fn check_owner(&self, owner: &Owner, job: &SinkJob, insert: &str) -> Result<()> {
        let directory = self.root.path().display();
        if owner.version != 1 {
            return Err(Error::incompatible("a later release of Headpond wrote to the sink's directory")
                .with(Context::Path, directory)
                .hint("use that release, or choose another 'path'"));
        }
        if owner.job != job.job {
            return Err(Error::invalid(format!("the job '{}' writes to the sink's directory", owner.job))
                .with(Context::Path, directory)
                .hint("choose another 'path'; or remove the directory, if that job's result is no longer needed"));
        }
        if owner.insert != insert {
            return Err(Error::invalid(format!(
                "another INSERT of the job ('{}') writes to the sink's directory",
                owner.insert
            ))
            .with(Context::Path, directory)
            .hint("combine the INSERTs with UNION ALL, or give each table a 'path' of its own"));
        }
        Ok(())
    }

    pub(super) fn removed(&self) -> Error {
        Error::corrupt("the sink's directory was removed or emptied, and with it rows that were published")
            .with(Context::Path, self.root.path().display())
            .hint("bring it back from a copy")
            .remedy(Remedy::StartAnew)
    }

    pub(super) fn location(&self) -> String {
        let path = self.root.path();
        std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
    }

    /// Begins a file of a worker.
    pub(super) fn begin(&self, attempt: &AttemptId, subtask: usize, sequence: usize) -> Result<StagedFile> {
        let attempt = part(&attempt.0);
        let name = staged_name(&format!("{attempt}/open-{subtask}-{sequence}"))?;
        let path = self.root.locate(&name);
        let create = || {
            self.create_staging(Some(&attempt))?;
            gone(self.root.remove_file(&name))?;
            self.root.create_new(&name)
        };
        let file = create().map_err(|cause| failed("cannot create the file", &path, cause))?;
        Ok(StagedFile::new(name, path, file))
    }

    /// Writes to a file of a worker.
    pub(super) fn write(&self, staged: &mut StagedFile, bytes: &[u8]) -> Result<()> {
        staged.write(bytes).map_err(|cause| failed("cannot write the file", &staged.path, cause))
    }

    /// Makes the bytes of a file durable, to which nothing is added.
    pub(super) fn close(&self, staged: StagedFile) -> Result<ClosedFile> {
        let path = staged.path.clone();
        staged.close().map_err(|cause| failed("cannot finish the file", &path, cause))
    }

    /// Makes closed files durable under the names they are [published](Self::publish) with.
    pub(super) fn prepare(
        &self,
        closed: Vec<ClosedFile>,
        attempt: &AttemptId,
        subtask: usize,
        checkpoint: CheckpointId,
        form: &str,
    ) -> Result<Vec<PreparedFile>> {
        let attempt = part(&attempt.0);
        let mut prepared = Vec::with_capacity(closed.len());
        for (file, sequence) in closed.into_iter().zip(0..) {
            let staged = format!("{attempt}/{}", self.name(FileName { checkpoint, subtask, sequence }));
            let place = staged_name(&staged)?;
            let renamed = self.root.rename(&file.name, &place);
            renamed.map_err(|cause| failed("cannot finish the file", &self.root.locate(&place), cause))?;
            let (content, header, form) = (Some(file.content), file.header, form.to_owned());
            prepared.push(PreparedFile { staged, content, header, form });
        }
        if let Some(place) = prepared.first().map(|file| staged_name(&file.staged)).transpose()? {
            self.sync(place.split().0.as_ref())?;
        }
        Ok(prepared)
    }

    /// Replaces a small file, all or nothing.
    pub(super) fn replace(&self, name: &RelativeName, bytes: &[u8]) -> Result<()> {
        let draft = staged_name("draft")?;
        let write = || {
            // Whatever a run left there before it died, or somebody else put there.
            gone(self.root.remove_file(&draft))?;
            let mut file = self.root.create_new(&draft)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            self.root.rename(&draft, name)
        };
        write().map_err(|cause| failed("cannot write the file", &self.root.locate(name), cause))
    }

    /// Removes staged files that no commit up to `checkpoint` can need: those being written and those of later
    /// checkpoints.
    pub(super) fn unstage_after(&self, checkpoint: Option<CheckpointId>) -> Result<()> {
        for directory in self.attempts()? {
            let directory = staged_name(&directory)?;
            for (file, kind) in self.entries(Some(&directory))? {
                let name = self.parse(file.as_str());
                let is_needed = name.is_some_and(|name| Some(name.checkpoint) <= checkpoint);
                if !is_needed && kind != EntryKind::Directory {
                    self.remove_named(&directory.join(&file))?;
                }
            }
            let _ = self.root.remove_directory(&directory);
        }
        Ok(())
    }

    /// The directories of attempts that staged something.
    pub(super) fn attempts(&self) -> Result<Vec<String>> {
        let found = self.staged_entries()?.into_iter();
        let directories = found.filter(|(_, kind)| *kind == EntryKind::Directory);
        Ok(directories.map(|(name, _)| name.as_str().to_owned()).collect())
    }

    /// What is in the staging directory.
    pub(super) fn staged_entries(&self) -> Result<Vec<(RelativeName, EntryKind)>> {
        self.entries(Some(&name_of(STAGING)?))
    }

    /// The names of published files, in their order.
    pub(super) fn published(&self) -> Result<Vec<FileName>> {
        let found = self.entries(None)?;
        let mut names: Vec<FileName> = found.iter().filter_map(|(name, _)| self.parse(name.as_str())).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Removes a published file.
    pub(super) fn remove(&self, name: FileName) -> Result<()> {
        self.remove_named(&name_of(&self.name(name))?)
    }

    pub(super) fn remove_named(&self, name: &RelativeName) -> Result<()> {
        gone(self.root.remove_file(name))
            .map_err(|cause| failed("cannot remove the file", &self.root.locate(name), cause))
    }

    /// Creates the staging directory, or an attempt's in it.
    pub(super) fn create_staging(&self, attempt: Option<&str>) -> io::Result<()> {
        let staging = RelativeName::parse(STAGING).map_err(io::Error::other)?;
        let name = match attempt {
            Some(attempt) => staging.join(&RelativeName::parse_part(attempt).map_err(io::Error::other)?),
            None => staging,
        };
        self.root.create_directories(Some(&name)).map(drop)
    }

    /// The bytes of a small file; `None` if it is missing.
    pub(super) fn read(&self, name: &RelativeName) -> Result<Option<Vec<u8>>> {
        match self.root.open(name).and_then(|file| file.read(NOTE_BYTES_MAX)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(cause) => Err(failed("cannot read the file", &self.root.locate(name), cause)),
        }
    }

    pub(super) fn kind(&self, name: &RelativeName) -> Result<Option<EntryKind>> {
        let found = self.root.look_at(name);
        let found = found.map_err(|cause| failed("cannot look at the file", &self.root.locate(name), cause))?;
        Ok(found.map(|(kind, _)| kind))
    }

    /// What is in a directory; nothing if it is missing.
    fn entries(&self, directory: Option<&RelativeName>) -> Result<Vec<(RelativeName, EntryKind)>> {
        match self.root.entries(directory) {
            // What no name of ours can be is not ours.
            Ok(entries) => Ok(entries
                .into_iter()
                .filter_map(|entry| Some((RelativeName::parse_part(entry.name).ok()?, entry.kind)))
                .collect()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(cause) => {
                let path = directory.map_or_else(|| self.root.path().to_path_buf(), |name| self.root.locate(name));
                Err(failed("cannot list the directory", &path, cause))
            }
        }
    }
}

#[cold]
pub(super) fn failed(message: &str, path: &Path, cause: io::Error) -> Error {
    use io::ErrorKind as Io;
    let way_out = match cause.kind() {
        Io::StorageFull | Io::QuotaExceeded => Some(OUT_OF_DISK),
        Io::PermissionDenied | Io::ReadOnlyFilesystem => Some(NOT_WRITABLE),
        Io::NotFound => Some(NOT_THERE),
        _ if is_link(&cause) => Some(LINK),
        _ => None,
    };
    let anew = (cause.kind() == Io::NotFound).then_some(Remedy::StartAnew);
    let error = way_out.into_iter().fold(Error::io(message, path, cause), Error::hint);
    anew.into_iter().fold(error, Error::remedy)
}

/// A text as part of a path.
pub(super) fn part(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' }).collect()
}

/// A name in the directory.
pub(super) fn name_of(text: &str) -> Result<RelativeName> {
    RelativeName::parse_part(text).map_err(|cause| Error::internal("a file of a sink has no plain name").because(cause))
}

/// A name in the staging directory.
pub(super) fn staged_name(text: &str) -> Result<RelativeName> {
    RelativeName::parse(format!("{STAGING}/{text}"))
        .map_err(|cause| Error::internal("a staged file has no plain name").because(cause))
}

/// What is not there need not be removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
