//! A few kilobytes of sorted entries.

use crate::budget::Account;
use std::cmp::Ordering;
use std::sync::Arc;

/// Bytes of living entries beyond which a leaf is split.
const LEAF_LEN_MAX: usize = 8 * 1024;

/// Entries beyond which a leaf is split.
const LEAF_ENTRIES_MAX: usize = 256;

/// Dead bytes below which a leaf is not rewritten.
const DEAD_MIN: usize = 1024;

/// Bytes of a leaf beside its buffers: itself, its separator and its place in the map.
pub(super) const LEAF_OVERHEAD: usize = 192;

/// Sorted entries over one buffer.
#[derive(Debug)]
pub(crate) struct Leaf {
    account: Arc<Account>,
    charged: usize,
    /// Keys and values, in the order of writing.
    bytes: Vec<u8>,
    /// The entries, in the order of their keys.
    entries: Vec<Place>,
    /// Bytes of no entry.
    dead: usize,
}

/// Where an entry lies in the buffer: its key, then its value.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: usize,
    key_len: u32,
    value_len: u32,
}

impl Place {
    fn len(self) -> usize {
        self.key_len as usize + self.value_len as usize
    }
}

impl Leaf {
    pub(super) fn new(account: &Arc<Account>) -> Self {
        account.charge(LEAF_OVERHEAD);
        Leaf { account: Arc::clone(account), charged: LEAF_OVERHEAD, bytes: Vec::new(), entries: Vec::new(), dead: 0 }
    }

    /// A leaf with the same entries.
    pub(super) fn copy(&self) -> Self {
        self.part(0..self.entries.len())
    }

    fn part(&self, range: std::ops::Range<usize>) -> Self {
        let mut part = Leaf::new(&self.account);
        let places = &self.entries[range];
        part.bytes.reserve_exact(places.iter().map(|place| place.len()).sum());
        part.entries.reserve_exact(places.len());
        for place in places {
            let start = part.bytes.len();
            part.bytes.extend_from_slice(&self.bytes[place.start..place.start + place.len()]);
            part.entries.push(Place { start, ..*place });
        }
        part.charge();
        part
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of living entries.
    pub(super) fn live_len(&self) -> usize {
        self.bytes.len() - self.dead
    }

    pub(super) fn key(&self, index: usize) -> &[u8] {
        let place = self.entries[index];
        &self.bytes[place.start..place.start + place.key_len as usize]
    }

    pub(super) fn value(&self, index: usize) -> &[u8] {
        let place = self.entries[index];
        &self.bytes[place.start + place.key_len as usize..place.start + place.len()]
    }

    /// The entries in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|index| (self.key(index), self.value(index)))
    }

    /// The entry with this key, or where it would be.
    pub(super) fn find(&self, key: &[u8]) -> Result<usize, usize> {
        let compare = |place: &Place| self.bytes[place.start..place.start + place.key_len as usize].cmp(key);
        // Ascending keys are the most frequent order of arrival.
        match self.entries.last().map(compare) {
            Some(Ordering::Less) | None => Err(self.entries.len()),
            _ => self.entries.binary_search_by(compare),
        }
    }

    /// The first entry for which `before` does not hold.
    pub(super) fn first_not(&self, mut before: impl FnMut(&[u8]) -> bool) -> usize {
        self.entries.partition_point(|place| before(&self.bytes[place.start..place.start + place.key_len as usize]))
    }

    /// Replaces the value of an entry.
    pub(super) fn overwrite(&mut self, index: usize, value: &[u8]) {
        let place = self.entries[index];
        if value.len() <= place.value_len as usize {
            let start = place.start + place.key_len as usize;
            self.bytes[start..start + value.len()].copy_from_slice(value);
            self.dead += place.value_len as usize - value.len();
            self.entries[index].value_len = value.len() as u32;
        } else {
            let key = place.start..place.start + place.key_len as usize;
            let start = self.bytes.len();
            self.bytes.extend_from_within(key);
            self.bytes.extend_from_slice(value);
            self.dead += place.len();
            self.entries[index] = Place { start, key_len: place.key_len, value_len: value.len() as u32 };
        }
        self.compact_if_worth();
        self.charge();
    }

    /// Inserts an entry where [`find`](Self::find) said.
    pub(super) fn insert(&mut self, index: usize, key: &[u8], value: &[u8]) {
        let place = Place { start: self.bytes.len(), key_len: key.len() as u32, value_len: value.len() as u32 };
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.entries.insert(index, place);
        self.charge();
    }

    pub(super) fn remove(&mut self, range: std::ops::Range<usize>) {
        self.dead += self.entries.drain(range).map(Place::len).sum::<usize>();
        self.compact_if_worth();
        self.charge();
    }

    /// Splits off the upper part of a leaf that is too large. `inserted` is where the last entry went.
    pub(super) fn split_if_full(&mut self, inserted: usize) -> Option<Leaf> {
        let full = self.live_len() > LEAF_LEN_MAX || self.len() > LEAF_ENTRIES_MAX;
        if !full || self.len() < 2 {
            return None;
        }
        let at = if inserted + 1 == self.len() { inserted } else { self.len() / 2 };
        let upper = self.part(at..self.len());
        *self = self.part(0..at);
        Some(upper)
    }

    /// The bytes that the buffers grow by to take an entry of `len` bytes.
    pub(super) fn growth(&self, len: usize) -> usize {
        let bytes = self.bytes.capacity().max(len) * usize::from(self.bytes.len() + len > self.bytes.capacity());
        let entries = self.entries.capacity().max(4) * usize::from(self.entries.len() == self.entries.capacity());
        bytes + entries * size_of::<Place>()
    }

    fn compact_if_worth(&mut self) {
        if self.dead >= DEAD_MIN && self.dead > self.live_len() {
            *self = self.copy();
        }
    }

    fn charge(&mut self) {
        let bytes = LEAF_OVERHEAD + self.bytes.capacity() + self.entries.capacity() * size_of::<Place>();
        if bytes != self.charged {
            self.account.credit(self.charged);
            self.account.charge(bytes);
            self.charged = bytes;
        }
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        self.account.credit(self.charged);
    }
}
