//! One key group of a state that is scanned.

use super::directory::Leaves;
use super::leaf::{LEAF_OVERHEAD, Leaf};
use crate::bounds::Bounds;
use crate::budget::{Account, Growth};
use crate::expired::{Expiry, Swept};
use headpond_state::{Entry, Error, MergeOperator, Result, ScanVisitor};
use std::ops::ControlFlow;
use std::ops::Range;
use std::sync::Arc;

/// The longest key or value.
const LEN_MAX: usize = 1 << 30;

/// A directory of sorted leaves.
#[derive(Debug, Default)]
pub(crate) struct OrderedShard {
    leaves: Arc<Leaves>,
    len: usize,
}

impl OrderedShard {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where `key` belongs, probably not far from `guess`; brings the leaf into the cache.
    #[inline]
    pub(crate) fn probe(&self, guess: LeafPosition, key: &[u8]) -> LeafPosition {
        let leaf = self.leaves.find_near(guess.leaf as usize, key);
        std::hint::black_box(self.leaves.get(leaf).map_or(0, |leaf| leaf.len()));
        LeafPosition { leaf: leaf as u32, slot: 0 }
    }

    /// Brings a probed leaf's content into the cache.
    #[inline]
    pub(crate) fn touch(&self, probed: LeafPosition) -> u8 {
        self.leaves.get(probed.leaf as usize).map_or(0, |leaf| leaf.touch())
    }

    /// Searches a probed leaf and brings the entry into the cache that a search for `key` ends at.
    #[inline]
    pub(crate) fn touch_entry(&self, probed: &mut LeafPosition, key: &[u8]) {
        probed.slot = self.leaves.get(probed.leaf as usize).map_or(0, |leaf| leaf.near(key)) as u32;
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.get_probed(self.probe(LeafPosition::default(), key), key)
    }

    /// The value of `key`, which has been probed since the last write.
    #[inline]
    pub(crate) fn get_probed(&self, probed: LeafPosition, key: &[u8]) -> Option<&[u8]> {
        let leaf = self.leaves.get(probed.leaf as usize)?;
        leaf.find(key, probed.slot as usize).ok().map(|index| leaf.value(index))
    }

    pub(crate) fn put(&mut self, guess: LeafPosition, key: &[u8], value: &[u8], account: &Arc<Account>) -> Result<()> {
        self.put_all(&[(guess, key, value)], account)
    }

    /// Puts entries, each probably where it was probed. It is best if they ascend: what finds a leaf is then done once
    /// for all its entries.
    pub(crate) fn put_all(&mut self, entries: &[(LeafPosition, &[u8], &[u8])], account: &Arc<Account>) -> Result<()> {
        let leaves = Arc::make_mut(&mut self.leaves);
        let mut next = 0;
        while let Some((guess, key, value)) = entries.get(next) {
            if leaves.len() == 0 {
                check_len(key, value)?;
                let mut leaf = Leaf::new(account);
                leaf.insert(0, key, value);
                leaves.insert(0, leaf);
                self.len += 1;
                next += 1;
                continue;
            }
            let place = leaves.find_near(guess.leaf as usize, key);
            let also = entries[next + 1..].iter().take_while(|(_, key, _)| leaves.is_home(place, key)).count();
            let leaf = leaves.leaf_mut(place);
            if also > 0 {
                let together = &entries[next..=next + also];
                leaf.reserve(together.len(), together.iter().map(|(_, key, value)| key.len() + value.len()).sum());
            }
            let mut upper = None;
            for (guess, key, value) in &entries[next..=next + also] {
                check_len(key, value)?;
                next += 1;
                let index = match leaf.find(key, guess.slot as usize) {
                    Ok(index) => {
                        leaf.overwrite(index, value);
                        index
                    }
                    Err(index) => {
                        leaf.insert(index, key, value);
                        self.len += 1;
                        index
                    }
                };
                upper = leaf.split_if_full(index);
                if upper.is_some() {
                    break;
                }
            }
            if let Some(upper) = upper {
                leaves.insert(place + 1, upper);
            }
        }
        Ok(())
    }

    pub(crate) fn merge(
        &mut self,
        (key, operand): (&[u8], &[u8]),
        operator: MergeOperator,
        scratch: &mut Vec<u8>,
        account: &Arc<Account>,
    ) -> Result<()> {
        scratch.clear();
        scratch.extend_from_slice(self.get(key).unwrap_or_default());
        operator.fold(scratch, operand);
        self.put(LeafPosition::default(), key, scratch, account)
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        let place = self.leaves.find(key);
        let Some(Ok(index)) = self.leaves.get(place).map(|leaf| leaf.find(key, 0)) else { return };
        self.remove(place, index..index + 1);
        join_if_small(&mut self.leaves, place);
    }

    pub(crate) fn delete_range(&mut self, bounds: &Bounds<'_>) {
        let first = self.leaves.find(bounds.lowest());
        let mut place = first;
        while let Some(leaf) = self.leaves.get(place) {
            let Some(start) = leaf.begin(bounds, 0) else { break };
            let end = leaf.first_not_from(start, |key| !bounds.ends_before(key));
            let (ends_here, whole) = (end < leaf.len(), end - start == leaf.len());
            if start < end {
                self.remove(place, start..end);
            }
            if ends_here {
                break;
            }
            place += usize::from(!whole);
        }
        // What is left of the leaves at both ends.
        join_if_small(&mut self.leaves, first + 1);
        join_if_small(&mut self.leaves, first);
    }

    fn remove(&mut self, place: usize, range: Range<usize>) {
        let leaves = Arc::make_mut(&mut self.leaves);
        self.len -= range.len();
        if range.len() == leaves.leaf(place).len() {
            leaves.remove(place);
        } else {
            leaves.leaf_mut(place).remove(range);
        }
    }

    /// Visits the entries within `bounds` in order, as long as `left` lasts.
    pub(crate) fn scan(
        &self,
        bounds: &Bounds<'_>,
        left: &mut usize,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<ControlFlow<()>> {
        self.scan_from(self.probe(LeafPosition::default(), bounds.lowest()), bounds, left, visit)
    }

    /// As [`scan`](Self::scan), for bounds whose lowest key has been probed since the last write.
    pub(crate) fn scan_from(
        &self,
        probed: LeafPosition,
        bounds: &Bounds<'_>,
        left: &mut usize,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<ControlFlow<()>> {
        let (mut place, mut guess) = (probed.leaf as usize, probed.slot as usize);
        while let Some(leaf) = self.leaves.get(place) {
            let Some(start) = leaf.begin(bounds, guess) else { return Ok(ControlFlow::Continue(())) };
            for index in start..leaf.len() {
                let key = leaf.key(index);
                if *left == 0 || bounds.ends_before(key) {
                    return Ok(ControlFlow::Continue(()));
                }
                *left -= 1;
                if visit(Entry { key, value: leaf.value(index) })?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            place += 1;
            guess = 0;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Looks at the leaf of this number and removes the entries that have expired, unless nothing in it can have.
    /// `None`: there is no such leaf.
    pub(crate) fn sweep(&mut self, place: usize, expiry: &Expiry) -> Option<Swept> {
        let leaf = self.leaves.get(place)?;
        if !expiry.is_past(leaf.earliest()) {
            return Some(Swept::default());
        }
        let mut removed = Vec::new();
        let mut swept = Swept { entries: leaf.len(), ..Swept::default() };
        let mut earliest = i64::MAX;
        for (index, (key, value)) in leaf.iter().enumerate() {
            let expires_ms = expiry.of(value);
            if expiry.is_past(expires_ms) {
                removed.push(index);
                swept.bytes += key.len() + value.len();
            } else {
                earliest = earliest.min(expires_ms);
            }
        }
        if removed.is_empty() {
            leaf.set_earliest(earliest);
            return Some(swept);
        }
        swept.removed = removed.len();
        self.len -= removed.len();
        let whole = removed.len() == leaf.len();
        let leaves = Arc::make_mut(&mut self.leaves);
        if whole {
            leaves.remove(place);
        } else {
            leaves.leaf_mut(place).remove_all(&removed);
            leaves.leaf(place).set_earliest(earliest);
        }
        swept.again = whole || join_if_small(&mut self.leaves, place);
        Some(swept)
    }

    /// What a snapshot keeps.
    pub(crate) fn freeze(&self) -> Arc<Leaves> {
        Arc::clone(&self.leaves)
    }

    /// What putting `value_len` bytes at `key` adds.
    pub(crate) fn growth(&self, key: &[u8], value_len: usize) -> Growth {
        let len = key.len() + value_len;
        let Some(leaf) = self.leaves.get(self.leaves.find(key)) else {
            return Growth { bytes: 2 * len + LEAF_OVERHEAD, ..Growth::default() };
        };
        let identity = Arc::as_ptr(leaf).addr();
        let copied = (Arc::strong_count(leaf) > 1).then(|| (identity, leaf.live_len()));
        match leaf.find(key, 0) {
            Ok(index) if value_len <= leaf.value(index).len() => Growth { copied, ..Growth::default() },
            _ => Growth { copied, regrown: Some((identity + 1, leaf.growth(len))), ..Growth::default() },
        }
    }
}

/// Where a key belongs: a leaf, and where a search in it begins. A guess after the next write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LeafPosition {
    pub(crate) leaf: u32,
    slot: u32,
}

fn check_len(key: &[u8], value: &[u8]) -> Result<()> {
    if key.len().max(value.len()) > LEN_MAX {
        return Err(Error::unsupported("an entry has a key or a value of more than 1 GiB"));
    }
    Ok(())
}

/// Moves what a small leaf has into the one before, or what the next has into it, if there is room. Whether it did.
fn join_if_small(leaves: &mut Arc<Leaves>, place: usize) -> bool {
    if !leaves.get(place).is_some_and(|leaf| leaf.is_small()) {
        return false;
    }
    let before = place.checked_sub(1).map(|before| (before, place));
    for (low, high) in before.into_iter().chain([(place, place + 1)]) {
        if let Some(upper) = leaves.get(high).filter(|upper| leaves.leaf(low).fits_with(upper)).cloned() {
            let leaves = Arc::make_mut(leaves);
            leaves.leaf_mut(low).append(&upper);
            leaves.remove(high);
            return true;
        }
    }
    false
}
