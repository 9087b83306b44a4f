//! The entries of a shard, as a snapshot freezes them.

use super::page::{Large, Page};
use crate::budget::Account;
use headpond_state::encoding::sort_prefix;
use std::sync::Arc;

/// Bytes of an entry before its key: its size in units of [`UNIT`], the lengths of its key and its value.
const HEADER_LEN: usize = 6;

/// What sizes and places of entries are multiples of.
const UNIT: usize = 8;

/// The largest entry that goes into a page.
const PACKED_MAX: usize = 1024;

/// The value length of an entry that is dead.
const DEAD: u16 = u16::MAX;

/// Where an entry is: the page and the place in it, or the index of a large entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(u32);

const LARGE_BIT: u32 = 1 << 31;
const PLACE_BITS: u32 = 10;

/// The most pages a shard may have.
pub(super) const PAGES_MAX: usize = 1 << (31 - PLACE_BITS);

impl Slot {
    fn packed(page: usize, offset: usize) -> Self {
        Slot((page as u32) << PLACE_BITS | (offset / UNIT) as u32)
    }

    fn large(index: usize) -> Self {
        Slot(LARGE_BIT | index as u32)
    }

    fn is_large(self) -> bool {
        self.0 & LARGE_BIT != 0
    }

    fn index(self) -> usize {
        (self.0 & !LARGE_BIT) as usize
    }

    fn page(self) -> usize {
        (self.0 >> PLACE_BITS) as usize
    }

    fn offset(self) -> usize {
        (self.0 & ((1 << PLACE_BITS) - 1)) as usize * UNIT
    }
}

/// Pages and large entries. Cloning shares them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entries {
    pages: Vec<Arc<Page>>,
    large: Vec<Option<Arc<Large>>>,
    free_large: Vec<u32>,
    /// Where the last page goes on.
    end: usize,
}

impl Entries {
    /// The bytes an entry takes.
    pub(super) fn size_of(key: &[u8], value_len: usize) -> usize {
        (HEADER_LEN + key.len() + value_len).next_multiple_of(UNIT)
    }

    pub(super) fn is_packed(size: usize) -> bool {
        size <= PACKED_MAX
    }

    #[inline]
    pub(super) fn get(&self, slot: Slot) -> (&[u8], &[u8]) {
        if slot.is_large() {
            return self.large[slot.index()].as_ref().map_or((&[], &[]), |large| (large.key(), large.value()));
        }
        let entry = &self.pages[slot.page()].bytes()[slot.offset()..];
        let header = Header::read(entry);
        entry[HEADER_LEN..HEADER_LEN + header.key_len + header.value_len].split_at(header.key_len)
    }

    #[inline]
    pub(super) fn key(&self, slot: Slot) -> &[u8] {
        if slot.is_large() {
            return self.large[slot.index()].as_ref().map_or(&[], |large| large.key());
        }
        let entry = &self.pages[slot.page()].bytes()[slot.offset()..];
        let key_len = usize::from(u16::from_le_bytes([entry[2], entry[3]]));
        &entry[HEADER_LEN..HEADER_LEN + key_len]
    }

    /// Reads a byte of the entry's beginning and one behind it, where its value is, so that both are in the cache when they
    /// are needed: an entry often lies across two lines.
    #[inline]
    pub(super) fn touch(&self, slot: Slot) -> u8 {
        /// About where the end of a short entry is.
        const VALUE_DISTANCE: usize = 40;
        if slot.is_large() {
            return 0;
        }
        let bytes = self.pages[slot.page()].bytes();
        bytes[slot.offset()] ^ bytes[(slot.offset() + VALUE_DISTANCE).min(bytes.len() - 1)]
    }

    /// Whether there is room in the shard for another entry.
    pub(super) fn has_room(&self) -> bool {
        self.pages.len() < PAGES_MAX && self.large.len() < LARGE_BIT as usize
    }

    /// Appends an entry whose key is not there.
    pub(super) fn append(&mut self, key: &[u8], value: &[u8], account: &Arc<Account>) -> Slot {
        let size = Self::size_of(key, value.len());
        if !Self::is_packed(size) {
            let large = Some(Arc::new(Large::new(key, value, account)));
            return match self.free_large.pop() {
                Some(index) => {
                    self.large[index as usize] = large;
                    Slot::large(index as usize)
                }
                None => {
                    self.large.push(large);
                    Slot::large(self.large.len() - 1)
                }
            };
        }
        if self.pages.last().is_none_or(|page| self.end + size > page.bytes().len()) {
            self.pages.push(Page::allocate(self.pages.len(), size, account));
            self.end = 0;
        }
        let slot = Slot::packed(self.pages.len() - 1, self.end);
        self.end += size;
        let entry = &mut self.page_mut(slot.page())[slot.offset()..];
        Header { size, key_len: key.len(), value_len: value.len() }.write(entry);
        entry[HEADER_LEN..HEADER_LEN + key.len()].copy_from_slice(key);
        entry[HEADER_LEN + key.len()..HEADER_LEN + key.len() + value.len()].copy_from_slice(value);
        slot
    }

    /// Overwrites the entry's value in its place; `false` when it does not fit.
    #[inline]
    pub(super) fn overwrite(&mut self, slot: Slot, value: &[u8]) -> bool {
        if slot.is_large() {
            return self.update_large(slot, |old| {
                old.clear();
                old.extend_from_slice(value);
            });
        }
        let offset = slot.offset();
        let entry = &self.pages[slot.page()].bytes()[offset..];
        let header = Header::read(entry);
        let start = HEADER_LEN + header.key_len;
        if start + value.len() > header.size {
            return false;
        }
        let entry = &mut self.page_mut(slot.page())[offset..];
        entry[4..6].copy_from_slice(&(value.len() as u16).to_le_bytes());
        entry[start..start + value.len()].copy_from_slice(value);
        true
    }

    /// Changes a large entry's value in its place; `false` when the entry is not large.
    pub(super) fn update_large(&mut self, slot: Slot, update: impl FnOnce(&mut Vec<u8>)) -> bool {
        if !slot.is_large() {
            return false;
        }
        let Some(large) = self.large[slot.index()].as_mut() else { return false };
        if Arc::strong_count(large) > 1 {
            *large = Arc::new(large.copy());
        }
        Arc::get_mut(large).expect("a copy has one owner").update(update);
        true
    }

    /// Marks the entry dead and returns the bytes it leaves behind in its page.
    pub(super) fn kill(&mut self, slot: Slot) -> usize {
        if slot.is_large() {
            self.large[slot.index()] = None;
            self.free_large.push(slot.index() as u32);
            return 0;
        }
        let offset = slot.offset();
        let entry = &mut self.page_mut(slot.page())[offset..];
        entry[4..6].copy_from_slice(&DEAD.to_le_bytes());
        Header::read(entry).size
    }

    /// Moves a large entry from another shard's store.
    pub(super) fn adopt(&mut self, from: &Entries, slot: Slot, account: &Arc<Account>) -> Slot {
        if !slot.is_large() {
            let (key, value) = from.get(slot);
            return self.append(key, value, account);
        }
        self.large.push(from.large[slot.index()].clone());
        Slot::large(self.large.len() - 1)
    }

    /// What writing to this entry copies, because a snapshot has it too: an identity and bytes.
    pub(super) fn shared_piece(&self, slot: Slot) -> Option<(usize, usize)> {
        if slot.is_large() {
            let large = self.large[slot.index()].as_ref().filter(|large| Arc::strong_count(large) > 1)?;
            return Some((Arc::as_ptr(large).addr(), large.key().len() + large.value().len()));
        }
        let page = &self.pages[slot.page()];
        (Arc::strong_count(page) > 1).then(|| (Arc::as_ptr(page).addr(), page.bytes().len()))
    }

    /// The room for a value in the entry's place.
    pub(super) fn capacity(&self, slot: Slot) -> usize {
        if slot.is_large() {
            return self.get(slot).1.len();
        }
        let header = Header::read(&self.pages[slot.page()].bytes()[slot.offset()..]);
        header.size - HEADER_LEN - header.key_len
    }

    /// The bytes of new pages that appending `appended` bytes takes.
    pub(super) fn page_growth(&self, appended: usize) -> usize {
        let mut covered = self.pages.last().map_or(0, |page| page.bytes().len() - self.end);
        let mut pages = self.pages.len();
        let mut growth = 0;
        while covered < appended {
            let len = Page::len_of(pages);
            covered += len;
            growth += len;
            pages += 1;
        }
        growth
    }

    /// All living entries, sorted by key.
    pub(crate) fn sorted(&self) -> Vec<(&[u8], &[u8])> {
        let packed = self.pages.iter().flat_map(|page| Packed { rest: page.bytes() });
        let large = self.large.iter().flatten().map(|large| (large.key(), large.value()));
        // Most comparisons end with the first bytes of the keys, kept beside them: sorting then hardly leaves the cache.
        let mut entries: Vec<_> = packed.chain(large).map(|(key, value)| (sort_prefix(key), (key, value))).collect();
        entries.sort_unstable_by(|(a_first, (a, _)), (b_first, (b, _))| a_first.cmp(b_first).then_with(|| a.cmp(b)));
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    #[inline]
    fn page_mut(&mut self, index: usize) -> &mut [u8] {
        let page = &mut self.pages[index];
        if Arc::strong_count(page) > 1 {
            *page = page.copy();
        }
        Arc::get_mut(page).expect("a copy has one owner").bytes_mut()
    }
}

struct Header {
    size: usize,
    key_len: usize,
    value_len: usize,
}

impl Header {
    #[inline]
    fn read(entry: &[u8]) -> Self {
        let [a, b, c, d, e, f] = *entry.first_chunk::<HEADER_LEN>().expect("an entry has a header");
        let length = |low, high| usize::from(u16::from_le_bytes([low, high]));
        Header { size: length(a, b) * UNIT, key_len: length(c, d), value_len: length(e, f) }
    }

    #[inline]
    fn write(&self, entry: &mut [u8]) {
        entry[..2].copy_from_slice(&((self.size / UNIT) as u16).to_le_bytes());
        entry[2..4].copy_from_slice(&(self.key_len as u16).to_le_bytes());
        entry[4..6].copy_from_slice(&(self.value_len as u16).to_le_bytes());
    }
}

/// The living entries of a page.
struct Packed<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Packed<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while self.rest.len() >= HEADER_LEN {
            let header = Header::read(self.rest);
            if header.size == 0 {
                return None;
            }
            let (entry, rest) = self.rest.split_at(header.size);
            self.rest = rest;
            if header.value_len != usize::from(DEAD) {
                return Some(
                    entry[HEADER_LEN..HEADER_LEN + header.key_len + header.value_len].split_at(header.key_len),
                );
            }
        }
        None
    }
}
