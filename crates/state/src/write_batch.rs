//! Writes to one keyed state backend, applied together or not at all.

use crate::id::StateId;

/// A batch of writes in one allocation. Later writes win over earlier ones to the same key.
#[derive(Debug, Clone, Default)]
pub struct WriteBatch {
    bytes: Vec<u8>,
    ops: Vec<Slot>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    state: StateId,
    kind: WriteKind,
    key_end: usize,
    value_end: usize,
}

#[derive(Debug, Clone, Copy)]
enum WriteKind {
    Put,
    Merge,
    Delete,
    DeleteRange,
}

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOp<'a> {
    /// Sets the value of `key`.
    Put {
        /// The whole entry key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// Folds `operand` into the value of `key` with the state's merge operator.
    Merge {
        /// The whole entry key.
        key: &'a [u8],
        /// What to fold in.
        operand: &'a [u8],
    },
    /// Removes `key`.
    Delete {
        /// The whole entry key.
        key: &'a [u8],
    },
    /// Removes every key from `start` (inclusive) to `end` (exclusive).
    DeleteRange {
        /// The first key to remove.
        start: &'a [u8],
        /// The first key to keep.
        end: &'a [u8],
    },
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value of `key`.
    #[inline]
    pub fn put(&mut self, state: StateId, key: &[u8], value: &[u8]) {
        self.push(state, WriteKind::Put, key, value);
    }

    /// Sets the value of `key` to what `build` appends to the buffer. `build` must only append.
    #[inline]
    pub fn put_with(&mut self, state: StateId, key: &[u8], build: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        build(&mut self.bytes);
        self.ops.push(Slot { state, kind: WriteKind::Put, key_end, value_end: self.bytes.len() });
    }

    /// Folds `operand` into the value of `key`.
    #[inline]
    pub fn merge(&mut self, state: StateId, key: &[u8], operand: &[u8]) {
        self.push(state, WriteKind::Merge, key, operand);
    }

    /// Removes `key`.
    #[inline]
    pub fn delete(&mut self, state: StateId, key: &[u8]) {
        self.push(state, WriteKind::Delete, key, &[]);
    }

    /// Removes the keys from `start` (inclusive) to `end` (exclusive).
    #[inline]
    pub fn delete_range(&mut self, state: StateId, start: &[u8], end: &[u8]) {
        self.push(state, WriteKind::DeleteRange, start, end);
    }

    #[inline]
    fn push(&mut self, state: StateId, kind: WriteKind, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ops.push(Slot { state, kind, key_end, value_end: self.bytes.len() });
    }

    /// The number of writes.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there is no write.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The bytes of all keys and values.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// The writes in order.
    pub fn iter(&self) -> impl Iterator<Item = (StateId, WriteOp<'_>)> {
        let mut start = 0;
        self.ops.iter().map(move |slot| {
            let key = &self.bytes[start..slot.key_end];
            let value = &self.bytes[slot.key_end..slot.value_end];
            start = slot.value_end;
            let op = match slot.kind {
                WriteKind::Put => WriteOp::Put { key, value },
                WriteKind::Merge => WriteOp::Merge { key, operand: value },
                WriteKind::Delete => WriteOp::Delete { key },
                WriteKind::DeleteRange => WriteOp::DeleteRange { start: key, end: value },
            };
            (slot.state, op)
        })
    }

    /// Removes all writes and keeps the allocations.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ops.clear();
    }
}
