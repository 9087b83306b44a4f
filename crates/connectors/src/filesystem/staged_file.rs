//! A file of a sink on its way to its readers, and what a checkpoint knows of its bytes.

use headpond_files::{RegularFile, RelativeName};
use headpond_runtime::{Error, Result};
use headpond_state::{Context, Remedy};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file being written.
#[derive(Debug)]
pub(super) struct StagedFile {
    /// Its name below the sink's directory.
    name: RelativeName,
    pub(super) path: PathBuf,
    file: File,
    hasher: blake3::Hasher,
    pub(super) length: u64,
    header: u64,
}

/// A file to which nothing is added. Its bytes are durable.
#[derive(Debug)]
pub(super) struct ClosedFile {
    /// Its name below the sink's directory.
    pub(super) name: RelativeName,
    pub(super) content: Content,
    /// How many bytes its header has.
    pub(super) header: u64,
}

/// The length and hash of a staged file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Content {
    pub(super) length: u64,
    blake3: String,
}

/// A file that a worker has made durable, as committables and the note of the last commit say it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PreparedFile {
    /// Its place below the staging directory: `<attempt>/<name>`.
    pub(super) staged: String,
    /// Unknown of what earlier releases prepared.
    #[serde(flatten)]
    pub(super) content: Option<Content>,
    /// How many bytes its header has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) header: u64,
    /// What its lines look like: only files of one form are put together.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) form: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl StagedFile {
    pub(super) fn new(name: RelativeName, path: PathBuf, file: File) -> Self {
        StagedFile { name, path, file, hasher: blake3::Hasher::new(), length: 0, header: 0 }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Says that what was written so far is the header.
    pub(super) fn end_header(&mut self) {
        self.header = self.length;
    }

    /// Makes the file durable.
    pub(super) fn close(self) -> io::Result<ClosedFile> {
        self.file.sync_all()?;
        let content = Content { length: self.length, blake3: self.hasher.finalize().to_string() };
        Ok(ClosedFile { name: self.name, content, header: self.header })
    }
}

impl Content {
    /// Checks a file's length.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt), naming the file.
    pub(super) fn check_length(&self, found: u64, path: &Path) -> Result<()> {
        if found == self.length {
            return Ok(());
        }
        let how = if found < self.length { "cut" } else { "made longer" };
        let message = format!("a file of rows that wait to be published was {how}: {found} bytes, not {}", self.length);
        Err(damaged(message, path))
    }

    /// Checks a file's bytes.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt), naming the file; as the system's for one that cannot be read.
    pub(super) fn check(&self, found: RegularFile, path: &Path) -> Result<()> {
        self.check_length(found.length, path)?;
        let mut hasher = blake3::Hasher::new();
        let read = hasher.update_reader(found.file);
        read.map_err(|cause| Error::io("cannot read the file", path, cause))?;
        let found = hasher.finalize().to_string();
        if found == self.blake3 {
            return Ok(());
        }
        let message =
            format!("a file of rows that wait to be published was altered: its hash is {found}, not {}", self.blake3);
        Err(damaged(message, path))
    }
}

fn damaged(message: String, path: &Path) -> Error {
    Error::corrupt(message)
        .with(Context::Path, path.display())
        .hint("bring the file back")
        .remedy(Remedy::RestoreAnother)
        .remedy(Remedy::StartAnew)
}
