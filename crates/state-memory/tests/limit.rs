//! The limit of state in memory, and the accounting it rests on.

use headpond_state::{
    CheckpointId, CodecId, ErrorKind, KeyBatch, KeyGroupRange, KeyedBackendParams, KeyedStateBackend, MaxParallelism,
    OperatorClock, OperatorId, RestoredState, SnapshotOptions, StateBackend, StateDescriptor, StateId, StateKind,
    WriteBatch,
};
use headpond_state_conformance::MemoryStore;
use headpond_state_memory::MemoryStateBackend;
use std::sync::Arc;

const LIMIT: u64 = 1 << 20;

fn params() -> KeyedBackendParams {
    KeyedBackendParams {
        operator: OperatorId::new("totals/group/0"),
        subtask: 0,
        key_groups: KeyGroupRange { start: 0, end: 128 },
        max_parallelism: MaxParallelism::DEFAULT,
        clock: Arc::new(OperatorClock::new(0)),
        local_dir: "unused".into(),
    }
}

fn opened(backend: &MemoryStateBackend, kind: StateKind) -> (Box<dyn KeyedStateBackend>, StateId) {
    let mut keyed = backend.open_keyed(params(), &[]).expect("an instance opens");
    let state = keyed.register(&StateDescriptor::new("s", kind, CodecId::new("bytes", 1))).expect("a state");
    (keyed, state)
}

fn key(i: u32) -> Vec<u8> {
    [&[(i % 128) as u8][..], &i.wrapping_mul(2_654_435_761).to_be_bytes()].concat()
}

fn batch(state: StateId, keys: std::ops::Range<u32>, value: &[u8]) -> WriteBatch {
    let mut batch = WriteBatch::new();
    keys.for_each(|i| batch.put(state, &key(i), value));
    batch
}

#[test]
fn a_write_beyond_the_limit_fails_before_it_changes_anything() {
    for kind in [StateKind::Value, StateKind::Map] {
        let backend = MemoryStateBackend::with_limit(LIMIT);
        let (mut keyed, state) = opened(&backend, kind);
        let (failure, written) = write_until_full(&mut *keyed, state);
        assert_eq!(failure.kind(), ErrorKind::ResourceExhausted);
        assert!(failure.message().contains("limit of 1024 KiB"), "{failure}");
        assert!(failure.way_out().is_some_and(|hint| hint.contains("SET 'state.backend.type' = 'rocksdb'")));
        assert_eq!(keyed.usage().entries, u64::from(written), "the failed batch left entries");
        let used = backend.used_bytes();
        assert!(used > LIMIT / 2 && used < LIMIT * 5 / 4, "{used} bytes are used at a limit of {LIMIT}");
        assert_eq!(keyed.read(state, &key(0), &mut |_| Ok(())).expect_err("poisoned").kind(), ErrorKind::Closed);
    }
}

/// Writes until the limit is reached; the error and the entries written before.
fn write_until_full(keyed: &mut dyn KeyedStateBackend, state: StateId) -> (headpond_state::Error, u32) {
    let mut written = 0;
    loop {
        match keyed.write(&mut batch(state, written..written + 100, &[7; 24])) {
            Ok(()) => written += 100,
            Err(failure) => return (failure, written),
        }
        assert!(u64::from(written) * 29 < LIMIT, "the limit does not hold");
    }
}

#[test]
fn overwriting_goes_on_at_the_limit() {
    for kind in [StateKind::Value, StateKind::Map] {
        let backend = MemoryStateBackend::with_limit(LIMIT);
        let (mut keyed, state) = opened(&backend, kind);
        let mut written = 0;
        while backend.used_bytes() < LIMIT / 2 {
            keyed.write(&mut batch(state, written..written + 100, &[7; 24])).expect("there is room");
            written += 100;
        }
        for round in 0..5 {
            keyed.write(&mut batch(state, 0..written, &[round; 24])).expect("overwriting takes no room");
        }
        keyed
            .read(state, &key(0), &mut |value| {
                assert_eq!(value, [4; 24]);
                Ok(())
            })
            .expect("a value");
    }
}

#[test]
fn instances_share_the_limit_and_give_back_what_they_held() {
    let backend = MemoryStateBackend::with_limit(4 * LIMIT);
    let (mut first, state) = opened(&backend, StateKind::Value);
    first.write(&mut batch(state, 0..60_000, &[7; 24])).expect("there is room for one");
    let (mut second, state) = opened(&backend, StateKind::Value);
    second.write(&mut batch(state, 0..60_000, &[7; 24])).expect_err("there is no room for two");
    drop(second);
    first.close().expect("the instance closes");
    assert_eq!(backend.used_bytes(), 0);
    let (mut third, state) = opened(&backend, StateKind::Value);
    third.write(&mut batch(state, 0..60_000, &[7; 24])).expect("there is room again");
}

#[test]
fn a_restore_beyond_the_limit_fails() {
    let (mut keyed, state) = opened(&MemoryStateBackend::new(), StateKind::Value);
    keyed.write(&mut batch(state, 0..50_000, &[7; 24])).expect("there is no limit");
    let store = MemoryStore::new();
    let snapshot = keyed.snapshot(CheckpointId(1), &SnapshotOptions::default()).expect("a snapshot");
    let handle = snapshot.upload(&store.sink()).expect("an upload");
    let small = MemoryStateBackend::with_limit(LIMIT);
    let restored = small.open_keyed(params(), &[RestoredState { handle: &handle, source: &store }]);
    assert_eq!(restored.expect_err("the state is larger").kind(), ErrorKind::ResourceExhausted);
    assert_eq!(small.used_bytes(), 0);
}

#[test]
fn frozen_copies_count_until_their_snapshot_is_gone() {
    for kind in [StateKind::Value, StateKind::Map] {
        let backend = MemoryStateBackend::new();
        let (mut keyed, state) = opened(&backend, kind);
        keyed.write(&mut batch(state, 0..5_000, &[7; 24])).expect("a write");
        let before = backend.used_bytes();
        let snapshot = keyed.snapshot(CheckpointId(1), &SnapshotOptions::default()).expect("a snapshot");
        assert_eq!(backend.used_bytes(), before, "a cut copies nothing");
        keyed.write(&mut batch(state, 0..5_000, &[8; 24])).expect("a write");
        let during = backend.used_bytes();
        assert!(during > before + before / 2, "{during} bytes with all pieces copied, {before} before");
        drop(snapshot);
        let after = backend.used_bytes();
        assert!(after <= before + before / 8, "{after} bytes after the snapshot, {before} before");
    }
}

#[test]
fn deleted_and_outgrown_entries_give_their_bytes_back() {
    for kind in [StateKind::Value, StateKind::Map] {
        let backend = MemoryStateBackend::new();
        let (mut keyed, state) = opened(&backend, kind);
        for round in 0..20u32 {
            keyed.write(&mut batch(state, 0..5_000, &vec![7; 10 + round as usize])).expect("a write");
        }
        let full = backend.used_bytes();
        assert!(full < 5_000 * 55 * 4, "{full} bytes for values that grew");
        let mut deletions = WriteBatch::new();
        (0..4_000).for_each(|i| deletions.delete(state, &key(i)));
        keyed.write(&mut deletions).expect("a write");
        assert_eq!(keyed.usage().entries, 1000);
        deletions.delete_range(state, &[0], &[128]);
        keyed.write(&mut deletions).expect("a write");
        assert_eq!(keyed.usage().entries, 0);
        assert_eq!(backend.used_bytes(), 0, "an empty state holds bytes");
        let mut keys = KeyBatch::new();
        keys.push(&key(1));
        keyed
            .read_many(state, &keys, &mut |_, value| {
                assert_eq!(value, None);
                Ok(())
            })
            .expect("a read");
    }
}
