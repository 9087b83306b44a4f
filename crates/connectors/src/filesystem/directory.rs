//! The directory a sink writes to: who owns it, what is staged in it, what is published.
//!
//! ```text
//! <path>/_headpond.json                        which INSERT of which job writes here
//! <path>/.staging/owner.lock                   held by the run that writes here
//! <path>/.staging/owner.json                   the newest run, and those that published what is here
//! <path>/.staging/committed                    the last checkpoint whose files were published
//! <path>/.staging/<attempt>/open-<worker>      being written
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

use super::staged_file::{Content, StagedFile};
use headpond_files::{EntryKind, RelativeName, Root, is_link};
use headpond_runtime::sink::{Committable, SinkJob};
use headpond_runtime::{Error, Result};
use headpond_state::{AttemptId, CheckpointId, Context, Remedy};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MARKER: &str = "_headpond.json";
const STAGING: &str = ".staging";
const COMMITTED: &str = "committed";
/// The marker and the note of the last commit are a few hundred bytes.
const NOTE_BYTES_MAX: u64 = 1 << 20;
const OUT_OF_DISK: &str = "free some space and run the job again: it goes on from its last checkpoint";
const NOT_WRITABLE: &str = "make it writable and run the job again: it goes on from its last checkpoint";
const LINK: &str = "headpond follows no links below the directory of a sink: remove it, or choose another 'path'";
const ALTERED: &str = "the checkpoint's manifest was altered: bring it back as it was";
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
struct Owner {
    version: u32,
    job: String,
    insert: String,
    /// The run that made the directory the INSERT's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<String>,
}

/// What the name of a prepared or published file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileName {
    pub(super) subtask: usize,
    pub(super) checkpoint: CheckpointId,
}

impl Directory {
    pub(super) fn new(path: PathBuf, kind: &'static str, ending: &'static str) -> Self {
        Directory { root: Root::new(path), kind, ending }
    }

    pub(super) fn root(&self) -> &Root {
        &self.root
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

    fn owner(&self) -> Result<Option<Owner>> {
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

    /// What a checkpoint keeps of a prepared file, and of this directory where none was prepared.
    ///
    /// # Errors
    /// As [`prepared`](Self::prepared) when the directory is gone.
    pub(super) fn committable(&self, staged: Option<&(String, Content)>) -> Result<Value> {
        let owner = self.owner()?.ok_or_else(|| self.removed())?;
        let mut committable = json!({ "directory": self.location(), "claim": owner.claim });
        if let Some((staged, content)) = staged {
            committable["staged"] = Value::from(staged.as_str());
            content.note(&mut committable);
        }
        Ok(committable)
    }

    /// What a worker without a file gives to a checkpoint: one of them names the directory, so that the rows published
    /// before are looked for there.
    ///
    /// # Errors
    /// As [`committable`](Self::committable).
    pub(super) fn committable_without_file(&self, subtask: usize) -> Result<Option<Value>> {
        if subtask == 0 { self.committable(None).map(Some) } else { Ok(None) }
    }

    /// The committables of prepared files, having checked that this is the directory they were prepared in, and that
    /// each names a staged file of its own worker and checkpoint.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_runtime::ErrorKind::Incompatible) when it was another,
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when it was removed or emptied since, and for committables
    /// that this sink never made.
    pub(super) fn prepared<'a>(&self, committables: &'a [Committable]) -> Result<Vec<&'a Committable>> {
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
        let is_file = |data: &Value| data.get("staged").is_some() || data.get("claim").is_none();
        let files: Vec<&Committable> = committables.iter().filter(|committable| is_file(&committable.data)).collect();
        let mut seen = BTreeSet::new();
        for committable in &files {
            let Committable { subtask, checkpoint, .. } = **committable;
            self.staged(committable)?;
            if !seen.insert((subtask, checkpoint)) {
                return Err(Error::corrupt(format!(
                    "the checkpoint has two files of worker {subtask} for one checkpoint"
                ))
                .with(Context::Checkpoint, checkpoint)
                .hint(ALTERED)
                .remedy(Remedy::RestoreAnother)
                .remedy(Remedy::StartAnew));
            }
        }
        Ok(files)
    }

    /// The staged file that a committable names: `<attempt>/<kind>-<worker>-<checkpoint>.<ending>` of its own worker
    /// and checkpoint.
    pub(super) fn staged(&self, committable: &Committable) -> Result<RelativeName> {
        let Committable { subtask, checkpoint, data } = committable;
        let staged = data.get("staged").and_then(Value::as_str).ok_or_else(|| {
            Error::incompatible("the checkpoint holds something else than staged files for this sink")
                .hint("give the table the connector that it had when the checkpoint was taken")
                .remedy(Remedy::StartAnew)
        })?;
        let own = self.name(FileName { subtask: *subtask, checkpoint: *checkpoint });
        let is_own = |(attempt, file): &(&str, &str)| !attempt.is_empty() && part(attempt) == **attempt && *file == own;
        match staged.split_once('/').filter(is_own) {
            Some(_) => staged_name(staged),
            None => Err(Error::corrupt(format!(
                "the checkpoint names '{}' as what worker {subtask} staged, which is no name of '{own}'",
                staged.escape_debug()
            ))
            .with(Context::Checkpoint, checkpoint)
            .with(Context::Path, self.root.path().display())
            .hint(ALTERED)
            .remedy(Remedy::RestoreAnother)
            .remedy(Remedy::StartAnew)),
        }
    }

    fn removed(&self) -> Error {
        Error::corrupt("the sink's directory was removed or emptied, and with it rows that were published")
            .with(Context::Path, self.root.path().display())
            .hint("bring it back from a copy")
            .remedy(Remedy::StartAnew)
    }

    fn location(&self) -> String {
        let path = self.root.path();
        std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
    }

    /// Begins a file of a worker.
    pub(super) fn begin(&self, attempt: &AttemptId, subtask: usize) -> Result<StagedFile> {
        let attempt = part(&attempt.0);
        let name = staged_name(&format!("{attempt}/open-{subtask}"))?;
        let path = self.root.locate(&name);
        let create = || {
            self.create_staging(Some(&attempt))?;
            gone(self.root.remove_file(&name))?;
            self.root.create_new(&name)
        };
        let file = create().map_err(|cause| failed("cannot create the file", &path, cause))?;
        Ok(StagedFile::new(name, path, file))
    }

    /// Makes a file durable and gives its place under the staging directory, by which it is [published](Self::publish),
    /// with what is in it.
    pub(super) fn prepare(&self, staged: StagedFile, attempt: &AttemptId, name: FileName) -> Result<(String, Content)> {
        let content = staged.content();
        let StagedFile { name: open, file, .. } = staged;
        let place = format!("{}/{}", part(&attempt.0), self.name(name));
        let prepared = staged_name(&place)?;
        let seal = || {
            file.sync_all()?;
            drop(file);
            self.root.rename(&open, &prepared)?;
            self.root.sync(prepared.split().0.as_ref())
        };
        seal().map_err(|cause| failed("cannot finish the file", &self.root.locate(&prepared), cause))?;
        Ok((place, content))
    }

    /// Moves a prepared file to where readers look, unless that was done before.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when the file was cut, or is gone though its checkpoint was
    /// never committed, and as [`prepared`](Self::prepared).
    pub(super) fn publish(&self, committable: &Committable) -> Result<()> {
        let from = self.staged(committable)?;
        let (to, path) = (name_of(from.split().1)?, self.root.locate(&from));
        if let (Ok(Some((_, found))), Some(content)) = (self.root.look_at(&from), Content::of(&committable.data)) {
            content.check_length(found, &path)?;
        }
        match self.root.rename(&from, &to) {
            Ok(()) => Ok(()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => self.check_published(committable, &from),
            Err(cause) => Err(failed("cannot publish the file", &self.root.locate(&to), cause)),
        }
    }

    /// Makes what was published and removed durable, notes the checkpoint, and removes what is left of earlier
    /// attempts.
    pub(super) fn settle(&self, attempt: &AttemptId, checkpoint: Option<CheckpointId>) -> Result<()> {
        self.root.sync(None).map_err(|cause| failed("cannot sync the directory", self.root.path(), cause))?;
        let committed = staged_name(COMMITTED)?;
        match checkpoint {
            Some(checkpoint) => self.replace(&committed, checkpoint.to_string().as_bytes())?,
            None => self.remove_named(&committed)?,
        }
        let own = part(&attempt.0);
        for directory in self.attempts()?.into_iter().filter(|name| *name != own) {
            // Fails, as it should, while anything is in it.
            let _ = self.root.remove_directory(&staged_name(&directory)?);
        }
        Ok(())
    }

    /// The last checkpoint that was committed.
    pub(super) fn committed(&self) -> Result<Option<CheckpointId>> {
        let text = self.read(&staged_name(COMMITTED)?)?;
        Ok(text.and_then(|text| String::from_utf8_lossy(&text).trim().parse().ok()).map(CheckpointId))
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

    /// Removes a staged file that need not be published any more.
    pub(super) fn unstage(&self, committable: &Committable) -> Result<()> {
        self.remove_named(&self.staged(committable)?)
    }

    /// The directories of attempts that staged something.
    fn attempts(&self) -> Result<Vec<String>> {
        let found = self.entries(Some(&name_of(STAGING)?))?.into_iter();
        let directories = found.filter(|(_, kind)| *kind == EntryKind::Directory);
        Ok(directories.map(|(name, _)| name.as_str().to_owned()).collect())
    }

    /// The names of published files.
    pub(super) fn published(&self) -> Result<Vec<FileName>> {
        let found = self.entries(None)?;
        let mut names: Vec<FileName> = found.iter().filter_map(|(name, _)| self.parse(name.as_str())).collect();
        names.sort_by_key(|name| (name.checkpoint, name.subtask));
        Ok(names)
    }

    /// Removes a published file.
    pub(super) fn remove(&self, name: FileName) -> Result<()> {
        self.remove_named(&name_of(&self.name(name))?)
    }

    fn remove_named(&self, name: &RelativeName) -> Result<()> {
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

    fn name(&self, name: FileName) -> String {
        format!("{}-{}-{}.{}", self.kind, name.subtask, name.checkpoint, self.ending)
    }

    /// What a file name says, if it is one of ours.
    fn parse(&self, text: &str) -> Option<FileName> {
        let numbers = text.strip_prefix(self.kind)?.strip_prefix('-')?.strip_suffix(self.ending)?.strip_suffix('.')?;
        let (subtask, checkpoint) = numbers.split_once('-')?;
        let name = FileName { subtask: subtask.parse().ok()?, checkpoint: CheckpointId(checkpoint.parse().ok()?) };
        // A name that only looks like one of ours ("part-+1-07") is not.
        (self.name(name) == text).then_some(name)
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
fn part(text: &str) -> String {
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
