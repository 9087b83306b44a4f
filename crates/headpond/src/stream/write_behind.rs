//! State read and written in batches, though a function asks for one entry at a time.
//!
//! To some backends an entry by itself costs a multiple ([`Capabilities::single_entries_are_dear`]). In front of those,
//! what a function reads and writes for a batch of records is held until the end of the batch, then written together in
//! the order of the keys. A state that was read for most records is read together for all keys of the next batch,
//! before its records are processed. Nothing is held between two calls of the operator, so checkpoints know nothing of
//! it.
//!
//! [`Capabilities::single_entries_are_dear`]: headpond_state::Capabilities::single_entries_are_dear

use headpond_state::{
    CheckpointId, KeyBatch, KeyGroupRange, KeyedStateBackend, MaxParallelism, ReadManyVisitor, ReadVisitor, Result,
    ScanManyVisitor, ScanRange, ScanVisitor, Snapshot, SnapshotOptions, StateDescriptor, StateId, StateUsage,
    WriteBatch, WriteOp,
};
use std::collections::HashMap;
use std::mem::take;

/// The bytes of entries above which what is held is written before the end of the batch.
const HELD_BYTES: usize = 16 << 20;
/// What an entry that is held takes besides its key and value.
const ENTRY_BYTES: usize = 96;

/// The entries of a batch of records.
#[derive(Debug, Default)]
pub(super) struct WriteBehind {
    /// Whether the backend likes batches; else it is asked directly.
    enabled: bool,
    /// By the state's id.
    states: Vec<HeldState>,
    bytes: usize,
    writes: WriteBatch,
}

#[derive(Debug, Default)]
struct HeldState {
    entries: HashMap<Box<[u8]>, Held>,
    /// Whether one of them is dirty.
    dirty: bool,
    /// For how many records of the batch the entry of the record's key was read.
    reads: usize,
    /// Whether that was so for most records of the last batch.
    read_by_most: bool,
}

/// What an entry is, whatever the backend has.
#[derive(Debug)]
struct Held {
    /// `None`: there is no such entry.
    value: Option<Box<[u8]>>,
    /// Whether the backend does not know yet.
    dirty: bool,
}

impl WriteBehind {
    pub(super) fn new(enabled: bool) -> Self {
        WriteBehind { enabled, ..Self::default() }
    }

    /// The backend, as it is seen while a record of this key is processed. The key is that of an entry without
    /// namespace and user key.
    pub(super) fn over<'a>(
        &'a mut self,
        backend: &'a mut (dyn KeyedStateBackend + 'a),
        record_key: &'a [u8],
    ) -> Overlay<'a> {
        Overlay { backend, held: self, record_key }
    }

    /// Begins a batch of records: reads what their function will probably read.
    pub(super) fn begin_batch<'k>(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        record_keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<()> {
        if !self.enabled || !self.states.iter().any(|state| state.read_by_most) {
            return Ok(());
        }
        let mut distinct: Vec<&[u8]> = record_keys.collect();
        distinct.sort_unstable();
        distinct.dedup();
        let mut keys = KeyBatch::new();
        distinct.iter().for_each(|key| keys.push(key));
        for index in 0..self.states.len() {
            if self.states[index].read_by_most {
                // There are at most as many states as ids.
                let state = StateId(index as u16);
                backend.read_many(state, &keys, &mut |nth, value| {
                    if self.bytes < HELD_BYTES {
                        self.hold(state, keys.get(nth), value, false);
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Ends a batch of so many records: writes what they have changed.
    pub(super) fn end_batch(&mut self, backend: &mut dyn KeyedStateBackend, records: usize) -> Result<()> {
        if !self.enabled {
            return Ok(());
        }
        self.write_all(backend)?;
        for state in &mut self.states {
            let reads = take(&mut state.reads);
            if records > 0 {
                state.read_by_most = reads * 2 > records;
            }
        }
        Ok(())
    }

    fn state(&mut self, state: StateId) -> &mut HeldState {
        if self.states.len() <= state.index() {
            self.states.resize_with(state.index() + 1, HeldState::default);
        }
        &mut self.states[state.index()]
    }

    fn hold(&mut self, state: StateId, key: &[u8], value: Option<&[u8]>, dirty: bool) {
        self.bytes += key.len() + value.map_or(0, <[u8]>::len) + ENTRY_BYTES;
        let held = self.state(state);
        held.dirty |= dirty;
        let entry = Held { value: value.map(Box::from), dirty };
        match held.entries.get_mut(key) {
            Some(known) => *known = entry,
            None => drop(held.entries.insert(key.into(), entry)),
        }
    }

    /// Writes what is dirty in one state, and goes on holding it.
    fn write_state(&mut self, backend: &mut dyn KeyedStateBackend, state: StateId) -> Result<()> {
        if !take(&mut self.state(state).dirty) {
            return Ok(());
        }
        let WriteBehind { states, writes, .. } = self;
        put_dirty(state, &states[state.index()], writes);
        states[state.index()].entries.values_mut().for_each(|held| held.dirty = false);
        backend.write(writes)
    }

    /// Writes what is dirty, and holds nothing any more.
    fn write_all(&mut self, backend: &mut dyn KeyedStateBackend) -> Result<()> {
        self.bytes = 0;
        for (index, held) in self.states.iter_mut().enumerate() {
            if take(&mut held.dirty) {
                put_dirty(StateId(index as u16), held, &mut self.writes);
            }
            held.entries.clear();
        }
        if self.writes.is_empty() { Ok(()) } else { backend.write(&mut self.writes) }
    }
}

/// Adds what is dirty to a batch, in the order of the keys.
fn put_dirty(state: StateId, held: &HeldState, writes: &mut WriteBatch) {
    let mut dirty: Vec<_> = held.entries.iter().filter(|(_, held)| held.dirty).collect();
    dirty.sort_unstable_by_key(|(key, _)| *key);
    for (key, held) in dirty {
        match &held.value {
            Some(value) => writes.put(state, key, value),
            None => writes.delete(state, key),
        }
    }
}

/// A backend behind the entries that are held.
#[derive(Debug)]
pub(super) struct Overlay<'a> {
    backend: &'a mut (dyn KeyedStateBackend + 'a),
    held: &'a mut WriteBehind,
    record_key: &'a [u8],
}

impl KeyedStateBackend for Overlay<'_> {
    fn key_groups(&self) -> KeyGroupRange {
        self.backend.key_groups()
    }

    fn max_parallelism(&self) -> MaxParallelism {
        self.backend.max_parallelism()
    }

    fn register(&mut self, descriptor: &StateDescriptor) -> Result<StateId> {
        self.backend.register(descriptor)
    }

    fn unregistered(&self) -> Vec<StateDescriptor> {
        self.backend.unregistered()
    }

    fn drop_restored(&mut self, name: &str) -> Result<()> {
        self.backend.drop_restored(name)
    }

    fn read(&mut self, state: StateId, key: &[u8], visit: &mut ReadVisitor<'_>) -> Result<bool> {
        if !self.held.enabled {
            return self.backend.read(state, key, visit);
        }
        let of_state = self.held.state(state);
        of_state.reads += usize::from(key == self.record_key);
        if let Some(held) = of_state.entries.get(key) {
            held.value.as_deref().map_or(Ok(()), visit)?;
            return Ok(held.value.is_some());
        }
        let held = &mut *self.held;
        let found = self.backend.read(state, key, &mut |value| {
            held.hold(state, key, Some(value), false);
            visit(value)
        })?;
        if !found {
            held.hold(state, key, None, false);
        }
        Ok(found)
    }

    fn read_many(&mut self, state: StateId, keys: &KeyBatch, visit: &mut ReadManyVisitor<'_>) -> Result<()> {
        self.held.write_state(self.backend, state)?;
        self.backend.read_many(state, keys, visit)
    }

    fn scan(&mut self, state: StateId, range: &ScanRange<'_>, visit: &mut ScanVisitor<'_>) -> Result<()> {
        self.held.write_state(self.backend, state)?;
        self.backend.scan(state, range, visit)
    }

    fn scan_many(&mut self, state: StateId, ranges: &[ScanRange<'_>], visit: &mut ScanManyVisitor<'_>) -> Result<()> {
        self.held.write_state(self.backend, state)?;
        self.backend.scan_many(state, ranges, visit)
    }

    fn write(&mut self, batch: &mut WriteBatch) -> Result<()> {
        if !self.held.enabled {
            return self.backend.write(batch);
        }
        let simple = batch.iter().all(|(_, op)| matches!(op, WriteOp::Put { .. } | WriteOp::Delete { .. }));
        if !simple {
            self.held.write_all(self.backend)?;
            return self.backend.write(batch);
        }
        for (state, op) in batch.iter() {
            match op {
                WriteOp::Put { key, value } => self.held.hold(state, key, Some(value), true),
                WriteOp::Delete { key } => self.held.hold(state, key, None, true),
                WriteOp::Merge { .. } | WriteOp::DeleteRange { .. } => {}
            }
        }
        batch.clear();
        if self.held.bytes > HELD_BYTES { self.held.write_all(self.backend) } else { Ok(()) }
    }

    fn time_passed(&mut self) -> Result<()> {
        self.backend.time_passed()
    }

    fn snapshot(&mut self, id: CheckpointId, options: &SnapshotOptions) -> Result<Box<dyn Snapshot>> {
        self.held.write_all(self.backend)?;
        self.backend.snapshot(id, options)
    }

    fn checkpoint_completed(&mut self, id: CheckpointId) -> Result<()> {
        self.backend.checkpoint_completed(id)
    }

    fn checkpoint_aborted(&mut self, id: CheckpointId) -> Result<()> {
        self.backend.checkpoint_aborted(id)
    }

    fn usage(&self) -> StateUsage {
        self.backend.usage()
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.held.write_all(self.backend)
    }
}

#[cfg(test)]
mod tests;
