//! Pulling entries, a batch at a time, instead of being called with each.

use crate::backend::{Entry, KeyedStateBackend, ScanRange, ScanStart};
use crate::error::Result;
use crate::id::StateId;
use std::ops::ControlFlow;

/// Where in a range of a state its reader is.
///
/// It holds no resource of the backend, so it may be kept for as long as one likes, between writes, ticks and
/// checkpoints, and is closed by dropping it. Each batch shows the state as it is then: what is written behind the
/// cursor is not seen, what is written in front of it is.
#[derive(Debug, Clone)]
pub struct StateCursor {
    state: StateId,
    prefix: Vec<u8>,
    start: Option<Start>,
    end: Option<Vec<u8>>,
    left: usize,
}

#[derive(Debug, Clone)]
enum Start {
    At(Vec<u8>),
    After(Vec<u8>),
}

/// How much of a range to pull at a time. At least one entry comes, however long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorLimits {
    /// The most entries.
    pub entries: usize,
    /// The bytes of keys and values beyond which no further entry is added.
    pub bytes: usize,
}

impl StateCursor {
    /// A cursor before the first entry of `range`.
    pub fn open(state: StateId, range: &ScanRange<'_>) -> Self {
        let start = range.start.map(|start| match start {
            ScanStart::At(key) => Start::At(key.to_vec()),
            ScanStart::After(key) => Start::After(key.to_vec()),
        });
        let (prefix, end) = (range.prefix.to_vec(), range.end.map(<[u8]>::to_vec));
        StateCursor { state, prefix, start, end, left: range.limit }
    }

    /// Replaces `entries` by the next ones, keeping its allocations, and says whether there may be more.
    ///
    /// # Errors
    /// As [`KeyedStateBackend::scan`]; the cursor is then where it was.
    pub fn next_batch(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        limits: CursorLimits,
        entries: &mut EntryBatch,
    ) -> Result<bool> {
        entries.clear();
        let wanted = limits.entries.max(1).min(self.left);
        if wanted == 0 {
            return Ok(false);
        }
        let range = ScanRange {
            prefix: &self.prefix,
            start: self.start.as_ref().map(|start| match start {
                Start::At(key) => ScanStart::At(key),
                Start::After(key) => ScanStart::After(key),
            }),
            end: self.end.as_deref(),
            limit: wanted,
        };
        backend.scan(self.state, &range, &mut |entry| {
            entries.push(entry);
            let full = entries.len() == wanted || entries.byte_len() >= limits.bytes;
            Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let Some(last) = entries.last() else {
            self.left = 0;
            return Ok(false);
        };
        self.left -= entries.len();
        let full = entries.len() == wanted || entries.byte_len() >= limits.bytes;
        if !full {
            self.left = 0;
        } else if let Some(Start::After(key)) = &mut self.start {
            key.clear();
            key.extend_from_slice(last.key);
        } else {
            self.start = Some(Start::After(last.key.to_vec()));
        }
        Ok(self.left > 0)
    }
}

/// Many entries in one buffer: key and value, key and value, and where each ends.
#[derive(Debug, Clone, Default)]
pub struct EntryBatch {
    bytes: Vec<u8>,
    /// The ends of each entry's key and value.
    ends: Vec<(usize, usize)>,
}

impl EntryBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a copy of an entry.
    pub fn push(&mut self, entry: Entry<'_>) {
        self.bytes.extend_from_slice(entry.key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(entry.value);
        self.ends.push((key_end, self.bytes.len()));
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of all keys and values.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// The `index`th entry.
    ///
    /// # Panics
    /// If `index >= self.len()`.
    pub fn get(&self, index: usize) -> Entry<'_> {
        let start = if index == 0 { 0 } else { self.ends[index - 1].1 };
        let (key_end, value_end) = self.ends[index];
        Entry { key: &self.bytes[start..key_end], value: &self.bytes[key_end..value_end] }
    }

    /// The entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Entry<'_>> + ExactSizeIterator {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The buffer, and where in it each entry's key and value end.
    pub fn parts(&self) -> (&[u8], &[(usize, usize)]) {
        (&self.bytes, &self.ends)
    }

    /// Removes all entries and keeps the allocations.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn last(&self) -> Option<Entry<'_>> {
        self.len().checked_sub(1).map(|index| self.get(index))
    }
}
