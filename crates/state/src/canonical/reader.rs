//! Reading a canonical file.

use super::{BLOCK_HEADER_LEN, BLOCK_TAG, CHECKSUM_LEN, END_LEN, END_TAG, FORMAT_VERSION, HEADER_LEN, MAGIC};
use crate::error::{Context, Error, Result};
use crate::key_group::MaxParallelism;
use std::io::{self, Read};
use xxhash_rust::xxh3::xxh3_64;

/// An entry of a canonical file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CanonicalEntry<'a> {
    /// The state, as an index into the handle's descriptors.
    pub state: u16,
    /// The whole entry key.
    pub key: &'a [u8],
    /// The stored value.
    pub value: &'a [u8],
}

/// Reads a canonical file and checks all of it: whatever the bytes, it returns entries as written or an error.
///
/// It holds one block at a time and reads unbuffered only at the borders of blocks. After the last entry it reads to
/// the end of the input, so that a reader which verifies a hash there has its say.
#[derive(Debug)]
pub struct CanonicalReader<R: Read> {
    input: R,
    name: String,
    max_parallelism: MaxParallelism,
    /// The current block: header, body, checksum.
    block: Vec<u8>,
    /// Where the next entry begins in `block`.
    position: usize,
    /// Where the body ends in `block`.
    body_end: usize,
    entries_left: u32,
    state: u16,
    key: Vec<u8>,
    blocks: u64,
    entries: u64,
    ended: bool,
}

impl<R: Read> CanonicalReader<R> {
    /// Begins to read a file. Errors call it `name`.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) when the input is not a canonical file,
    /// [`Incompatible`](crate::ErrorKind::Incompatible) when it is of a newer version, and as the input's.
    pub fn new(mut input: R, name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        let mut header = [0; HEADER_LEN];
        input.read_exact(&mut header).map_err(|cause| read_failed(&name, cause))?;
        let corrupt = |message: &str| Error::corrupt(message).with(Context::Path, &name);
        if header[..MAGIC.len()] != MAGIC {
            return Err(corrupt("not a canonical state file"));
        }
        if !checksum_matches(&header) {
            return Err(corrupt("the header of a canonical state file is damaged"));
        }
        let version = u32_at(&header, 8);
        if version > FORMAT_VERSION {
            let message = format!("canonical format version {version} is newer than {FORMAT_VERSION}");
            return Err(Error::incompatible(message)
                .with(Context::Path, &name)
                .hint("read it with the release of Headpond that wrote it, or a later one"));
        }
        let max_parallelism =
            MaxParallelism::new(u32_at(&header, 12)).map_err(|cause| corrupt("bad header").because(cause))?;
        Ok(CanonicalReader {
            input,
            name,
            max_parallelism,
            block: Vec::new(),
            position: 0,
            body_end: 0,
            entries_left: 0,
            state: 0,
            key: Vec::new(),
            blocks: 0,
            entries: 0,
            ended: false,
        })
    }

    /// The number of key groups of the job that wrote the file: it decides how long a key's prefix is.
    pub fn max_parallelism(&self) -> MaxParallelism {
        self.max_parallelism
    }

    /// What errors call the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The next entry, in ascending order of `(state, key)`; `None` at the end of a file that is whole.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) when the file is not as it was written, and as the input's.
    pub fn next_entry(&mut self) -> Result<Option<CanonicalEntry<'_>>> {
        while self.entries_left == 0 {
            if self.ended || !self.read_block()? {
                return Ok(None);
            }
        }
        let value = match self.decode_entry() {
            Some(value) => value,
            None => return Err(self.corrupt("an entry of a canonical state file is malformed")),
        };
        Ok(Some(CanonicalEntry { state: self.state, key: &self.key, value: &self.block[value] }))
    }

    /// Decodes the entry at `position`: its key into `key`, its value as a range of `block`. `None` when it is
    /// malformed.
    fn decode_entry(&mut self) -> Option<std::ops::Range<usize>> {
        let body = &self.block[..self.body_end];
        let mut position = self.position;
        let shared = varint(body, &mut position)?;
        let suffix_len = varint(body, &mut position)?;
        let value_len = varint(body, &mut position)?;
        let suffix_end = position.checked_add(suffix_len)?;
        let value_end = suffix_end.checked_add(value_len)?;
        let suffix = body.get(position..suffix_end)?;
        if value_end > body.len() || (self.position == BLOCK_HEADER_LEN && shared != 0) {
            return None;
        }
        // Both keys share their beginning, so what follows it decides. An empty key may only be the very first.
        let ascends = if self.position == BLOCK_HEADER_LEN {
            self.key.is_empty() || self.key.as_slice() < suffix
        } else {
            self.key.get(shared..)? < suffix
        };
        if !ascends {
            return None;
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(suffix);
        self.position = value_end;
        self.entries_left -= 1;
        self.entries += 1;
        (self.entries_left > 0 || value_end == body.len()).then_some(suffix_end..value_end)
    }

    /// Reads the next block; `false` at the end.
    fn read_block(&mut self) -> Result<bool> {
        self.block.clear();
        self.read_more(1)?;
        match self.block[0] {
            BLOCK_TAG => {}
            END_TAG => return self.read_end().map(|()| false),
            _ => return Err(self.corrupt("a block of a canonical state file begins wrongly")),
        }
        self.read_more(BLOCK_HEADER_LEN - 1)?;
        let state = u16::from_le_bytes([self.block[1], self.block[2]]);
        self.entries_left = u32_at(&self.block, 3);
        let body_len = u32_at(&self.block, 7) as usize;
        self.read_more(body_len + CHECKSUM_LEN)?;
        if !checksum_matches(&self.block) {
            return Err(self.corrupt("a block of a canonical state file is damaged"));
        }
        if self.entries_left == 0 || (self.blocks > 0 && state < self.state) {
            return Err(self.corrupt("a block of a canonical state file is out of order"));
        }
        if state != self.state {
            self.key.clear();
        }
        self.state = state;
        self.position = BLOCK_HEADER_LEN;
        self.body_end = BLOCK_HEADER_LEN + body_len;
        self.blocks += 1;
        Ok(true)
    }

    fn read_end(&mut self) -> Result<()> {
        self.read_more(END_LEN - 1)?;
        let counts = (u64_at(&self.block, 1), u64_at(&self.block, 9));
        if !checksum_matches(&self.block) || counts != (self.blocks, self.entries) {
            return Err(self.corrupt("the end of a canonical state file does not match its content"));
        }
        self.ended = true;
        let rest = io::copy(&mut (&mut self.input).take(1), &mut io::sink());
        match rest.map_err(|cause| read_failed(&self.name, cause))? {
            0 => Ok(()),
            _ => Err(self.corrupt("a canonical state file goes on after its end")),
        }
    }

    /// Appends `len` bytes of the input to `block`. The buffer grows with what arrives, not with what a length claims.
    fn read_more(&mut self, len: usize) -> Result<()> {
        let read = (&mut self.input).take(len as u64).read_to_end(&mut self.block);
        match read.map_err(|cause| read_failed(&self.name, cause))? {
            read if read == len => Ok(()),
            _ => Err(self.corrupt("a canonical state file ends early")),
        }
    }

    fn corrupt(&self, message: &str) -> Error {
        Error::corrupt(message).with(Context::Path, &self.name)
    }
}

fn read_failed(name: &str, cause: io::Error) -> Error {
    Error::io("cannot read a canonical state file", name, cause)
}

fn checksum_matches(bytes: &[u8]) -> bool {
    let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM_LEN);
    u64_at(checksum, 0) == xxh3_64(content)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn varint(bytes: &[u8], position: &mut usize) -> Option<usize> {
    let mut value = 0u64;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(*position)?;
        *position += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return usize::try_from(value).ok();
        }
    }
    None
}
