//! Uploading what was frozen.
//!
//! A snapshot is one canonical file, or several of neighbouring key groups once there are enough bytes. A file whose
//! key groups have not changed since it was last uploaded is reused if the checkpoint's base has it.

use crate::table::FrozenShard;
use headpond_state::canonical::{canonical_handle, put_canonical};
use headpond_state::{
    CheckpointSink, KeyGroupRange, KeyedStateHandle, MaxParallelism, Result, Snapshot, StateDescriptor, StateFile,
    StateSize,
};
use parking_lot::Mutex;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Bytes of state for which another file is worth while.
const FILE_BYTES: u64 = 8 << 20;

/// The most files of a snapshot.
const FILES_MAX: u64 = 8;

/// The state at a cut.
#[derive(Debug)]
pub(crate) struct MemorySnapshot {
    pub(crate) key_groups: KeyGroupRange,
    pub(crate) max_parallelism: MaxParallelism,
    pub(crate) states: Vec<StateDescriptor>,
    /// The shards of each state.
    pub(crate) tables: Vec<Vec<FrozenShard>>,
    /// The generation in which each key group last changed.
    pub(crate) changed_in: Vec<u64>,
    /// About how much there is to upload.
    pub(crate) bytes: u64,
    pub(crate) incremental: bool,
    pub(crate) uploaded: Arc<UploadedFiles>,
    /// Tells the instance that a snapshot is alive.
    pub(crate) alive: Arc<()>,
}

impl Snapshot for MemorySnapshot {
    fn upload(self: Box<Self>, sink: &dyn CheckpointSink) -> Result<KeyedStateHandle> {
        let files_max = (self.bytes / FILE_BYTES).clamp(1, FILES_MAX) as usize;
        let groups = self.key_groups.len();
        let mut files = Vec::new();
        let mut sizes = Vec::new();
        for shards in (0..groups).step_by(groups.div_ceil(files_max).max(1)) {
            let shards = shards..groups.min(shards + groups.div_ceil(files_max));
            let (file, part) = self.file(shards.clone(), sink)?;
            let start = self.key_groups.start;
            files.push((file, KeyGroupRange { start: start + shards.start as u16, end: start + shards.end as u16 }));
            StateSize::add(&mut sizes, &part);
        }
        drop(self.alive);
        canonical_handle(self.key_groups, self.states, files, &sizes)
    }
}

impl MemorySnapshot {
    /// The file of some shards, and what it has of each state.
    fn file(&self, shards: std::ops::Range<usize>, sink: &dyn CheckpointSink) -> Result<(StateFile, Vec<StateSize>)> {
        let part = ShardVersion {
            start: shards.start,
            end: shards.end,
            changed_in: self.changed_in[shards.clone()].iter().copied().max().unwrap_or(0),
        };
        if self.incremental
            && let Some((file, sizes)) = self.uploaded.find(part)
            && sink.reuse(&file)?
        {
            return Ok((file, sizes));
        }
        let mut rest = self.tables.iter().zip(0u16..).flat_map(|(table, state)| {
            let entries = table[shards.clone()].iter().flat_map(FrozenShard::entries);
            entries.map(move |(key, value)| (state, key, value))
        });
        let name = format!("{}-{}", shards.start, shards.end);
        let written = put_canonical(sink, &name, self.max_parallelism, |writer| match rest.next() {
            Some((state, key, value)) => writer.push(state, key, value).map(|()| ControlFlow::Continue(())),
            None => Ok(ControlFlow::Break(())),
        })?;
        self.uploaded.add(part, &written);
        Ok(written)
    }
}

/// A part of the state in a certain version of it: shards, and when they last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShardVersion {
    start: usize,
    end: usize,
    changed_in: u64,
}

/// The newest files that an instance's snapshots have uploaded.
#[derive(Debug, Default)]
pub(crate) struct UploadedFiles(Mutex<Vec<(ShardVersion, StateFile, Vec<StateSize>)>>);

impl UploadedFiles {
    fn find(&self, part: ShardVersion) -> Option<(StateFile, Vec<StateSize>)> {
        let files = self.0.lock();
        files.iter().find(|(known, ..)| *known == part).map(|(_, file, sizes)| (file.clone(), sizes.clone()))
    }

    /// Remembers a file; it replaces older versions of the same shards.
    fn add(&self, part: ShardVersion, (file, sizes): &(StateFile, Vec<StateSize>)) {
        let mut files = self.0.lock();
        let same = |known: &ShardVersion| (known.start, known.end) == (part.start, part.end);
        if files.iter().any(|(known, ..)| same(known) && known.changed_in > part.changed_in) {
            return;
        }
        files.retain(|(known, ..)| !same(known));
        files.push((part, file.clone(), sizes.clone()));
    }
}
