//! Batches of writes.

use crate::subject::{contents, get, get_many, point_state, put, register, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::{CheckpointId, ErrorKind, KeyBatch, ScanRange, SnapshotOptions, StateId, WriteBatch};
use std::ops::ControlFlow;

/// Writes of a batch apply in its order.
pub fn later_writes_of_a_batch_win(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *keyed, &descriptor);
        let keys = [subject.key(1, "a"), subject.key(1, "b"), subject.key(1, "c")];
        write(&mut *keyed, |batch| {
            batch.put(state, &keys[0], b"first");
            batch.put(state, &keys[0], b"last");
            batch.put(state, &keys[1], b"soon gone");
            batch.delete(state, &keys[1]);
            batch.delete(state, &keys[2]);
            batch.put(state, &keys[2], b"back");
        });
        let expected = vec![Some(b"last".to_vec()), None, Some(b"back".to_vec())];
        assert_eq!(get_many(&mut *keyed, state, &keys), expected);
        write(&mut *keyed, |batch| {
            batch.delete_range(state, &keys[0], &keys[2]);
            batch.put(state, &keys[1], b"after the range");
            batch.delete_range(state, &keys[2], &subject.key(1, "d"));
        });
        assert_eq!(get_many(&mut *keyed, state, &keys), vec![None, Some(b"after the range".to_vec()), None]);
    }
}

/// A batch reaches all its states and comes back empty.
pub fn a_batch_is_applied_to_all_its_states_and_cleared(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let states: Vec<_> = (0..5)
        .map(|i| register(&mut *keyed, &if i % 2 == 0 { point_state } else { scan_state }(&format!("state-{i}"))))
        .collect();
    let mut batch = WriteBatch::new();
    for (i, &state) in states.iter().enumerate() {
        batch.put(state, &subject.key(i as u16, "k"), i.to_string().as_bytes());
    }
    keyed.write(&mut batch).expect("the batch is written");
    assert!(batch.is_empty(), "a written batch is not cleared");
    for (i, &state) in states.iter().enumerate() {
        assert_eq!(get(&mut *keyed, state, &subject.key(i as u16, "k")), Some(i.to_string().into_bytes()));
    }
    keyed.write(&mut batch).expect("an empty batch is written");
}

/// Overwriting with values of any other length loses nothing and disturbs no neighbour.
pub fn values_may_grow_and_shrink(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *keyed, &descriptor);
        let keys: Vec<_> = (0..40u8).map(|i| subject.key(2, [i])).collect();
        for round in 0..30usize {
            let values: Vec<_> = (0..keys.len()).map(|i| vec![round as u8; (i * 37 + round * 101) % 1500]).collect();
            write(&mut *keyed, |batch| {
                keys.iter().zip(&values).for_each(|(key, value)| batch.put(state, key, value));
            });
            let expected: Vec<_> = values.into_iter().map(Some).collect();
            assert_eq!(get_many(&mut *keyed, state, &keys), expected, "in round {round}");
        }
    }
}

/// A deleted range has its start and not its end.
pub fn ranges_are_deleted_from_start_to_before_end(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *keyed, &descriptor);
        let keys: Vec<_> = (0..200u8).map(|i| subject.key(9, [i])).collect();
        write(&mut *keyed, |batch| keys.iter().for_each(|key| batch.put(state, key, b"v")));
        write(&mut *keyed, |batch| batch.delete_range(state, &keys[50], &keys[150]));
        // From a key to itself, and backwards: nothing.
        write(&mut *keyed, |batch| batch.delete_range(state, &keys[10], &keys[10]));
        let left: Vec<_> = contents(&mut *keyed, state).into_iter().map(|(key, _)| key).collect();
        assert_eq!(left, [&keys[..50], &keys[150..]].concat());
        write(&mut *keyed, |batch| batch.delete_range(state, &subject.key(9, ""), &subject.key(10, "")));
        assert_eq!(contents(&mut *keyed, state), []);
    }
}

/// A range across key groups ends in the middle of the last.
pub fn a_range_may_span_key_groups(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *keyed, &descriptor);
        let keys: Vec<_> = (0..8).flat_map(|g| ["a", "b"].map(|rest| subject.key(g, rest))).collect();
        write(&mut *keyed, |batch| keys.iter().for_each(|key| batch.put(state, key, b"v")));
        write(&mut *keyed, |batch| batch.delete_range(state, &subject.key(1, "b"), &subject.key(5, "b")));
        let left: Vec<_> = contents(&mut *keyed, state).into_iter().map(|(key, _)| key).collect();
        assert_eq!(left, [&keys[..3], &keys[11..]].concat());
    }
}

/// Thousands of entries are put, overwritten, deleted and put again.
pub fn many_entries_come_and_go(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *keyed, &descriptor);
        let key = |i: u32| subject.key((i * 31 % 128) as u16, format!("key-{i:05}"));
        let value = |i: u32, round: u32| vec![b'a' + (i % 26) as u8; (i * 13 + round * 29) as usize % 90];
        for round in 0..4 {
            write(&mut *keyed, |batch| (0..4000).for_each(|i| batch.put(state, &key(i), &value(i, round))));
            write(&mut *keyed, |batch| (0..4000).filter(|i| i % 3 == 0).for_each(|i| batch.delete(state, &key(i))));
            let mut expected: Vec<_> = (0..4000).filter(|i| i % 3 != 0).map(|i| (key(i), value(i, round))).collect();
            expected.sort();
            assert_eq!(contents(&mut *keyed, state), expected, "in round {round}");
        }
    }
    assert!(keyed.usage().memory_bytes + keyed.usage().disk_bytes > 0, "entries take no bytes");
}

/// After a write that failed, every call is refused: nobody reads what was half applied.
pub fn a_failed_write_poisons_the_instance(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let state = register(&mut *keyed, &point_state("s"));
    let key = subject.key(1, "k");
    put(&mut *keyed, state, &key, "v");
    let mut batch = WriteBatch::new();
    batch.put(state, &key, b"w");
    batch.put(StateId(4711), &key, b"of no state");
    keyed.write(&mut batch).expect_err("a write to a state that is not registered fails");

    let mut keys = KeyBatch::new();
    keys.push(&key);
    let mut another = WriteBatch::new();
    another.put(state, &key, b"x");
    let failures = [
        keyed.read(state, &key, &mut |_| Ok(())).map(|_| ()),
        keyed.read_many(state, &keys, &mut |_, _| Ok(())),
        keyed.scan(state, &ScanRange::all(), &mut |_| Ok(ControlFlow::Continue(()))),
        keyed.write(&mut another),
        keyed.snapshot(CheckpointId(1), &SnapshotOptions::default()).map(|_| ()),
        keyed.register(&point_state("another")).map(|_| ()),
    ];
    for (call, failure) in failures.into_iter().enumerate() {
        let failure = failure.expect_err("a poisoned instance refuses every call");
        assert_eq!(failure.kind(), ErrorKind::Closed, "call {call}: {failure}");
    }
    keyed.close().expect("a poisoned instance closes");
}
