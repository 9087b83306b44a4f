//! How much an incremental checkpoint uploads for each byte that changed.
//!
//! A state of 200 MB of which 2 % of the keys change between checkpoints, in four patterns, or those named. Run with
//! `cargo run --release --workspace --example upload_amplification [-- CHECKPOINTS [MEGABYTES [PATTERN ...]]]`;
//! prints a table in Markdown. *Retained* is what the last two checkpoints name together.

use headpond_state::{
    CheckpointId, CheckpointSink, CodecId, ContentHash, Error, KeyBatch, KeyGroupRange, KeyedBackendParams,
    KeyedStateBackend, KeyedStateHandle, MaxParallelism, OperatorClock, OperatorId, Result, SnapshotOptions,
    StateBackend, StateDescriptor, StateFile, StateId, StateKind, WriteBatch,
};
use headpond_state_rocksdb::{EmbeddedRocksDbStateBackend, RocksDbOptions};
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const VALUE_LEN: usize = 91;
const KEY_LEN: usize = 9;
const CHANGED_PERCENT: u64 = 2;

/// Which keys change between two checkpoints.
#[derive(Debug, Clone, Copy)]
enum Pattern {
    /// Neighbours in the order of the state.
    Clustered,
    /// Neighbours among a job's keys, which their hash spreads over the key groups: a cluster in each.
    ClusteredBeforeHashing,
    /// Any keys.
    Uniform,
    /// New keys, anywhere; nothing is overwritten.
    Inserts,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).map(|argument| argument.parse::<u64>().expect("a number"));
    let (checkpoints, megabytes) = (number(0).unwrap_or(20), number(1).unwrap_or(200));
    println!(
        "State of {megabytes} MB, {CHANGED_PERCENT} % of the keys changed between checkpoints, {checkpoints} checkpoints.\n"
    );
    println!(
        "| pattern | changed MB | uploaded MB, mean (max) | share of the state | amplification | files, mean (max) | retained MB, max | compaction read / written MB | \
         sync ms, mean (max) | upload ms, mean | read us per key, before / after |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for pattern in [Pattern::Clustered, Pattern::ClusteredBeforeHashing, Pattern::Uniform, Pattern::Inserts] {
        if arguments.len() < 3 || arguments[2..].contains(&format!("{pattern:?}")) {
            run(pattern, checkpoints, megabytes)?;
        }
    }
    Ok(())
}

fn run(pattern: Pattern, checkpoints: u64, megabytes: u64) -> Result<()> {
    let local = tempfile::tempdir().map_err(|cause| Error::io("no temporary directory", "", cause))?;
    let backend = EmbeddedRocksDbStateBackend::with_options(RocksDbOptions::default());
    let mut keyed = backend.open_keyed(params(local.path()), &[])?;
    let state = keyed.register(&StateDescriptor::new("s", StateKind::Value, CodecId::new("bytes", 1)))?;
    let keys = megabytes * 1_000_000 / (KEY_LEN + VALUE_LEN) as u64;
    let mut random = Random(7);
    write(&mut *keyed, state, (0..keys).map(|index| key(index, keys)), &mut random)?;
    let base = keyed
        .snapshot(CheckpointId(0), &SnapshotOptions { incremental: true, compact: true })?
        .upload(&CountingSink::default())?;
    let read_before = read_cost(&mut *keyed, state, keys, &mut random)?;
    let compacted_before = backend.compaction_totals();

    let changes = keys * CHANGED_PERCENT / 100;
    let (mut total, mut most, mut files, mut sync, mut sync_most, mut upload) = (0, 0, 0, 0.0, 0.0f64, 0.0);
    let (mut files_most, mut retained_most) = (0, 0);
    let mut last = base;
    for id in 1..=checkpoints {
        let start = random.next() % keys;
        let changed: Vec<Vec<u8>> = match pattern {
            Pattern::Clustered => (start..start + changes).map(|index| key(index % keys, keys)).collect(),
            Pattern::ClusteredBeforeHashing => {
                // Key group by key group, the same stretch of each.
                let (per_group, stretch) = (keys / 128, changes / 128);
                let begin = start % per_group;
                let within = move |group: u64| (begin..begin + stretch).map(move |i| group * per_group + i % per_group);
                (0..128).flat_map(within).map(|index| key(index, keys)).collect()
            }
            Pattern::Uniform => {
                distinct(changes, keys, &mut random).into_iter().map(|index| key(index, keys)).collect()
            }
            Pattern::Inserts => {
                let new = distinct(changes, keys, &mut random).into_iter();
                new.map(|index| [key(index, keys), id.to_be_bytes().to_vec()].concat()).collect()
            }
        };
        write(&mut *keyed, state, changed.into_iter(), &mut random)?;
        let started = Instant::now();
        let snapshot = keyed.snapshot(CheckpointId(id), &SnapshotOptions::default())?;
        let cut = started.elapsed().as_secs_f64() * 1e3;
        let sink = CountingSink::on(&last);
        let next = snapshot.upload(&sink)?;
        retained_most = retained_most.max(retained(&[&last, &next]));
        files_most = files_most.max(next.files.len());
        last = next;
        upload += started.elapsed().as_secs_f64() * 1e3;
        keyed.checkpoint_completed(CheckpointId(id))?;
        let uploaded = sink.uploaded.load(Ordering::Relaxed);
        (total, most, files) = (total + uploaded, most.max(uploaded), files + last.files.len());
        (sync, sync_most) = (sync + cut, sync_most.max(cut));
        wait_for_merges();
    }
    let compacted = backend.compaction_totals();
    let read_after = read_cost(&mut *keyed, state, keys, &mut random)?;
    let (mb, count) = (|bytes: u64| bytes as f64 / 1e6, checkpoints as f64);
    let changed = changes * (KEY_LEN + VALUE_LEN) as u64;
    println!(
        "| {pattern:?} | {:.1} | {:.1} ({:.1}) | {:.1} % | {:.2} | {:.0} ({files_most}) | {:.0} | {:.0} / {:.0} | {:.2} ({:.2}) | {:.0} | {read_before:.2} / {read_after:.2} |",
        mb(changed),
        mb(total) / count,
        mb(most),
        mb(total) / count / megabytes as f64 * 100.0,
        total as f64 / count / changed as f64,
        files as f64 / count,
        mb(retained_most),
        mb(compacted.bytes_read - compacted_before.bytes_read),
        mb(compacted.bytes_written - compacted_before.bytes_written),
        sync / count,
        sync_most,
        upload / count,
    );
    keyed.close()
}

/// A job has minutes between checkpoints: time for what has to be merged. When the process is idle, nothing is.
fn wait_for_merges() {
    let ticks = || {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let after_name = stat.rsplit(") ").next().unwrap_or_default();
        after_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>()
    };
    loop {
        let before = ticks();
        std::thread::sleep(Duration::from_millis(500));
        if ticks() <= before + 2 {
            return;
        }
    }
}

/// Bytes of the files that any of the handles names.
fn retained(handles: &[&KeyedStateHandle]) -> u64 {
    let files: HashSet<_> =
        handles.iter().flat_map(|handle| &handle.files).map(|file| (file.hash, file.length)).collect();
    files.iter().map(|(_, length)| length).sum()
}

/// Microseconds per key of a sorted batch of keys anywhere in the state.
fn read_cost(keyed: &mut dyn KeyedStateBackend, state: StateId, keys: u64, random: &mut Random) -> Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let mut batch = KeyBatch::new();
        distinct(8192, keys, random).into_iter().for_each(|index| batch.push(&key(index, keys)));
        let started = Instant::now();
        keyed.read_many(state, &batch, &mut |_, value| {
            assert!(value.is_some(), "a key is missing");
            Ok(())
        })?;
        best = best.min(started.elapsed().as_secs_f64() * 1e6 / batch.len() as f64);
    }
    Ok(best)
}

fn write(
    keyed: &mut dyn KeyedStateBackend,
    state: StateId,
    keys: impl Iterator<Item = Vec<u8>>,
    random: &mut Random,
) -> Result<()> {
    let mut batch = WriteBatch::new();
    let mut value = [0; VALUE_LEN];
    for key in keys {
        value.chunks_mut(8).for_each(|bytes| bytes.copy_from_slice(&random.next().to_le_bytes()[..bytes.len()]));
        batch.put(state, &key, &value);
        if batch.len() == 16_384 {
            keyed.write(&mut batch)?;
        }
    }
    keyed.write(&mut batch)
}

/// The `index`th of `keys` keys, in the order of the state: a key group and eight bytes.
fn key(index: u64, keys: u64) -> Vec<u8> {
    let mut key = vec![(index * 128 / keys) as u8];
    key.extend_from_slice(&index.to_be_bytes());
    key
}

/// `count` different numbers below `limit`, ascending.
fn distinct(count: u64, limit: u64, random: &mut Random) -> Vec<u64> {
    let mut numbers = HashSet::new();
    while (numbers.len() as u64) < count {
        numbers.insert(random.next() % limit);
    }
    let mut numbers: Vec<_> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers
}

fn params(local: &Path) -> KeyedBackendParams {
    KeyedBackendParams {
        operator: OperatorId::new("benchmark"),
        subtask: 0,
        key_groups: KeyGroupRange { start: 0, end: 128 },
        max_parallelism: MaxParallelism::DEFAULT,
        clock: Arc::new(OperatorClock::new(0)),
        local_dir: local.join("state"),
    }
}

/// Hashes and counts what it is given, and keeps none of it.
#[derive(Debug, Default)]
struct CountingSink {
    base: HashSet<ContentHash>,
    uploaded: AtomicU64,
}

impl CountingSink {
    fn on(base: &KeyedStateHandle) -> Self {
        CountingSink { base: base.files.iter().map(|file| file.hash).collect(), uploaded: AtomicU64::new(0) }
    }
}

impl CheckpointSink for CountingSink {
    fn put_file(&self, name: &str, path: &Path) -> Result<StateFile> {
        let mut file = std::fs::File::open(path).map_err(|cause| Error::io("cannot open", path, cause))?;
        self.put_stream(name, &mut file)
    }

    fn put_stream(&self, name: &str, content: &mut dyn Read) -> Result<StateFile> {
        let mut hasher = blake3::Hasher::new();
        let length = std::io::copy(content, &mut hasher).map_err(|cause| Error::io("cannot read", name, cause))?;
        self.uploaded.fetch_add(length, Ordering::Relaxed);
        Ok(StateFile { name: name.to_owned(), hash: ContentHash(*hasher.finalize().as_bytes()), length })
    }

    fn reuse(&self, file: &StateFile) -> Result<bool> {
        Ok(self.base.contains(&file.hash))
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
