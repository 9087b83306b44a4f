//! Pages of packed entries, and entries too large for one.

use crate::budget::Account;
use std::fmt;
use std::sync::Arc;

/// Bytes beside an entry page's content in its allocation: two counts and the account.
const PAGE_OVERHEAD: usize = 24;

/// Lengths of pages: a shard's first and second are small, so that many shards with few entries take little. With the
/// overhead they are powers of two, which allocators like.
const PAGE_LENS: [usize; 3] = [512 - PAGE_OVERHEAD, 2048 - PAGE_OVERHEAD, 8192 - PAGE_OVERHEAD];

/// The longest page.
pub(crate) const PAGE_LEN_MAX: usize = PAGE_LENS[2];

/// A piece of memory that entries are appended to. Zeroed at first: an entry of size 0 ends it.
pub(crate) struct PageOf<B: ?Sized> {
    account: Arc<Account>,
    bytes: B,
}

/// A page of any length, in one allocation.
pub(crate) type Page = PageOf<[u8]>;

impl Page {
    /// An empty page for a shard that has `pages` already and an entry of `size` bytes at hand.
    pub(super) fn allocate(pages: usize, size: usize, account: &Arc<Account>) -> Arc<Page> {
        let fitting = PAGE_LENS.iter().position(|len| size <= *len).unwrap_or(2);
        let account = Arc::clone(account);
        match pages.min(2).max(fitting) {
            0 => Arc::new(PageOf::zeroed::<{ PAGE_LENS[0] }>(account)),
            1 => Arc::new(PageOf::zeroed::<{ PAGE_LENS[1] }>(account)),
            _ => Arc::new(PageOf::zeroed::<{ PAGE_LENS[2] }>(account)),
        }
    }

    /// The length of the next page of a shard that has `pages` already.
    pub(super) fn len_of(pages: usize) -> usize {
        PAGE_LENS[pages.min(2)]
    }

    /// A page with the same content.
    pub(super) fn copy(&self) -> Arc<Page> {
        let class = PAGE_LENS.iter().position(|len| *len == self.bytes.len()).unwrap_or(2);
        let mut copy = Page::allocate(class, self.bytes.len(), &self.account);
        if let Some(page) = Arc::get_mut(&mut copy) {
            page.bytes.copy_from_slice(&self.bytes);
        }
        copy
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl PageOf<[u8; 0]> {
    fn zeroed<const N: usize>(account: Arc<Account>) -> PageOf<[u8; N]> {
        account.charge(N + PAGE_OVERHEAD);
        PageOf { account, bytes: [0; N] }
    }
}

impl<B: ?Sized> Drop for PageOf<B> {
    fn drop(&mut self) {
        self.account.credit(size_of_val(&self.bytes) + PAGE_OVERHEAD);
    }
}

impl<B: ?Sized> fmt::Debug for PageOf<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page of {} bytes", size_of_val(&self.bytes))
    }
}

/// Bytes beside a large entry's key and value: the structure and its allocations' rounding.
pub(super) const LARGE_OVERHEAD: usize = 96;

/// An entry too large for a page.
#[derive(Debug)]
pub(crate) struct Large {
    account: Arc<Account>,
    charged: usize,
    key: Box<[u8]>,
    value: Vec<u8>,
}

impl Large {
    pub(super) fn new(key: &[u8], value: &[u8], account: &Arc<Account>) -> Self {
        let mut large = Large { account: Arc::clone(account), charged: 0, key: Box::from(key), value: value.to_vec() };
        large.charge();
        large
    }

    pub(super) fn copy(&self) -> Self {
        Large::new(&self.key, &self.value, &self.account)
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn value(&self) -> &[u8] {
        &self.value
    }

    /// Changes the value.
    pub(super) fn update(&mut self, update: impl FnOnce(&mut Vec<u8>)) {
        update(&mut self.value);
        self.charge();
    }

    fn charge(&mut self) {
        self.account.credit(self.charged);
        self.charged = LARGE_OVERHEAD + self.key.len() + self.value.capacity();
        self.account.charge(self.charged);
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        self.account.credit(self.charged);
    }
}
