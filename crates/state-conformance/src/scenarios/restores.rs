//! Restoring with the same parallelism.

use crate::subject::{contents, get, point_state, put, register, scan_state, write};
use crate::{BackendFixture, Subject};

/// What was there at the cut is there after the restore, and nothing else.
pub fn a_checkpoint_restores_all_states(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let states = [register(&mut *keyed, &point_state("point")), register(&mut *keyed, &scan_state("scan"))];
    write(&mut *keyed, |batch| {
        for i in 0..5000u32 {
            let key = subject.key((i % 128) as u16, i.to_be_bytes());
            batch.put(states[0], &key, &i.to_le_bytes());
            batch.put(states[1], &key, format!("value {i}").repeat(1 + i as usize % 3).as_bytes());
        }
    });
    let handle = subject.checkpoint(&mut *keyed, 1);
    assert_eq!(handle.key_groups, subject.all_groups());
    assert_eq!(handle.states, [point_state("point"), scan_state("scan")]);
    let expected = states.map(|state| contents(&mut *keyed, state));
    write(&mut *keyed, |batch| batch.delete_range(states[0], &[0], &[128]));
    keyed.close().expect("the instance closes");

    let mut restored = subject.restore(&[handle]);
    assert_eq!(restored.unregistered().len(), 2);
    let states = [register(&mut *restored, &point_state("point")), register(&mut *restored, &scan_state("scan"))];
    assert_eq!(restored.unregistered(), []);
    assert_eq!(states.map(|state| contents(&mut *restored, state)), expected);
}

/// Names decide, not the order of registration.
pub fn states_registered_in_another_order_find_their_entries(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let key = subject.key(77, "k");
    for name in ["a", "b", "c"] {
        let state = register(&mut *keyed, &point_state(name));
        put(&mut *keyed, state, &key, name);
    }
    let handle = subject.checkpoint(&mut *keyed, 1);
    let mut restored = subject.restore(&[handle]);
    let fresh = register(&mut *restored, &point_state("fresh"));
    assert_eq!(get(&mut *restored, fresh, &key), None);
    for name in ["c", "a", "b"] {
        let state = register(&mut *restored, &point_state(name));
        assert_eq!(get(&mut *restored, state, &key), Some(name.as_bytes().to_vec()));
    }
}

/// Neither a state without entries nor an instance without states is special.
pub fn an_empty_state_restores(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let nothing = subject.checkpoint(&mut *subject.open(), 1);
    let mut keyed = subject.restore(&[nothing]);
    assert_eq!(keyed.unregistered(), []);
    let state = register(&mut *keyed, &point_state("s"));
    let empty = subject.checkpoint(&mut *keyed, 2);
    let mut keyed_again = subject.restore(&[empty]);
    assert_eq!(register(&mut *keyed_again, &point_state("s")), state);
    assert_eq!(contents(&mut *keyed_again, state), []);
}

/// Restores chain: each generation adds to what it found.
pub fn a_restored_instance_restores_again(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut handles = Vec::new();
    for generation in 1..=4u8 {
        let mut keyed = subject.restore(&handles);
        let state = register(&mut *keyed, &scan_state("s"));
        put(&mut *keyed, state, &subject.key(u16::from(generation), "k"), [generation]);
        let expected: Vec<_> = (1..=generation).map(|g| (subject.key(u16::from(g), "k"), vec![g])).collect();
        assert_eq!(contents(&mut *keyed, state), expected);
        handles = vec![subject.checkpoint(&mut *keyed, u64::from(generation))];
        keyed.close().expect("the instance closes");
    }
}

/// Beyond 128 key groups their prefix takes two bytes.
pub fn two_byte_key_groups_restore(fixture: &dyn BackendFixture) {
    let subject = Subject::with_max_parallelism(fixture, 300);
    let mut keyed = subject.open();
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *keyed, &descriptor);
        write(&mut *keyed, |batch| (0..300).for_each(|g| batch.put(state, &subject.key(g, "k"), &g.to_le_bytes())));
    }
    let handle = subject.checkpoint(&mut *keyed, 1);
    let mut restored = subject.restore(&[handle]);
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *restored, &descriptor);
        let expected: Vec<_> = (0..300u16).map(|g| (subject.key(g, "k"), g.to_le_bytes().to_vec())).collect();
        assert_eq!(contents(&mut *restored, state), expected);
    }
}

/// A closed instance leaves no local files.
pub fn closing_removes_local_files(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let state = register(&mut *keyed, &point_state("s"));
    put(&mut *keyed, state, &subject.key(1, "k"), "v");
    subject.checkpoint(&mut *keyed, 1);
    keyed.close().expect("the instance closes");
    assert!(!subject.has_local_files(), "files are left in the instance's directory");
}
