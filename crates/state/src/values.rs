//! The values of many keys in one buffer.

use crate::backend::{KeyBatch, KeyedStateBackend};
use crate::error::Result;
use crate::id::StateId;
use std::ops::Range;

/// The values of a batch of keys: their bytes behind one another, and where each is.
///
/// A caller for whom a call per value is dear (one in another language, one on the other side of a channel) reads a
/// batch of keys with one call of [`read`](Self::read) and takes the buffer as it is.
#[derive(Debug, Clone, Default)]
pub struct ValueBatch {
    bytes: Vec<u8>,
    /// By the key's index; `None`: it has no value.
    places: Vec<Option<Range<usize>>>,
}

impl ValueBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the batch by the values of `keys`, keeping its allocations.
    ///
    /// # Errors
    /// As [`KeyedStateBackend::read_many`].
    pub fn read(&mut self, backend: &mut dyn KeyedStateBackend, state: StateId, keys: &KeyBatch) -> Result<()> {
        self.reset(keys.len());
        backend.read_many(state, keys, &mut |index, value| {
            self.set(index, value);
            Ok(())
        })
    }

    /// Makes it a batch of so many keys without values, keeping its allocations.
    pub fn reset(&mut self, keys: usize) {
        self.bytes.clear();
        self.places.clear();
        self.places.resize(keys, None);
    }

    /// Sets the value of a key, by copying it to the end of the buffer. Keys may be set in any order, each at most
    /// once.
    ///
    /// # Panics
    /// If `index >= self.len()`.
    #[inline]
    pub fn set(&mut self, index: usize, value: Option<&[u8]>) {
        self.places[index] = value.map(|value| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(value);
            start..self.bytes.len()
        });
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The value of the `index`th key.
    ///
    /// # Panics
    /// If `index >= self.len()`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.places[index].clone().map(|place| &self.bytes[place])
    }

    /// The buffer, and where in it the value of each key is.
    pub fn parts(&self) -> (&[u8], &[Option<Range<usize>>]) {
        (&self.bytes, &self.places)
    }
}
