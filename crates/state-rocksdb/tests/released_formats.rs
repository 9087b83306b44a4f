//! Files of released versions restore, for ever, whole and in parts.
//!
//! A format that changes gets a new version and files of its own beside the old ones.
//! `HEADPOND_WRITE_FORMAT=<directory>` writes those of this release into a directory that must not exist.

mod instance;

use headpond_state::{
    CheckpointId, CheckpointSource, KeyGroupRange, KeyedBackendParams, KeyedStateBackend, KeyedStateHandle,
    MergeOperator, RestoredState, SnapshotOptions, StateBackend, StateDescriptor, WriteBatch,
};
use headpond_state_conformance::MemoryStore;
use headpond_state_rocksdb::EmbeddedRocksDbStateBackend;
use instance::{Instance, entries_of, params, value_state};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn states() -> [StateDescriptor; 2] {
    [value_state("totals"), value_state("log").with_merge(MergeOperator::Append)]
}

/// What the files hold, of key groups 3 and 90.
fn expected() -> [Entries; 2] {
    let entry = |group: u8, key: &str, value: &str| ([&[group], key.as_bytes()].concat(), value.as_bytes().to_vec());
    [vec![entry(3, "AA", "2794"), entry(90, "UA", "4637")], vec![entry(3, "AA", "ab"), entry(90, "UA", "cd")]]
}

/// Values, operands of a merge, a deletion and a deleted range, in two levels.
fn write(keyed: &mut dyn KeyedStateBackend) {
    let [totals, log] = states().map(|state| keyed.register(&state).expect("the state registers"));
    let key = |group: u8, key: &str| [&[group], key.as_bytes()].concat();
    let mut batch = WriteBatch::new();
    batch.put(totals, &key(3, "AA"), b"1");
    batch.put(totals, &key(90, "UA"), b"4637");
    batch.put(totals, &key(90, "XX"), b"gone");
    batch.put(totals, &key(120, "range"), b"gone");
    batch.merge(log, &key(3, "AA"), b"a");
    batch.merge(log, &key(90, "UA"), b"c");
    keyed.write(&mut batch).expect("the batch is written");
    drop(keyed.snapshot(CheckpointId(1), &SnapshotOptions::default()).expect("a snapshot"));
    batch.put(totals, &key(3, "AA"), b"2794");
    batch.delete(totals, &key(90, "XX"));
    batch.delete_range(totals, &[120], &[121]);
    batch.merge(log, &key(3, "AA"), b"b");
    batch.merge(log, &key(90, "UA"), b"d");
    keyed.write(&mut batch).expect("the batch is written");
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn read(directory: &Path) -> (KeyedStateHandle, MemoryStore) {
    let text = fs::read_to_string(directory.join("handle.json")).expect("the handle is there");
    let handle: KeyedStateHandle = serde_json::from_str(&text).expect("a handle");
    let store = MemoryStore::new();
    for file in &handle.files {
        let bytes = fs::read(directory.join(&file.name)).expect("the file is there");
        assert_eq!(store.insert(&file.name, &bytes), *file, "the file is what it was");
    }
    (handle, store)
}

fn contents(keyed: &mut dyn KeyedStateBackend) -> [Entries; 2] {
    states().map(|state| {
        let id = keyed.register(&state).expect("the state registers");
        entries_of(keyed, id)
    })
}

fn restores(handle: &KeyedStateHandle, store: &MemoryStore) {
    let backend = EmbeddedRocksDbStateBackend::new(true);
    let mut whole = Instance::restore(&backend, store, handle);
    assert_eq!(contents(&mut *whole.keyed), expected());
    for (start, end) in [(0, 64), (64, 128)] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let part = KeyGroupRange { start, end };
        let params = KeyedBackendParams { key_groups: part, ..params(dir.path().join("state")) };
        let restored = [RestoredState { handle, source: store }];
        let mut keyed = backend.open_keyed(params, &restored).expect("the instance opens");
        let own = expected().map(|mut entries| {
            entries.retain(|(key, _)| part.contains(headpond_state::KeyGroup(u16::from(key[0]))));
            entries
        });
        assert_eq!(contents(&mut *keyed), own);
    }
}

#[test]
fn version_1_restores() {
    let (handle, store) = read(&directory("rocksdb-v1"));
    assert_eq!((handle.format.as_str(), handle.format_version), ("rocksdb", 1));
    restores(&handle, &store);
}

#[test]
fn version_1_restores_without_what_was_added_to_its_details() {
    let (mut handle, store) = read(&directory("rocksdb-v1"));
    handle.details =
        headpond_state::HandleDetails::of_format(&serde_json::json!({ "max-parallelism": 128 })).expect("an object");
    restores(&handle, &store);
}

#[test]
fn what_is_written_now_restores() {
    let backend = EmbeddedRocksDbStateBackend::new(true);
    let mut instance = Instance::open(&backend);
    write(&mut *instance.keyed);
    let store = MemoryStore::new();
    let snapshot = instance.keyed.snapshot(CheckpointId(2), &SnapshotOptions::default()).expect("a snapshot");
    let handle = snapshot.upload(&store.sink()).expect("it is uploaded");
    if let Some(directory) = std::env::var_os("HEADPOND_WRITE_FORMAT").map(PathBuf::from) {
        fs::create_dir(&directory).expect("a new directory");
        for file in &handle.files {
            let mut bytes = Vec::new();
            store.open(file).expect("it is there").read_to_end(&mut bytes).expect("it is readable");
            fs::write(directory.join(&file.name), bytes).expect("files can be written");
        }
        let text = serde_json::to_string_pretty(&handle).expect("a handle is JSON");
        fs::write(directory.join("handle.json"), text + "\n").expect("files can be written");
    }
    restores(&handle, &store);
}
