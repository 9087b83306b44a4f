//! Directories on local disk for the databases of one run.
//!
//! They hold nothing worth keeping: a restart begins from a checkpoint. A run that ends removes its own; one that was
//! killed leaves them, and the next run of the job removes them. A file beside each is locked while its run lives,
//! which tells the dead from the living also where process ids mean nothing (a volume shared by containers).
//!
//! ```text
//! <directory>/<job>/state-<process>-<time>          one run's databases
//! <directory>/<job>/state-<process>-<time>.lock     locked by that run
//! ```

use headpond_checkpoint::layout::JobLayout;
use headpond_state::{Error, Result};
use std::fs::{self, File, OpenOptions, TryLockError};
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
pub(crate) struct LocalState {
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
    /// Makes a directory for a run of `job` in each of these directories, by default in [`DEFAULT_DIRECTORY`], and
    /// removes what dead runs of the job left there.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a job without a name and a directory that cannot be written,
    /// else as the file system's.
    pub(crate) fn create(within: &[PathBuf], job: &str) -> Result<Self> {
        let layout = JobLayout::new(job)?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name = format!("{NAME_PREFIX}{}-{started:x}", std::process::id());
        let directories = if within.is_empty() {
            let default = Path::new(DEFAULT_DIRECTORY);
            let job = default.join(layout.directory());
            vec![RunDirectory::create(&job, &name, vec![job.clone(), default.to_owned()])?]
        } else {
            let create = |within: &PathBuf| {
                let job = within.join(layout.directory());
                RunDirectory::create(&job, &name, vec![job.clone()])
            };
            within.iter().map(create).collect::<Result<_>>()?
        };
        Ok(LocalState { directories })
    }

    /// The directories, at least one.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        self.directories.iter().map(|directory| directory.path.clone()).collect()
    }

    /// The first of them.
    pub(crate) fn first(&self) -> &Path {
        &self.directories[0].path
    }
}

impl RunDirectory {
    fn create(parent: &Path, name: &str, around: Vec<PathBuf>) -> Result<Self> {
        let failed = |cause| {
            Error::io("cannot use the local directory of the state", parent, cause)
                .hint("set 'state.backend.rocksdb.localdir' to a directory on a local disk that can be written")
        };
        for _ in 0..ATTEMPTS {
            fs::create_dir_all(parent).map_err(failed)?;
            remove_dead(parent).map_err(failed)?;
            if let Some((path, lock_path, lock)) = claim(parent, name).map_err(failed)? {
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
fn claim(parent: &Path, name: &str) -> io::Result<Option<(PathBuf, PathBuf, File)>> {
    let path = parent.join(name);
    let lock_path = path.with_extension(LOCK_EXTENSION);
    let lock = match OpenOptions::new().write(true).create_new(true).open(&lock_path) {
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
    if !lock_path.exists() {
        return Ok(None);
    }
    fs::create_dir(&path)?;
    Ok(Some((path, lock_path, lock)))
}

/// Removes the directories whose lock nobody holds.
fn remove_dead(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let lock_path = entry?.path();
        let is_lock = lock_path.extension().is_some_and(|extension| extension == LOCK_EXTENSION)
            && lock_path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NAME_PREFIX));
        if !is_lock {
            continue;
        }
        match File::open(&lock_path).map(|lock| lock.try_lock().map(|()| lock)) {
            Ok(Ok(_held)) => {
                let path = lock_path.with_extension("");
                tracing::info!(path = %path.display(), "removing the local state of a dead run");
                gone(fs::remove_dir_all(&path))?;
                gone(fs::remove_file(&lock_path))?;
            }
            Ok(Err(TryLockError::WouldBlock)) => {}
            Ok(Err(TryLockError::Error(cause))) if cause.kind() == io::ErrorKind::Unsupported => {}
            Ok(Err(TryLockError::Error(cause))) => return Err(cause),
            Err(cause) => gone(Err(cause))?,
        }
    }
    Ok(())
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
