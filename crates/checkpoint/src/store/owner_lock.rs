//! The lock of a job's one running attempt, on a file.

use super::Ownership;
use super::disk::failed;
use headpond_files::{RelativeName, Root};
use headpond_state::{Context, Error, Result};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind as Io, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(20);
/// A killed process is gone after a moment that is not worth a word.
const SILENCE: Duration = Duration::from_millis(500);
/// A note is a name and a number.
const NOTE_BYTES_MAX: u64 = 4096;

/// A locked file. The kernel releases the lock when the file is closed, by whatever end of the process.
///
/// The file can be removed or replaced while its holder does not look (it was stopped, or the file is on another
/// machine), and somebody else then locks a new one. So the holder compares what has the name with what it holds before
/// it commits.
#[derive(Debug)]
pub(super) struct OwnerLock {
    root: Root,
    name: RelativeName,
    file: File,
    note: String,
}

impl Ownership for OwnerLock {
    fn check(&self) -> Result<()> {
        let lost = |by: &str| {
            Err(Error::fenced(format!("the job's lock was taken away from this run: {by}"))
                .with(Context::Path, self.root.locate(&self.name).display())
                .hint("let one of the two run; this one stops, and nothing it has not committed is lost to the other"))
        };
        let unreadable = |e| failed("the job's lock cannot be looked at", &self.root.locate(&self.name), e);
        let mut there = match self.root.open(&self.name) {
            Ok(there) => there.file,
            Err(e) if e.kind() == Io::NotFound => return lost("its file was removed"),
            Err(e) => return Err(unreadable(e)),
        };
        let note = read_note(&mut there).map_err(unreadable)?;
        if is_same(&there, &self.file).map_err(unreadable)? && note == self.note {
            return Ok(());
        }
        lost(&format!("the job is being run by {}", owner_in(&note)))
    }
}

impl OwnerLock {
    /// Locks the file and writes `owner` into it, for the message to the next one.
    pub(super) fn acquire(root: &Root, name: &RelativeName, owner: &str, patience: Duration) -> Result<Self> {
        let path = root.locate(name);
        let not_writable = |e| failed("the checkpoint directory is not writable", &path, e);
        let note = format!("{owner} (process {})\n", std::process::id());
        let (begun, mut said) = (Instant::now(), false);
        // Not truncated: until the lock is ours, the note in it is another's.
        let mut file = root.open_or_create(name).map_err(not_writable)?;
        loop {
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if begun.elapsed() < patience => {
                    if !said && begun.elapsed() > SILENCE {
                        let (path, seconds) = (path.display(), patience.as_secs());
                        tracing::warn!(%path, "the job is running already: waiting up to {seconds} s for that run to end");
                        said = true;
                    }
                    thread::sleep(POLL);
                    continue;
                }
                Err(TryLockError::WouldBlock) => return Err(owned_by_other(&mut file, &path)),
                Err(TryLockError::Error(e)) if e.kind() == Io::Unsupported => {
                    let path = path.display();
                    tracing::warn!(%path, "this file system has no locks: do not run the job twice at once");
                }
                Err(TryLockError::Error(e)) => return Err(failed("the job's lock cannot be taken", &path, e)),
            }
            // Removed between its opening and its locking, it locks nobody out.
            let there = root.open_or_create(name).map_err(not_writable)?;
            if is_same(&there, &file).map_err(not_writable)? {
                break;
            }
            file = there;
        }
        write_note(&mut file, &note).map_err(not_writable)?;
        Ok(OwnerLock { root: root.clone(), name: name.clone(), file, note })
    }
}

fn write_note(file: &mut File, note: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(note.as_bytes())
}

fn read_note(file: &mut File) -> io::Result<String> {
    let mut note = Vec::new();
    file.rewind()?;
    file.take(NOTE_BYTES_MAX).read_to_end(&mut note)?;
    Ok(String::from_utf8_lossy(&note).into_owned())
}

fn owner_in(note: &str) -> &str {
    if note.trim().is_empty() { "another attempt" } else { note.trim() }
}

fn is_same(one: &File, other: &File) -> io::Result<bool> {
    let (one, other) = (one.metadata()?, other.metadata()?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

fn owned_by_other(file: &mut File, path: &Path) -> Error {
    // Without the note the message is less helpful, and still true.
    let note = read_note(file).unwrap_or_default();
    Error::fenced(format!("the job is being run by {}", owner_in(&note)))
        .with(Context::Path, path.display())
        .hint("stop that run first, or give this one another `pipeline.name` or checkpoint directory")
}
