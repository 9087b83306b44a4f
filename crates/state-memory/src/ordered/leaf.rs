//! A few kilobytes of sorted entries.

use super::head::{common_len, head_u32, last_head_u32};
use crate::bounds::Bounds;
use crate::budget::Account;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of living entries beyond which a leaf is split.
const LEAF_LEN_MAX: usize = 8 * 1024;

/// Entries beyond which a leaf is split.
const LEAF_ENTRIES_MAX: usize = 64;

/// Bytes of living entries below which a leaf may join its neighbour.
const LEAF_LEN_SMALL: usize = LEAF_LEN_MAX / 8;

/// The least bytes that a leaf grows by for entries that come together.
const BYTES_MIN: usize = 384;

/// Dead bytes below which a leaf is not rewritten.
const DEAD_MIN: usize = 1024;

/// Bytes of a leaf beside its buffers: itself and its place in the directory.
pub(super) const LEAF_OVERHEAD: usize = 128;

/// Bytes of an entry before its key: the lengths of key and value.
const HEADER_LEN: usize = 8;

/// Sorted entries over one buffer.
///
/// Searching must not touch each key it compares with, so a slot has the four bytes of its key in which the keys of a
/// leaf first differ: those behind what all of them begin with.
#[derive(Debug)]
pub(crate) struct Leaf {
    account: Arc<Account>,
    charged: usize,
    /// Bytes of no entry.
    dead: usize,
    /// The earliest expiry that a sweep has found; the lowest number once something was added. Snapshots do not look at
    /// it.
    earliest: AtomicI64,
    /// The length of what all keys begin with, or less.
    skip: usize,
    /// Entries as `key length | value length | key | value`, in the order of writing.
    bytes: Vec<u8>,
    /// The entries, in the order of their keys.
    slots: Vec<Slot>,
}

/// Where an entry lies in the buffer, and four bytes of its key.
#[derive(Debug, Clone, Copy)]
struct Slot {
    head: u32,
    start: u32,
}

impl Leaf {
    pub(super) fn new(account: &Arc<Account>) -> Self {
        account.charge(LEAF_OVERHEAD);
        Leaf {
            account: Arc::clone(account),
            charged: LEAF_OVERHEAD,
            dead: 0,
            earliest: AtomicI64::new(i64::MIN),
            skip: 0,
            bytes: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// A leaf with the same entries.
    pub(super) fn copy(&self) -> Self {
        self.part(0..self.len())
    }

    fn part(&self, range: Range<usize>) -> Self {
        let mut part = Leaf::new(&self.account);
        part.bytes.reserve_exact(range.clone().map(|index| self.size(index)).sum());
        part.slots.reserve_exact(range.len());
        for slot in &self.slots[range] {
            let (_, _, end) = self.bounds(*slot);
            part.slots.push(Slot { head: slot.head, start: part.bytes.len() as u32 });
            part.bytes.extend_from_slice(&self.bytes[slot.start as usize..end]);
        }
        part.skip = self.skip;
        let skip = part.common_len();
        if skip != part.skip {
            part.set_skip(skip);
        }
        part.charge();
        part
    }

    /// Appends the entries of a leaf whose keys come after these.
    pub(super) fn append(&mut self, other: &Leaf) {
        other.iter().for_each(|(key, value)| self.push(key, value));
        self.set_skip(self.common_len());
        self.charge();
    }

    /// Appends an entry without a head.
    fn push(&mut self, key: &[u8], value: &[u8]) {
        let start = self.store(key, value);
        self.slots.push(Slot { head: 0, start });
    }

    /// Writes an entry to the buffer's end.
    fn store(&mut self, key: &[u8], value: &[u8]) -> u32 {
        *self.earliest.get_mut() = i64::MIN;
        let start = self.bytes.len();
        let size = HEADER_LEN + key.len() + value.len();
        if self.bytes.capacity() - start < size {
            self.bytes.reserve_exact(size + start / 2);
        }
        self.bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        start as u32
    }

    /// The length of what all keys begin with: what the first and the last have in common.
    fn common_len(&self) -> usize {
        match self.len() {
            0 => 0,
            len => common_len(self.key(0), self.key(len - 1)),
        }
    }

    fn set_skip(&mut self, skip: usize) {
        self.skip = skip;
        for index in 0..self.len() {
            self.slots[index].head = head_u32(self.key(index), skip);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of living entries.
    pub(super) fn live_len(&self) -> usize {
        self.bytes.len() - self.dead
    }

    /// Where the key begins and ends, and where the value ends.
    #[inline]
    fn bounds(&self, slot: Slot) -> (usize, usize, usize) {
        let start = slot.start as usize;
        let header = &self.bytes[start..start + HEADER_LEN];
        let length =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]) as usize;
        let key = start + HEADER_LEN;
        (key, key + length(0), key + length(0) + length(4))
    }

    fn size(&self, index: usize) -> usize {
        let (key, _, end) = self.bounds(self.slots[index]);
        HEADER_LEN + end - key
    }

    #[inline]
    pub(super) fn key(&self, index: usize) -> &[u8] {
        self.key_in(self.slots[index])
    }

    #[inline]
    fn key_in(&self, slot: Slot) -> &[u8] {
        let (key, value, _) = self.bounds(slot);
        &self.bytes[key..value]
    }

    #[inline]
    pub(super) fn value(&self, index: usize) -> &[u8] {
        let (_, value, end) = self.bounds(self.slots[index]);
        &self.bytes[value..end]
    }

    /// The entries in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|index| (self.key(index), self.value(index)))
    }

    /// Brings what a search begins with into the cache, and where the next entry goes.
    #[inline]
    pub(super) fn touch(&self) -> u8 {
        let Some(first) = self.slots.first() else { return 0 };
        let quarter = self.len() / 4;
        let slots = [quarter, 2 * quarter, 3 * quarter].map(|index| self.slots[index].head as u8);
        let bytes = [first.start as usize, self.bytes.len() - 1].map(|at| self.bytes[at]);
        slots[0] ^ slots[1] ^ slots[2] ^ bytes[0] ^ bytes[1]
    }

    /// The first entry whose head is not below that of `key`, which a search begins with. Brings it into the cache if
    /// it may be the one.
    #[inline]
    pub(super) fn near(&self, key: &[u8]) -> usize {
        let head = head_u32(key, self.skip);
        let near = self.slots.partition_point(|slot| slot.head < head);
        if let Some(slot) = self.slots.get(near).filter(|slot| slot.head == head) {
            let start = slot.start as usize;
            std::hint::black_box(self.bytes[start] ^ self.bytes[(start + 64).min(self.bytes.len() - 1)]);
        }
        near
    }

    /// The first entry whose head is not below `head`, perhaps `guess`.
    #[inline]
    fn first_of_head(&self, head: u32, guess: usize) -> usize {
        let below = |index: usize| self.slots.get(index).is_some_and(|slot| slot.head < head);
        let is_right = guess <= self.len() && !below(guess) && (guess == 0 || below(guess - 1));
        if is_right { guess } else { self.slots.partition_point(|slot| slot.head < head) }
    }

    /// The entry with this key, or where it would be; probably by `guess`.
    #[inline]
    pub(super) fn find(&self, key: &[u8], guess: usize) -> Result<usize, usize> {
        let (at, may_be) = self.lower_bound(key, guess);
        match may_be && self.key(at) == key {
            true => Ok(at),
            false => Err(at),
        }
    }

    /// The first entry whose key is not below `key`, and whether it has the same head.
    #[inline]
    fn lower_bound(&self, key: &[u8], guess: usize) -> (usize, bool) {
        if self.slots.is_empty() {
            return (0, false);
        }
        let common = &self.key(0)[..self.skip];
        match key.get(..self.skip).unwrap_or(key).cmp(common) {
            Ordering::Less => (0, false),
            Ordering::Greater => (self.len(), false),
            Ordering::Equal => {
                let head = head_u32(key, self.skip);
                let first = self.first_of_head(head, guess);
                let has_head = |slot: &Slot| slot.head == head;
                if !self.slots.get(first).is_some_and(has_head) {
                    return (first, false);
                }
                let rest = &self.slots[first..];
                let at = first + rest.partition_point(|slot| has_head(slot) && self.key_in(*slot) < key);
                (at, self.slots.get(at).is_some_and(has_head))
            }
        }
    }

    /// The first entry that is not before all that is within `bounds`, probably by `guess`; `None`: all that follow
    /// come after it.
    #[inline]
    pub(super) fn begin(&self, bounds: &Bounds<'_>, guess: usize) -> Option<usize> {
        let lowest = bounds.lowest();
        let (at, _) = self.lower_bound(lowest, guess);
        let Some(slot) = self.slots.get(at) else { return Some(at) };
        if let Some(prefix) = bounds.prefix_of_lowest()
            && prefix.len() > self.skip
            && slot.head > last_head_u32(prefix, self.skip)
            && self.begins_like(lowest)
        {
            return None;
        }
        Some(at + usize::from(bounds.excludes_lowest() && bounds.begins_after(self.key_in(*slot))))
    }

    /// Whether `key` begins with what all keys begin with.
    #[inline]
    fn begins_like(&self, key: &[u8]) -> bool {
        !self.slots.is_empty() && key.starts_with(&self.key(0)[..self.skip])
    }

    /// The first entry from `start` on for which `holds` does not hold.
    pub(super) fn first_not_from(&self, start: usize, mut holds: impl FnMut(&[u8]) -> bool) -> usize {
        let start = start.min(self.len());
        start + self.slots[start..].partition_point(|slot| holds(self.key_in(*slot)))
    }

    /// Replaces the value of an entry.
    pub(super) fn overwrite(&mut self, index: usize, value: &[u8]) {
        let (key, old, end) = self.bounds(self.slots[index]);
        if value.len() <= end - old {
            self.bytes[key - 4..key].copy_from_slice(&(value.len() as u32).to_le_bytes());
            self.bytes[old..old + value.len()].copy_from_slice(value);
            self.dead += end - old - value.len();
        } else {
            let key = self.key(index).to_vec();
            self.dead += self.size(index);
            self.slots[index].start = self.store(&key, value);
        }
        self.compact_if_worth();
        self.charge();
    }

    /// Makes room for entries of so many bytes in all, as far as they go into a leaf.
    pub(super) fn reserve(&mut self, entries: usize, len: usize) {
        let size = (entries * HEADER_LEN + len).min(LEAF_LEN_MAX.saturating_sub(self.live_len()));
        let entries = entries.min(LEAF_ENTRIES_MAX.saturating_sub(self.len()));
        if self.bytes.capacity() - self.bytes.len() < size {
            self.bytes.reserve_exact(size.max(self.bytes.len() / 2).max(BYTES_MIN));
        }
        if self.slots.capacity() - self.slots.len() < entries {
            self.slots.reserve_exact(entries.max(8 + self.slots.len() / 2));
        }
    }

    /// Inserts an entry where [`find`](Self::find) said.
    pub(super) fn insert(&mut self, index: usize, key: &[u8], value: &[u8]) {
        let is_like = index > 0 && index < self.len() || self.begins_like(key);
        let start = self.store(key, value);
        if self.slots.len() == self.slots.capacity() {
            self.slots.reserve_exact(4 + self.slots.len() / 2);
        }
        self.slots.insert(index, Slot { head: head_u32(key, self.skip), start });
        if !is_like {
            self.set_skip(self.common_len());
        }
        self.charge();
    }

    /// The earliest expiry of an entry, if it is known: nothing expires before.
    pub(super) fn earliest(&self) -> i64 {
        self.earliest.load(Relaxed)
    }

    pub(super) fn set_earliest(&self, expires_ms: i64) {
        self.earliest.store(expires_ms, Relaxed);
    }

    pub(super) fn remove(&mut self, range: Range<usize>) {
        self.dead += range.clone().map(|index| self.size(index)).sum::<usize>();
        self.slots.drain(range);
        self.compact_if_worth();
        self.charge();
    }

    /// Removes the entries of these indices, which ascend.
    pub(super) fn remove_all(&mut self, indices: &[usize]) {
        self.dead += indices.iter().map(|index| self.size(*index)).sum::<usize>();
        let (mut index, mut removed) = (0, indices.iter().peekable());
        self.slots.retain(|_| {
            let keep = removed.next_if_eq(&&index).is_none();
            index += 1;
            keep
        });
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

    /// Whether the leaf is so small that it should join a neighbour that has room.
    pub(super) fn is_small(&self) -> bool {
        self.live_len() < LEAF_LEN_SMALL && self.len() < LEAF_ENTRIES_MAX / 8
    }

    /// Whether both leaves fit into one, with room to spare.
    pub(super) fn fits_with(&self, other: &Leaf) -> bool {
        self.live_len() + other.live_len() < LEAF_LEN_MAX / 2 && self.len() + other.len() < LEAF_ENTRIES_MAX / 2
    }

    /// The bytes that the buffers grow by to take an entry of `len` bytes.
    pub(super) fn growth(&self, len: usize) -> usize {
        let size = HEADER_LEN + len;
        let bytes = (size + self.bytes.len() / 2) * usize::from(self.bytes.capacity() - self.bytes.len() < size);
        let slots = (4 + self.slots.len() / 2) * usize::from(self.slots.capacity() == self.slots.len());
        bytes + slots * size_of::<Slot>()
    }

    /// Rewrites the leaf without its dead bytes, once there is something in it.
    fn compact_if_worth(&mut self) {
        if self.dead >= DEAD_MIN && self.dead > self.live_len() / 4 {
            *self = self.copy();
        }
    }

    fn charge(&mut self) {
        let bytes = LEAF_OVERHEAD + self.bytes.capacity() + self.slots.capacity() * size_of::<Slot>();
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
