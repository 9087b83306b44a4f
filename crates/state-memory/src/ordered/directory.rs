//! The leaves of a shard, in the order of their keys.

use super::head::{common_len, head_u128};
use super::leaf::Leaf;
use std::cmp::Ordering;
use std::sync::Arc;

/// Leaves, none of them empty, with what is needed to find the one a key belongs to. Cloning shares the leaves.
///
/// A leaf takes the keys from its first one up to the first one of the next; the first leaf also takes all lower ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leaves {
    /// What all leaves' first keys began with when they got their places.
    common: Vec<u8>,
    places: Vec<LeafEntry>,
}

#[derive(Debug, Clone)]
struct LeafEntry {
    /// Sixteen bytes of a key behind [`Leaves::common`] (a time or a number often agrees in all but its last bytes):
    /// what the leaf's first key was when it got its place. Entries of the leaf are never lower; where they are as
    /// high, the leaf's first key decides.
    head: u128,
    leaf: Arc<Leaf>,
}

impl Leaves {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn leaf(&self, index: usize) -> &Leaf {
        &self.places[index].leaf
    }

    pub(super) fn get(&self, index: usize) -> Option<&Arc<Leaf>> {
        self.places.get(index).map(|place| &place.leaf)
    }

    /// The leaf for changes; copied first if a snapshot has it too.
    pub(super) fn leaf_mut(&mut self, index: usize) -> &mut Leaf {
        let leaf = &mut self.places[index].leaf;
        if Arc::strong_count(leaf) > 1 {
            *leaf = Arc::new(leaf.copy());
        }
        Arc::get_mut(leaf).expect("a copy has one owner")
    }

    /// The index of the leaf that takes `key`; 0 without leaves.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> usize {
        match key.get(..self.common.len()).unwrap_or(key).cmp(&self.common) {
            Ordering::Less => 0,
            Ordering::Greater => self.places.len().saturating_sub(1),
            Ordering::Equal => {
                let head = head_u128(key, self.common.len());
                let mut above = self.places.partition_point(|place| place.head < head);
                let rest = &self.places[above..];
                if rest.first().is_some_and(|place| place.head == head) {
                    above += rest.partition_point(|place| place.head == head && place.leaf.key(0) <= key);
                }
                above.saturating_sub(1)
            }
        }
    }

    /// Whether the leaf at `place` is surely the one that takes `key`; `false` where that takes more than a look at the
    /// heads.
    #[inline]
    pub(super) fn is_home(&self, place: usize, key: &[u8]) -> bool {
        let Some(home) = self.places.get(place) else { return false };
        if !key.starts_with(&self.common) {
            return false;
        }
        let head = head_u128(key, self.common.len());
        home.head < head && self.places.get(place + 1).is_none_or(|next| head < next.head)
    }

    /// As [`find`](Self::find), with a guess: keys that are looked up together often lie together.
    #[inline]
    pub(super) fn find_near(&self, guess: usize, key: &[u8]) -> usize {
        match self.is_home(guess, key) {
            true => guess,
            false if self.is_home(guess + 1, key) => guess + 1,
            false => self.find(key),
        }
    }

    /// Adds a leaf at this index, between leaves of lower and of higher keys.
    pub(super) fn insert(&mut self, index: usize, leaf: Leaf) {
        let first = leaf.key(0);
        let common = match self.places.is_empty() {
            true => first.len(),
            false => common_len(&self.common, first),
        };
        if self.places.is_empty() {
            self.common = first.to_vec();
        }
        let head = head_u128(first, common);
        self.places.insert(index, LeafEntry { head, leaf: Arc::new(leaf) });
        if let [lowest, _, ..] = &mut self.places[..]
            && index == 1
        {
            // The first leaf has taken lower keys than the one it got its place for, and higher ones may go on in the
            // new leaf.
            lowest.head = clamped_head(lowest.leaf.key(0), &self.common);
        }
        if common < self.common.len() {
            self.common.truncate(common);
            let common = &self.common;
            self.places.iter_mut().for_each(|place| place.head = clamped_head(place.leaf.key(0), common));
        }
    }

    pub(super) fn remove(&mut self, index: usize) {
        self.places.remove(index);
        if self.places.is_empty() {
            *self = Leaves::default();
        }
    }

    /// All entries in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.places.iter().flat_map(|place| place.leaf.iter())
    }
}

/// The head of a key behind `common`; the lowest or the highest head for one that is below or above all that begin so.
fn clamped_head(key: &[u8], common: &[u8]) -> u128 {
    match key.get(..common.len()).unwrap_or(key).cmp(common) {
        Ordering::Less => 0,
        Ordering::Equal => head_u128(key, common.len()),
        Ordering::Greater => u128::MAX,
    }
}
