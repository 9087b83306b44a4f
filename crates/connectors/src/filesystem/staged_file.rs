//! A file of a sink on its way to its readers, and what a checkpoint knows of its bytes.

use headpond_files::{RegularFile, RelativeName};
use headpond_runtime::{Error, Result};
use headpond_state::{Context, Remedy};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file being written.
#[derive(Debug)]
pub(super) struct StagedFile {
    /// Its name below the sink's directory.
    pub(super) name: RelativeName,
    pub(super) path: PathBuf,
    pub(super) file: File,
    hasher: blake3::Hasher,
    length: u64,
}

/// The length and hash of a staged file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    length: u64,
    blake3: String,
}

impl StagedFile {
    pub(super) fn new(name: RelativeName, path: PathBuf, file: File) -> Self {
        StagedFile { name, path, file, hasher: blake3::Hasher::new(), length: 0 }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// What was written.
    pub(super) fn content(&self) -> Content {
        Content { length: self.length, blake3: self.hasher.finalize().to_string() }
    }
}

impl Content {
    /// Adds it to a committable.
    pub(super) fn note(&self, committable: &mut Value) {
        committable["length"] = json!(self.length);
        committable["blake3"] = json!(self.blake3);
    }

    /// What a committable says; `None` for one of an earlier release.
    pub(super) fn of(committable: &Value) -> Option<Self> {
        let (length, blake3) = (committable.get("length")?.as_u64()?, committable.get("blake3")?.as_str()?);
        Some(Content { length, blake3: blake3.to_owned() })
    }

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
