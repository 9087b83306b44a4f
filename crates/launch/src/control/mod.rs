//! Talking to running jobs on this machine.
//!
//! Every run listens on a socket of its own in a directory that only its user can enter. A request is a line of JSON,
//! so is its answer; the connection's end takes back what the answer promised (see [`Answer::location`]). Nothing of a
//! job hangs on it: a run without its socket is a run that cannot be asked.
//!
//! ```text
//! $XDG_RUNTIME_DIR/headpond/<process>.sock          or, without that variable,
//! <temporary directory>/headpond-<user>/<process>.sock
//! ```

mod client;
mod server;

pub use client::{Running, find, running};
pub use server::{Endpoint, Served};

use headpond_state::{Error, Result};
use serde_json::{Value, json};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What is asked of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Who it is and how it is doing.
    Status,
    /// A checkpoint, now.
    Checkpoint,
    /// A last checkpoint, and the end.
    Stop,
}

impl Request {
    const ALL: [(Request, &'static str); 3] =
        [(Request::Status, "status"), (Request::Checkpoint, "checkpoint"), (Request::Stop, "stop")];

    fn to_line(self) -> String {
        let name = Self::ALL.iter().find(|(request, _)| *request == self).map_or("", |(_, name)| name);
        format!("{}\n", json!({ "command": name }))
    }

    fn parse(line: &str) -> Result<Self> {
        let object: Value = serde_json::from_str(line)
            .map_err(|cause| Error::invalid("a request to a run is a JSON object on a line").because(cause))?;
        let command = object["command"].as_str().unwrap_or_default();
        let found = Self::ALL.iter().find(|(_, name)| *name == command).map(|(request, _)| *request);
        found.ok_or_else(|| Error::unsupported(format!("a run knows no command `{command}`")))
    }
}

/// Where a run put a checkpoint that was asked for.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its number.
    pub checkpoint: u64,
    /// Its path or URL. It is kept as long as the connection is open, whatever the job's retention says.
    pub location: String,
}

/// Sees that a directory is the user's alone: whoever could put sockets or links there could answer for our runs.
fn check_private(directory: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(directory)?;
    let is_ours = found.is_dir() && found.uid() == user_id();
    if is_ours && found.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    let why = "it is a link, another user's, or others may enter it";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// The directory of the sockets of this user's runs.
fn directory() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|directory| !directory.is_empty()) {
        Some(directory) => PathBuf::from(directory).join("headpond"),
        None => std::env::temp_dir().join(format!("headpond-{}", user_id())),
    }
}

/// The number of the user who runs the process.
fn user_id() -> u32 {
    let home = || fs::metadata(std::env::var_os("HOME").unwrap_or_default());
    fs::metadata("/proc/self").or_else(|_| home()).map_or(0, |found| found.uid())
}
