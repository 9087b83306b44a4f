//! What a database consists of after a restore of other key groups: which files it takes over, and which it cuts.

mod instance;

use headpond_state::{
    CheckpointId, CheckpointSource, KeyGroupRange, KeyedStateBackend, KeyedStateHandle, MaxParallelism, RestoredState,
    SnapshotOptions, StateBackend, StateFile, StateId, WriteBatch,
};
use headpond_state_conformance::MemoryStore;
use headpond_state_rocksdb::{CompactionOptions, EmbeddedRocksDbStateBackend, RocksDbOptions};
use instance::{entries_of, params, value_state};
use rust_rocksdb::{DB, LiveFile, Options};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

const ENTRIES: u32 = 40_000;

/// Files of at most 64 KiB, so that few data make many.
fn backend() -> EmbeddedRocksDbStateBackend {
    EmbeddedRocksDbStateBackend::with_options(RocksDbOptions {
        compaction: CompactionOptions { file_size_min: 64 << 10, file_size_max: 64 << 10, ..Default::default() },
        ..RocksDbOptions::default()
    })
}

fn open(
    backend: &EmbeddedRocksDbStateBackend,
    dir: &Path,
    key_groups: KeyGroupRange,
    handles: &[KeyedStateHandle],
    source: &dyn CheckpointSource,
) -> Box<dyn KeyedStateBackend> {
    let restored: Vec<_> = handles.iter().map(|handle| RestoredState { handle, source }).collect();
    let params = headpond_state::KeyedBackendParams { key_groups, ..params(dir.join("state")) };
    backend.open_keyed(params, &restored).expect("the instance opens")
}

fn key(entry: u32) -> Vec<u8> {
    [&[(u64::from(entry) * 128 / u64::from(ENTRIES)) as u8], entry.to_be_bytes().as_slice()].concat()
}

/// A value that does not compress.
fn value(entry: u32, seed: u64) -> Vec<u8> {
    let parts = (0..4u64).map(|part| (u64::from(entry) * 4 + part + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    parts.flat_map(u64::to_le_bytes).collect()
}

/// Puts every `step`th entry.
fn put(keyed: &mut dyn KeyedStateBackend, state: StateId, step: usize) {
    let mut batch = WriteBatch::new();
    for entry in (0..ENTRIES).step_by(step) {
        batch.put(state, &key(entry), &value(entry, step as u64));
    }
    keyed.write(&mut batch).expect("the batch is written");
}

fn checkpoint(keyed: &mut dyn KeyedStateBackend, store: &MemoryStore, id: u64, compact: bool) -> KeyedStateHandle {
    let options = SnapshotOptions { incremental: true, compact };
    let snapshot = keyed.snapshot(CheckpointId(id), &options).expect("a snapshot");
    snapshot.upload(&store.sink()).expect("the snapshot uploads")
}

/// A base of many files, and a layer above it that holds every fourth entry and a deletion here and there.
fn two_layers(store: &MemoryStore) -> KeyedStateHandle {
    let (backend, dir) = (backend(), TempDir::new().expect("a temporary directory"));
    let mut keyed = open(&backend, dir.path(), ALL, &[], store);
    let state = keyed.register(&value_state("s")).expect("the state registers");
    put(&mut *keyed, state, 1);
    checkpoint(&mut *keyed, store, 1, true);
    put(&mut *keyed, state, 4);
    let mut batch = WriteBatch::new();
    (1..ENTRIES).step_by(100).for_each(|entry| batch.delete(state, &key(entry)));
    batch.delete_range(state, &key(ENTRIES / 2 - 50), &key(ENTRIES / 2 + 50));
    keyed.write(&mut batch).expect("the batch is written");
    checkpoint(&mut *keyed, store, 2, false)
}

const ALL: KeyGroupRange = KeyGroupRange { start: 0, end: 128 };
const LAST_QUARTER: KeyGroupRange = KeyGroupRange { start: 96, end: 128 };

/// The files of a handle as RocksDB sees them.
fn live_files(handle: &KeyedStateHandle, store: &MemoryStore) -> Vec<LiveFile> {
    let dir = TempDir::new().expect("a temporary directory");
    for file in &handle.files {
        store.fetch(file, &dir.path().join(&file.name)).expect("the file is there");
    }
    let families = DB::list_cf(&Options::default(), dir.path()).expect("the column families are listed");
    let rocks = DB::open_cf_for_read_only(&Options::default(), dir.path(), families, false).expect("a database");
    rocks.live_files().expect("the files are listed")
}

/// Notes which files are fetched.
#[derive(Debug)]
struct Noting<'a>(&'a MemoryStore, Arc<Mutex<Vec<StateFile>>>);

impl CheckpointSource for Noting<'_> {
    fn fetch(&self, file: &StateFile, to: &Path) -> headpond_state::Result<()> {
        self.1.lock().expect("no test has panicked").push(file.clone());
        self.0.fetch(file, to)
    }

    fn fetch_all(&self, files: &[(&StateFile, PathBuf)]) -> headpond_state::Result<()> {
        files.iter().try_for_each(|(file, to)| self.fetch(file, to))
    }

    fn open(&self, file: &StateFile) -> headpond_state::Result<Box<dyn Read + Send>> {
        self.0.open(file)
    }
}

#[test]
fn a_narrower_instance_fetches_what_it_needs_and_holds_nothing_else() {
    let store = MemoryStore::new();
    let handle = two_layers(&store);
    let fetched = Arc::default();
    let (backend, dir) = (backend(), TempDir::new().expect("a temporary directory"));
    let source = Noting(&store, Arc::clone(&fetched));
    let mut keyed = open(&backend, dir.path(), LAST_QUARTER, std::slice::from_ref(&handle), &source);
    let state = keyed.register(&value_state("s")).expect("the state registers");

    let fetched: u64 = fetched.lock().expect("no test has panicked").iter().map(|file| file.length).sum();
    let layer: u64 = live_files(&handle, &store).iter().filter(|f| f.level == 0).map(|f| f.size as u64).sum();
    let limit = layer + (handle.byte_len() - layer) * 3 / 10;
    assert!(fetched < limit, "{fetched} of {} bytes were fetched", handle.byte_len());

    let sink = store.sink_on([&handle]);
    let snapshot = keyed.snapshot(CheckpointId(3), &SnapshotOptions::default()).expect("a snapshot");
    let narrow = snapshot.upload(&sink).expect("the snapshot uploads");
    let files = live_files(&narrow, &store);
    let outside = |key: &Option<Vec<u8>>| key.as_ref().is_none_or(|key| key[0] < 96 || key[0] > 127);
    assert!(files.len() > 4 && !files.iter().any(|f| outside(&f.start_key) || outside(&f.end_key)), "{files:?}");
    // What is uploaded: a quarter of the layer, at most one file of the base, and the manifest.
    let limit = layer / 4 + (64 << 10) + 16_384;
    assert!(sink.uploaded_bytes() < limit, "{} of {} bytes", sink.uploaded_bytes(), narrow.byte_len());

    let entries = entries_of(&mut *keyed, state);
    let all = open(&backend, dir.path(), ALL, std::slice::from_ref(&handle), &store);
    assert_same_quarter(entries, all);
}

fn assert_same_quarter(entries: Vec<(Vec<u8>, Vec<u8>)>, mut all: Box<dyn KeyedStateBackend>) {
    let state = all.register(&value_state("s")).expect("the state registers");
    let mut expected = entries_of(&mut *all, state);
    expected.retain(|(key, _)| key[0] >= 96);
    assert!(expected.len() > 9000 && entries == expected, "{} of {} entries", entries.len(), expected.len());
}

#[test]
fn a_handle_that_does_not_say_where_its_files_belong_restores_the_same() {
    let store = MemoryStore::new();
    let mut handle = two_layers(&store);
    let details = serde_json::json!({ "max-parallelism": MaxParallelism::DEFAULT.get() });
    handle.details = headpond_state::HandleDetails::of_format(&details).expect("an object");
    let (backend, dir) = (backend(), TempDir::new().expect("a temporary directory"));
    let mut keyed = open(&backend, dir.path(), LAST_QUARTER, std::slice::from_ref(&handle), &store);
    let state = keyed.register(&value_state("s")).expect("the state registers");
    let entries = entries_of(&mut *keyed, state);
    assert_same_quarter(entries, open(&backend, dir.path(), ALL, &[handle], &store));
}

#[test]
fn a_deleted_range_that_crosses_files_of_a_level_is_moved_entry_by_entry() {
    let store = MemoryStore::new();
    let (backend, dir) = (backend(), TempDir::new().expect("a temporary directory"));
    let mut keyed = open(&backend, dir.path(), ALL, &[], &store);
    let state = keyed.register(&value_state("s")).expect("the state registers");
    put(&mut *keyed, state, 1);
    checkpoint(&mut *keyed, &store, 1, true);
    // Eight runs become a tier of several files, which a deleted range crosses; some of it is written again.
    let mut handle = None;
    for run in 0..8 {
        let mut batch = WriteBatch::new();
        if run == 3 {
            batch.delete_range(state, &key(ENTRIES / 8), &key(ENTRIES * 7 / 8));
        }
        (run..ENTRIES).step_by(24).for_each(|entry| batch.put(state, &key(entry), &value(entry, run.into())));
        keyed.write(&mut batch).expect("the batch is written");
        handle = Some(checkpoint(&mut *keyed, &store, 2 + u64::from(run), false));
    }
    // They are merged in the background, and then a checkpoint says so.
    let mut handle = handle.expect("there were runs");
    for id in 10.. {
        let details: serde_json::Value = handle.details.read().expect("an object");
        if details["placement"]["entangled"] == serde_json::json!([0]) {
            break;
        }
        assert!(id < 500, "the files are not entangled: {details}");
        std::thread::sleep(std::time::Duration::from_millis(20));
        handle = checkpoint(&mut *keyed, &store, id, false);
    }
    let mut expected = entries_of(&mut *keyed, state);
    expected.retain(|(key, _)| key[0] >= 96);
    let mut narrow = open(&backend, dir.path(), LAST_QUARTER, &[handle], &store);
    let state = narrow.register(&value_state("s")).expect("the state registers");
    assert!(entries_of(&mut *narrow, state) == expected, "{} entries", expected.len());
}
