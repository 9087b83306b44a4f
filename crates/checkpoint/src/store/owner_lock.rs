//! The lock of a job's one running attempt, on a file.

use super::Ownership;
use super::disk::failed;
use headpond_state::{Context, Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind as Io, Read, Seek, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(20);
/// A killed process is gone after a moment that is not worth a word.
const SILENCE: Duration = Duration::from_millis(500);

/// A locked file. The kernel releases the lock when the file is closed, by whatever end of the process.
#[derive(Debug)]
pub(super) struct OwnerLock {
    file: File,
}

impl Ownership for OwnerLock {
    fn check(&self) -> Result<()> {
        // The lock is held as long as the file is open.
        Ok(())
    }
}

impl OwnerLock {
    /// Locks the file at `path` and writes `owner` into it, for the message to the next one.
    pub(super) fn acquire(path: &Path, owner: &str, patience: Duration) -> Result<Self> {
        let not_writable = |e| failed("the checkpoint directory is not writable", path, e);
        // Not truncated: until the lock is ours, the note in it is another's.
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut lock = OwnerLock { file: file.map_err(not_writable)? };
        let (begun, mut said) = (Instant::now(), false);
        loop {
            match lock.file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < patience => {
                    if !said && begun.elapsed() > SILENCE {
                        let (path, seconds) = (path.display(), patience.as_secs());
                        tracing::warn!(%path, "the job is running already: waiting up to {seconds} s for that run to end");
                        said = true;
                    }
                    thread::sleep(POLL);
                }
                Err(TryLockError::WouldBlock) => return Err(lock.owned_by_other(path)),
                Err(TryLockError::Error(e)) if e.kind() == Io::Unsupported => {
                    let path = path.display();
                    tracing::warn!(%path, "this file system has no locks: do not run the job twice at once");
                    break;
                }
                Err(TryLockError::Error(e)) => return Err(failed("the job's lock cannot be taken", path, e)),
            }
        }
        lock.write_note(owner).map_err(not_writable)?;
        Ok(lock)
    }

    fn write_note(&mut self, owner: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        writeln!(self.file, "{owner} (process {})", std::process::id())
    }

    fn owned_by_other(&mut self, path: &Path) -> Error {
        let mut note = String::new();
        // Without the note the message is less helpful, and still true.
        self.file.read_to_string(&mut note).ok();
        let owner = if note.trim().is_empty() { "another attempt" } else { note.trim() };
        Error::fenced(format!("the job is being run by {owner}"))
            .with(Context::Path, path.display())
            .hint("stop that run first, or give this one another `pipeline.name` or checkpoint directory")
    }
}
