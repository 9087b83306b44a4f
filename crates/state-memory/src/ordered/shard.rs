//! One key group of a state that is scanned.

use super::leaf::{LEAF_OVERHEAD, Leaf};
use crate::bounds::Bounds;
use crate::budget::{Account, Growth};
use headpond_state::{Entry, Error, Flow, MergeOperator, Result};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Leaves by their separators.
pub(crate) type Leaves = BTreeMap<Box<[u8]>, Arc<Leaf>>;

/// A map over sorted leaves.
#[derive(Debug, Default)]
pub(crate) struct OrderedShard {
    leaves: Arc<Leaves>,
    len: usize,
}

impl OrderedShard {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let (_, leaf) = at_or_before(&self.leaves, key).next_back()?;
        leaf.find(key).ok().map(|index| leaf.value(index))
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8], account: &Arc<Account>) -> Result<()> {
        if key.len().max(value.len()) > u32::MAX as usize {
            return Err(Error::unsupported("an entry has a key or a value of more than 4 GiB"));
        }
        let leaves = Arc::make_mut(&mut self.leaves);
        let within = (Bound::Unbounded, Bound::Included(key));
        let Some((_, leaf)) = leaves.range_mut::<[u8], _>(within).next_back() else {
            // No leaf's separator is this low: the lowest separator there is serves all that follow.
            let mut leaf = Leaf::new(account);
            leaf.insert(0, key, value);
            leaves.insert(Box::default(), Arc::new(leaf));
            self.len += 1;
            return Ok(());
        };
        let leaf = exclusive(leaf);
        let upper = match leaf.find(key) {
            Ok(index) => {
                leaf.overwrite(index, value);
                leaf.split_if_full(index)
            }
            Err(index) => {
                leaf.insert(index, key, value);
                self.len += 1;
                leaf.split_if_full(index)
            }
        };
        if let Some(upper) = upper {
            leaves.insert(Box::from(upper.key(0)), Arc::new(upper));
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
        self.put(key, scratch, account)
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        let Some((separator, leaf)) = at_or_before(&self.leaves, key).next_back() else { return };
        let Ok(index) = leaf.find(key) else { return };
        let separator = separator.clone();
        self.remove(&separator, index..index + 1);
    }

    pub(crate) fn delete_range(&mut self, bounds: &Bounds<'_>) {
        let within: Vec<_> = leaves_from(&self.leaves, bounds.lowest())
            .take_while(|(separator, _)| bounds.begins_after(separator) || !bounds.ends_before(separator))
            .map(|(separator, leaf)| {
                let start = leaf.first_not(|key| bounds.begins_after(key));
                let end = leaf.first_not(|key| bounds.begins_after(key) || !bounds.ends_before(key));
                (separator.clone(), start..end.max(start))
            })
            .filter(|(_, range)| !range.is_empty())
            .collect();
        for (separator, range) in within {
            self.remove(&separator, range);
        }
    }

    fn remove(&mut self, separator: &[u8], range: std::ops::Range<usize>) {
        let leaves = Arc::make_mut(&mut self.leaves);
        let Some(leaf) = leaves.get_mut(separator) else { return };
        self.len -= range.len();
        if range.len() == leaf.len() {
            leaves.remove(separator);
        } else {
            exclusive(leaf).remove(range);
        }
    }

    /// Visits the entries within `bounds` in order, as long as `left` lasts.
    pub(crate) fn scan(&self, bounds: &Bounds<'_>, left: &mut usize, visit: &mut dyn FnMut(Entry<'_>) -> Flow) -> Flow {
        for (_, leaf) in leaves_from(&self.leaves, bounds.lowest()) {
            let start = leaf.first_not(|key| bounds.begins_after(key));
            for index in start..leaf.len() {
                let key = leaf.key(index);
                if *left == 0 || bounds.ends_before(key) {
                    return Flow::Continue;
                }
                *left -= 1;
                if visit(Entry { key, value: leaf.value(index) }) == Flow::Stop {
                    return Flow::Stop;
                }
            }
        }
        Flow::Continue
    }

    /// What a snapshot keeps.
    pub(crate) fn freeze(&self) -> Arc<Leaves> {
        Arc::clone(&self.leaves)
    }

    /// What putting `value_len` bytes at `key` adds.
    pub(crate) fn growth(&self, key: &[u8], value_len: usize) -> Growth {
        let len = key.len() + value_len;
        let Some((_, leaf)) = at_or_before(&self.leaves, key).next_back() else {
            return Growth { bytes: 2 * len + LEAF_OVERHEAD, ..Growth::default() };
        };
        let identity = Arc::as_ptr(leaf).addr();
        let copied = (Arc::strong_count(leaf) > 1).then(|| (identity, leaf.live_len()));
        match leaf.find(key) {
            Ok(index) if value_len <= leaf.value(index).len() => Growth { copied, ..Growth::default() },
            _ => Growth { copied, regrown: Some((identity + 1, leaf.growth(len))), ..Growth::default() },
        }
    }
}

/// The leaves whose separator is `key` or lower.
fn at_or_before<'a>(leaves: &'a Leaves, key: &[u8]) -> std::collections::btree_map::Range<'a, Box<[u8]>, Arc<Leaf>> {
    leaves.range::<[u8], _>((Bound::Unbounded, Bound::Included(key)))
}

/// The leaves that may have `key` or a greater one, in order.
fn leaves_from<'a>(leaves: &'a Leaves, key: &[u8]) -> impl Iterator<Item = (&'a Box<[u8]>, &'a Arc<Leaf>)> {
    let first = at_or_before(leaves, key).next_back().map(|(separator, _)| &**separator);
    leaves.range::<[u8], _>((first.map_or(Bound::Unbounded, Bound::Included), Bound::Unbounded))
}

/// The leaf, copied first if a snapshot has it too.
fn exclusive(leaf: &mut Arc<Leaf>) -> &mut Leaf {
    if Arc::strong_count(leaf) > 1 {
        *leaf = Arc::new(leaf.copy());
    }
    Arc::get_mut(leaf).expect("a copy has one owner")
}
