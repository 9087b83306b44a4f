//! State in memory gives back what has expired and what was deleted.

use headpond_state::ttl::{self, TimeDomain, TtlConfig};
use headpond_state::{
    CheckpointId, CodecId, KeyGroupRange, KeyedBackendParams, KeyedStateBackend, MaxParallelism, OperatorClock,
    OperatorId, SnapshotOptions, StateBackend, StateDescriptor, StateId, StateKind, WriteBatch,
};
use headpond_state_memory::MemoryStateBackend;
use std::sync::Arc;

const TTL_MS: i64 = 10_000;
/// Entries that are live at any time: one comes each millisecond.
const LIVE: u64 = TTL_MS as u64;
/// Bytes that a small state may take beyond its share.
const SLACK: u64 = 256 << 10;

struct Instance {
    backend: MemoryStateBackend,
    keyed: Box<dyn KeyedStateBackend>,
    state: StateId,
    clock: Arc<OperatorClock>,
    batch: WriteBatch,
}

impl Instance {
    fn open(kind: StateKind, ttl: Option<TtlConfig>) -> Self {
        let backend = MemoryStateBackend::new();
        let clock = Arc::new(OperatorClock::new(0));
        let params = KeyedBackendParams {
            operator: OperatorId::new("totals/group/0"),
            subtask: 0,
            key_groups: KeyGroupRange { start: 0, end: 128 },
            max_parallelism: MaxParallelism::DEFAULT,
            clock: Arc::clone(&clock),
            local_dir: "unused".into(),
        };
        let mut keyed = backend.open_keyed(params, &[]).expect("an instance opens");
        let descriptor = StateDescriptor::new("s", kind, CodecId::new("bytes", 1)).with_ttl(ttl);
        let state = keyed.register(&descriptor).expect("a state");
        Instance { backend, keyed, state, clock, batch: WriteBatch::new() }
    }

    fn put(&mut self, index: u64, stamp_ms: i64) {
        self.batch.put_with(self.state, &key(index), |value| {
            ttl::seal(stamp_ms, value);
            value.extend_from_slice(&[7; 40]);
        });
    }

    fn write(&mut self) {
        self.keyed.write(&mut self.batch).expect("a write");
    }
}

fn key(index: u64) -> Vec<u8> {
    let spread = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    [&[(spread % 128) as u8][..], &spread.to_be_bytes(), &index.to_be_bytes()].concat()
}

/// What an instance with just these keys takes.
fn bytes_of(kind: StateKind, keys: std::ops::Range<u64>) -> u64 {
    let mut instance = Instance::open(kind, None);
    keys.for_each(|index| instance.put(index, 0));
    instance.write();
    instance.backend.used_bytes()
}

#[test]
fn memory_follows_what_is_live_over_five_times_to_live() {
    for kind in [StateKind::Value, StateKind::Map] {
        for domain in [TimeDomain::ProcessingTime, TimeDomain::EventTime] {
            let mut instance = Instance::open(kind, Some(TtlConfig { domain, ..TtlConfig::new(TTL_MS) }));
            let most = bytes_of(kind, 0..LIVE) * 12 / 10 + SLACK;
            let mut next = 0;
            for now_ms in (0..5 * TTL_MS).step_by(50) {
                instance.clock.advance_to(now_ms);
                instance.clock.advance_event_time_to(now_ms);
                for index in next..next + 50 {
                    instance.put(index, now_ms);
                    instance.put(index.saturating_sub(100), now_ms);
                }
                next += 50;
                instance.write();
                let used = instance.backend.used_bytes();
                assert!(used <= most, "{kind:?} at {now_ms} ms: {used} bytes, at most {most} are right");
            }
            let usage = instance.keyed.usage();
            assert!(usage.entries < LIVE * 12 / 10, "{usage:?}");
            assert!(usage.reclaimed_bytes >= 3 * LIVE * 65, "{usage:?}");
            assert!(usage.expired_bytes < LIVE * 65 / 8, "{usage:?}");
        }
    }
}

#[test]
fn a_state_that_is_no_longer_written_is_given_back_as_time_passes() {
    for kind in [StateKind::Value, StateKind::Map] {
        let mut instance = Instance::open(kind, Some(TtlConfig::new(TTL_MS)));
        (0..20_000).for_each(|index| instance.put(index, 0));
        instance.write();
        instance.clock.advance_to(TTL_MS);
        (0..200).for_each(|_| instance.keyed.time_passed().expect("an open instance"));
        assert_eq!((instance.keyed.usage().entries, instance.backend.used_bytes()), (0, 0), "{kind:?}");
    }
}

#[test]
fn a_snapshot_keeps_what_a_sweep_removes() {
    for kind in [StateKind::Value, StateKind::Map] {
        let mut instance = Instance::open(kind, Some(TtlConfig::new(TTL_MS)));
        (0..20_000).for_each(|index| instance.put(index, if index % 2 == 0 { 0 } else { TTL_MS }));
        instance.write();
        let snapshot = instance.keyed.snapshot(CheckpointId(1), &SnapshotOptions::default()).expect("a snapshot");
        instance.clock.advance_to(TTL_MS);
        (0..200).for_each(|_| instance.keyed.time_passed().expect("an open instance"));
        assert_eq!(instance.keyed.usage().entries, 10_000, "half of it has expired");
        let handle = snapshot.upload(&headpond_state_conformance::MemoryStore::new().sink()).expect("an upload");
        assert_eq!(handle.entries, 20_000, "the snapshot was taken before");
        let mut seen = 0;
        let odd = |index: u64| index % 2 == 1;
        for index in 0..20_000 {
            let found = instance
                .keyed
                .read(instance.state, &key(index), &mut |_| {
                    seen += 1;
                    Ok(())
                })
                .expect("a read");
            assert_eq!(found, odd(index), "entry {index}");
        }
    }
}

#[test]
fn memory_follows_what_an_owner_deletes() {
    for kind in [StateKind::Value, StateKind::Map] {
        let mut instance = Instance::open(kind, None);
        for index in 0..5 * LIVE {
            instance.put(index, 0);
            if index >= LIVE {
                instance.batch.delete(instance.state, &key(index - LIVE));
            }
            if index % 100 == 0 {
                instance.write();
            }
        }
        instance.write();
        let (live, used) = (bytes_of(kind, 0..LIVE), instance.backend.used_bytes());
        assert_eq!(instance.keyed.usage().entries, LIVE);
        assert!(used <= live * 12 / 10 + SLACK, "{kind:?}: {used} bytes after the oldest went, {live} are live");

        (5 * LIVE..9 * LIVE).for_each(|index| instance.put(index, 0));
        (4 * LIVE..9 * LIVE).filter(|index| index % 5 > 0).for_each(|index| {
            instance.batch.delete(instance.state, &key(index));
        });
        instance.write();
        let used = instance.backend.used_bytes();
        assert_eq!(instance.keyed.usage().entries, LIVE);
        assert!(used <= live * 14 / 10 + SLACK, "{kind:?}: {used} bytes after any went, {live} are live");

        (4 * LIVE..9 * LIVE).for_each(|index| instance.batch.delete(instance.state, &key(index)));
        instance.write();
        assert_eq!(instance.backend.used_bytes(), 0, "{kind:?}");
    }
}

#[test]
fn new_entries_do_not_copy_what_a_snapshot_has() {
    const MANY: u64 = 20 * LIVE;
    let mut instance = Instance::open(StateKind::Value, None);
    (0..MANY).for_each(|index| instance.put(index, 0));
    instance.write();
    // Few enough for their places to stay.
    (0..MANY).step_by(10).for_each(|index| instance.batch.delete(instance.state, &key(index)));
    instance.write();
    let before = instance.backend.used_bytes();
    let add = |instance: &mut Instance, from: u64| {
        (from..from + MANY / 10).for_each(|index| instance.put(index, 0));
        instance.write();
    };
    let options = SnapshotOptions::default();
    let snapshot = instance.keyed.snapshot(CheckpointId(1), &options).expect("a snapshot");
    add(&mut instance, MANY);
    let beside = instance.backend.used_bytes();
    assert!(beside < before + before / 4, "{before} bytes grew to {beside} beside a snapshot");
    drop(snapshot);
    // As many entries as before: the table that finds them need not grow.
    (MANY..MANY + MANY / 10).for_each(|index| instance.batch.delete(instance.state, &key(index)));
    instance.write();
    let before = instance.backend.used_bytes();
    add(&mut instance, 2 * MANY);
    let after = instance.backend.used_bytes();
    assert!(after < before + before / 20, "{before} bytes grew to {after} though there was room");
}
