//! What a state that is scanned costs in memory: inserts and scans of short prefixes, in batches, sorted or not.
//!
//! 1 M entries by default, keys of 30 bytes and values of 40 over 128 key groups; batches of 16 k. Every key has a
//! partner under the same prefix with a chance of a half. Prints nanoseconds of CPU per operation (Linux only). Run
//! with
//!
//! ```text
//! cargo run --release -p headpond-state-memory --example ordered_table [-- ENTRIES BATCH]
//! ```

use headpond_state::{
    CodecId, KeyGroupRange, KeyedBackendParams, KeyedStateBackend, MaxParallelism, OperatorClock, OperatorId, Result,
    ScanRange, StateBackend, StateDescriptor, StateId, StateKind, WriteBatch,
};
use headpond_state_memory::MemoryStateBackend;
use std::ops::ControlFlow;
use std::sync::Arc;

const GROUPS: u64 = 128;
/// The part of a key that a scan's prefix has.
const PREFIX_LEN: usize = 18;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().expect("a number"));
    let entries = arguments.next().unwrap_or(1_000_000);
    let batch_len = arguments.next().unwrap_or(16_384);
    for sorted in [false, true] {
        let mut keyed = MemoryStateBackend::new().open_keyed(params(), &[])?;
        let state = keyed.register(&StateDescriptor::new("rows", StateKind::Map, CodecId::new("bytes", 1)))?;
        let inserts = insert(&mut *keyed, state, entries, batch_len, sorted)?;
        let alone = scan(&mut *keyed, state, entries, batch_len, sorted, false)?;
        let together = scan(&mut *keyed, state, entries, batch_len, sorted, true)?;
        println!(
            "{}: {inserts:.0} ns per insert; {:.0} ns per scan alone, {:.0} together ({:.2} entries each); {} bytes an entry",
            if sorted { "sorted batches" } else { "random batches" },
            alone.0,
            together.0,
            together.1,
            keyed.usage().memory_bytes / keyed.usage().entries,
        );
        keyed.close()?;
    }
    Ok(())
}

fn insert(
    keyed: &mut dyn KeyedStateBackend,
    state: StateId,
    entries: u64,
    batch_len: u64,
    sorted: bool,
) -> Result<f64> {
    let (mut batch, mut spent) = (WriteBatch::new(), 0.0);
    for start in (0..entries).step_by(batch_len as usize) {
        let mut keys: Vec<_> = (start..entries.min(start + batch_len)).map(key).collect();
        if sorted {
            keys.sort_unstable();
        }
        keys.iter().for_each(|key| batch.put(state, key, &[7; 40]));
        let begun = cpu_ns();
        keyed.write(&mut batch)?;
        spent += cpu_ns() - begun;
    }
    Ok(spent / entries as f64)
}

/// Nanoseconds and entries per scan.
fn scan(
    keyed: &mut dyn KeyedStateBackend,
    state: StateId,
    entries: u64,
    batch_len: u64,
    sorted: bool,
    together: bool,
) -> Result<(f64, f64)> {
    let (mut seen, mut spent) = (0u64, 0.0);
    for start in (0..entries).step_by(batch_len as usize) {
        let mut keys: Vec<_> =
            (start..entries.min(start + batch_len)).map(|index| key(mix(index) % (2 * entries))).collect();
        if sorted {
            keys.sort_unstable();
        }
        let ranges: Vec<_> = keys.iter().map(|key| ScanRange::prefix(&key[..PREFIX_LEN])).collect();
        let mut count = |length: usize| {
            seen += (length > 0) as u64;
            Ok(ControlFlow::Continue(()))
        };
        let begun = cpu_ns();
        if together {
            keyed.scan_many(state, &ranges, &mut |_, entry| count(entry.value.len()))?;
        } else {
            ranges.iter().try_for_each(|range| keyed.scan(state, range, &mut |entry| count(entry.value.len())))?;
        }
        spent += cpu_ns() - begun;
    }
    Ok((spent / entries as f64, seen as f64 / entries as f64))
}

/// A key of 30 bytes; two of three indices share their prefix with a neighbour.
fn key(index: u64) -> Vec<u8> {
    let owner = mix(index / 3 * 2 + u64::from(index % 3 == 2));
    let mut key = vec![(owner % GROUPS) as u8, 3];
    key.extend_from_slice(&owner.to_be_bytes());
    key.extend_from_slice(&(owner >> 7).to_be_bytes());
    key.extend_from_slice(&1_600_000_000u32.to_be_bytes());
    key.extend_from_slice(&mix(index ^ 0x5555).to_be_bytes());
    key
}

fn mix(index: u64) -> u64 {
    let mut bits = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn params() -> KeyedBackendParams {
    KeyedBackendParams {
        operator: OperatorId::new("benchmark"),
        subtask: 0,
        key_groups: KeyGroupRange { start: 0, end: GROUPS as u16 },
        max_parallelism: MaxParallelism::DEFAULT,
        clock: Arc::new(OperatorClock::new(0)),
        local_dir: "unused".into(),
    }
}

/// The time this thread has run, in nanoseconds.
fn cpu_ns() -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    statistics.split_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or_default()
}
