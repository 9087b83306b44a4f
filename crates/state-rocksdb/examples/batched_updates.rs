//! What a read-modify-write costs when an operator does it in large sorted batches.
//!
//! Running totals: 1 M keys, 10 M updates by default, in batches of 64 k distinct sorted keys; checkpoints in between.
//! CPU is that of the whole process, background work included. Run with
//!
//! ```text
//! cargo run --release -p headpond-state-rocksdb --example batched_updates \
//!     [-- KEYS UPDATES BATCH VALUE_BYTES BUDGET_MB]
//! ```

use headpond_state::{
    CheckpointId, CheckpointSink, CodecId, ContentHash, Error, KeyBatch, KeyGroupRange, KeyedBackendParams,
    MaxParallelism, OperatorClock, OperatorId, Result, SnapshotOptions, StateBackend, StateDescriptor, StateFile,
    StateKind, WriteBatch,
};
use headpond_state_rocksdb::{EmbeddedRocksDbStateBackend, RocksDbOptions};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const CHECKPOINTS: u64 = 5;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().expect("a number"));
    let mut argument = |default: u64| arguments.next().unwrap_or(default);
    let (keys, updates, batch_len) = (argument(1_000_000), argument(10_000_000), argument(65_536));
    let (value_len, budget_mb) = (argument(24) as usize, argument(512) as usize);
    let local = tempfile::tempdir().map_err(|cause| Error::io("no temporary directory", "", cause))?;
    let options = RocksDbOptions { memory_budget: budget_mb << 20, ..RocksDbOptions::default() };
    let backend = EmbeddedRocksDbStateBackend::with_options(options);
    let mut keyed = backend.open_keyed(params(local.path()), &[])?;
    let state = keyed.register(&StateDescriptor::new("totals", StateKind::Value, CodecId::new("bytes", 1)))?;

    let (started, cpu_before) = (Instant::now(), cpu_seconds());
    let (mut done, mut writes, mut checkpoint, mut sync_ms_max) = (0, WriteBatch::new(), 0, 0.0f64);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let (mut sorting, mut uploads, mut filler) = (0.0, Vec::new(), 1u64);
    while done < updates {
        let sort_started = Instant::now();
        let mut wanted: Vec<u64> = (0..batch_len)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 20) % keys
            })
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut batch = KeyBatch::new();
        wanted.iter().for_each(|index| batch.push(&key(*index, keys)));
        sorting += sort_started.elapsed().as_secs_f64();
        keyed.read_many(state, &batch, &mut |index, value| {
            writes.put_with(state, batch.get(index), |out| {
                let start = out.len();
                // Values that do not compress: the state takes on disk what it holds.
                while out.len() < start + value_len {
                    filler = filler.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    out.extend_from_slice(&(filler >> 16).to_le_bytes()[..6]);
                }
                out.truncate(start + value_len.max(8));
                let total =
                    value.and_then(|value| value.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes)) + 1;
                out[start..start + 8].copy_from_slice(&total.to_le_bytes());
            });
            Ok(())
        })?;
        keyed.write(&mut writes)?;
        done += batch_len;
        if done * CHECKPOINTS / updates > checkpoint {
            checkpoint += 1;
            let cut = Instant::now();
            let snapshot = keyed.snapshot(CheckpointId(checkpoint), &SnapshotOptions::default())?;
            sync_ms_max = sync_ms_max.max(cut.elapsed().as_secs_f64() * 1e3);
            uploads.push(std::thread::spawn(move || snapshot.upload(&Discard)));
        }
    }
    for upload in uploads {
        upload.join().map_err(|_| Error::internal("an upload panicked"))??;
    }
    let (wall, cpu) = (started.elapsed().as_secs_f64(), cpu_seconds() - cpu_before);
    println!(
        "{keys} keys, {done} updates in batches of {batch_len}, {value_len} bytes, budget {budget_mb} MB: \
         {:.2} us of CPU per update ({:.2} of it making the batches), {:.2} us of wall time; \
         slowest sync phase {sync_ms_max:.2} ms; compactions {:?}; {:?}; peak RSS {} MB",
        cpu * 1e6 / done as f64,
        sorting * 1e6 / done as f64,
        wall * 1e6 / done as f64,
        backend.compaction_totals(),
        keyed.usage(),
        peak_rss_kib() / 1024,
    );
    keyed.close()
}

fn key(index: u64, keys: u64) -> Vec<u8> {
    let mut key = vec![(index * 128 / keys) as u8];
    key.extend_from_slice(&index.to_be_bytes());
    key
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

/// User and system time of this process, from Linux's /proc; zero elsewhere.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / 100.0
}

fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
}

/// Hashes files, as a real sink would, and forgets them.
#[derive(Debug)]
struct Discard;

impl CheckpointSink for Discard {
    fn put_file(&self, name: &str, path: &Path) -> Result<StateFile> {
        let mut file = std::fs::File::open(path).map_err(|cause| Error::io("cannot open", path, cause))?;
        self.put_stream(name, &mut file)
    }

    fn put_stream(&self, name: &str, content: &mut dyn Read) -> Result<StateFile> {
        let mut hasher = blake3::Hasher::new();
        let length = std::io::copy(content, &mut hasher).map_err(|cause| Error::io("cannot read", name, cause))?;
        Ok(StateFile { name: name.to_owned(), hash: ContentHash(*hasher.finalize().as_bytes()), length })
    }

    fn reuse(&self, _: &StateFile) -> Result<bool> {
        Ok(true)
    }
}
