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

/// Dead bytes of a shard below which no page is rewritten.
const DEAD_MIN: usize = 1024;

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
    /// `None`: its entries are all dead, and the page is gone; its number waits for another.
    pages: Vec<Option<Arc<Page>>>,
    /// What of each page is used.
    fills: Vec<Fill>,
    free_pages: Vec<u32>,
    /// The page that is appended to.
    open: Option<u32>,
    large: Vec<Option<Arc<Large>>>,
    free_large: Vec<u32>,
    /// Bytes of living and of dead entries in pages.
    live: usize,
    dead: usize,
}

/// How much of a page has been written, and how much of that is alive.
#[derive(Debug, Clone, Copy, Default)]
struct Fill {
    end: u16,
    live: u16,
    /// How many pages have had this number before.
    epoch: u32,
}

/// The place of an entry that is dead, as long as its page is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    slot: Slot,
    epoch: u32,
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
        let entry = &self.page(slot.page())[slot.offset()..];
        let header = Header::read(entry);
        entry[HEADER_LEN..HEADER_LEN + header.key_len + header.value_len].split_at(header.key_len)
    }

    /// The bytes of a page that has living entries.
    #[inline]
    fn page(&self, index: usize) -> &[u8] {
        self.pages[index].as_ref().map_or(&[], |page| page.bytes())
    }

    #[inline]
    pub(super) fn key(&self, slot: Slot) -> &[u8] {
        if slot.is_large() {
            return self.large[slot.index()].as_ref().map_or(&[], |large| large.key());
        }
        let entry = &self.page(slot.page())[slot.offset()..];
        let key_len = usize::from(u16::from_le_bytes([entry[2], entry[3]]));
        &entry[HEADER_LEN..HEADER_LEN + key_len]
    }

    /// Reads a byte of the entry's beginning and one behind it, where its value is, so that both are in the cache when
    /// they are needed: an entry often lies across two lines.
    #[inline]
    pub(super) fn touch(&self, slot: Slot) -> u8 {
        /// About where the end of a short entry is.
        const VALUE_DISTANCE: usize = 40;
        if slot.is_large() {
            return 0;
        }
        let bytes = self.page(slot.page());
        bytes[slot.offset()] ^ bytes[(slot.offset() + VALUE_DISTANCE).min(bytes.len() - 1)]
    }

    /// Whether there is room in the shard for another entry.
    pub(super) fn has_room(&self) -> bool {
        (self.pages.len() < PAGES_MAX || !self.free_pages.is_empty()) && self.large.len() < LARGE_BIT as usize
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
        let open = self.open_page(size, account);
        let slot = Slot::packed(open, usize::from(self.fills[open].end));
        self.fills[open].end += size as u16;
        self.write(slot, size, key, value);
        slot
    }

    /// Puts an entry whose key is not there where one of the same size has died.
    pub(super) fn fill(&mut self, gap: Gap, key: &[u8], value: &[u8]) -> Slot {
        let size = Self::size_of(key, value.len());
        self.dead -= size;
        self.write(gap.slot, size, key, value);
        gap.slot
    }

    #[inline]
    fn write(&mut self, slot: Slot, size: usize, key: &[u8], value: &[u8]) {
        self.fills[slot.page()].live += size as u16;
        self.live += size;
        let entry = &mut self.page_mut(slot.page())[slot.offset()..][..size];
        Header { size, key_len: key.len(), value_len: value.len() }.write(entry);
        let (entry_key, rest) = entry[HEADER_LEN..].split_at_mut(key.len());
        entry_key.copy_from_slice(key);
        rest[..value.len()].copy_from_slice(value);
    }

    /// Whether the gap's page is still the one in which the entry died.
    #[inline]
    pub(super) fn has_gap(&self, gap: Gap) -> bool {
        self.fills[gap.slot.page()].epoch == gap.epoch
    }

    /// Whether a snapshot has the gap's page.
    #[inline]
    pub(super) fn is_shared(&self, gap: Gap) -> bool {
        self.pages[gap.slot.page()].as_ref().is_some_and(|page| Arc::strong_count(page) > 1)
    }

    /// Whether more bytes are dead than alive.
    #[inline]
    pub(super) fn is_mostly_dead(&self) -> bool {
        self.dead > self.live
    }

    /// Bytes of dead entries.
    pub(super) fn dead_bytes(&self) -> usize {
        self.dead
    }

    /// The page to append `size` bytes to.
    #[inline]
    fn open_page(&mut self, size: usize, account: &Arc<Account>) -> usize {
        if let Some(open) = self.open
            && usize::from(self.fills[open as usize].end) + size <= self.page(open as usize).len()
        {
            return open as usize;
        }
        let page = Some(Page::allocate(self.pages.len() - self.free_pages.len(), size, account));
        let index = match self.free_pages.pop() {
            Some(index) => {
                self.pages[index as usize] = page;
                index as usize
            }
            None => {
                self.pages.push(page);
                self.fills.push(Fill::default());
                self.pages.len() - 1
            }
        };
        self.open = Some(index as u32);
        index
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
        let entry = &self.page(slot.page())[offset..];
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

    /// Marks the entry dead. A page without living entries is given back; else an entry of the size that is returned
    /// fits there.
    pub(super) fn kill(&mut self, slot: Slot) -> Option<(usize, Gap)> {
        if slot.is_large() {
            self.large[slot.index()] = None;
            self.free_large.push(slot.index() as u32);
            return None;
        }
        let (page, offset) = (slot.page(), slot.offset());
        let size = Header::read(&self.page(page)[offset..]).size;
        self.fills[page].live -= size as u16;
        self.live -= size;
        self.dead += size;
        if self.fills[page].live > 0 {
            self.page_mut(page)[offset + 4..offset + 6].copy_from_slice(&DEAD.to_le_bytes());
            return Some((size, Gap { slot, epoch: self.fills[page].epoch }));
        }
        self.give_back(page);
        None
    }

    /// Gives a page back, whose entries nobody needs any more.
    pub(super) fn give_back(&mut self, page: usize) {
        let Fill { end, live, epoch } = self.fills[page];
        self.live -= usize::from(live);
        self.dead -= usize::from(end - live);
        self.fills[page] = Fill { epoch: epoch.wrapping_add(1), ..Fill::default() };
        self.pages[page] = None;
        self.free_pages.push(page as u32);
        self.close(page);
    }

    /// Whether a page holds so much that is dead, as the shard does, that its living entries should move elsewhere.
    pub(super) fn is_sparse(&self, page: usize) -> bool {
        if self.dead < DEAD_MIN || self.dead < self.live / 8 {
            return false;
        }
        let Fill { end, live, .. } = self.fills[page];
        self.pages[page].is_some() && live <= end - end / 4
    }

    /// Appends the living entries of a page anew and gives the page back. `moved` is told each one's key, old and new
    /// place.
    pub(super) fn clear_out(&mut self, page: usize, account: &Arc<Account>, mut moved: impl FnMut(&[u8], Slot, Slot)) {
        self.close(page);
        let Some(old) = self.pages[page].clone() else { return };
        for (offset, key, value) in Packed::of(old.bytes()) {
            let to = self.append(key, value, account);
            moved(key, Slot::packed(page, offset), to);
        }
        self.give_back(page);
    }

    /// Ends the page if it is the one appended to.
    fn close(&mut self, page: usize) {
        self.open = self.open.filter(|open| *open as usize != page);
    }

    /// The living entries of a page of this number.
    pub(super) fn of_page(&self, index: usize) -> impl Iterator<Item = Slot> {
        let rest = self.pages.get(index).and_then(Option::as_ref).map_or(&[][..], |page| page.bytes());
        Packed::of(rest).map(move |(offset, ..)| Slot::packed(index, offset))
    }

    /// The page that an entry lies in, unless it is large.
    pub(super) fn page_of(slot: Slot) -> Option<usize> {
        (!slot.is_large()).then(|| slot.page())
    }

    /// How many pages have been numbered.
    pub(super) fn page_count(&self) -> usize {
        self.pages.len()
    }

    /// How many large entries have been numbered.
    pub(super) fn large_count(&self) -> usize {
        self.large.len()
    }

    /// The large entry of this number, if there is one.
    pub(super) fn of_large(&self, index: usize) -> Option<Slot> {
        self.large.get(index).and_then(Option::as_ref).map(|_| Slot::large(index))
    }

    /// What writing to this entry copies, because a snapshot has it too: an identity and bytes.
    pub(super) fn shared_piece(&self, slot: Slot) -> Option<(usize, usize)> {
        if slot.is_large() {
            let large = self.large[slot.index()].as_ref().filter(|large| Arc::strong_count(large) > 1)?;
            return Some((Arc::as_ptr(large).addr(), large.key().len() + large.value().len()));
        }
        let page = self.pages[slot.page()].as_ref()?;
        (Arc::strong_count(page) > 1).then(|| (Arc::as_ptr(page).addr(), page.bytes().len()))
    }

    /// The room for a value in the entry's place.
    pub(super) fn capacity(&self, slot: Slot) -> usize {
        if slot.is_large() {
            return self.get(slot).1.len();
        }
        let header = Header::read(&self.page(slot.page())[slot.offset()..]);
        header.size - HEADER_LEN - header.key_len
    }

    /// The bytes of new pages that appending `appended` bytes takes.
    pub(super) fn page_growth(&self, appended: usize) -> usize {
        let open = |open: u32| self.page(open as usize).len() - usize::from(self.fills[open as usize].end);
        let mut covered = self.open.map_or(0, open);
        let mut pages = self.pages.len() - self.free_pages.len();
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
        let pages = self.pages.iter().flatten();
        let packed = pages.flat_map(|page| Packed::of(page.bytes()).map(|(_, key, value)| (key, value)));
        let large = self.large.iter().flatten().map(|large| (large.key(), large.value()));
        // Most comparisons end with the first bytes of the keys, kept beside them: sorting then hardly leaves the
        // cache.
        let mut entries: Vec<_> = packed.chain(large).map(|(key, value)| (sort_prefix(key), (key, value))).collect();
        entries.sort_unstable_by(|(a_first, (a, _)), (b_first, (b, _))| a_first.cmp(b_first).then_with(|| a.cmp(b)));
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    #[inline]
    fn page_mut(&mut self, index: usize) -> &mut [u8] {
        let page = self.pages[index].as_mut().expect("a page with entries is there");
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

/// The living entries of a page: where they begin, their keys and their values.
struct Packed<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Packed<'a> {
    fn of(page: &'a [u8]) -> Self {
        Packed { rest: page, offset: 0 }
    }
}

impl<'a> Iterator for Packed<'a> {
    type Item = (usize, &'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while self.rest.len() >= HEADER_LEN {
            let header = Header::read(self.rest);
            if header.size == 0 {
                return None;
            }
            let (entry, rest) = self.rest.split_at(header.size);
            let offset = self.offset;
            self.rest = rest;
            self.offset += header.size;
            if header.value_len != usize::from(DEAD) {
                let (key, value) =
                    entry[HEADER_LEN..HEADER_LEN + header.key_len + header.value_len].split_at(header.key_len);
                return Some((offset, key, value));
            }
        }
        None
    }
}
