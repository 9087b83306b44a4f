//! Rows of a tick in the order of their key groups.
//!
//! A backend that has what it needs in memory keeps the entries of a key group together. Rows in the order in which
//! they came go through all key groups again and again, and what was read for them has left the processor's cache
//! before it is written. In the order of key groups, a part at a time, each key group is gone through once, and its
//! entries stay at hand.

use crate::key::KeyedBatch;
use arrow_array::UInt32Array;
use headpond_state::Result;
use std::ops::Range;

/// About how many rows a part has: so few that they, and what is read of the state for them, fit into the cache.
const ROWS_PER_PART: usize = 4096;

/// What is left of a batch.
#[derive(Debug)]
pub(super) struct KeyGroupParts {
    batch: KeyedBatch,
    /// The rows in the order of their key groups; those of a key group stay in their order.
    order: Vec<u32>,
    /// The parts that are left, the next one last, as places in the order.
    parts: Vec<Range<usize>>,
}

impl KeyGroupParts {
    /// All parts of a batch.
    pub(super) fn new(batch: KeyedBatch) -> Self {
        let rows = batch.keys.len();
        if rows <= ROWS_PER_PART {
            return KeyGroupParts { batch, order: Vec::new(), parts: std::iter::once(0..rows).collect() };
        }
        let key_group = |row: usize| usize::from(batch.keys.key_group(row).0);
        let mut ends = vec![0; usize::from(batch.keys.max_parallelism().get())];
        (0..rows).for_each(|row| ends[key_group(row)] += 1);
        let mut parts = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for of_group in &mut ends {
            end += *of_group;
            *of_group = end;
            if end - begin >= ROWS_PER_PART {
                parts.push(begin..end);
                begin = end;
            }
        }
        if begin < end {
            parts.push(begin..end);
        }
        parts.reverse();
        let mut order = vec![0; rows];
        for row in (0..rows).rev() {
            let place = &mut ends[key_group(row)];
            *place -= 1;
            order[*place] = row as u32;
        }
        KeyGroupParts { batch, order, parts }
    }

    /// The next part.
    pub(super) fn next(&mut self) -> Result<Option<KeyedBatch>> {
        let Some(part) = self.parts.pop() else { return Ok(None) };
        if self.order.is_empty() {
            return Ok(Some(self.batch.clone()));
        }
        let rows = UInt32Array::from(self.order[part].to_vec());
        Ok(Some(KeyedBatch { changes: self.batch.changes.take(&rows)?, keys: self.batch.keys.take(&rows) }))
    }
}
