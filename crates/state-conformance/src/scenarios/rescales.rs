//! Restoring with another parallelism: ranges of key groups move between instances.

use crate::subject::{Entries, contents, point_state, register, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::{
    KeyGroupRange, KeyedStateBackend, KeyedStateHandle, MergeOperator, SnapshotOptions, StateDescriptor, StateId,
    WriteBatch,
};
use std::collections::BTreeMap;

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

/// The next checkpoint after a restore names the files that moved whole, and does not upload them again.
pub fn what_moves_whole_is_not_uploaded_again(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    if !subject.capabilities().incremental_checkpoints {
        return;
    }
    let handles = written_by(&subject, 4);
    for parallelism in [2, 1] {
        let range = subject.max_parallelism().range_of(0, parallelism);
        let mut keyed = subject.restore_range(range, &handles);
        let (handle, uploaded) = subject.checkpoint_on(&mut *keyed, 2, &handles, &SnapshotOptions::default());
        assert!(uploaded <= 4096, "nothing has changed, and {uploaded} bytes were uploaded");
        subject.store().retain(handles.iter().chain([&handle]));
        restored_by_range(&subject, range, std::slice::from_ref(&handle));
    }
}

fn restored_by_range(subject: &Subject, range: KeyGroupRange, handles: &[KeyedStateHandle]) {
    let mut keyed = subject.restore_range(range, handles);
    for descriptor in states() {
        let state = register(&mut *keyed, &descriptor);
        let mut expected = entries(subject, &descriptor);
        expected.retain(|(key, _)| range.contains(subject.max_parallelism().key_group_of_entry(key)));
        assert_eq!(contents(&mut *keyed, state), expected);
    }
}

/// What lies in several layers (values, deletions of keys and of ranges, operands that wait for their value) is the
/// same after it has moved, was written on, checkpointed incrementally and moved again.
pub fn layers_of_changes_move_with_their_key_groups(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    layers(&subject, &[1, 3, 2, 1]);
    layers(&Subject::with_max_parallelism(fixture, 300), &[2, 1]);
}

/// A state of values and one of merged values, as they should be.
#[derive(Default)]
struct Layers {
    values: BTreeMap<Vec<u8>, Vec<u8>>,
    merged: BTreeMap<Vec<u8>, Vec<u8>>,
}

fn layers(subject: &Subject, parallelisms: &[usize]) {
    let mut model = Layers::default();
    let mut handles: Vec<KeyedStateHandle> = Vec::new();
    for (generation, &parallelism) in parallelisms.iter().enumerate() {
        let mut next = Vec::new();
        for subtask in 0..parallelism {
            let range = subject.max_parallelism().range_of(subtask, parallelism);
            let mut keyed = subject.restore_range(range, &handles);
            let groups = (subject.key(range.start, ""), subject.key(range.end, ""));
            let states = [
                register(&mut *keyed, &scan_state("values")),
                register(&mut *keyed, &point_state("merged").with_merge(MergeOperator::Append)),
            ];
            model.assert_equals(&mut *keyed, states, &groups);
            let mut base = handles.clone();
            for layer in 0..4u32 {
                let seed = generation as u32 * 16 + layer;
                write(&mut *keyed, |batch| model.change(batch, states, subject, range, seed));
                // The first layer of some generations is merged, so that the others lie above it.
                let options = SnapshotOptions { incremental: true, compact: layer == 0 && generation % 3 == 0 };
                let (handle, _) = subject.checkpoint_on(&mut *keyed, u64::from(seed), &base, &options);
                base = vec![handle];
            }
            model.assert_equals(&mut *keyed, states, &groups);
            keyed.close().expect("the instance closes");
            next.extend(base);
        }
        handles = next;
    }
}

impl Layers {
    /// Changes some entries of a range of key groups, other ones for each `seed`.
    fn change(
        &mut self,
        batch: &mut WriteBatch,
        states: [StateId; 2],
        subject: &Subject,
        range: KeyGroupRange,
        seed: u32,
    ) {
        for group in range.iter().map(|group| group.0) {
            for item in 0..12u32 {
                let key = subject.key(group, item.to_be_bytes());
                let random = (u32::from(group) * 12 + item).wrapping_mul(2_654_435_761).rotate_left(seed * 5) % 7;
                let value = [seed.to_be_bytes().as_slice(), &key, &[item as u8; 40]].concat();
                match random {
                    0 => {
                        batch.delete(states[0], &key);
                        batch.delete(states[1], &key);
                        self.values.remove(&key);
                        self.merged.remove(&key);
                    }
                    1 | 2 => {
                        batch.put(states[0], &key, &value);
                        batch.put(states[1], &key, &value);
                        self.values.insert(key.clone(), value.clone());
                        self.merged.insert(key, value);
                    }
                    3 | 4 => {
                        batch.merge(states[1], &key, &seed.to_be_bytes());
                        self.merged.entry(key).or_default().extend_from_slice(&seed.to_be_bytes());
                    }
                    _ => {}
                }
            }
        }
        // A range within a group, and one across several, up to the last of the range.
        let (start, end) = (range.start, range.end);
        let within = (subject.key(start, 2u32.to_be_bytes()), subject.key(start, 5u32.to_be_bytes()));
        let across = (subject.key(end.saturating_sub(3).max(start), 7u32.to_be_bytes()), subject.key(end, ""));
        for (start, end) in [within, across].iter().take(1 + seed as usize % 2) {
            for state in states {
                batch.delete_range(state, start, end);
            }
            let outside = |key: &Vec<u8>| key < start || key >= end;
            self.values.retain(|key, _| outside(key));
            self.merged.retain(|key, _| outside(key));
        }
    }

    fn assert_equals(&self, keyed: &mut dyn KeyedStateBackend, states: [StateId; 2], groups: &(Vec<u8>, Vec<u8>)) {
        for (state, model) in states.into_iter().zip([&self.values, &self.merged]) {
            let expected: Entries = model
                .range(groups.0.clone()..groups.1.clone())
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            assert!(contents(keyed, state) == expected, "state {} differs in {groups:?}", state.0);
        }
    }
}
