//! What it costs to restore with another parallelism, next to inserting all entries again.
//!
//! Builds a state in `FROM` instances, a base and ten layers of uniform changes and deletions above it, checkpoints it
//! into a directory, and restores it with `TO` instances, and with the next parallelism, if there are more. Run with
//! `cargo run --release --workspace --example rescale -- MEGABYTES FROM TO [TO ...]`; prints a table in Markdown.

use headpond_state::{
    CheckpointId, CheckpointSink, CheckpointSource, CodecId, ContentHash, Entry, Error, KeyGroupRange,
    KeyedBackendParams, KeyedStateBackend, KeyedStateHandle, MaxParallelism, OperatorClock, OperatorId, RestoredState,
    Result, ScanRange, SnapshotOptions, StateBackend, StateDescriptor, StateFile, StateId, StateKind, WriteBatch,
};
use headpond_state_rocksdb::EmbeddedRocksDbStateBackend;
use rust_rocksdb::{DB, ExportImportFilesMetaData, ImportColumnFamilyOptions, IteratorMode, LiveFile, Options};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEY_LEN: u64 = 9;
const VALUE_LEN: usize = 91;
const GROUPS: u64 = 128;
const LAYERS: u64 = 10;
const CHANGED_PERCENT: u64 = 2;
const BATCH: usize = 65_536;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().expect("a number"));
    let megabytes = arguments.next().unwrap_or(200);
    let mut parallelisms: Vec<usize> = arguments.map(|parallelism| parallelism as usize).collect();
    if parallelisms.len() < 2 {
        parallelisms = vec![2, 4];
    }
    let entries = megabytes * 1_000_000 / (KEY_LEN + VALUE_LEN as u64);
    let work = tempfile::tempdir().map_err(|cause| Error::io("no temporary directory", "", cause))?;
    let store = Directory::create(work.path().join("store"))?;
    let backend = EmbeddedRocksDbStateBackend::new(true);
    println!("{megabytes} MB in {entries} entries, {} instances at first.\n", parallelisms[0]);
    println!(
        "| from, to | restore of linked files: CPU s (wall) | inserting entries from memory | ratio, CPU (wall) | restore of \
         checked copies | inserting entries read from checked copies | ratio, CPU (wall) | fetched MB | files whole, cut | uploaded by the next checkpoint MB | on disk before, after MB | foreign keys |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut handles = build(&backend, &store, work.path(), entries, parallelisms[0])?;
    for pair in parallelisms.windows(2) {
        handles = step(&backend, &store, work.path(), entries, pair, &handles)?;
    }
    Ok(())
}

/// Restores with another parallelism, prints what that took, and returns the handles of the next checkpoint.
fn step(
    backend: &EmbeddedRocksDbStateBackend,
    store: &Directory,
    work: &Path,
    entries: u64,
    parallelisms: &[usize],
    handles: &[KeyedStateHandle],
) -> Result<Vec<KeyedStateHandle>> {
    let ranges: Vec<_> =
        (0..parallelisms[1]).map(|subtask| MaxParallelism::DEFAULT.range_of(subtask, parallelisms[1])).collect();
    let [mut linked, mut copied, mut inserted, mut read] = [Cost::default(); 4];
    let (mut fetched, mut on_disk, mut foreign, mut uploaded, mut whole, mut cut) = (0, 0, 0, 0, 0, 0);
    let mut next = Vec::new();
    for range in ranges {
        let copies = Directory { checks: true, ..store.clone() };
        let (_, cost) = Cost::of(|| open(backend, work, range, handles, &copies)?.close())?;
        copied += cost;
        let (_, cost) = Cost::of(|| read_and_insert(backend, work, range, handles, &copies))?;
        read += cost;
        let (_, cost) = Cost::of(|| insert_again(backend, work, range, entries))?;
        inserted += cost;
        let before = store.fetched();
        let (mut keyed, cost) = Cost::of(|| open(backend, work, range, handles, store))?;
        linked += cost;
        fetched += store.fetched() - before;
        let files = tables(&work.join("local"))?;
        on_disk += files.iter().map(|file| file.1).sum::<u64>();
        let named: BTreeSet<u64> = handles.iter().flat_map(|handle| &handle.files).map(|file| file.length).collect();
        whole += files.iter().filter(|file| named.contains(&file.1)).count();
        cut += files.iter().filter(|file| !named.contains(&file.1)).count();
        foreign += foreign_keys(&work.join("scratch"), &files, range)?;
        check(&mut *keyed, range, entries)?;
        let sink = Sink { store, base: handles, uploaded: Default::default() };
        let snapshot = keyed.snapshot(CheckpointId(100), &SnapshotOptions::default())?;
        next.push(snapshot.upload(&sink)?);
        uploaded += sink.uploaded.into_inner();
        keyed.close()?;
    }
    let (mb, before) = (|bytes: u64| bytes as f64 / 1e6, handles.iter().map(|handle| handle.byte_len()).sum());
    println!(
        "| {}, {} | {linked} | {inserted} | {} | {copied} | {read} | {} | {:.0} | {whole}, {cut} | {:.0} | {:.0}, {:.0} | {foreign} |",
        parallelisms[0],
        parallelisms[1],
        inserted.as_multiple_of(linked),
        read.as_multiple_of(copied),
        mb(fetched),
        mb(uploaded),
        mb(before),
        mb(on_disk),
    );
    Ok(next)
}

/// A base, and layers above it.
fn build(
    backend: &EmbeddedRocksDbStateBackend,
    store: &Directory,
    work: &Path,
    entries: u64,
    parallelism: usize,
) -> Result<Vec<KeyedStateHandle>> {
    let build_one = |subtask| {
        let range = MaxParallelism::DEFAULT.range_of(subtask, parallelism);
        let mut keyed = open(backend, work, range, &[], store)?;
        let state = keyed.register(&descriptor())?;
        let own = entries_of(range, entries);
        write(&mut *keyed, state, own.clone().map(|entry| (entry, Some(0))), entries)?;
        let mut handle = checkpoint(&mut *keyed, store, 0, &[])?;
        for layer in 1..=LAYERS {
            let changed = own.clone().filter_map(|entry| changed_in(layer, entry).map(|value| (entry, value)));
            write(&mut *keyed, state, changed, entries)?;
            handle = checkpoint(&mut *keyed, store, layer, &[handle])?;
            wait_for_merges(backend);
        }
        keyed.close()?;
        Ok(handle)
    };
    (0..parallelism).map(build_one).collect()
}

/// A job has time for them between two checkpoints.
fn wait_for_merges(backend: &EmbeddedRocksDbStateBackend) {
    let mut seen = None;
    while seen != Some(backend.compaction_totals()) {
        seen = Some(backend.compaction_totals());
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// What a layer does to an entry: nothing, a deletion or another value.
fn changed_in(layer: u64, entry: u64) -> Option<Option<u64>> {
    let dice = Random(entry * LAYERS + layer).next() % (100 * 10);
    (dice < CHANGED_PERCENT * 10).then_some((dice >= CHANGED_PERCENT).then_some(layer))
}

/// The entry's value in the end, by the layer it is of.
fn value_of(entry: u64) -> Option<u64> {
    (1..=LAYERS).rev().find_map(|layer| changed_in(layer, entry)).unwrap_or(Some(0))
}

/// Reads the entries from the checkpoint and writes them.
fn read_and_insert(
    backend: &EmbeddedRocksDbStateBackend,
    work: &Path,
    range: KeyGroupRange,
    handles: &[KeyedStateHandle],
    source: &Directory,
) -> Result<()> {
    let mut keyed = open(backend, work, range, &[], source)?;
    let state = keyed.register(&descriptor())?;
    let mut batch = WriteBatch::new();
    for handle in handles.iter().filter(|handle| !handle.key_groups.intersection(range).is_empty()) {
        let restored = RestoredState { handle, source };
        let mut reader = backend.open_reader(restored, MaxParallelism::DEFAULT, &work.join("reader"))?;
        reader.read(0, range, &mut |Entry { key, value }| {
            batch.put(state, key, value);
            match batch.len() < BATCH {
                true => Ok(ControlFlow::Continue(())),
                false => keyed.write(&mut batch).map(|()| ControlFlow::Continue(())),
            }
        })?;
    }
    keyed.write(&mut batch)?;
    keyed.snapshot(CheckpointId(1), &SnapshotOptions::default())?.upload(&Nowhere)?;
    keyed.close()
}

/// Writes the entries, which are made up again: the best case.
fn insert_again(backend: &EmbeddedRocksDbStateBackend, work: &Path, range: KeyGroupRange, entries: u64) -> Result<()> {
    let mut keyed = open(backend, work, range, &[], &Directory::default())?;
    let state = keyed.register(&descriptor())?;
    let live = entries_of(range, entries).filter_map(|entry| value_of(entry).map(|layer| (entry, Some(layer))));
    write(&mut *keyed, state, live, entries)?;
    // What a restore leaves is on disk.
    keyed.snapshot(CheckpointId(1), &SnapshotOptions::default())?.upload(&Nowhere)?;
    keyed.close()
}

/// Panics unless the state is what it should be.
fn check(keyed: &mut dyn KeyedStateBackend, range: KeyGroupRange, entries: u64) -> Result<()> {
    let state = keyed.register(&descriptor())?;
    let mut expected = entries_of(range, entries).filter_map(|entry| value_of(entry).map(|layer| (entry, layer)));
    keyed.scan(state, &ScanRange::all(), &mut |Entry { key: found, value }| {
        let (entry, layer) = expected.next().expect("an entry that is live");
        assert!(found == key(entry, entries) && value == bytes(entry, layer), "entry {entry} differs");
        Ok(ControlFlow::Continue(()))
    })?;
    assert!(expected.next().is_none(), "an entry is missing");
    Ok(())
}

fn write(
    keyed: &mut dyn KeyedStateBackend,
    state: StateId,
    changes: impl Iterator<Item = (u64, Option<u64>)>,
    entries: u64,
) -> Result<()> {
    let mut batch = WriteBatch::new();
    for (entry, layer) in changes {
        match layer {
            Some(layer) => batch.put(state, &key(entry, entries), &bytes(entry, layer)),
            None => batch.delete(state, &key(entry, entries)),
        }
        if batch.len() == BATCH {
            keyed.write(&mut batch)?;
        }
    }
    keyed.write(&mut batch)
}

fn checkpoint(
    keyed: &mut dyn KeyedStateBackend,
    store: &Directory,
    id: u64,
    base: &[KeyedStateHandle],
) -> Result<KeyedStateHandle> {
    let snapshot = keyed.snapshot(CheckpointId(id), &SnapshotOptions { incremental: true, compact: id == 0 })?;
    let handle = snapshot.upload(&Sink { store, base, uploaded: Default::default() })?;
    keyed.checkpoint_completed(CheckpointId(id))?;
    Ok(handle)
}

/// The `entry`th of `entries`, in the order of the state: a key group and eight bytes.
fn key(entry: u64, entries: u64) -> [u8; KEY_LEN as usize] {
    let mut key = [(entry * GROUPS / entries) as u8; KEY_LEN as usize];
    key[1..].copy_from_slice(&entry.to_be_bytes());
    key
}

fn bytes(entry: u64, layer: u64) -> [u8; VALUE_LEN] {
    let mut random = Random(entry ^ layer << 48);
    let mut value = [0; VALUE_LEN];
    value.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]));
    value
}

fn entries_of(range: KeyGroupRange, entries: u64) -> std::ops::Range<u64> {
    let first = |group: u16| (u64::from(group) * entries).div_ceil(GROUPS);
    first(range.start)..first(range.end)
}

fn descriptor() -> StateDescriptor {
    StateDescriptor::new("s", StateKind::Value, CodecId::new("bytes", 1))
}

fn open(
    backend: &EmbeddedRocksDbStateBackend,
    work: &Path,
    key_groups: KeyGroupRange,
    handles: &[KeyedStateHandle],
    source: &Directory,
) -> Result<Box<dyn KeyedStateBackend>> {
    let params = KeyedBackendParams {
        operator: OperatorId::new("benchmark"),
        subtask: 0,
        key_groups,
        max_parallelism: MaxParallelism::DEFAULT,
        clock: Arc::new(OperatorClock::new(0)),
        local_dir: work.join("local"),
    };
    let restored: Vec<_> = handles.iter().map(|handle| RestoredState { handle, source }).collect();
    backend.open_keyed(params, &restored)
}

/// The table files in a directory, with their sizes.
fn tables(dir: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let failed = |cause| Error::io("cannot list files", dir, cause);
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        match entry.metadata().map_err(failed)? {
            kind if kind.is_dir() => found.extend(tables(&entry.path())?),
            kind if entry.path().extension().is_some_and(|extension| extension == "sst") => {
                found.push((entry.path(), kind.len()));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Keys outside of the key groups in any of the files, each read by itself.
fn foreign_keys(scratch: &Path, files: &[(PathBuf, u64)], range: KeyGroupRange) -> Result<u64> {
    let failed = |cause: rust_rocksdb::Error| Error::internal("cannot read a table file").because(cause.into_string());
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_disable_auto_compactions(true);
    let mut foreign = 0;
    {
        let mut rocks = DB::open(&options, scratch).map_err(failed)?;
        for (number, (path, size)) in files.iter().enumerate() {
            let file = LiveFile {
                column_family_name: String::new(),
                name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                directory: path.parent().unwrap_or(scratch).to_string_lossy().into_owned(),
                size: *size as usize,
                level: 1,
                start_key: None,
                end_key: None,
                smallest_seqno: 0,
                largest_seqno: 1 << 40,
                num_entries: 0,
                num_deletions: 0,
            };
            let mut metadata = ExportImportFilesMetaData::default();
            metadata.set_db_comparator_name("leveldb.BytewiseComparator");
            metadata.set_files(&[file]).map_err(failed)?;
            let name = number.to_string();
            let copying = ImportColumnFamilyOptions::default();
            rocks.create_column_family_with_import(&options, &name, &copying, &metadata).map_err(failed)?;
            let outside =
                |key: &[u8]| key.first().is_none_or(|group| !(range.start..range.end).contains(&(*group).into()));
            let Some(family) = rocks.cf_handle(&name) else { continue };
            for item in rocks.iterator_cf(&family, IteratorMode::Start) {
                foreign += u64::from(outside(&item.map_err(failed)?.0));
            }
            // The first and the last key may be deleted.
            for file in rocks.live_files().map_err(failed)?.iter().filter(|file| file.column_family_name == name) {
                let ends = [&file.start_key, &file.end_key];
                foreign += ends.iter().filter(|key| key.as_deref().is_none_or(outside)).count() as u64;
            }
            rocks.drop_cf(&name).map_err(failed)?;
        }
    }
    fs::remove_dir_all(scratch).map_err(|cause| Error::io("cannot remove files", scratch, cause))?;
    Ok(foreign)
}

/// CPU and wall time in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    cpu: f64,
    wall: f64,
}

impl Cost {
    /// What `work` takes; everything the process does counts.
    fn of<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Cost)> {
        let (started, before) = (Instant::now(), Self::cpu_seconds());
        let done = work()?;
        Ok((done, Cost { cpu: Self::cpu_seconds() - before, wall: started.elapsed().as_secs_f64() }))
    }

    fn as_multiple_of(self, other: Cost) -> String {
        format!("{:.1} ({:.1})", self.cpu / other.cpu, self.wall / other.wall)
    }

    /// From Linux' `/proc`, in hundredths of a second; 0 elsewhere.
    fn cpu_seconds() -> f64 {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let after_name = stat.rsplit(") ").next().unwrap_or_default();
        let ticks = after_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
        ticks.sum::<f64>() / 100.0
    }
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.cpu += other.cpu;
        self.wall += other.wall;
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} ({:.2})", self.cpu, self.wall)
    }
}

/// A checkpoint store: files named by their hash. Fetches by linking, or by copying and checking.
#[derive(Debug, Clone, Default)]
struct Directory {
    path: PathBuf,
    checks: bool,
    fetched: Arc<std::sync::atomic::AtomicU64>,
}

impl Directory {
    fn create(path: PathBuf) -> Result<Self> {
        fs::create_dir_all(&path).map_err(|cause| Error::io("cannot create a directory", &path, cause))?;
        Ok(Directory { path, ..Directory::default() })
    }

    fn locate(&self, file: &StateFile) -> PathBuf {
        self.path.join(file.hash.to_string())
    }

    fn fetched(&self) -> u64 {
        self.fetched.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl CheckpointSource for Directory {
    fn fetch_all(&self, files: &[(&StateFile, PathBuf)]) -> Result<()> {
        files.iter().try_for_each(|(file, to)| self.fetch(file, to))
    }

    fn fetch(&self, file: &StateFile, to: &Path) -> Result<()> {
        self.fetched.fetch_add(file.length, std::sync::atomic::Ordering::Relaxed);
        let from = self.locate(file);
        let failed = |cause| Error::io("cannot fetch a file", &from, cause);
        if !self.checks {
            return fs::hard_link(&from, to).map_err(failed);
        }
        let mut hasher = blake3::Hasher::new();
        let (mut from_file, mut to_file) =
            (fs::File::open(&from).map_err(failed)?, fs::File::create(to).map_err(failed)?);
        let mut buffer = vec![0; 256 << 10];
        loop {
            let read = from_file.read(&mut buffer).map_err(failed)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            std::io::Write::write_all(&mut to_file, &buffer[..read]).map_err(failed)?;
        }
        match hasher.finalize().as_bytes() == &file.hash.0 {
            true => Ok(()),
            false => Err(Error::corrupt("a file differs")),
        }
    }

    fn open(&self, file: &StateFile) -> Result<Box<dyn Read + Send>> {
        let path = self.locate(file);
        let file = fs::File::open(&path).map_err(|cause| Error::io("cannot open", &path, cause))?;
        Ok(Box::new(file))
    }
}

/// A checkpoint on its way into the directory.
#[derive(Debug)]
struct Sink<'a> {
    store: &'a Directory,
    base: &'a [KeyedStateHandle],
    uploaded: std::sync::atomic::AtomicU64,
}

impl CheckpointSink for Sink<'_> {
    fn put_file(&self, name: &str, path: &Path) -> Result<StateFile> {
        let mut file = fs::File::open(path).map_err(|cause| Error::io("cannot open", path, cause))?;
        self.put_stream(name, &mut file)
    }

    fn put_stream(&self, name: &str, content: &mut dyn Read) -> Result<StateFile> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(|cause| Error::io("cannot read", name, cause))?;
        let hash = ContentHash(*blake3::hash(&bytes).as_bytes());
        let file = StateFile { name: name.to_owned(), hash, length: bytes.len() as u64 };
        let to = self.store.locate(&file);
        fs::write(&to, &bytes).map_err(|cause| Error::io("cannot write", &to, cause))?;
        self.uploaded.fetch_add(file.length, std::sync::atomic::Ordering::Relaxed);
        Ok(file)
    }

    fn reuse(&self, file: &StateFile) -> Result<bool> {
        Ok(self.base.iter().any(|handle| handle.files.iter().any(|known| known.hash == file.hash)))
    }
}

/// Takes files without looking at them.
#[derive(Debug)]
struct Nowhere;

impl CheckpointSink for Nowhere {
    fn put_file(&self, name: &str, _: &Path) -> Result<StateFile> {
        Ok(StateFile { name: name.to_owned(), hash: ContentHash([0; 32]), length: 0 })
    }

    fn put_stream(&self, name: &str, _: &mut dyn Read) -> Result<StateFile> {
        self.put_file(name, Path::new(""))
    }

    fn reuse(&self, _: &StateFile) -> Result<bool> {
        Ok(false)
    }
}

/// A small generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
