//! A job as a test sees it: checkpoints of a few small files.

use headpond_checkpoint::manifest::{Manifest, OperatorState, SourceState, SplitState, SubtaskState};
use headpond_checkpoint::{CheckpointStorage, CheckpointStore, PendingCheckpoint, StorageOptions};
use headpond_state::{
    AttemptId, CheckpointId, CheckpointSource, CodecId, Error, KeyGroupRange, KeyedStateHandle, MaxParallelism,
    OperatorId, Result, StateDescriptor, StateFile, StateKind,
};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

/// The job's name.
pub const JOB: &str = "totals";

/// State as a test sees it: names of files and their contents.
pub type Files = BTreeMap<String, Vec<u8>>;

/// An attempt of this name.
pub fn attempt(name: &str) -> AttemptId {
    AttemptId(name.to_owned())
}

/// Options that wait for nobody.
pub fn options() -> StorageOptions {
    // A process that another test starts holds a lock of this one until it has begun.
    StorageOptions { ownership_patience: Duration::from_millis(200), ..StorageOptions::default() }
}

/// The job's checkpoints in a store.
pub fn over(store: Arc<dyn CheckpointStore>) -> CheckpointStorage {
    CheckpointStorage::over(store, JOB, options()).unwrap()
}

/// Files with these contents.
pub fn files(pairs: &[(&str, &str)]) -> Files {
    pairs.iter().map(|(name, content)| ((*name).to_owned(), content.as_bytes().to_vec())).collect()
}

/// Stores each file, or reuses it when the base has it under that name with that content, as a backend does.
pub fn upload(pending: &PendingCheckpoint, base: Option<&Manifest>, files: &Files) -> Result<Vec<StateFile>> {
    let sink = pending.sink();
    let mut stored = Vec::new();
    for (name, content) in files {
        let hash = blake3::hash(content);
        let same = |old: &&StateFile| old.name == *name && old.hash.0 == *hash.as_bytes();
        match base.and_then(|base| base.files().find(same)) {
            Some(old) if sink.reuse(old)? => stored.push(old.clone()),
            _ => stored.push(sink.put_stream(name, &mut content.as_slice())?),
        }
    }
    Ok(stored)
}

/// A manifest with one source and one operator, which has these files.
pub fn manifest(id: CheckpointId, attempt: &AttemptId, files: Vec<StateFile>) -> Manifest {
    let all = KeyGroupRange { start: 0, end: 128 };
    let mut manifest = Manifest::new(JOB, attempt.clone(), id, 1, MaxParallelism::DEFAULT);
    manifest.sources.push(SourceState {
        operator: OperatorId::new("totals/source/0"),
        splits: vec![SplitState {
            position: serde_json::json!({ "byte": u64::MAX }),
            max_event_time_ms: Some(1_388_534_400_000),
            rows: 1000,
            skipped: 1,
            ..SplitState::unread("flights.csv")
        }],
    });
    manifest.operators.push(OperatorState {
        operator: OperatorId::new("totals/aggregate/0"),
        kind: "aggregate".into(),
        description: "COUNT(*) BY carrier".into(),
        event_time_ms: Some(-1),
        subtasks: vec![SubtaskState {
            subtask: 0,
            key_groups: all,
            details: serde_json::json!({ "late_rows": 7 }),
            state: Some(KeyedStateHandle {
                format: "test".into(),
                format_version: 1,
                key_groups: all,
                states: vec![StateDescriptor::new("totals", StateKind::Aggregating, CodecId::new("row", 1))],
                files,
                entries: 16,
                details: headpond_state::HandleDetails::default(),
                parts: Vec::new(),
            }),
        }],
    });
    manifest
}

/// Takes a whole checkpoint.
pub fn checkpoint(
    storage: &CheckpointStorage,
    attempt: &AttemptId,
    base: Option<&Manifest>,
    files: &Files,
) -> Result<Manifest> {
    storage.own(attempt)?;
    let id = storage.next_id()?;
    let pending = storage.begin(id, attempt, base, true)?;
    let stored = upload(&pending, base, files)?;
    storage.commit(pending, manifest(id, attempt, stored))
}

/// What a restore of `manifest` gives.
pub fn restore(storage: &CheckpointStorage, manifest: &Manifest) -> Result<Files> {
    restore_with(storage.source().as_ref(), manifest.files())
}

/// These files with their contents.
pub fn restore_with<'a>(source: &dyn CheckpointSource, files: impl Iterator<Item = &'a StateFile>) -> Result<Files> {
    let mut restored = Files::new();
    for file in files {
        let mut content = Vec::new();
        let read = source.open(file)?.read_to_end(&mut content);
        read.map_err(|cause| Error::corrupt("a file cannot be read").because(cause))?;
        restored.insert(file.name.clone(), content);
    }
    Ok(restored)
}
