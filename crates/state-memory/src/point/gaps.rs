//! Places of dead entries that others can take.
//!
//! Where keys come and go, as windows and sessions do, most entries have the same few sizes: a new entry then takes the
//! place of a dead one of its size, and nothing has to be moved to give space back.

use super::entries::{Entries, Gap};
use crate::budget::Account;

/// Gaps that may be out of date before anybody looks for such.
const STALE_MIN: usize = 256;

/// The fewest bytes of a dead entry.
const ENTRY_MIN: usize = 8;

/// Gaps by the size of what fits in.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    of_sizes: Vec<(usize, Vec<Gap>)>,
    count: usize,
    /// How many there may be before those whose page is gone are removed.
    limit: usize,
    /// Bytes that are charged.
    charged: usize,
}

impl Gaps {
    /// Adds a gap. Those whose page is gone are removed now and then.
    pub(super) fn add(&mut self, size: usize, gap: Gap, entries: &Entries, account: &Account) {
        let index = self.of_sizes.iter().position(|(of, _)| *of == size).unwrap_or_else(|| {
            self.of_sizes.push((size, Vec::new()));
            self.of_sizes.len() - 1
        });
        let gaps = &mut self.of_sizes[index].1;
        let is_full = gaps.len() == gaps.capacity();
        gaps.push(gap);
        self.count += 1;
        let is_beyond = self.count > self.limit;
        if is_beyond {
            self.refresh(entries);
        }
        if is_full || is_beyond {
            self.charge(account);
        }
    }

    /// Takes a gap of this size, if there is one in a page that no snapshot has: a new entry is not worth the copy of a
    /// page.
    #[inline]
    pub(super) fn take(&mut self, size: usize, entries: &Entries) -> Option<Gap> {
        if self.count == 0 {
            return None;
        }
        let (_, gaps) = self.of_sizes.iter_mut().find(|(of, _)| *of == size)?;
        while let Some(&gap) = gaps.last() {
            let is_there = entries.has_gap(gap);
            if is_there && entries.is_shared(gap) {
                return None;
            }
            gaps.pop();
            self.count -= 1;
            if is_there {
                return Some(gap);
            }
        }
        None
    }

    /// Removes the gaps whose page is gone.
    fn refresh(&mut self, entries: &Entries) {
        for (_, gaps) in &mut self.of_sizes {
            gaps.retain(|gap| entries.has_gap(*gap));
            gaps.shrink_to(2 * gaps.len());
        }
        self.of_sizes.retain(|(_, gaps)| !gaps.is_empty());
        self.count = self.of_sizes.iter().map(|(_, gaps)| gaps.len()).sum();
        self.limit = STALE_MIN + self.count.max(entries.dead_bytes() / ENTRY_MIN / 2);
    }

    /// Forgets all.
    pub(super) fn clear(&mut self, account: &Account) {
        account.credit(self.charged);
        *self = Gaps::default();
    }

    fn charge(&mut self, account: &Account) {
        let bytes = self.of_sizes.iter().map(|(_, gaps)| gaps.capacity() * size_of::<Gap>()).sum();
        account.credit(self.charged);
        account.charge(bytes);
        self.charged = bytes;
    }
}
