//! What the databases of a process hold in memory, under the default budget.

mod instance;

use headpond_state::{CheckpointId, SnapshotOptions, WriteBatch};
use headpond_state_conformance::MemoryStore;
use headpond_state_rocksdb::EmbeddedRocksDbStateBackend;
use instance::{Instance, value_state};

const KEYS: u32 = 2000;

/// Far below the budget, where nothing has to leave the cache yet.
#[test]
fn checkpoints_leave_nothing_in_memory() {
    let backend = EmbeddedRocksDbStateBackend::new(true);
    let store = MemoryStore::new();
    let mut instance = Instance::open(&backend);
    let state = instance.keyed.register(&value_state("s")).expect("the state registers");
    let mut most = Vec::new();
    for id in 0..400u64 {
        let mut batch = WriteBatch::new();
        for n in 0..KEYS {
            let mut key = vec![(n % 128) as u8];
            key.extend_from_slice(&n.to_be_bytes());
            // Bytes that do not compress.
            let value: Vec<u8> =
                (0..12).flat_map(|word| mixed(id << 40 | u64::from(n) << 8 | word).to_le_bytes()).collect();
            batch.put(state, &key, &value);
            instance.keyed.read(state, &key, &mut |_| Ok(())).expect("the key is read");
        }
        instance.keyed.write(&mut batch).expect("the batch is written");
        let snapshot = instance.keyed.snapshot(CheckpointId(id), &SnapshotOptions::default()).expect("a snapshot");
        snapshot.upload(&store.sink()).expect("the snapshot uploads");
        most.push(backend.memory_bytes());
    }
    let most_in = |range: std::ops::Range<usize>| most[range].iter().max().copied().unwrap_or_default();
    let (early, late) = (most_in(50..100), most_in(350..400));
    // Memtables and blocks of the moment differ by some megabytes; each checkpoint's blocks left behind would be 70 MB.
    assert!(late <= early + (24 << 20), "{early} B after 100 checkpoints, {late} B after 400");
}

/// SplitMix64.
fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
