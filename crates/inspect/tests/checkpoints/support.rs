//! Checkpoints made by hand: states with entries, in a directory of their own.

use headpond_checkpoint::manifest::{OperatorState, SubtaskState};
use headpond_checkpoint::{CheckpointStorage, LocalStores, Manifest, StorageOptions};
use headpond_inspect::{InspectedCheckpoint, RecordBatch, RowSink, SchemaRef, StateCatalog, StateReaders, as_text};
use headpond_rows::{RowCodec, RowFormat};
use headpond_state::encoding::{EntryKeys, KeySchema};
use headpond_state::schema::Datum;
use headpond_state::state_reader::CanonicalStateReader;
use headpond_state::{
    AttemptId, CheckpointId, Entry, KeyGroupRange, KeyedBackendParams, MaxParallelism, OperatorClock, OperatorId,
    RestoredState, Result, SnapshotOptions, StateBackend, StateDescriptor, StateReader, WriteBatch, ttl,
};
use headpond_state_memory::MemoryStateBackend;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) const MAX_PARALLELISM: MaxParallelism = MaxParallelism::DEFAULT;

/// An entry: the time before the key, the key, what follows it, the value.
pub(crate) struct TestEntry {
    pub(crate) time_ms: Option<i64>,
    pub(crate) key: Vec<u8>,
    pub(crate) rest: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// An operator's states with their entries.
pub(crate) struct TestOperator {
    pub(crate) id: &'static str,
    pub(crate) states: Vec<(StateDescriptor, Vec<TestEntry>)>,
}

/// A job's checkpoints in a temporary directory.
pub(crate) struct TestJob {
    dir: tempfile::TempDir,
    storage: CheckpointStorage,
    attempt: AttemptId,
}

impl TestJob {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().to_str().expect("a path of UTF-8");
        let storage = CheckpointStorage::open(path, "job", StorageOptions::default()).expect("the directory is ours");
        let attempt = AttemptId("attempt".into());
        storage.own(&attempt).expect("nobody else has it");
        TestJob { dir, storage, attempt }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Takes a checkpoint of a job with so many workers.
    pub(crate) fn checkpoint(&self, operators: &[TestOperator], parallelism: usize) -> CheckpointId {
        let id = self.storage.next_id().expect("a number is left");
        let pending = self.storage.begin(id, &self.attempt, None, true).expect("a checkpoint can be begun");
        let mut manifest = Manifest::new("job", self.attempt.clone(), id, parallelism, MAX_PARALLELISM);
        for operator in operators {
            let mut subtasks = Vec::new();
            for subtask in 0..parallelism {
                let groups = usize::from(MAX_PARALLELISM.get());
                let bound = |worker: usize| (worker * groups / parallelism) as u16;
                let key_groups = KeyGroupRange { start: bound(subtask), end: bound(subtask + 1) };
                let params = KeyedBackendParams {
                    operator: OperatorId::new(operator.id),
                    subtask,
                    key_groups,
                    max_parallelism: MAX_PARALLELISM,
                    clock: Arc::new(OperatorClock::default()),
                    local_dir: PathBuf::new(),
                };
                let backend = MemoryStateBackend::with_limit(1 << 30);
                let mut state = backend.open_keyed(params, &[]).expect("state can be opened");
                let keys = EntryKeys::new(MAX_PARALLELISM);
                let mut writes = WriteBatch::new();
                for (descriptor, entries) in &operator.states {
                    let state = state.register(descriptor).expect("the descriptor is right");
                    for entry in entries {
                        let group = keys.key_group(&entry.key);
                        if key_groups.contains(group) {
                            let mut key = Vec::new();
                            match entry.time_ms {
                                Some(time_ms) => keys.timed(group, time_ms, &entry.key, &entry.rest, &mut key),
                                None => keys.map_entry(group, &entry.key, &[], &entry.rest, &mut key),
                            }
                            writes.put(state, &key, &entry.value);
                        }
                    }
                }
                state.write(&mut writes).expect("there is room");
                let snapshot = state.snapshot(id, &SnapshotOptions::default()).expect("a snapshot");
                let handle = snapshot.upload(&*pending.sink()).expect("an upload");
                subtasks.push(SubtaskState {
                    subtask,
                    key_groups,
                    state: Some(handle),
                    details: serde_json::Value::Null,
                });
            }
            manifest.operators.push(OperatorState {
                operator: OperatorId::new(operator.id),
                kind: "test".into(),
                description: "made by hand".into(),
                event_time_ms: None,
                subtasks,
            });
        }
        self.storage.commit(pending, manifest).expect("the commit");
        id
    }

    /// The tables of the checkpoint at a path below the directory.
    pub(crate) fn open(&self, path: &str) -> Result<StateCatalog> {
        self.open_with(path, Arc::new(Canonical::default()))
    }

    pub(crate) fn open_with(&self, path: &str, readers: Arc<dyn StateReaders>) -> Result<StateCatalog> {
        let path = self.path(path);
        let checkpoint = InspectedCheckpoint::open(&LocalStores::default(), path.to_str().expect("a path of UTF-8"))?;
        StateCatalog::open(checkpoint, readers)
    }
}

/// Reads canonical handles, and counts the entries read.
#[derive(Debug, Default)]
pub(crate) struct Canonical {
    pub(crate) entries: Arc<AtomicUsize>,
}

impl StateReaders for Canonical {
    fn open<'a>(&self, state: RestoredState<'a>, max: MaxParallelism) -> Result<Box<dyn StateReader + 'a>> {
        Ok(Box::new(Counting(CanonicalStateReader::open(state, max)?, Arc::clone(&self.entries))))
    }
}

#[derive(Debug)]
struct Counting<'a>(CanonicalStateReader<'a>, Arc<AtomicUsize>);

impl StateReader for Counting<'_> {
    fn read(
        &mut self,
        state: usize,
        key_groups: KeyGroupRange,
        visit: &mut dyn FnMut(Entry<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let Counting(reader, entries) = self;
        reader.read(state, key_groups, &mut |entry| {
            entries.fetch_add(1, Ordering::Relaxed);
            visit(entry)
        })
    }
}

/// The rows of a query as text, the columns' names first.
#[derive(Debug, Default)]
struct Collected(Vec<Vec<String>>);

impl RowSink for Collected {
    fn begin(&mut self, schema: &SchemaRef) -> Result<()> {
        self.0.push(schema.fields().iter().map(|field| field.name().clone()).collect());
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>> {
        let columns = as_text(batch)?;
        self.0.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
        Ok(ControlFlow::Continue(()))
    }
}

/// The rows of a query, cells separated by `|`, the columns' names first.
pub(crate) fn rows(catalog: &StateCatalog, sql: &str) -> Vec<String> {
    try_rows(catalog, sql).unwrap_or_else(|error| panic!("`{sql}` fails: {error}"))
}

pub(crate) fn try_rows(catalog: &StateCatalog, sql: &str) -> Result<Vec<String>> {
    let mut collected = Collected::default();
    catalog.rows_of(sql, &mut collected)?;
    Ok(collected.0.iter().map(|row| row.join("|")).collect())
}

/// A key of this schema.
pub(crate) fn key(schema: &str, parts: &[Datum]) -> Vec<u8> {
    let schema: KeySchema = schema.parse().expect("a schema");
    let mut bytes = Vec::new();
    schema.encode(parts, &mut bytes).expect("the parts fit");
    bytes
}

/// A row of this schema in a format.
pub(crate) fn row(format: RowFormat, schema: &str, fields: &[Datum]) -> Vec<u8> {
    let codec = RowCodec::new(format, schema.parse().expect("a schema"));
    let mut bytes = Vec::new();
    codec.encode(fields, &mut bytes).expect("the fields fit");
    bytes
}

/// A value behind a stamp.
pub(crate) fn stamped(stamp_ms: i64, value: Vec<u8>) -> Vec<u8> {
    let mut bytes = Vec::new();
    ttl::seal(stamp_ms, &mut bytes);
    bytes.extend(value);
    bytes
}

/// An entry without a time.
pub(crate) fn entry(key: Vec<u8>, rest: Vec<u8>, value: Vec<u8>) -> TestEntry {
    TestEntry { time_ms: None, key, rest, value }
}
