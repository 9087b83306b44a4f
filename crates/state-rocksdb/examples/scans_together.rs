//! What short scans cost one by one, and told together: 1 M entries of 30-byte keys and 40-byte values, in batches of
//! 16 k prefixes in ascending order, of which half have an entry. Prints microseconds of CPU per scan (Linux only). Run
//! with
//!
//! ```text
//! cargo run --release -p headpond-state-rocksdb --example scans_together [-- ENTRIES BATCH]
//! ```

use headpond_state::{
    CodecId, Error, KeyGroupRange, KeyedBackendParams, MaxParallelism, OperatorClock, OperatorId, Result, ScanRange,
    StateBackend, StateDescriptor, StateKind, WriteBatch,
};
use headpond_state_rocksdb::{EmbeddedRocksDbStateBackend, RocksDbOptions};
use std::ops::ControlFlow;
use std::sync::Arc;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().expect("a number"));
    let (entries, batch_len) = (arguments.next().unwrap_or(1_000_000), arguments.next().unwrap_or(16_384));
    let local = tempfile::tempdir().map_err(|cause| Error::io("no temporary directory", "", cause))?;
    let options = RocksDbOptions { write_buffer_size: 8 << 20, ..RocksDbOptions::default() };
    let mut keyed = EmbeddedRocksDbStateBackend::with_options(options).open_keyed(
        KeyedBackendParams {
            operator: OperatorId::new("benchmark"),
            subtask: 0,
            key_groups: KeyGroupRange { start: 0, end: 128 },
            max_parallelism: MaxParallelism::DEFAULT,
            clock: Arc::new(OperatorClock::new(0)),
            local_dir: local.path().join("state"),
        },
        &[],
    )?;
    let state = keyed.register(&StateDescriptor::new("rows", StateKind::Map, CodecId::new("bytes", 1)))?;
    let mut batch = WriteBatch::new();
    for start in (0..entries).step_by(batch_len as usize) {
        (start..entries.min(start + batch_len)).for_each(|index| batch.put(state, &key(2 * index), &[7; 40]));
        keyed.write(&mut batch)?;
    }
    for together in [false, true, false, true] {
        let (mut seen, mut spent, mut scans) = (0u64, 0.0, 0u64);
        for start in (0..entries).step_by(8 * batch_len as usize) {
            let mut keys: Vec<_> = (start..start + batch_len).map(|index| key(index * 7919 % (2 * entries))).collect();
            keys.sort_unstable();
            let ranges: Vec<_> = keys.iter().map(|key| ScanRange::prefix(&key[..18])).collect();
            let begun = cpu_ns();
            if together {
                keyed.scan_many(state, &ranges, &mut |_, _| count(&mut seen))?;
            } else {
                ranges.iter().try_for_each(|range| keyed.scan(state, range, &mut |_| count(&mut seen)))?;
            }
            spent += cpu_ns() - begun;
            scans += batch_len;
        }
        let how = if together { "together" } else { "one by one" };
        println!(
            "{how}: {:.2} us per scan, {:.2} entries each",
            spent / 1e3 / scans as f64,
            seen as f64 / scans as f64
        );
    }
    keyed.close()
}

fn count(seen: &mut u64) -> Result<ControlFlow<()>> {
    *seen += 1;
    Ok(ControlFlow::Continue(()))
}

fn key(index: u64) -> Vec<u8> {
    let mut owner = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    owner = (owner ^ (owner >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    owner ^= owner >> 27;
    let mut key = vec![(owner % 128) as u8, 3];
    key.extend_from_slice(&owner.to_be_bytes());
    key.extend_from_slice(&(owner >> 7).to_be_bytes());
    key.extend_from_slice(&[1; 12]);
    key
}

/// The time this thread has run, in nanoseconds.
fn cpu_ns() -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    statistics.split_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or_default()
}
