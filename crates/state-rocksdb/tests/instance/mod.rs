//! An instance in a temporary directory.

#![allow(dead_code)]

use headpond_state::{
    CheckpointSource, CodecId, Entry, KeyGroupRange, KeyedBackendParams, KeyedStateBackend, KeyedStateHandle,
    MaxParallelism, OperatorClock, OperatorId, RestoredState, ScanRange, StateBackend, StateDescriptor, StateId,
    StateKind,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use tempfile::TempDir;

/// An instance that holds all key groups, with its directory.
pub(crate) struct Instance {
    pub(crate) keyed: Box<dyn KeyedStateBackend>,
    pub(crate) dir: TempDir,
}

impl Instance {
    pub(crate) fn open(backend: &dyn StateBackend) -> Instance {
        Self::open_with(backend, &[])
    }

    pub(crate) fn restore(
        backend: &dyn StateBackend,
        source: &dyn CheckpointSource,
        handle: &KeyedStateHandle,
    ) -> Instance {
        Self::open_with(backend, &[RestoredState { handle, source }])
    }

    fn open_with(backend: &dyn StateBackend, restored: &[RestoredState<'_>]) -> Instance {
        let dir = TempDir::new().expect("a temporary directory");
        let keyed = backend.open_keyed(params(dir.path().join("state")), restored).expect("the instance opens");
        Instance { keyed, dir }
    }
}

pub(crate) fn params(local_dir: std::path::PathBuf) -> KeyedBackendParams {
    KeyedBackendParams {
        operator: OperatorId::new("totals/group/0"),
        subtask: 0,
        key_groups: KeyGroupRange { start: 0, end: 128 },
        max_parallelism: MaxParallelism::DEFAULT,
        clock: Arc::new(OperatorClock::new(0)),
        local_dir,
    }
}

pub(crate) fn value_state(name: &str) -> StateDescriptor {
    StateDescriptor::new(name, StateKind::Value, CodecId::new("bytes", 1))
}

pub(crate) fn entries_of(keyed: &mut dyn KeyedStateBackend, state: StateId) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries = Vec::new();
    keyed
        .scan(state, &ScanRange::all(), &mut |Entry { key, value }| {
            entries.push((key.to_vec(), value.to_vec()));
            Ok(ControlFlow::Continue(()))
        })
        .expect("the state is scanned");
    entries
}
