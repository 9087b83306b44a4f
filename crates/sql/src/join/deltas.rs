//! The rows of a batch by key, and how often each comes or goes.

use super::rows::{Identity, Kept, SideRows, any_null};
use headpond_runtime::KeyedBatch;
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::key::KeyEncoder;
use headpond_state::backend::KeyBatch;
use headpond_state::encoding::sort_prefix;
use headpond_state::{KeyedStateBackend, Result, StateId};

/// A row of a batch and how many of it come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delta {
    /// The row of the batch.
    pub(super) row: u32,
    /// How many of it come (greater than zero) or go.
    pub(super) diff: i64,
    /// What was kept of it before.
    pub(super) before: Kept,
    /// The matches found in this batch.
    pub(super) matches: i64,
    /// The index of the row's entry, where it is found by its columns.
    pub(super) entry: u32,
}

/// The rows of a batch. Rows of one key follow each other, in the order of the keys; among them those that go come
/// first, so that whoever keeps one row by a key of his own takes the old one out before the new one in.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    pub(super) deltas: Vec<Delta>,
    /// Where the rows of each key begin and end in `deltas`.
    pub(super) groups: Vec<(u32, u32)>,
    /// The entries of distinct rows, where rows are found by their columns.
    pub(super) entries: KeyBatch,
    /// Rows taken back that were not there.
    pub(super) lost: u64,
}

const NOTHING: Kept = Kept { copies: 0, matches: 0 };

impl Deltas {
    /// The number of rows that have a key; rows whose key has a NULL come behind them.
    pub(super) fn keyed(&self) -> usize {
        self.groups.last().map_or(0, |(_, end)| *end as usize)
    }

    /// Those rows.
    pub(super) fn keyed_deltas(&self) -> &[Delta] {
        &self.deltas[..self.keyed()]
    }

    /// Rows that come, in the order of their keys, and behind them rows that are in no key's group.
    pub(super) fn of_rows(rows: &[u32], without_key: &[u32]) -> Self {
        let delta = |row: &u32| Delta { row: *row, diff: 1, before: NOTHING, matches: 0, entry: 0 };
        Deltas {
            deltas: rows.iter().chain(without_key).map(delta).collect(),
            groups: vec![(0, rows.len() as u32)],
            ..Deltas::default()
        }
    }

    /// The rows of a side that only gets rows: each is for itself.
    pub(super) fn of_inserts(batch: &KeyedBatch, key: &[usize]) -> Self {
        let mut deltas = Deltas::default();
        let nulls = any_null(batch.changes.rows(), key);
        let key_of = |row: u32| batch.keys.get(row as usize);
        let rows = (0..batch.changes.num_rows() as u32).filter(|row| !is_null(&nulls, *row));
        for row in sorted(rows, key_of) {
            deltas.push(row, 1, NOTHING, 0, key_of);
        }
        let without_key = (0..batch.changes.num_rows() as u32).filter(|row| is_null(&nulls, *row));
        deltas.deltas.extend(without_key.map(|row| Delta { row, diff: 1, before: NOTHING, matches: 0, entry: 0 }));
        deltas
    }

    /// The distinct rows of a side that may take rows back, with what is kept of them.
    pub(super) fn of_changes(
        batch: &KeyedBatch,
        key: &[usize],
        encoder: &KeyEncoder,
        side: &SideRows,
        (backend, state, now_ms): (&mut dyn KeyedStateBackend, StateId, i64),
    ) -> Result<Self> {
        debug_assert!(matches!(side.identity, Identity::Value(_)));
        let changes = &batch.changes;
        let rows = encoder.encode(changes)?;
        let prefix_len = batch.keys.max_parallelism().prefix_len();
        let mut all = KeyBatch::new();
        for row in 0..changes.num_rows() {
            all.push_with(|out| {
                out.extend_from_slice(batch.keys.get(row));
                out.extend_from_slice(&rows.get(row)[prefix_len..]);
            });
        }
        let nulls = any_null(changes.rows(), key);
        let order: Vec<u32> = sorted(0..changes.num_rows() as u32, |row| all.get(row as usize));
        let distinct: Vec<&[u32]> = order.chunk_by(|a, b| all.get(*a as usize) == all.get(*b as usize)).collect();

        let mut deltas = Deltas::default();
        for rows in &distinct {
            deltas.entries.push(all.get(rows[0] as usize));
        }
        let mut kept = Vec::with_capacity(distinct.len());
        let mut scratch = Vec::new();
        backend.read_many(state, &deltas.entries, &mut |_, stored| {
            kept.push(match stored {
                None => None,
                Some(stored) => side.read_kept(stored, now_ms, &mut scratch)?,
            });
            Ok(())
        })?;

        let mut without_key = Vec::new();
        for (entry, (rows, kept)) in distinct.iter().zip(kept).enumerate() {
            if is_null(&nulls, rows[0]) {
                without_key.extend(rows.iter().map(|row| Delta {
                    row: *row,
                    diff: if is_retraction(changes, *row) { -1 } else { 1 },
                    before: NOTHING,
                    matches: 0,
                    entry: 0,
                }));
                continue;
            }
            let before = kept.unwrap_or(NOTHING);
            let copies = rows.iter().fold(before.copies, |copies, row| match is_retraction(changes, *row) {
                false => copies + 1,
                true if copies > 0 => copies - 1,
                true => {
                    deltas.lost += 1;
                    copies
                }
            });
            if copies != before.copies {
                let key_of = |row: u32| batch.keys.get(row as usize);
                deltas.push(rows[0], copies - before.copies, before, entry as u32, key_of);
            }
        }
        for (start, end) in &deltas.groups {
            deltas.deltas[*start as usize..*end as usize].sort_by_key(|delta| delta.diff > 0);
        }
        deltas.deltas.extend(without_key);
        Ok(deltas)
    }

    fn push<'k>(&mut self, row: u32, diff: i64, before: Kept, entry: u32, key: impl Fn(u32) -> &'k [u8]) {
        let index = self.deltas.len() as u32;
        match (self.groups.last_mut(), self.deltas.last()) {
            (Some((_, end)), Some(last)) if key(last.row) == key(row) => *end = index + 1,
            _ => self.groups.push((index, index + 1)),
        }
        self.deltas.push(Delta { row, diff, before, matches: 0, entry });
    }
}

fn is_null(nulls: &Option<Vec<bool>>, row: u32) -> bool {
    nulls.as_ref().is_some_and(|nulls| nulls[row as usize])
}

fn is_retraction(changes: &ChangeBatch, row: u32) -> bool {
    changes.kind(row as usize).is_retraction()
}

/// The rows in the order of their keys, those of one key in their own order.
pub(super) fn sorted<'k>(rows: impl Iterator<Item = u32>, key: impl Fn(u32) -> &'k [u8]) -> Vec<u32> {
    let first_byte = |prefix: u128| (prefix >> 120) as usize;
    let rows: Vec<(u128, u32)> = rows.map(|row| (sort_prefix(key(row)), row)).collect();
    // Parts of one key group each, or of some: they are sorted within the fastest cache.
    let mut ends = [0; 256];
    rows.iter().for_each(|(prefix, _)| ends[first_byte(*prefix)] += 1);
    let mut end = 0;
    for part in &mut ends {
        end += *part;
        *part = end;
    }
    let mut order = vec![(0, 0); rows.len()];
    for (prefix, row) in rows.into_iter().rev() {
        let place = &mut ends[first_byte(prefix)];
        *place -= 1;
        order[*place] = (prefix, row);
    }
    for part in order.chunk_by_mut(|(a, _), (b, _)| first_byte(*a) == first_byte(*b)) {
        part.sort_unstable_by_key(|(prefix, _)| *prefix);
        for equal in part.chunk_by_mut(|(a, _), (b, _)| a == b).filter(|equal| equal.len() > 1) {
            equal.sort_unstable_by(|(_, a), (_, b)| key(*a).cmp(key(*b)).then_with(|| a.cmp(b)));
        }
    }
    order.into_iter().map(|(_, row)| row).collect()
}
