//! One key group of a point state.

use super::entries::{Entries, Slot};
use super::gaps::Gaps;
use super::page::LARGE_OVERHEAD;
use crate::bounds::Bounds;
use crate::budget::{Account, Growth};
use crate::expired::{Expiry, Swept};
use hashbrown::HashTable;
use headpond_state::{Entry, Error, MergeOperator, Result, ScanVisitor};
use std::ops::ControlFlow;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of the index for each entry, just after it has grown.
const INDEX_BYTES_PER_ENTRY: usize = 10;

/// The index does not shrink below this capacity.
const INDEX_CAPACITY_MIN: usize = 64;

/// Large entries that are swept together.
const LARGE_PER_PIECE: usize = 64;

/// A hash table over packed entries.
#[derive(Debug, Default)]
pub(crate) struct PointShard {
    index: HashTable<Slot>,
    /// Bytes of the index that are charged.
    index_bytes: usize,
    entries: Arc<Entries>,
    gaps: Gaps,
    /// Pages that were sparse when an entry of theirs had died.
    sparse: Vec<u32>,
    /// For each page the earliest expiry that the last sweep left in it. Pages that came later are not known.
    earliest: Vec<i64>,
}

impl PointShard {
    /// The hash the calls below want.
    #[inline]
    pub(crate) fn hash(key: &[u8]) -> u64 {
        xxh3_64(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    #[inline]
    fn find(&self, hash: u64, key: &[u8]) -> Option<Slot> {
        self.index.find(hash, |slot| self.entries.key(*slot) == key).copied()
    }

    #[inline]
    pub(crate) fn get(&self, hash: u64, key: &[u8]) -> Option<&[u8]> {
        self.find(hash, key).map(|slot| self.entries.get(slot).1)
    }

    /// Where the entry with this hash probably is: brings the table's part of a lookup into the cache.
    #[inline]
    pub(crate) fn probe(&self, hash: u64) -> Probe {
        Probe(self.index.iter_hash(hash).next().copied())
    }

    /// Brings the probed entry into the cache.
    #[inline]
    pub(crate) fn touch(&self, probe: Probe) -> u8 {
        probe.0.map_or(0, |slot| self.entries.touch(slot))
    }

    /// The value of `key`, probably at `probe`.
    #[inline]
    pub(crate) fn get_probed(&self, probe: Probe, hash: u64, key: &[u8]) -> Option<&[u8]> {
        let slot = probe.0?;
        let (found, value) = self.entries.get(slot);
        if found == key { Some(value) } else { self.get(hash, key) }
    }

    #[inline]
    pub(crate) fn put(&mut self, hash: u64, key: &[u8], value: &[u8], account: &Arc<Account>) -> Result<()> {
        let Some(slot) = self.find(hash, key) else { return self.insert(hash, key, value, account) };
        let entries = Arc::make_mut(&mut self.entries);
        if entries.overwrite(slot, value) {
            return Ok(());
        }
        check_room(entries)?;
        let moved = Self::place(&mut self.gaps, entries, key, value, account);
        self.kill(slot, account);
        if let Some(place) = self.index.find_mut(hash, |found| *found == slot) {
            *place = moved;
        }
        self.forget_expiry(moved);
        Ok(())
    }

    /// Puts an entry whose key is not there into a gap, or behind the others.
    #[inline]
    fn place(gaps: &mut Gaps, entries: &mut Entries, key: &[u8], value: &[u8], account: &Arc<Account>) -> Slot {
        match gaps.take(Entries::size_of(key, value.len()), entries) {
            Some(gap) => entries.fill(gap, key, value),
            None => entries.append(key, value, account),
        }
    }

    /// Marks an entry dead and remembers the gap.
    #[inline]
    fn kill(&mut self, slot: Slot, account: &Arc<Account>) {
        let entries = Arc::make_mut(&mut self.entries);
        let Some((size, gap)) = entries.kill(slot) else { return };
        self.gaps.add(size, gap, entries, account);
        if let Some(page) = Entries::page_of(slot)
            && entries.is_sparse(page)
            && self.sparse.last() != Some(&(page as u32))
        {
            self.sparse.push(page as u32);
        }
    }

    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8], account: &Arc<Account>) -> Result<()> {
        let entries = Arc::make_mut(&mut self.entries);
        check_room(entries)?;
        let slot = Self::place(&mut self.gaps, entries, key, value, account);
        let entries = &self.entries;
        self.index.insert_unique(hash, slot, |slot| Self::hash(entries.key(*slot)));
        self.forget_expiry(slot);
        self.charge_index(account);
        Ok(())
    }

    pub(crate) fn merge(
        &mut self,
        hash: u64,
        (key, operand): (&[u8], &[u8]),
        operator: MergeOperator,
        scratch: &mut Vec<u8>,
        account: &Arc<Account>,
    ) -> Result<()> {
        scratch.clear();
        if let Some(slot) = self.find(hash, key) {
            if Arc::make_mut(&mut self.entries).update_large(slot, |value| operator.fold(value, operand)) {
                return Ok(());
            }
            scratch.extend_from_slice(self.entries.get(slot).1);
        }
        operator.fold(scratch, operand);
        self.put(hash, key, scratch, account)
    }

    pub(crate) fn delete(&mut self, hash: u64, key: &[u8], account: &Arc<Account>) {
        let entries = &self.entries;
        let Ok(found) = self.index.find_entry(hash, |slot| entries.key(*slot) == key) else { return };
        let (slot, _) = found.remove();
        self.kill(slot, account);
        self.shrink_after_removal(account);
    }

    /// Gives back what the removal of an entry has left over.
    fn shrink_after_removal(&mut self, account: &Arc<Account>) {
        if self.index.is_empty() {
            self.clear(account);
            return;
        }
        if self.index.capacity() > INDEX_CAPACITY_MIN && self.index.len() < self.index.capacity() / 4 {
            let entries = &self.entries;
            self.index.shrink_to(self.index.len() * 2, |slot| Self::hash(entries.key(*slot)));
            self.charge_index(account);
        }
    }

    pub(crate) fn delete_range(&mut self, bounds: &Bounds<'_>, account: &Arc<Account>) {
        let within: Vec<_> =
            self.index.iter().map(|slot| self.entries.key(*slot)).filter(|key| bounds.contains(key)).collect();
        if within.len() == self.index.len() {
            self.clear(account);
            return;
        }
        let keys: Vec<Vec<u8>> = within.into_iter().map(<[u8]>::to_vec).collect();
        keys.iter().for_each(|key| self.delete(Self::hash(key), key, account));
    }

    pub(crate) fn clear(&mut self, account: &Arc<Account>) {
        account.credit(self.index_bytes);
        self.gaps.clear(account);
        *self = PointShard::default();
    }

    /// Visits the entries within `bounds` in order, as long as `left` lasts.
    pub(crate) fn scan(
        &self,
        bounds: &Bounds<'_>,
        left: &mut usize,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<ControlFlow<()>> {
        let mut within: Vec<_> =
            self.index.iter().map(|slot| self.entries.get(*slot)).filter(|(key, _)| bounds.contains(key)).collect();
        if *left < within.len() {
            // Sorting only what will be visited keeps a scan in many small parts from sorting everything each time.
            within.select_nth_unstable_by_key(*left, |(key, _)| *key);
            within.truncate(*left);
        }
        within.sort_unstable_by_key(|(key, _)| *key);
        *left -= within.len();
        for (key, value) in within {
            if visit(Entry { key, value })?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// What a snapshot keeps.
    pub(crate) fn freeze(&self) -> Arc<Entries> {
        Arc::clone(&self.entries)
    }

    /// What putting `value_len` bytes at `key` adds.
    pub(crate) fn growth(&self, hash: u64, key: &[u8], value_len: usize) -> Growth {
        let found = self.find(hash, key);
        let copied = found.and_then(|slot| self.entries.shared_piece(slot));
        if found.is_some_and(|slot| value_len <= self.entries.capacity(slot)) {
            return Growth { copied, ..Growth::default() };
        }
        let size = Entries::size_of(key, value_len);
        let (appended, bytes) = if Entries::is_packed(size) { (size, 0) } else { (0, size + LARGE_OVERHEAD) };
        Growth { bytes, appended, entries: usize::from(found.is_none()), copied, regrown: None }
    }

    /// The bytes of pages and index that come with appending so many bytes of so many new entries.
    pub(crate) fn append_growth(&self, appended: usize, entries: usize) -> usize {
        let index_full = self.index.len() + entries > self.index.capacity();
        let index = if index_full { self.index_bytes.max(entries * INDEX_BYTES_PER_ENTRY) } else { 0 };
        self.entries.page_growth(appended) + index
    }

    /// Whether pages may be sparse.
    #[inline]
    pub(crate) fn is_untidy(&self) -> bool {
        !self.sparse.is_empty()
    }

    /// Whether pages may be sparse, and more is dead than new entries can be expected to take.
    #[inline]
    pub(crate) fn is_mostly_dead(&self) -> bool {
        self.is_untidy() && self.entries.is_mostly_dead()
    }

    /// Moves the living entries of pages elsewhere that are still sparse, so that they can be given back.
    pub(crate) fn tidy(&mut self, account: &Arc<Account>) {
        for page in std::mem::take(&mut self.sparse) {
            let page = page as usize;
            if !self.entries.is_sparse(page) {
                continue;
            }
            let mut moves = Vec::new();
            let index = &mut self.index;
            Arc::make_mut(&mut self.entries).clear_out(page, account, |key, from, to| {
                if let Some(place) = index.find_mut(Self::hash(key), |found| *found == from) {
                    *place = to;
                }
                moves.push(to);
            });
            moves.into_iter().for_each(|moved| self.forget_expiry(moved));
        }
    }

    /// Looks at a piece of the shard, a page or some large entries, and removes the entries that have expired. `None`:
    /// there is no piece of this number. A page is passed over while nothing in it can have expired.
    pub(crate) fn sweep(&mut self, piece: usize, expiry: &Expiry, account: &Arc<Account>) -> Option<Swept> {
        let pages = self.entries.page_count();
        let large = piece.saturating_sub(pages) * LARGE_PER_PIECE;
        let slots: Vec<Slot> = match piece < pages {
            true if self.earliest.get(piece).is_some_and(|earliest| !expiry.is_past(*earliest)) => {
                return Some(Swept::default());
            }
            true => self.entries.of_page(piece).collect(),
            false if large >= self.entries.large_count() => return None,
            false => (large..large + LARGE_PER_PIECE).filter_map(|index| self.entries.of_large(index)).collect(),
        };
        let mut swept = Swept { entries: slots.len(), ..Swept::default() };
        let mut earliest = i64::MAX;
        let mut expired = Vec::new();
        for slot in slots {
            let (key, value) = self.entries.get(slot);
            let expires_ms = expiry.of(value);
            if !expiry.is_past(expires_ms) {
                earliest = earliest.min(expires_ms);
                continue;
            }
            swept.bytes += key.len() + value.len();
            if let Ok(found) = self.index.find_entry(Self::hash(key), |found| *found == slot) {
                found.remove();
            }
            expired.push(slot);
        }
        swept.removed = expired.len();
        match piece < pages && swept.removed == swept.entries {
            _ if expired.is_empty() => {}
            // A page that a snapshot has too need not be copied first.
            true => Arc::make_mut(&mut self.entries).give_back(piece),
            false => expired.into_iter().for_each(|slot| self.kill(slot, account)),
        }
        if piece < pages {
            self.earliest.resize(pages.max(self.earliest.len()), i64::MIN);
            self.earliest[piece] = earliest;
        }
        if swept.removed > 0 {
            self.shrink_after_removal(account);
        }
        Some(swept)
    }

    /// A page that has got another entry may expire earlier than was known.
    #[inline]
    fn forget_expiry(&mut self, slot: Slot) {
        if !self.earliest.is_empty()
            && let Some(known) = Entries::page_of(slot).and_then(|page| self.earliest.get_mut(page))
        {
            *known = i64::MIN;
        }
    }

    #[inline]
    fn charge_index(&mut self, account: &Account) {
        let bytes = self.index.allocation_size();
        if bytes != self.index_bytes {
            account.credit(self.index_bytes);
            account.charge(bytes);
            self.index_bytes = bytes;
        }
    }
}

/// The probable place of an entry.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Probe(Option<Slot>);

fn check_room(entries: &Entries) -> Result<()> {
    match entries.has_room() {
        true => Ok(()),
        false => Err(Error::exhausted("a key group has more state than a memory backend can address")
            .hint("use more key groups (max parallelism), or SET 'state.backend.type' = 'rocksdb'")),
    }
}
