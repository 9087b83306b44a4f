//! Entries live as long as their group.

use super::{GroupedBatch, ValueSets, in_values};
use crate::aggregate::accumulators::Accumulators;
use headpond_state::backend::ScanRange;
use headpond_state::encoding::put_i16;
use headpond_state::{CursorLimits, EntryBatch, KeyedStateBackend, Result, StateCursor, ttl};
use std::ops::ControlFlow;

/// Beyond this many entries of a group a range of them is removed, which costs all later reads a little.
const REMOVED_ONE_BY_ONE: usize = 64;
/// How many entries of a group are rewritten at a time.
const REWRITTEN_AT_A_TIME: CursorLimits = CursorLimits { entries: 4096, bytes: 1 << 20 };

impl ValueSets {
    /// Rewrites the entries of groups that have not been for a quarter of the TTL.
    pub(super) fn refresh(
        &mut self,
        batch: GroupedBatch<'_>,
        accumulators: &mut Accumulators,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<()> {
        let Some(ttl) = self.ttl else { return Ok(()) };
        let stamp_ms = ttl.stamp_ms(batch.now_ms, None);
        let mut entries = EntryBatch::new();
        for group in 0..accumulators.len() {
            let since_ms = accumulators.since_ms[group];
            if !accumulators.existed[group] || batch.now_ms.saturating_sub(since_ms) < ttl.ttl_ms / 4 + 1 {
                continue;
            }
            let prefix = batch.groups.keys().get(group);
            let mut cursor = StateCursor::open(self.state, &ScanRange::prefix(prefix));
            let mut may_be_more = true;
            while may_be_more {
                may_be_more = cursor.next_batch(state, REWRITTEN_AT_A_TIME, &mut entries)?;
                self.writes.clear();
                for entry in entries.iter() {
                    let counted = ttl::open(entry.value).map_err(in_values)?;
                    if counted.stamp_ms >= since_ms {
                        self.writes.put_with(self.state, entry.key, |out| {
                            ttl::seal(stamp_ms, out);
                            out.extend_from_slice(counted.value);
                        });
                    }
                }
                state.write(&mut self.writes)?;
            }
            accumulators.since_ms[group] = stamp_ms;
        }
        Ok(())
    }

    /// Removes what is left of groups that have no rows any more.
    pub(super) fn remove_dead(
        &mut self,
        batch: GroupedBatch<'_>,
        accumulators: &Accumulators,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<()> {
        let keys = batch.groups.keys();
        let is_dead = |group: &usize| accumulators.existed[*group] && accumulators.rows[*group] <= 0;
        let mut dead: Vec<usize> = (0..accumulators.len()).filter(is_dead).collect();
        dead.sort_unstable_by(|a, b| keys.get(*a).cmp(keys.get(*b)));
        self.remove(&dead.iter().map(|group| keys.get(*group)).collect::<Vec<_>>(), state)
    }

    /// Removes all values of keys, which ascend: a few one by one, more with a range.
    pub(in crate::aggregate) fn remove(&mut self, keys: &[&[u8]], state: &mut dyn KeyedStateBackend) -> Result<()> {
        let ranges: Vec<ScanRange<'_>> = keys.iter().map(|key| ScanRange::prefix(key)).collect();
        let (writes, id) = (&mut self.writes, self.state);
        writes.clear();
        let mut end = Vec::new();
        let mut seen = (usize::MAX, 0);
        state.scan_many(id, &ranges, &mut |range, entry| {
            seen = if seen.0 == range { (range, seen.1 + 1) } else { (range, 1) };
            if seen.1 <= REMOVED_ONE_BY_ONE {
                writes.delete(id, entry.key);
                return Ok(ControlFlow::Continue(()));
            }
            end.clear();
            end.extend_from_slice(keys[range]);
            put_i16(i16::MAX, &mut end);
            writes.delete_range(id, entry.key, &end);
            Ok(ControlFlow::Break(()))
        })?;
        if writes.is_empty() {
            return Ok(());
        }
        state.write(writes)
    }
}
