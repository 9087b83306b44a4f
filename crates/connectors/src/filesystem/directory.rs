//! The directory a sink writes to: who owns it, what is staged in it, what is published.
//!
//! ```text
//! <path>/_headpond.json                        which INSERT of which job writes here
//! <path>/.staging/committed                    the last checkpoint whose files were published
//! <path>/.staging/<attempt>/open-<worker>      being written
//! <path>/.staging/<attempt>/part-0-7.json      durable, prepared by worker 0 for checkpoint 7
//! <path>/part-0-7.json                         published
//! ```
//!
//! Publishing is a rename, so a file is either staged or published, and publishing it again changes nothing. Files of
//! other names are nobody's business and stay. The marker also names the *claim*, the run that made the directory the
//! INSERT's own, and so does whatever is prepared: rows of a checkpoint are not published into another directory than the
//! one that has the rows before them.

use headpond_runtime::sink::{Committable, SinkJob};
use headpond_runtime::{Error, Result};
use headpond_state::{AttemptId, CheckpointId, Context};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MARKER: &str = "_headpond.json";
const STAGING: &str = ".staging";
const COMMITTED: &str = "committed";
const OUT_OF_DISK: &str = "free some space and run the job again: it goes on from its last checkpoint";
const NOT_WRITABLE: &str = "make it writable and run the job again: it goes on from its last checkpoint";
const NOT_THERE: &str = "was the sink's directory removed? --restore none writes the whole result anew";

/// A directory that files are written to.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    path: PathBuf,
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

/// A file being written.
#[derive(Debug)]
pub(super) struct StagedFile {
    path: PathBuf,
    file: File,
}

impl Directory {
    pub(super) fn new(path: PathBuf, kind: &'static str, ending: &'static str) -> Self {
        Directory { path, kind, ending }
    }

    /// Checks that files can be written here and that nobody else does.
    ///
    /// # Errors
    /// [`Invalid`](headpond_runtime::ErrorKind::Invalid), naming the directory and the way out.
    pub(super) fn check(&self, job: &SinkJob, insert: &str) -> Result<()> {
        let staging = self.path.join(STAGING);
        let probe = staging.join(format!("probe-{}", part(&job.attempt.0)));
        let unwritable = |cause: io::Error| {
            Error::io("the sink's directory cannot be written", &self.path, cause)
                .with(Context::Option, "path")
                .hint("make it writable, or choose another 'path'")
        };
        fs::create_dir_all(&staging).map_err(unwritable)?;
        File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(unwritable)?;
        match self.owner()? {
            Some(owner) => self.check_owner(&owner, job, insert),
            None => match self.published()?.first() {
                Some(name) => Err(Error::invalid("the directory has files that Headpond would write and did not")
                    .with(Context::Path, self.path.join(self.name(*name)).display())
                    .hint("move them away, or choose another 'path'")),
                None => Ok(()),
            },
        }
    }

    /// Checks that this is the directory that a checkpoint's rows are in, and that the INSERT may write to it.
    ///
    /// # Errors
    /// As [`check`](Self::check) and [`prepared`](Self::prepared).
    pub(super) fn check_restored(&self, job: &SinkJob, insert: &str, committables: &[Committable]) -> Result<()> {
        if let Some(owner) = self.owner()? {
            self.check_owner(&owner, job, insert)?;
        }
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
        let staging = self.path.join(STAGING);
        fs::create_dir_all(&staging).map_err(|cause| failed("cannot create the directory", &staging, cause))?;
        self.replace(&self.path.join(MARKER), text.as_bytes())
    }

    fn owner(&self) -> Result<Option<Owner>> {
        let marker = self.path.join(MARKER);
        let text = match fs::read(&marker) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(Error::io("cannot read the file", &marker, cause)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|cause| {
            Error::invalid("the file does not say who writes to its directory")
                .with(Context::Path, marker.display())
                .because(cause)
                .hint("choose another 'path', or empty the directory")
        })
    }

    fn check_owner(&self, owner: &Owner, job: &SinkJob, insert: &str) -> Result<()> {
        let directory = self.path.display();
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
    pub(super) fn committable(&self, staged: Option<&str>) -> Result<Value> {
        let owner = self.owner()?.ok_or_else(|| self.removed())?;
        let mut committable = json!({ "directory": self.location(), "claim": owner.claim });
        if let Some(staged) = staged {
            committable["staged"] = Value::from(staged);
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

    /// The committables of prepared files, having checked that this is the directory they were prepared in.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_runtime::ErrorKind::Incompatible) when it was another,
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when it was removed or emptied since.
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
                .hint("set 'path' back; or start anew with --restore none, which writes the whole result"),
                None => self.removed().with(Context::Checkpoint, committable.checkpoint),
            });
        }
        let is_file = |data: &Value| data.get("staged").is_some() || data.get("claim").is_none();
        Ok(committables.iter().filter(|committable| is_file(&committable.data)).collect())
    }

    fn removed(&self) -> Error {
        Error::corrupt("the sink's directory was removed or emptied, and with it rows that were published")
            .with(Context::Path, self.path.display())
            .hint("bring it back from a copy; or start anew with --restore none, which writes the whole result")
    }

    fn location(&self) -> String {
        std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()).display().to_string()
    }

    /// Begins a file of a worker.
    pub(super) fn begin(&self, attempt: &AttemptId, subtask: usize) -> Result<StagedFile> {
        let directory = self.path.join(STAGING).join(part(&attempt.0));
        let path = directory.join(format!("open-{subtask}"));
        let create = || {
            fs::create_dir_all(&directory)?;
            File::create(&path)
        };
        let file = create().map_err(|cause| failed("cannot create the file", &path, cause))?;
        Ok(StagedFile { path, file })
    }

    /// Makes a file durable and gives its place under the staging directory, by which it is [published](Self::publish).
    pub(super) fn prepare(&self, staged: StagedFile, attempt: &AttemptId, name: FileName) -> Result<String> {
        let StagedFile { path, file } = staged;
        let prepared = path.with_file_name(self.name(name));
        let seal = || {
            file.sync_all()?;
            drop(file);
            fs::rename(&path, &prepared)?;
            sync_directory(prepared.parent().unwrap_or(&self.path))
        };
        seal().map_err(|cause| failed("cannot finish the file", &prepared, cause))?;
        Ok(format!("{}/{}", part(&attempt.0), self.name(name)))
    }

    /// Moves a prepared file to where readers look, unless that was done before.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when the file is gone though its checkpoint was never
    /// committed.
    pub(super) fn publish(&self, staged: &str, name: FileName) -> Result<()> {
        let (from, to) = (self.path.join(STAGING).join(staged), self.path.join(self.name(name)));
        match fs::rename(&from, &to) {
            Ok(()) => Ok(()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                // Published before, and perhaps taken away since by whoever reads the results.
                if to.exists() || self.committed()? >= Some(name.checkpoint) {
                    return Ok(());
                }
                Err(Error::corrupt("rows that were prepared for a checkpoint are gone")
                    .with(Context::Path, from.display())
                    .with(Context::Checkpoint, name.checkpoint)
                    .hint(
                        "was the job restored to an earlier checkpoint or savepoint since, which takes back later output? Then go on \
                         from that one with --restore PATH. Else two runs overlapped, or files were removed: restore an earlier \
                         one, or start anew with --restore none",
                    ))
            }
            Err(cause) => Err(failed("cannot publish the file", &to, cause)),
        }
    }

    /// Makes what was published and removed durable, notes the checkpoint, and removes what is left of earlier
    /// attempts.
    pub(super) fn settle(&self, attempt: &AttemptId, checkpoint: Option<CheckpointId>) -> Result<()> {
        sync_directory(&self.path).map_err(|cause| failed("cannot sync the directory", &self.path, cause))?;
        match checkpoint {
            Some(checkpoint) => {
                self.replace(&self.path.join(STAGING).join(COMMITTED), checkpoint.to_string().as_bytes())?
            }
            None => remove(&self.path.join(STAGING).join(COMMITTED))?,
        }
        let own = part(&attempt.0);
        for directory in entries(&self.path.join(STAGING))? {
            if directory.is_dir() && directory.file_name().is_some_and(|name| name.to_string_lossy() != own) {
                // Fails, as it should, while anything is in it.
                let _ = fs::remove_dir(&directory);
            }
        }
        Ok(())
    }

    /// The last checkpoint that was committed.
    pub(super) fn committed(&self) -> Result<Option<CheckpointId>> {
        let path = self.path.join(STAGING).join(COMMITTED);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.trim().parse().ok().map(CheckpointId)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(Error::io("cannot read the file", &path, cause)),
        }
    }

    /// Replaces a small file, all or nothing.
    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let draft = self.path.join(STAGING).join("draft");
        let write = || {
            let mut file = File::create(&draft)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&draft, path)
        };
        write().map_err(|cause| failed("cannot write the file", path, cause))
    }

    /// Removes staged files that no commit up to `checkpoint` can need: those being written and those of later
    /// checkpoints.
    pub(super) fn unstage_after(&self, checkpoint: Option<CheckpointId>) -> Result<()> {
        for directory in entries(&self.path.join(STAGING))? {
            if !directory.is_dir() {
                continue;
            }
            for file in entries(&directory)? {
                let name = file.file_name().and_then(|name| self.parse(&name.to_string_lossy()));
                let is_needed = name.is_some_and(|name| Some(name.checkpoint) <= checkpoint);
                if !is_needed {
                    remove(&file)?;
                }
            }
            let _ = fs::remove_dir(&directory);
        }
        Ok(())
    }

    /// Removes a staged file that need not be published any more.
    pub(super) fn unstage(&self, staged: &str) -> Result<()> {
        remove(&self.path.join(STAGING).join(staged))
    }

    /// The names of published files.
    pub(super) fn published(&self) -> Result<Vec<FileName>> {
        let mut names: Vec<FileName> =
            entries(&self.path)?.iter().filter_map(|path| self.parse(&path.file_name()?.to_string_lossy())).collect();
        names.sort_by_key(|name| (name.checkpoint, name.subtask));
        Ok(names)
    }

    /// Removes a published file.
    pub(super) fn remove(&self, name: FileName) -> Result<()> {
        remove(&self.path.join(self.name(name)))
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

impl StagedFile {
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|cause| failed("cannot write the file", &self.path, cause))
    }
}

#[cold]
fn failed(message: &str, path: &Path, cause: io::Error) -> Error {
    use io::ErrorKind as Io;
    let way_out = match cause.kind() {
        Io::StorageFull | Io::QuotaExceeded => Some(OUT_OF_DISK),
        Io::PermissionDenied | Io::ReadOnlyFilesystem => Some(NOT_WRITABLE),
        Io::NotFound => Some(NOT_THERE),
        _ => None,
    };
    way_out.into_iter().fold(Error::io(message, path, cause), Error::hint)
}

/// A text as part of a path.
fn part(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' }).collect()
}

/// The paths in a directory; none if it is missing.
fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let list = || fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    match list() {
        Ok(paths) => Ok(paths),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => Err(Error::io("cannot list the directory", directory, cause)),
    }
}

fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(Error::io("cannot remove the file", file, cause)),
        _ => Ok(()),
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
