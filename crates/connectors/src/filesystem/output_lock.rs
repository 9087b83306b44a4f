//! The lock of the one run that writes to an output.
//!
//! The kernel releases it when its file is closed, by whatever end of the process, so a killed run leaves nothing
//! behind. The file holds a note about its holder, for the message to who is refused; a run that ends in good order
//! empties it.

use headpond_files::{RelativeName, Root};
use headpond_runtime::sink::SinkJob;
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind as Io, Read, Seek, Write};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const POLL: Duration = Duration::from_millis(20);
/// A killed process takes a moment to be gone.
const PATIENCE: Duration = Duration::from_secs(2);

/// Who runs, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    job: String,
    /// The run.
    pub(super) attempt: String,
    /// Where its checkpoints are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checkpoints: Option<String>,
    process: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// When it took the output over, in milliseconds since 1970.
    since_ms: u64,
}

impl Holder {
    /// This process, for a run of it.
    pub(super) fn of(job: &SinkJob) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
        Holder {
            job: job.job.clone(),
            attempt: job.attempt.0.clone(),
            checkpoints: job.checkpoints.clone(),
            process: std::process::id(),
            host: host.map(|host| host.trim().to_owned()).filter(|host| !host.is_empty()),
            since_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Where its checkpoints are, for people.
    pub(super) fn checkpoints(&self) -> String {
        self.checkpoints.clone().unwrap_or_else(|| "no checkpoint directory".to_owned())
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job '{}', attempt {}, process {}", self.job, self.attempt, self.process)?;
        if let Some(host) = &self.host {
            write!(f, " on {host}")?;
        }
        let since = i64::try_from(self.since_ms).ok().and_then(chrono::DateTime::from_timestamp_millis);
        if let Some(since) = since {
            write!(f, ", since {}", since.format("%Y-%m-%d %H:%M:%S UTC"))?;
        }
        match &self.checkpoints {
            Some(checkpoints) => write!(f, ", with checkpoints in {checkpoints}"),
            None => write!(f, ", without checkpoints"),
        }
    }
}

/// A locked file.
#[derive(Debug)]
pub(super) struct OutputLock {
    file: File,
}

impl OutputLock {
    /// Checks that nobody holds the lock of the directory. Creates nothing.
    ///
    /// # Errors
    /// [`Fenced`](headpond_runtime::ErrorKind::Fenced), naming the holder.
    pub(super) fn check_free(directory: &Root) -> Result<()> {
        match directory.open(&name()) {
            // Shared: those who only look are not in each other's way.
            Ok(found) => wait(&found.file, directory, File::try_lock_shared).map(drop),
            Err(cause) if matches!(cause.kind(), Io::NotFound | Io::NotADirectory) => Ok(()),
            Err(cause) => Err(failed("cannot open the output's lock", directory, cause)),
        }
    }

    /// Locks the directory for a run; `None` where this run has it already, or the file system has no locks.
    ///
    /// # Errors
    /// [`Fenced`](headpond_runtime::ErrorKind::Fenced), naming the holder.
    pub(super) fn acquire(directory: &Root, holder: &Holder) -> Result<Option<Self>> {
        let not_written = |cause| failed("cannot write the output's lock", directory, cause);
        let file = directory.open_or_create(&name()).map_err(not_written)?;
        if note(&file).is_some_and(|note| note.attempt == holder.attempt) || !wait(&file, directory, File::try_lock)? {
            return Ok(None);
        }
        let mut lock = OutputLock { file };
        let text = serde_json::to_string(holder)
            .map_err(|cause| Error::internal("the output's holder is not JSON").because(cause))?;
        lock.write(text.as_bytes()).map_err(not_written)?;
        Ok(Some(lock))
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text)
    }
}

impl Drop for OutputLock {
    fn drop(&mut self) {
        // Without that the next message is less helpful, and nothing else.
        self.file.set_len(0).ok();
    }
}

/// Waits a little for the lock; `false`: there are no locks here.
fn wait(file: &File, directory: &Root, lock: impl Fn(&File) -> Result<(), TryLockError>) -> Result<bool> {
    let begun = Instant::now();
    let mut holder: Option<Holder> = None;
    loop {
        match lock(file) {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => holder = holder.or_else(|| note(file)),
            Err(TryLockError::Error(cause)) if cause.kind() == Io::Unsupported => {
                let path = directory.path().display();
                tracing::warn!(%path, "this file system has no locks: do not write to one output twice at once");
                return Ok(false);
            }
            Err(TryLockError::Error(cause)) => return Err(failed("cannot take the output's lock", directory, cause)),
        }
        if begun.elapsed() >= PATIENCE {
            return Err(held(holder.as_ref(), directory));
        }
        thread::sleep(POLL);
    }
    // A run that was killed leaves its note. One that ended while this one waited has not been killed.
    match holder {
        Some(holder) if note(file).is_none() => Err(held(Some(&holder), directory)),
        _ => Ok(true),
    }
}

fn failed(message: &str, directory: &Root, cause: io::Error) -> Error {
    Error::io(message, directory.locate(&name()), cause)
}

fn name() -> RelativeName {
    RelativeName::parse(".staging/owner.lock").expect("a name below the directory")
}

fn note(mut file: &File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn held(holder: Option<&Holder>, directory: &Root) -> Error {
    let holder = holder.map_or_else(|| "another run".to_owned(), Holder::to_string);
    Error::fenced(format!("the output is being written by {holder}"))
        .with(Context::Path, directory.path().display())
        .hint("stop that run first, or give this one another 'path'")
}
