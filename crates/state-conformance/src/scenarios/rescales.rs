//! Restoring with another parallelism: ranges of key groups move between instances.

use crate::subject::{Entries, contents, point_state, register, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::{KeyedStateHandle, StateDescriptor};

fn states() -> [StateDescriptor; 2] {
    [point_state("point"), scan_state("scan")]
}

/// Three entries in each key group.
fn entries(subject: &Subject, state: &StateDescriptor) -> Entries {
    let groups = 0..subject.max_parallelism().get();
    let keys = groups.flat_map(|group| ["a", "b", "c"].map(|rest| subject.key(group, rest)));
    keys.map(|key| (key.clone(), [state.name.as_bytes(), &key].concat())).collect()
}

/// The handles of `parallelism` instances that hold all entries between them.
fn written_by(subject: &Subject, parallelism: usize) -> Vec<KeyedStateHandle> {
    let handle_of = |subtask| {
        let range = subject.max_parallelism().range_of(subtask, parallelism);
        let mut keyed = subject.restore_range(range, &[]);
        assert_eq!(keyed.key_groups(), range);
        for descriptor in states() {
            let state = register(&mut *keyed, &descriptor);
            let max = subject.max_parallelism();
            let mut own = entries(subject, &descriptor);
            own.retain(|(key, _)| range.contains(max.key_group_of_entry(key)));
            write(&mut *keyed, |batch| own.iter().for_each(|(key, value)| batch.put(state, key, value)));
        }
        subject.checkpoint(&mut *keyed, 1)
    };
    (0..parallelism).map(handle_of).collect()
}

/// Restores `handles` with `parallelism` instances, each with exactly its own entries, and returns their handles.
fn restored_by(subject: &Subject, parallelism: usize, handles: &[KeyedStateHandle]) -> Vec<KeyedStateHandle> {
    let mut seen = states().map(|_| Entries::new());
    let mut again = Vec::new();
    for subtask in 0..parallelism {
        let range = subject.max_parallelism().range_of(subtask, parallelism);
        let mut keyed = subject.restore_range(range, handles);
        for (descriptor, seen) in states().iter().zip(&mut seen) {
            let state = register(&mut *keyed, descriptor);
            let own = contents(&mut *keyed, state);
            let max = subject.max_parallelism();
            assert!(own.iter().all(|(key, _)| range.contains(max.key_group_of_entry(key))), "foreign keys in {range}");
            seen.extend(own);
        }
        again.push(subject.checkpoint(&mut *keyed, 2));
        keyed.close().expect("the instance closes");
    }
    for (descriptor, seen) in states().iter().zip(seen) {
        assert_eq!(seen, entries(subject, descriptor), "of state `{}`", descriptor.name);
    }
    again
}

/// Each of three instances takes parts of two handles; and back.
pub fn two_instances_become_three(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handles = restored_by(&subject, 3, &written_by(&subject, 2));
    restored_by(&subject, 2, &handles);
}

/// One instance takes whole handles.
pub fn three_instances_become_one(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handles = restored_by(&subject, 1, &written_by(&subject, 3));
    assert_eq!(handles[0].key_groups, subject.all_groups());
}

/// Four instances share one handle.
pub fn one_instance_becomes_four(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handles = restored_by(&subject, 4, &written_by(&subject, 1));
    restored_by(&subject, 5, &handles);
}

/// What a narrower instance dropped does not come back in its checkpoints.
pub fn foreign_keys_are_dropped(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handles = written_by(&subject, 1);
    let narrow = subject.max_parallelism().range_of(1, 4);
    let mut keyed = subject.restore_range(narrow, &handles);
    let handle = subject.checkpoint(&mut *keyed, 2);
    assert_eq!(handle.key_groups, narrow);
    let mut wide = subject.restore(&[handle]);
    for descriptor in states() {
        let state = register(&mut *wide, &descriptor);
        let mut expected = entries(&subject, &descriptor);
        expected.retain(|(key, _)| narrow.contains(subject.max_parallelism().key_group_of_entry(key)));
        assert_eq!(contents(&mut *wide, state), expected);
    }
}

/// The same with two-byte key groups.
pub fn a_large_max_parallelism_rescales(fixture: &dyn BackendFixture) {
    let subject = Subject::with_max_parallelism(fixture, 300);
    let handles = restored_by(&subject, 2, &written_by(&subject, 3));
    restored_by(&subject, 1, &handles);
}

/// With more instances than key groups, some hold none: they open, take checkpoints and restore.
pub fn an_instance_may_hold_no_key_group(fixture: &dyn BackendFixture) {
    let subject = Subject::with_max_parallelism(fixture, 2);
    let handles = restored_by(&subject, 3, &written_by(&subject, 1));
    restored_by(&subject, 1, &handles);
}
