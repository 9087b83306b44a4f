//! A backend under test, with a store for its checkpoints and directories for its files.

use crate::{BackendFixture, MemoryStore};
use headpond_state::{
    AccessPattern, Capabilities, CheckpointId, CodecId, Entry, KeyBatch, KeyGroup, KeyGroupRange, KeyedBackendParams,
    KeyedStateBackend, KeyedStateHandle, MaxParallelism, OperatorClock, OperatorId, RestoredState, Result, ScanRange,
    SnapshotOptions, StateBackend, StateDescriptor, StateId, StateKind, WriteBatch,
};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Entries as a test compares them.
pub(crate) type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// A backend under test.
#[derive(Debug)]
pub struct Subject {
    backend: Box<dyn StateBackend>,
    store: MemoryStore,
    max_parallelism: MaxParallelism,
    local: TempDir,
    opened: Cell<usize>,
    clock: RefCell<Arc<OperatorClock>>,
}

impl Subject {
    /// A backend of the fixture in a job with the default number of key groups.
    pub fn new(fixture: &dyn BackendFixture) -> Self {
        Self::with_max_parallelism(fixture, u32::from(MaxParallelism::DEFAULT.get()))
    }

    /// A backend of the fixture in a job with this many key groups.
    pub fn with_max_parallelism(fixture: &dyn BackendFixture, max_parallelism: u32) -> Self {
        Subject {
            backend: fixture.backend(),
            store: MemoryStore::new(),
            max_parallelism: MaxParallelism::new(max_parallelism).expect("a valid max parallelism"),
            local: TempDir::new().expect("a temporary directory"),
            opened: Cell::new(0),
            clock: RefCell::new(Arc::new(OperatorClock::new(0))),
        }
    }

    /// The clock of the instances that are opened, for tests that move it.
    pub fn clock(&self) -> Arc<OperatorClock> {
        Arc::clone(&self.clock.borrow())
    }

    /// Gives the instances opened from now on another clock, as an operator has that is restored at an earlier time.
    pub fn set_clock(&self, clock: OperatorClock) {
        self.clock.replace(Arc::new(clock));
    }

    /// Where checkpoints go.
    pub fn store(&self) -> &MemoryStore {
        &self.store
    }

    /// What the backend can do.
    pub fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    /// The job's number of key groups.
    pub fn max_parallelism(&self) -> MaxParallelism {
        self.max_parallelism
    }

    /// All key groups.
    pub fn all_groups(&self) -> KeyGroupRange {
        KeyGroupRange { start: 0, end: self.max_parallelism.get() }
    }

    /// Whether any instance has left a file.
    pub fn has_local_files(&self) -> bool {
        fn has_files(directory: &Path) -> bool {
            let entries = std::fs::read_dir(directory).expect("a readable directory");
            entries
                .map(|entry| entry.expect("a readable directory").path())
                .any(|path| !path.is_dir() || has_files(&path))
        }
        has_files(self.local.path())
    }

    /// A directory that no instance has had.
    fn fresh_dir(&self) -> PathBuf {
        self.opened.set(self.opened.get() + 1);
        self.local.path().join(format!("instance-{}", self.opened.get()))
    }

    /// An empty instance that holds all key groups.
    pub fn open(&self) -> Box<dyn KeyedStateBackend> {
        self.restore(&[])
    }

    /// An instance that holds all key groups, restored from `handles`.
    pub fn restore(&self, handles: &[KeyedStateHandle]) -> Box<dyn KeyedStateBackend> {
        self.restore_range(self.all_groups(), handles)
    }

    /// An instance that holds `key_groups`, restored from `handles`.
    pub fn restore_range(&self, groups: KeyGroupRange, handles: &[KeyedStateHandle]) -> Box<dyn KeyedStateBackend> {
        self.try_restore(groups, handles).expect("the handles restore")
    }

    /// The same, with the error of a restore that fails.
    pub fn try_restore(
        &self,
        key_groups: KeyGroupRange,
        handles: &[KeyedStateHandle],
    ) -> Result<Box<dyn KeyedStateBackend>> {
        let params = KeyedBackendParams {
            operator: OperatorId::new("totals/group/0"),
            subtask: 0,
            key_groups,
            max_parallelism: self.max_parallelism,
            clock: self.clock(),
            local_dir: self.fresh_dir(),
        };
        let restore: Vec<_> = handles.iter().map(|handle| RestoredState { handle, source: &self.store }).collect();
        self.backend.open_keyed(params, &restore)
    }

    /// A checkpoint from its cut to its notification, on the base of `base`, and the bytes it uploaded.
    pub fn checkpoint_on(
        &self,
        keyed: &mut dyn KeyedStateBackend,
        id: u64,
        base: &[KeyedStateHandle],
        options: &SnapshotOptions,
    ) -> (KeyedStateHandle, u64) {
        let snapshot = keyed.snapshot(CheckpointId(id), options).expect("a snapshot");
        let sink = self.store.sink_on(base);
        let handle = as_in_manifest(&snapshot.upload(&sink).expect("the snapshot uploads"));
        keyed.checkpoint_completed(CheckpointId(id)).expect("the completion is noted");
        (handle, sink.uploaded_bytes())
    }

    /// A checkpoint without a base.
    pub fn checkpoint(&self, keyed: &mut dyn KeyedStateBackend, id: u64) -> KeyedStateHandle {
        self.checkpoint_on(keyed, id, &[], &SnapshotOptions::default()).0
    }

    /// A whole entry key.
    pub fn key(&self, group: u16, rest: impl AsRef<[u8]>) -> Vec<u8> {
        let mut key = Vec::new();
        KeyGroup(group).encode(self.max_parallelism, &mut key);
        key.extend_from_slice(rest.as_ref());
        key
    }
}

/// The handle as it comes back from a manifest.
pub(crate) fn as_in_manifest(handle: &KeyedStateHandle) -> KeyedStateHandle {
    let text = serde_json::to_string(handle).expect("a handle serializes");
    serde_json::from_str(&text).expect("a handle parses")
}

/// A state read by whole key.
pub(crate) fn point_state(name: &str) -> StateDescriptor {
    StateDescriptor::new(name, StateKind::Value, CodecId::new("bytes", 1)).with_access(AccessPattern::Point)
}

/// A state that is scanned.
pub(crate) fn scan_state(name: &str) -> StateDescriptor {
    StateDescriptor::new(name, StateKind::Map, CodecId::new("bytes", 1)).with_access(AccessPattern::Scan)
}

pub(crate) fn register(keyed: &mut dyn KeyedStateBackend, descriptor: &StateDescriptor) -> StateId {
    keyed.register(descriptor).expect("the state registers")
}

pub(crate) fn put(keyed: &mut dyn KeyedStateBackend, state: StateId, key: &[u8], value: impl AsRef<[u8]>) {
    write(keyed, |batch| batch.put(state, key, value.as_ref()));
}

pub(crate) fn write(keyed: &mut dyn KeyedStateBackend, fill: impl FnOnce(&mut WriteBatch)) {
    let mut batch = WriteBatch::new();
    fill(&mut batch);
    keyed.write(&mut batch).expect("the batch is written");
}

pub(crate) fn get(keyed: &mut dyn KeyedStateBackend, state: StateId, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = None;
    let found = keyed
        .read(state, key, &mut |bytes| {
            value = Some(bytes.to_vec());
            Ok(())
        })
        .expect("the key is read");
    assert_eq!(found, value.is_some(), "the answer of a read and its visit differ");
    value
}

pub(crate) fn get_many(keyed: &mut dyn KeyedStateBackend, state: StateId, keys: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
    let mut batch = KeyBatch::new();
    keys.iter().for_each(|key| batch.push(key));
    let mut values = Vec::new();
    keyed
        .read_many(state, &batch, &mut |index, value| {
            assert_eq!(index, values.len(), "keys are visited out of order");
            values.push(value.map(<[u8]>::to_vec));
            Ok(())
        })
        .expect("the keys are read");
    assert_eq!(values.len(), keys.len(), "not every key was visited");
    values
}

pub(crate) fn scan(keyed: &mut dyn KeyedStateBackend, state: StateId, range: &ScanRange<'_>) -> Entries {
    let mut entries = Vec::new();
    keyed
        .scan(state, range, &mut |Entry { key, value }| {
            entries.push((key.to_vec(), value.to_vec()));
            Ok(ControlFlow::Continue(()))
        })
        .expect("the range is scanned");
    entries
}

/// All entries of a state.
pub(crate) fn contents(keyed: &mut dyn KeyedStateBackend, state: StateId) -> Entries {
    scan(keyed, state, &ScanRange::all())
}
