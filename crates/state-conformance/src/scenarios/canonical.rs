//! Handles in the canonical format, whoever wrote them.

use crate::subject::{Entries, contents, point_state, register, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::canonical::{canonical_handle, put_canonical};
use headpond_state::{
    ErrorKind, HandleDetails, KeyGroupRange, KeyedStateHandle, MaxParallelism, MergeOperator, StateDescriptor,
};
use std::ops::ControlFlow;

fn states() -> [StateDescriptor; 3] {
    [scan_state("scan"), point_state("point"), scan_state("log").with_merge(MergeOperator::Append)]
}

/// Three entries in each key group of `range`.
fn entries(subject: &Subject, range: KeyGroupRange) -> Entries {
    let keys = range.iter().flat_map(|group| ["", "b", "c"].map(|rest| subject.key(group.0, rest)));
    keys.map(|key| (key.clone(), key.repeat(40))).collect()
}

/// A canonical handle of one file, made without any backend.
fn canonical(subject: &Subject, range: KeyGroupRange, max_parallelism: MaxParallelism) -> KeyedStateHandle {
    let entries = entries(subject, range);
    let mut rest = (0..states().len() as u16).flat_map(|state| entries.iter().map(move |entry| (state, entry)));
    let (file, sizes) = put_canonical(&subject.store().sink(), "state", max_parallelism, |writer| match rest.next() {
        Some((state, (key, value))) => writer.push(state, key, value).map(|()| ControlFlow::Continue(())),
        None => Ok(ControlFlow::Break(())),
    })
    .expect("the entries are written");
    canonical_handle(range, states().to_vec(), vec![(file, range)], &sizes).expect("details")
}

/// State moves between backends in canonical form.
pub fn a_canonical_handle_of_another_backend_restores(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handle = canonical(&subject, subject.all_groups(), subject.max_parallelism());
    let mut keyed = subject.restore(&[handle]);
    let expected = entries(&subject, subject.all_groups());
    for descriptor in states() {
        let state = register(&mut *keyed, &descriptor);
        assert_eq!(contents(&mut *keyed, state), expected, "of state `{}`", descriptor.name);
    }
    // What was restored can be written on, and goes into the backend's own checkpoint.
    let log = register(&mut *keyed, &states()[2]);
    let key = subject.key(9, "b");
    write(&mut *keyed, |batch| batch.merge(log, &key, b"+"));
    let expected = contents(&mut *keyed, log);
    let handle = subject.checkpoint(&mut *keyed, 1);
    let mut again = subject.restore(&[handle]);
    let log = register(&mut *again, &states()[2]);
    assert_eq!(contents(&mut *again, log), expected);
    assert!(expected.contains(&(key.clone(), [key.repeat(40).as_slice(), b"+"].concat())));
}

/// Canonical handles rescale like any other.
pub fn several_canonical_handles_restore_by_range(fixture: &dyn BackendFixture) {
    let subject = Subject::with_max_parallelism(fixture, 300);
    let max = subject.max_parallelism();
    let handles: Vec<_> = (0..3).map(|i| canonical(&subject, max.range_of(i, 3), max)).collect();
    for subtask in 0..2 {
        let range = max.range_of(subtask, 2);
        let mut keyed = subject.restore_range(range, &handles);
        let state = register(&mut *keyed, &point_state("point"));
        assert_eq!(contents(&mut *keyed, state), entries(&subject, range));
    }
}

/// With another number of key groups every key would be in the wrong one.
pub fn another_number_of_key_groups_is_refused(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let other = MaxParallelism::new(64).expect("a valid max parallelism");
    let handle = canonical(&subject, KeyGroupRange { start: 0, end: 64 }, other);
    let failure = subject.try_restore(subject.all_groups(), &[handle]).expect_err("64 key groups are not 128");
    assert_eq!(failure.kind(), ErrorKind::Incompatible, "{failure}");
}

/// Files of released versions restore, for ever. What is in them is spelled out in `tests/released_formats.rs`.
pub fn a_file_of_a_released_version_restores(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let file = subject.store().insert("canonical-v1", include_bytes!("../../fixtures/canonical-v1.state"));
    let handle = KeyedStateHandle {
        format: "canonical".to_owned(),
        format_version: 1,
        key_groups: subject.all_groups(),
        states: states().to_vec(),
        files: vec![file],
        entries: 8,
        details: HandleDetails::default(),
        parts: Vec::new(),
    };
    let mut keyed = subject.restore(&[handle]);
    let held = states().map(|descriptor| {
        let state = register(&mut *keyed, &descriptor);
        contents(&mut *keyed, state)
    });
    assert_eq!(held.each_ref().map(Vec::len), [5, 0, 3]);
    assert_eq!(held[0][3], (subject.key(5, "UAL"), b"4637".to_vec()));
    assert_eq!(held[2][1], (subject.key(5, "WN"), b"ab".repeat(40_000)));
}
