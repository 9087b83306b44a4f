//! Bytes of a test as content for a store.

use headpond_checkpoint::store::Incoming;
use headpond_state::{Error, Result};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes on their way into a store.
#[derive(Debug, Clone)]
pub struct Bytes {
    rest: io::Cursor<Vec<u8>>,
    key: Option<String>,
    file: Option<PathBuf>,
    fails_at: Option<u64>,
    unwanted: bool,
}

impl Bytes {
    /// These bytes for `key`.
    pub fn new(key: &str, bytes: &[u8]) -> Self {
        Bytes { key: Some(key.to_owned()), ..Bytes::unnamed(bytes) }
    }

    /// These bytes for a key that is created exclusively.
    pub fn unnamed(bytes: &[u8]) -> Self {
        Bytes { rest: io::Cursor::new(bytes.to_vec()), key: None, file: None, fails_at: None, unwanted: false }
    }

    /// The bytes are in this file as well.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_path_buf());
        self
    }

    /// Reading fails from this byte on.
    #[must_use]
    pub fn failing_at(mut self, byte: u64) -> Self {
        self.fails_at = Some(byte);
        self
    }

    /// Nobody wants the content any more when it asks for its key.
    #[must_use]
    pub fn unwanted(mut self) -> Self {
        self.unwanted = true;
        self
    }
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.fails_at.is_some_and(|byte| self.rest.position() >= byte) {
            return Err(io::Error::other("the content fails here"));
        }
        let room = buffer.len().min(64 << 10);
        self.rest.read(&mut buffer[..room])
    }
}

impl Incoming for Bytes {
    fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    fn key(&mut self) -> Result<Option<String>> {
        self.wanted()?;
        Ok(self.key.clone())
    }

    fn wanted(&self) -> Result<()> {
        if self.unwanted { Err(Error::closed("nobody wants this content")) } else { Ok(()) }
    }
}
