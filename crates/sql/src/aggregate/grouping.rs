//! The distinct keys of a batch.

use hashbrown::{DefaultHashBuilder, HashTable};
use headpond_state::backend::KeyBatch;
use headpond_state::encoding::sort_prefix;
use std::hash::BuildHasher;

/// Numbers the distinct keys of a batch from 0. Buffers are kept from batch to batch.
#[derive(Debug, Default)]
pub(crate) struct Grouping {
    hasher: DefaultHashBuilder,
    table: HashTable<(u64, u32)>,
    /// Each row's group.
    groups: Vec<u32>,
    /// Each group's first row.
    first_rows: Vec<u32>,
    /// The groups' keys.
    keys: KeyBatch,
}

impl Grouping {
    /// Groups `rows` rows by the bytes of their keys. With `sorted`, groups are numbered in the order of their keys.
    pub(crate) fn group<'k>(&mut self, rows: usize, key: impl Fn(usize) -> &'k [u8], sorted: bool) {
        self.table.clear();
        self.groups.clear();
        self.first_rows.clear();
        self.keys.clear();
        let Grouping { hasher, table, groups, first_rows, .. } = self;
        for row in 0..rows {
            let bytes = key(row);
            let hash = hasher.hash_one(bytes);
            let entry = table.entry(
                hash,
                |(known, group)| *known == hash && key(first_rows[*group as usize] as usize) == bytes,
                |(known, _)| *known,
            );
            let group = match entry {
                hashbrown::hash_table::Entry::Occupied(entry) => entry.get().1,
                hashbrown::hash_table::Entry::Vacant(entry) => {
                    let group = first_rows.len() as u32;
                    first_rows.push(row as u32);
                    entry.insert((hash, group));
                    group
                }
            };
            groups.push(group);
        }
        if sorted {
            self.sort(&key);
        }
        for row in &self.first_rows {
            self.keys.push(key(*row as usize));
        }
    }

    fn sort<'k>(&mut self, key: &impl Fn(usize) -> &'k [u8]) {
        let old_rows = &self.first_rows;
        let key_of = |group: u32| key(old_rows[group as usize] as usize);
        let mut order: Vec<(u128, u32)> =
            (0..old_rows.len() as u32).map(|group| (sort_prefix(key_of(group)), group)).collect();
        order.sort_unstable_by(|(a, a_group), (b, b_group)| {
            a.cmp(b).then_with(|| key_of(*a_group).cmp(key_of(*b_group)))
        });
        let mut ranks = vec![0u32; order.len()];
        for (rank, (_, group)) in order.iter().enumerate() {
            ranks[*group as usize] = rank as u32;
        }
        self.first_rows = order.iter().map(|(_, group)| old_rows[*group as usize]).collect();
        for group in &mut self.groups {
            *group = ranks[*group as usize];
        }
    }

    /// The number of groups.
    pub(crate) fn len(&self) -> usize {
        self.first_rows.len()
    }

    /// Each row's group.
    pub(crate) fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// Each group's first row.
    pub(crate) fn first_rows(&self) -> &[u32] {
        &self.first_rows
    }

    /// The groups' keys.
    pub(crate) fn keys(&self) -> &KeyBatch {
        &self.keys
    }
}
