//! Entries live as long as their group.

use super::{GroupedBatch, ValueSets, in_values};
use crate::aggregate::accumulators::Accumulators;
use headpond_state::backend::ScanRange;
use headpond_state::encoding::put_i16;
use headpond_state::{Flow, KeyedStateBackend, Result, ttl};

/// Beyond this many entries of a group a range of them is removed, which costs all later reads a little.
const REMOVED_ONE_BY_ONE: usize = 64;
/// How many entries of a group are rewritten at a time.
const REWRITTEN_AT_A_TIME: usize = 4096;

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
        for group in 0..accumulators.len() {
            let since_ms = accumulators.since_ms[group];
            if !accumulators.existed[group] || batch.now_ms.saturating_sub(since_ms) < ttl.ttl_ms / 4 + 1 {
                continue;
            }
            let prefix = batch.groups.keys().get(group);
            let mut after: Option<Vec<u8>> = None;
            loop {
                let mut range = ScanRange::prefix(prefix).limit(REWRITTEN_AT_A_TIME);
                if let Some(after) = &after {
                    range = range.after(after);
                }
                let (mut seen, mut last) = (0, Vec::new());
                let mut result = Ok(());
                let (writes, id) = (&mut self.writes, self.state);
                writes.clear();
                state.scan(id, &range, &mut |entry| {
                    seen += 1;
                    last.clear();
                    last.extend_from_slice(entry.key);
                    match ttl::split_stamp(entry.value) {
                        Ok((stamp, counts)) if stamp >= since_ms => writes.put_with(id, entry.key, |out| {
                            ttl::put_stamp(stamp_ms, out);
                            out.extend_from_slice(counts);
                        }),
                        Ok(_) => {}
                        Err(error) => result = Err(error),
                    }
                    Flow::Continue
                })?;
                result.map_err(in_values)?;
                state.write(&mut self.writes)?;
                if seen < REWRITTEN_AT_A_TIME {
                    break;
                }
                after = Some(last);
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
                return Flow::Continue;
            }
            end.clear();
            end.extend_from_slice(keys[range]);
            put_i16(i16::MAX, &mut end);
            writes.delete_range(id, entry.key, &end);
            Flow::Stop
        })?;
        if writes.is_empty() {
            return Ok(());
        }
        state.write(writes)
    }
}
