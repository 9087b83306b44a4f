//! Which buckets of event time a state has.

use headpond_state::backend::ScanRange;
use headpond_state::encoding::EntryKeys;
use headpond_state::{KeyGroup, KeyedStateBackend, Result, StateId, WriteBatch};
use std::ops::ControlFlow;

/// A bucket of a key group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bucket {
    pub(super) key_group: KeyGroup,
    /// Where it begins: with the key group, what its entries begin with.
    pub(super) start_ms: i64,
}

/// Up to so many entries are deleted one by one. A range costs a store on disk more than a few entries do: every later
/// read has to ask whether it lies within.
const ENTRIES_ONE_BY_ONE: usize = 64;

/// The buckets of a state whose entries are ordered by time. They follow from the state.
#[derive(Debug)]
pub(super) struct Buckets {
    /// Where the buckets of each key group begin, in order.
    starts: Vec<Vec<i64>>,
    /// How long after its beginning a bucket is over.
    over_after_ms: i64,
    /// A time before which no bucket is over.
    earliest_over_ms: i64,
}

impl Buckets {
    /// The buckets that a state has. Each is over once event time has reached `over_after_ms` after its beginning.
    pub(super) fn restored(backend: &mut dyn KeyedStateBackend, state: StateId, over_after_ms: i64) -> Result<Self> {
        let entries = EntryKeys::new(backend.max_parallelism());
        let groups = usize::from(backend.max_parallelism().get());
        let mut buckets = Buckets { starts: vec![Vec::new(); groups], over_after_ms, earliest_over_ms: i64::MAX };
        let mut from = Vec::new();
        for key_group in backend.key_groups().iter() {
            let mut prefix = Vec::new();
            key_group.encode(backend.max_parallelism(), &mut prefix);
            let mut next = Some(i64::MIN);
            while let Some(start_ms) = next.take() {
                from.clear();
                entries.timer_bound(key_group, start_ms, &mut from);
                let mut found = None;
                backend.scan(state, &ScanRange::prefix(&prefix).at(&from).limit(1), &mut |entry| {
                    found = Some(entries.split_timer(entry.key)?.time_ms);
                    Ok(ControlFlow::Break(()))
                })?;
                if let Some(start_ms) = found {
                    buckets.insert(Bucket { key_group, start_ms });
                    next = start_ms.checked_add(1);
                }
            }
        }
        Ok(buckets)
    }

    /// Adds a bucket.
    #[inline]
    pub(super) fn insert(&mut self, bucket: Bucket) {
        let Bucket { key_group, start_ms } = bucket;
        let starts = &mut self.starts[usize::from(key_group.0)];
        if starts.last() == Some(&start_ms) {
            return;
        }
        if let Err(index) = starts.binary_search(&start_ms) {
            starts.insert(index, start_ms);
            self.earliest_over_ms = self.earliest_over_ms.min(start_ms.saturating_add(self.over_after_ms));
        }
    }

    /// The buckets of a key group that begin from `first_ms` to `last_ms`, both inclusive.
    #[inline]
    pub(super) fn between(&self, key_group: KeyGroup, first_ms: i64, last_ms: i64) -> &[i64] {
        let starts = &self.starts[usize::from(key_group.0)];
        let first = starts.partition_point(|start_ms| *start_ms < first_ms);
        let count = starts[first..].partition_point(|start_ms| *start_ms <= last_ms);
        &starts[first..first + count]
    }

    /// The buckets that are over, in the order of their entries.
    pub(super) fn due(&self, event_time_ms: i64) -> Vec<Bucket> {
        let mut due = Vec::new();
        if event_time_ms < self.earliest_over_ms {
            return due;
        }
        for (key_group, starts) in self.starts.iter().enumerate() {
            let over = starts.iter().take_while(|start| start.saturating_add(self.over_after_ms) <= event_time_ms);
            due.extend(over.map(|start_ms| Bucket { key_group: KeyGroup(key_group as u16), start_ms: *start_ms }));
        }
        due
    }

    /// Drops buckets with their entries, as ranges where these are cheap or their entries many.
    pub(super) fn drop(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        state: StateId,
        due: &[Bucket],
        ranges_are_cheap: bool,
        writes: &mut WriteBatch,
    ) -> Result<()> {
        let entries = EntryKeys::new(backend.max_parallelism());
        writes.clear();
        let (mut prefix, mut end) = (Vec::new(), Vec::new());
        for bucket in due {
            prefix.clear();
            end.clear();
            entries.timer_bound(bucket.key_group, bucket.start_ms, &mut prefix);
            entries.timer_bound(bucket.key_group, bucket.start_ms.saturating_add(1), &mut end);
            let mut keys = Vec::new();
            if !ranges_are_cheap {
                backend.scan(state, &ScanRange::prefix(&prefix).limit(ENTRIES_ONE_BY_ONE + 1), &mut |entry| {
                    keys.push(entry.key.to_vec());
                    Ok(ControlFlow::Continue(()))
                })?;
            }
            if !ranges_are_cheap && keys.len() <= ENTRIES_ONE_BY_ONE {
                keys.iter().for_each(|key| writes.delete(state, key));
            } else {
                writes.delete_range(state, &prefix, &end);
            }
            let starts = &mut self.starts[usize::from(bucket.key_group.0)];
            starts.retain(|start_ms| *start_ms != bucket.start_ms);
        }
        let firsts = self.starts.iter().filter_map(|starts| starts.first());
        self.earliest_over_ms =
            firsts.map(|start_ms| start_ms.saturating_add(self.over_after_ms)).min().unwrap_or(i64::MAX);
        backend.write(writes)
    }
}
