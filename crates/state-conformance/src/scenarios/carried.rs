//! States that were restored and that the job does not register.

use crate::subject::{contents, point_state, put, register, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::{ErrorKind, KeyedStateHandle};

/// A handle with the states `kept` (point), `idle` (point) and `idle-too` (scan), 300 entries each.
fn written(subject: &Subject) -> KeyedStateHandle {
    let mut keyed = subject.open();
    for descriptor in [point_state("kept"), point_state("idle"), scan_state("idle-too")] {
        let state = register(&mut *keyed, &descriptor);
        write(&mut *keyed, |batch| {
            for i in 0..300u32 {
                let key = subject.key((i % 128) as u16, i.to_be_bytes());
                batch.put(state, &key, format!("{} {i}", descriptor.name).as_bytes());
            }
        });
    }
    subject.checkpoint(&mut *keyed, 1)
}

/// It waits, untouched, for a job that knows it again.
pub fn an_unregistered_state_is_carried_into_the_next_snapshot(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut handle = written(&subject);
    for id in 2..4 {
        let mut keyed = subject.restore(&[handle]);
        let kept = register(&mut *keyed, &point_state("kept"));
        put(&mut *keyed, kept, &subject.key(1, "new"), id.to_string());
        let mut idle: Vec<_> = keyed.unregistered().into_iter().map(|state| state.name).collect();
        idle.sort();
        assert_eq!(idle, ["idle", "idle-too"]);
        handle = subject.checkpoint(&mut *keyed, id);
    }
    let mut keyed = subject.restore(&[handle]);
    for descriptor in [point_state("idle"), scan_state("idle-too")] {
        let state = register(&mut *keyed, &descriptor);
        let entries = contents(&mut *keyed, state);
        assert_eq!(entries.len(), 300);
        assert!(entries.iter().all(|(_, value)| value.starts_with(format!("{} ", descriptor.name).as_bytes())));
    }
}

/// Dropped on purpose, it is in no later snapshot, and its name is free.
pub fn a_dropped_state_is_gone(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handle = written(&subject);
    let mut keyed = subject.restore(&[handle]);
    keyed.drop_restored("idle").expect("the state is dropped");
    let kept = register(&mut *keyed, &point_state("kept"));
    let expected = contents(&mut *keyed, kept);
    assert_eq!(expected.len(), 300);
    let handle = subject.checkpoint(&mut *keyed, 2);
    let mut names: Vec<_> = handle.states.iter().map(|state| state.name.as_str()).collect();
    names.sort();
    assert_eq!(names, ["idle-too", "kept"]);

    let mut restored = subject.restore(&[handle]);
    let kept = register(&mut *restored, &point_state("kept"));
    assert_eq!(contents(&mut *restored, kept), expected);
    let another = register(&mut *restored, &scan_state("idle"));
    assert_eq!(contents(&mut *restored, another), []);
    let carried = register(&mut *restored, &scan_state("idle-too"));
    assert_eq!(contents(&mut *restored, carried).len(), 300);
}

/// Dropping is for what the job does not use.
pub fn a_registered_or_unknown_state_cannot_be_dropped(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handle = written(&subject);
    let mut keyed = subject.restore(&[handle]);
    let kept = register(&mut *keyed, &point_state("kept"));
    for name in ["kept", "unheard of"] {
        let failure = keyed.drop_restored(name).expect_err("there is nothing to drop");
        assert_eq!(failure.kind(), ErrorKind::Invalid, "{failure}");
    }
    assert_eq!(contents(&mut *keyed, kept).len(), 300);
}
