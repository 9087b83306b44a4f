//! A backend that keeps its state in another one.

use headpond_state::{
    Capabilities, CheckpointId, CheckpointSink, Error, HandleDetails, KeyBatch, KeyGroupRange, KeyedBackendParams,
    KeyedStateBackend, KeyedStateHandle, MaxParallelism, ReadManyVisitor, ReadVisitor, RestoredState, Result,
    ScanManyVisitor, ScanRange, ScanVisitor, Snapshot, SnapshotOptions, StateBackend, StateDescriptor, StateId,
    StateReader, StateUsage, WriteBatch,
};
use std::fmt;
use std::path::Path;

/// The format of its handles: a handle of the backend behind it, and nothing else.
const FORMAT: &str = "forwarding";
const FORMAT_VERSION: u32 = 1;

/// The factory.
#[derive(Debug)]
pub(crate) struct ForwardingStateBackend<B> {
    behind: B,
}

impl<B: StateBackend> ForwardingStateBackend<B> {
    pub(crate) fn new(behind: B) -> Self {
        ForwardingStateBackend { behind }
    }
}

impl<B: StateBackend> fmt::Display for ForwardingStateBackend<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "forwarding to {}", self.behind)
    }
}

impl<B: StateBackend> StateBackend for ForwardingStateBackend<B> {
    fn capabilities(&self) -> Capabilities {
        self.behind.capabilities()
    }

    fn open_keyed(
        &self,
        params: KeyedBackendParams,
        restore: &[RestoredState<'_>],
    ) -> Result<Box<dyn KeyedStateBackend>> {
        let behind = restore.iter().map(|restored| behind(*restored)).collect::<Result<Vec<_>>>()?;
        Ok(Box::new(ForwardingKeyedState { behind: self.behind.open_keyed(params, &behind)? }))
    }

    fn check_handle(&self, handle: &KeyedStateHandle, max_parallelism: MaxParallelism) -> Result<()> {
        self.behind.check_handle(handle_behind(handle)?, max_parallelism)
    }

    fn open_reader<'a>(
        &self,
        restored: RestoredState<'a>,
        max_parallelism: MaxParallelism,
        local_dir: &Path,
    ) -> Result<Box<dyn StateReader + 'a>> {
        self.behind.open_reader(behind(restored)?, max_parallelism, local_dir)
    }
}

/// The handle of the backend behind: within one of our own, or what another backend wrote, which that one may read.
fn handle_behind(handle: &KeyedStateHandle) -> Result<&KeyedStateHandle> {
    if handle.format != FORMAT {
        return Ok(handle);
    }
    if handle.format_version > FORMAT_VERSION {
        let message = format!("forwarding format version {} is newer than {FORMAT_VERSION}", handle.format_version);
        return Err(Error::incompatible(message).hint("restore it with the release that wrote it"));
    }
    handle.parts.first().ok_or_else(|| Error::corrupt("a forwarding handle has no part"))
}

fn behind(restored: RestoredState<'_>) -> Result<RestoredState<'_>> {
    Ok(RestoredState { handle: handle_behind(restored.handle)?, source: restored.source })
}

/// The state of one operator on one worker.
#[derive(Debug)]
struct ForwardingKeyedState {
    behind: Box<dyn KeyedStateBackend>,
}

impl KeyedStateBackend for ForwardingKeyedState {
    fn key_groups(&self) -> KeyGroupRange {
        self.behind.key_groups()
    }

    fn max_parallelism(&self) -> MaxParallelism {
        self.behind.max_parallelism()
    }

    fn register(&mut self, descriptor: &StateDescriptor) -> Result<StateId> {
        self.behind.register(descriptor)
    }

    fn unregistered(&self) -> Vec<StateDescriptor> {
        self.behind.unregistered()
    }

    fn drop_restored(&mut self, name: &str) -> Result<()> {
        self.behind.drop_restored(name)
    }

    fn read(&mut self, state: StateId, key: &[u8], visit: &mut ReadVisitor<'_>) -> Result<bool> {
        self.behind.read(state, key, visit)
    }

    fn read_many(&mut self, state: StateId, keys: &KeyBatch, visit: &mut ReadManyVisitor<'_>) -> Result<()> {
        self.behind.read_many(state, keys, visit)
    }

    fn scan(&mut self, state: StateId, range: &ScanRange<'_>, visit: &mut ScanVisitor<'_>) -> Result<()> {
        self.behind.scan(state, range, visit)
    }

    fn scan_many(&mut self, state: StateId, ranges: &[ScanRange<'_>], visit: &mut ScanManyVisitor<'_>) -> Result<()> {
        self.behind.scan_many(state, ranges, visit)
    }

    fn write(&mut self, batch: &mut WriteBatch) -> Result<()> {
        self.behind.write(batch)
    }

    fn time_passed(&mut self) -> Result<()> {
        self.behind.time_passed()
    }

    fn snapshot(&mut self, id: CheckpointId, options: &SnapshotOptions) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(ForwardingSnapshot { behind: self.behind.snapshot(id, options)? }))
    }

    fn checkpoint_completed(&mut self, id: CheckpointId) -> Result<()> {
        self.behind.checkpoint_completed(id)
    }

    fn checkpoint_aborted(&mut self, id: CheckpointId) -> Result<()> {
        self.behind.checkpoint_aborted(id)
    }

    fn usage(&self) -> StateUsage {
        self.behind.usage()
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.behind.close()
    }
}

/// A snapshot whose handle holds that of the backend behind.
#[derive(Debug)]
struct ForwardingSnapshot {
    behind: Box<dyn Snapshot>,
}

impl Snapshot for ForwardingSnapshot {
    fn upload(self: Box<Self>, sink: &dyn CheckpointSink) -> Result<KeyedStateHandle> {
        let behind = self.behind.upload(sink)?;
        let sizes = behind.state_sizes().unwrap_or_default().to_vec();
        let handle = KeyedStateHandle {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            key_groups: behind.key_groups,
            states: behind.states.clone(),
            files: Vec::new(),
            entries: behind.entries,
            details: HandleDetails::default(),
            parts: vec![behind],
        };
        Ok(handle.with_state_sizes(&sizes))
    }
}
