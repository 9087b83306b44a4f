//! Writing a canonical file.

use super::{BLOCK_HEADER_LEN, BLOCK_TAG, BLOCK_TARGET, END_LEN, END_TAG, FORMAT_VERSION, HEADER_LEN, MAGIC};
use crate::error::{Error, ErrorKind, Result};
use crate::handle_details::StateSize;
use crate::key_group::MaxParallelism;
use std::io::{self, Write};
use xxhash_rust::xxh3::xxh3_64;

/// Writes entries, which must come in ascending order, as one canonical file.
///
/// ```
/// use headpond_state::MaxParallelism;
/// use headpond_state::canonical::{CanonicalReader, CanonicalWriter};
///
/// let mut writer = CanonicalWriter::new(Vec::new(), MaxParallelism::DEFAULT)?;
/// writer.push(0, b"\x07apple", b"1")?;
/// writer.push(0, b"\x07apricot", b"2")?;
/// let file = writer.finish()?;
///
/// let mut reader = CanonicalReader::new(file.as_slice(), "example")?;
/// assert_eq!(reader.next_entry()?.map(|entry| entry.value.to_vec()), Some(b"1".to_vec()));
/// # Ok::<(), headpond_state::Error>(())
/// ```
#[derive(Debug)]
pub struct CanonicalWriter<W: Write> {
    pub(super) out: W,
    /// The open block: its header's place, then its body.
    block: Vec<u8>,
    block_entries: u32,
    state: u16,
    last_key: Vec<u8>,
    blocks: u64,
    entries: u64,
    sizes: Vec<StateSize>,
}

impl<W: Write> CanonicalWriter<W> {
    /// Begins a file for keys of a job with this many key groups.
    ///
    /// # Errors
    /// When `out` fails: [`ResourceExhausted`](ErrorKind::ResourceExhausted) for a full disk, else
    /// [`Unavailable`](ErrorKind::Unavailable). The same holds for the calls below.
    pub fn new(mut out: W, max_parallelism: MaxParallelism) -> Result<Self> {
        let mut header = Vec::with_capacity(HEADER_LEN);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        header.extend_from_slice(&u32::from(max_parallelism).to_le_bytes());
        write_with_checksum(&mut out, &mut header)?;
        let block = vec![0; BLOCK_HEADER_LEN];
        Ok(CanonicalWriter {
            out,
            block,
            block_entries: 0,
            state: 0,
            last_key: Vec::new(),
            blocks: 0,
            entries: 0,
            sizes: Vec::new(),
        })
    }

    /// Appends an entry of the state with this index in the handle's descriptors.
    ///
    /// # Errors
    /// [`Internal`](ErrorKind::Internal) unless `(state, key)` is greater than the entry's before it;
    /// [`Unsupported`](ErrorKind::Unsupported) for an entry of more than 2 GiB.
    pub fn push(&mut self, state: u16, key: &[u8], value: &[u8]) -> Result<()> {
        if self.entries > 0 && (state, key) <= (self.state, self.last_key.as_slice()) {
            return Err(Error::internal("entries of a canonical file do not ascend"));
        }
        if key.len() + value.len() > i32::MAX as usize {
            return Err(Error::unsupported("an entry of a canonical file is larger than 2 GiB"));
        }
        let body_len = self.block.len() - BLOCK_HEADER_LEN;
        if self.block_entries > 0 && (state != self.state || body_len + key.len() + value.len() > BLOCK_TARGET) {
            self.end_block()?;
        }
        self.state = state;
        let shared = if self.block_entries == 0 { 0 } else { shared_prefix_len(&self.last_key, key) };
        let suffix = &key[shared..];
        push_varint(&mut self.block, shared);
        push_varint(&mut self.block, suffix.len());
        push_varint(&mut self.block, value.len());
        self.block.extend_from_slice(suffix);
        self.block.extend_from_slice(value);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(suffix);
        self.block_entries += 1;
        self.entries += 1;
        let index = usize::from(state);
        if index >= self.sizes.len() {
            self.sizes.resize(index + 1, StateSize::default());
        }
        self.sizes[index].entries += 1;
        self.sizes[index].bytes += (key.len() + value.len()) as u64;
        Ok(())
    }

    /// The entries appended so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// What has been appended of each state.
    pub fn sizes(&self) -> &[StateSize] {
        &self.sizes
    }

    /// Ends the file and returns what it was written to.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn finish(mut self) -> Result<W> {
        self.end_file()?;
        Ok(self.out)
    }

    pub(super) fn end_file(&mut self) -> Result<()> {
        self.end_block()?;
        let mut end = Vec::with_capacity(END_LEN);
        end.push(END_TAG);
        end.extend_from_slice(&self.blocks.to_le_bytes());
        end.extend_from_slice(&self.entries.to_le_bytes());
        write_with_checksum(&mut self.out, &mut end)?;
        self.out.flush().map_err(write_failed)
    }

    fn end_block(&mut self) -> Result<()> {
        if self.block_entries == 0 {
            return Ok(());
        }
        let body_len = (self.block.len() - BLOCK_HEADER_LEN) as u32;
        self.block[0] = BLOCK_TAG;
        self.block[1..3].copy_from_slice(&self.state.to_le_bytes());
        self.block[3..7].copy_from_slice(&self.block_entries.to_le_bytes());
        self.block[7..11].copy_from_slice(&body_len.to_le_bytes());
        write_with_checksum(&mut self.out, &mut self.block)?;
        self.block.truncate(BLOCK_HEADER_LEN);
        self.block_entries = 0;
        self.blocks += 1;
        Ok(())
    }
}

fn write_with_checksum(out: &mut impl Write, bytes: &mut Vec<u8>) -> Result<()> {
    let checksum = xxh3_64(bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    out.write_all(bytes).map_err(write_failed)
}

fn write_failed(cause: io::Error) -> Error {
    let kind = match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::ResourceExhausted,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, "cannot write a canonical state file").because(cause)
}

fn shared_prefix_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn push_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
