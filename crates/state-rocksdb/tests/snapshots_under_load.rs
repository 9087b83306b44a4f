//! A snapshot holds exactly its cut while memtables fill, flush and merge all around it.

mod instance;

use headpond_state::{CheckpointId, KeyedStateBackend, SnapshotOptions, StateId, WriteBatch};
use headpond_state_conformance::MemoryStore;
use headpond_state_rocksdb::{CompactionOptions, EmbeddedRocksDbStateBackend, RocksDbOptions};
use instance::{Instance, entries_of, value_state};

const KEYS: u32 = 3000;

fn busy_backend() -> EmbeddedRocksDbStateBackend {
    EmbeddedRocksDbStateBackend::with_options(RocksDbOptions {
        write_buffer_size: 128 << 10,
        write_buffer_count: 3,
        compaction: CompactionOptions { run_limit: 3, stop_limit: 12, file_size_min: 32 << 10, ..Default::default() },
        ..RocksDbOptions::default()
    })
}

/// Puts `round` under every key, in several batches.
fn write_round(keyed: &mut dyn KeyedStateBackend, state: StateId, round: u64) {
    let mut batch = WriteBatch::new();
    for key in 0..KEYS {
        let mut bytes = vec![(key % 128) as u8];
        bytes.extend_from_slice(&key.to_be_bytes());
        let mut value = round.to_le_bytes().to_vec();
        value.resize(100, key as u8);
        batch.put(state, &bytes, &value);
        if batch.len() == 256 {
            keyed.write(&mut batch).expect("the batch is written");
        }
    }
    keyed.write(&mut batch).expect("the batch is written");
}

fn assert_all_of_round(
    backend: &EmbeddedRocksDbStateBackend,
    store: &MemoryStore,
    cut: (u64, headpond_state::KeyedStateHandle),
) {
    let (round, handle) = cut;
    let mut restored = Instance::restore(backend, store, &handle);
    let state = restored.keyed.register(&value_state("s")).expect("the state registers");
    let entries = entries_of(&mut *restored.keyed, state);
    assert_eq!(entries.len(), KEYS as usize);
    assert!(entries.iter().all(|(_, value)| value[..8] == round.to_le_bytes()), "round {round} is mixed with another");
}

#[test]
fn every_snapshot_holds_one_round_of_writes_whole() {
    let backend = busy_backend();
    let store = MemoryStore::new();
    let mut instance = Instance::open(&backend);
    let state = instance.keyed.register(&value_state("s")).expect("the state registers");
    let mut cuts = Vec::new();
    for round in 0..24u64 {
        write_round(&mut *instance.keyed, state, round);
        let options = SnapshotOptions { incremental: true, compact: round % 6 == 5 };
        let snapshot = instance.keyed.snapshot(CheckpointId(round), &options).expect("a snapshot");
        let store = store.clone();
        cuts.push((round, std::thread::spawn(move || snapshot.upload(&store.sink()).expect("the snapshot uploads"))));
    }
    for (round, upload) in cuts {
        assert_all_of_round(&backend, &store, (round, upload.join().expect("the upload does not panic")));
    }
}

#[test]
fn a_snapshot_uploaded_long_after_its_cut_holds_its_round() {
    let backend = busy_backend();
    let store = MemoryStore::new();
    let mut instance = Instance::open(&backend);
    let state = instance.keyed.register(&value_state("s")).expect("the state registers");
    write_round(&mut *instance.keyed, state, 1);
    let snapshot = instance.keyed.snapshot(CheckpointId(1), &SnapshotOptions::default()).expect("a snapshot");
    (2..12).for_each(|round| write_round(&mut *instance.keyed, state, round));
    let handle = snapshot.upload(&store.sink()).expect("the snapshot uploads");
    assert_all_of_round(&backend, &store, (1, handle));
}
