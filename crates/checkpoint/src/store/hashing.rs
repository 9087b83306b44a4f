//! Readers that hash what passes through them.

use headpond_state::{ContentHash, StateFile};
use std::io::{self, Read};

/// Hashes and counts what is read from `inner`.
pub(crate) struct HashingReader<R> {
    inner: R,
    hasher: blake3::Hasher,
    length: u64,
}

impl<R: Read> HashingReader<R> {
    pub(crate) fn new(inner: R) -> Self {
        HashingReader { inner, hasher: blake3::Hasher::new(), length: 0 }
    }

    /// The hash and the length of what has been read.
    pub(crate) fn finish(&self) -> (ContentHash, u64) {
        (ContentHash(*self.hasher.finalize().as_bytes()), self.length)
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.length += read as u64;
        Ok(read)
    }
}

/// Passes a file's content on and fails at its end if length or hash are not the expected ones.
pub(crate) struct VerifyingReader<R> {
    inner: HashingReader<R>,
    expected: StateFile,
    location: String,
}

impl<R: Read> VerifyingReader<R> {
    pub(crate) fn new(inner: R, expected: StateFile, location: String) -> Self {
        VerifyingReader { inner: HashingReader::new(inner), expected, location }
    }

    fn check(&self) -> io::Result<()> {
        let (hash, length) = self.inner.finish();
        if length == self.expected.length && hash == self.expected.hash {
            return Ok(());
        }
        let message = format!(
            "{} ({}) is not what was written: expected {} bytes with the hash {}, found {length} with {hash}",
            self.location, self.expected.name, self.expected.length, self.expected.hash,
        );
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }
}

impl<R: Read> Read for VerifyingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        // An empty buffer reads nothing too, and that is not the end.
        if read == 0 && !buffer.is_empty() {
            self.check()?;
        }
        Ok(read)
    }
}
