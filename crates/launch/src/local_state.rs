//! Directories on local disk for the databases of one run.
//!
//! They hold nothing worth keeping: a restart begins from a checkpoint. A run that ends removes its own; one that was
//! killed leaves them, and the next run of the job removes them. A file beside each is locked while its run lives,
//! which tells the dead from the living also where process ids mean nothing (a volume shared by containers). Links
//! below the directory are not followed.
//!
//! ```text
//! <directory>/<job>/state-<process>-<time>          one run's databases
//! <directory>/<job>/state-<process>-<time>.lock     locked by that run
//! ```

use headpond_checkpoint::layout::JobLayout;
use headpond_files::{EntryKind, RelativeName, Root};
use headpond_state::{Error, Result};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the directories are when nobody says: below the current directory, not in the system's temporary folder, which
/// may be in memory or on a small disk.
const DEFAULT_DIRECTORY: &str = ".headpond";
const LOCK_EXTENSION: &str = "lock";
const NAME_PREFIX: &str = "state-";
/// How often another run may remove the job's directory just before it is used.
const ATTEMPTS: usize = 10;

/// The directories of one run, removed when it is dropped.
#[derive(Debug)]
pub struct LocalState {
    directories: Vec<RunDirectory>,
}

/// A directory, and the lock that says that it is in use.
#[derive(Debug)]
struct RunDirectory {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
    /// Directories around it that go when nothing is left in them, from the inside out.
    around: Vec<PathBuf>,
}

impl LocalState {
    /// Makes a directory for a run of `job` in each of these directories, by default in `.headpond`, and
    /// removes what dead runs of the job left there.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a job without a name and a directory that cannot be written,
    /// else as the file system's.
    pub fn create(within: &[PathBuf], job: &str) -> Result<Self> {
        let layout = JobLayout::new(job)?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name = format!("{NAME_PREFIX}{}-{started:x}", std::process::id());
        let job = RelativeName::parse_part(layout.directory())
            .map_err(|cause| Error::invalid("the job's name is no directory's").because(cause))?;
        let directories = if within.is_empty() {
            let default = Path::new(DEFAULT_DIRECTORY);
            vec![RunDirectory::create(default, &job, &name, vec![default.to_owned()])?]
        } else {
            within.iter().map(|within| RunDirectory::create(within, &job, &name, Vec::new())).collect::<Result<_>>()?
        };
        Ok(LocalState { directories })
    }

    /// The directories, at least one.
    pub fn directories(&self) -> Vec<PathBuf> {
        self.directories.iter().map(|directory| directory.path.clone()).collect()
    }

    /// The first of them.
    pub fn first(&self) -> &Path {
        &self.directories[0].path
    }
}

impl RunDirectory {
    /// Makes a directory of this name for a run of a job. `around`: what goes too when nothing is left in it.
    fn create(within: &Path, job: &RelativeName, name: &str, around: Vec<PathBuf>) -> Result<Self> {
        let root = Root::new(within);
        let failed = |cause| {
            Error::io("cannot use the local directory of the state", root.locate(job), cause)
                .hint("set 'state.backend.rocksdb.localdir' to a directory on a local disk that can be written")
        };
        for _ in 0..ATTEMPTS {
            root.create_directories(Some(job)).map_err(failed)?;
            remove_dead(&root, job).map_err(failed)?;
            if let Some((path, lock_path, lock)) = claim(&root, job, name).map_err(failed)? {
                let around = [root.locate(job)].into_iter().chain(around).collect();
                return Ok(RunDirectory { path, lock_path, _lock: lock, around });
            }
        }
        Err(failed(io::Error::other("other runs of the job keep removing it")))
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // The directory goes before its lock file: a directory without one would be nobody's.
        // Databases that were closed have taken theirs away, and with the last of them the directory.
        let removed = gone(fs::remove_dir_all(&self.path)).and_then(|()| fs::remove_file(&self.lock_path));
        if let Err(cause) = removed {
            tracing::warn!(path = %self.path.display(), %cause, "cannot remove the local state");
        }
        for directory in &self.around {
            // Gone only if nothing else is in it.
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Locks a new file and makes the directory beside it; `None` if another run has removed either meanwhile.
fn claim(root: &Root, job: &RelativeName, name: &str) -> io::Result<Option<(PathBuf, PathBuf, File)>> {
    let directory = job.join(&name_of(name)?);
    let lock_name = job.join(&name_of(&format!("{name}.{LOCK_EXTENSION}"))?);
    let lock = match root.create_new(&lock_name) {
        Ok(lock) => lock,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(cause),
    };
    match lock.lock() {
        // Without locks nobody takes us for dead either.
        Err(cause) if cause.kind() != io::ErrorKind::Unsupported => return Err(cause),
        _ => {}
    }
    // Between its creation and its locking another run may have taken the file for a dead one's.
    if root.look_at(&lock_name)?.is_none() {
        return Ok(None);
    }
    root.create_directories(Some(&directory))?;
    Ok(Some((root.locate(&directory), root.locate(&lock_name), lock)))
}

/// Removes the directories whose lock nobody holds.
fn remove_dead(root: &Root, job: &RelativeName) -> io::Result<()> {
    for entry in root.entries(Some(job))? {
        let is_lock = entry.kind == EntryKind::File && entry.name.starts_with(NAME_PREFIX);
        let Some(directory) = entry.name.strip_suffix(LOCK_EXTENSION).and_then(|name| name.strip_suffix('.')) else {
            continue;
        };
        if !is_lock {
            continue;
        }
        let lock_name = job.join(&name_of(&entry.name)?);
        match root.open(&lock_name).map(|lock| lock.file.try_lock().map(|()| lock)) {
            Ok(Ok(_held)) => {
                let path = root.locate(&job.join(&name_of(directory)?));
                tracing::info!(path = %path.display(), "removing the local state of a dead run");
                gone(fs::remove_dir_all(&path))?;
                gone(root.remove_file(&lock_name))?;
            }
            Ok(Err(TryLockError::WouldBlock)) => {}
            Ok(Err(TryLockError::Error(cause))) if cause.kind() == io::ErrorKind::Unsupported => {}
            Ok(Err(TryLockError::Error(cause))) => return Err(cause),
            Err(cause) => gone(Err(cause))?,
        }
    }
    Ok(())
}

fn name_of(text: &str) -> io::Result<RelativeName> {
    RelativeName::parse_part(text).map_err(io::Error::other)
}

/// What is not there need not be removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
