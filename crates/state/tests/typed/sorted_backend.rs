//! The simplest backend: sorted maps, no snapshots.

use headpond_state::backend::{ScanStart, scan_one_by_one};
use headpond_state::{
    CheckpointId, Entry, Error, KeyBatch, KeyGroupRange, KeyedStateBackend, MaxParallelism, ReadManyVisitor,
    ReadVisitor, Registration, Result, ScanManyVisitor, ScanRange, ScanVisitor, Snapshot, SnapshotOptions,
    StateDescriptor, StateId, StateRegistry, StateUsage, WriteBatch, WriteOp,
};
use std::collections::BTreeMap;
use std::ops::Bound;

#[derive(Debug, Default)]
pub(crate) struct SortedBackend {
    registry: StateRegistry,
    states: Vec<State>,
    restored: BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>,
    /// Calls of `read`, `read_many` and `scan` since the counter was last looked at.
    reads: usize,
}

#[derive(Debug)]
struct State {
    descriptor: StateDescriptor,
    entries: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl SortedBackend {
    /// A new instance that has the entries of this one, as after a restart.
    pub(crate) fn restart(self) -> Self {
        let restored = self.states.into_iter().map(|state| (state.descriptor.name, state.entries)).collect();
        SortedBackend { restored, ..SortedBackend::default() }
    }

    /// How often the backend was read since the last call.
    pub(crate) fn take_reads(&mut self) -> usize {
        std::mem::take(&mut self.reads)
    }

    /// The number of entries of all states.
    pub(crate) fn len(&self) -> usize {
        self.states.iter().map(|state| state.entries.len()).sum()
    }

    /// Removes entries, as a cleaner does.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&[u8]) -> bool) {
        for state in &mut self.states {
            state.entries.retain(|_, value| keep(value));
        }
    }

    /// Replaces all values.
    pub(crate) fn overwrite(&mut self, value: &[u8]) {
        for stored in self.states.iter_mut().flat_map(|state| state.entries.values_mut()) {
            *stored = value.to_vec();
        }
    }
}

impl KeyedStateBackend for SortedBackend {
    fn key_groups(&self) -> KeyGroupRange {
        self.max_parallelism().range_of(0, 1)
    }

    fn max_parallelism(&self) -> MaxParallelism {
        MaxParallelism::DEFAULT
    }

    fn register(&mut self, descriptor: &StateDescriptor) -> Result<StateId> {
        match self.registry.register(descriptor)? {
            Registration::Known(id) | Registration::Restored(id) => Ok(id),
            Registration::New => {
                let entries = self.restored.remove(&descriptor.name).unwrap_or_default();
                self.states.push(State { descriptor: descriptor.clone(), entries });
                Ok(self.registry.add(descriptor))
            }
        }
    }

    fn unregistered(&self) -> Vec<StateDescriptor> {
        Vec::new()
    }

    fn drop_restored(&mut self, name: &str) -> Result<()> {
        self.restored.remove(name).map(drop).ok_or_else(|| Error::invalid("there is no such state"))
    }

    fn read(&mut self, state: StateId, key: &[u8], visit: &mut ReadVisitor<'_>) -> Result<bool> {
        self.reads += 1;
        match self.states[state.index()].entries.get(key) {
            Some(value) => visit(value).map(|()| true),
            None => Ok(false),
        }
    }

    fn read_many(&mut self, state: StateId, keys: &KeyBatch, visit: &mut ReadManyVisitor<'_>) -> Result<()> {
        self.reads += 1;
        let entries = &self.states[state.index()].entries;
        keys.iter().enumerate().try_for_each(|(index, key)| visit(index, entries.get(key).map(Vec::as_slice)))
    }

    fn scan(&mut self, state: StateId, range: &ScanRange<'_>, visit: &mut ScanVisitor<'_>) -> Result<()> {
        self.reads += 1;
        let start = match range.start {
            None => Bound::Included(range.prefix),
            Some(ScanStart::At(key)) => Bound::Included(key),
            Some(ScanStart::After(key)) => Bound::Excluded(key),
        };
        let entries = &self.states[state.index()].entries;
        for (key, value) in entries.range::<[u8], _>((start, Bound::Unbounded)).take(range.limit) {
            let beyond = range.end.is_some_and(|end| key.as_slice() >= end);
            if beyond || !key.starts_with(range.prefix) || visit(Entry { key, value })?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn scan_many(&mut self, state: StateId, ranges: &[ScanRange<'_>], visit: &mut ScanManyVisitor<'_>) -> Result<()> {
        scan_one_by_one(self, state, ranges, visit)
    }

    fn time_passed(&mut self) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, batch: &mut WriteBatch) -> Result<()> {
        for (state, op) in batch.iter() {
            let State { descriptor, entries } = &mut self.states[state.index()];
            match op {
                WriteOp::Put { key, value } => drop(entries.insert(key.to_vec(), value.to_vec())),
                WriteOp::Merge { key, operand } => {
                    let merge = descriptor.merge.ok_or_else(|| Error::invalid("the state has no merge operator"))?;
                    merge.fold(entries.entry(key.to_vec()).or_default(), operand);
                }
                WriteOp::Delete { key } => drop(entries.remove(key)),
                WriteOp::DeleteRange { start, end } => {
                    entries.retain(|key, _| key.as_slice() < start || key.as_slice() >= end)
                }
            }
        }
        batch.clear();
        Ok(())
    }

    fn snapshot(&mut self, _id: CheckpointId, _options: &SnapshotOptions) -> Result<Box<dyn Snapshot>> {
        Err(Error::unsupported("this backend takes no snapshots"))
    }

    fn checkpoint_completed(&mut self, _id: CheckpointId) -> Result<()> {
        Ok(())
    }

    fn checkpoint_aborted(&mut self, _id: CheckpointId) -> Result<()> {
        Ok(())
    }

    fn usage(&self) -> StateUsage {
        StateUsage { entries: self.len() as u64, ..StateUsage::default() }
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
