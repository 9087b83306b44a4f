//! Handles that are read without being restored.

use crate::subject::{Entries, point_state, register, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::canonical::{canonical_handle, put_canonical};
use headpond_state::{KeyGroupRange, KeyedStateHandle, RestoredState, StateDescriptor, StateReader, StateSize};
use std::ops::ControlFlow;

fn states() -> [StateDescriptor; 3] {
    [scan_state("scan"), point_state("point"), scan_state("empty")]
}

/// Entries of a state: none of the last.
fn entries(subject: &Subject, state: usize) -> Entries {
    let groups = 0..if state == 2 { 0 } else { subject.max_parallelism().get() };
    let keys = groups.flat_map(|group| ["", "b", "c"].map(|rest| subject.key(group, rest)));
    keys.map(|key| (key.clone(), [states()[state].name.as_bytes(), &key].concat())).collect()
}

fn of_groups(subject: &Subject, mut entries: Entries, range: KeyGroupRange) -> Entries {
    entries.retain(|(key, _)| range.contains(subject.max_parallelism().key_group_of_entry(key)));
    entries
}

/// A checkpoint of all entries, some of which were written and deleted again.
fn checkpoint(subject: &Subject) -> KeyedStateHandle {
    let mut keyed = subject.restore(&[]);
    for (index, descriptor) in states().iter().enumerate() {
        let state = register(&mut *keyed, descriptor);
        let own = entries(subject, index);
        let gone = subject.key(3, "gone");
        write(&mut *keyed, |batch| {
            own.iter().for_each(|(key, value)| batch.put(state, key, value));
            batch.put(state, &gone, b"gone");
        });
        write(&mut *keyed, |batch| batch.delete(state, &gone));
    }
    subject.checkpoint(&mut *keyed, 1)
}

fn read(subject: &Subject, reader: &mut dyn StateReader, state: usize, range: KeyGroupRange) -> Entries {
    let mut seen = Entries::new();
    let visited = reader.read(state, range, &mut |entry| {
        seen.push((entry.key.to_vec(), entry.value.to_vec()));
        Ok(ControlFlow::Continue(()))
    });
    visited.unwrap_or_else(|error| panic!("{} key groups: {error}", subject.max_parallelism().get()));
    seen
}

/// State by state, in ascending order, without what was deleted; and it leaves nothing behind.
pub fn a_reader_visits_what_a_restore_would_hold(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handle = checkpoint(&subject);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let source = subject.store();
    let restored = RestoredState { handle: &handle, source };
    let backend = fixture.backend();
    let mut reader =
        backend.open_reader(restored, subject.max_parallelism(), &dir.path().join("reader")).expect("it opens");
    for (index, descriptor) in states().iter().enumerate() {
        let number = handle.states.iter().position(|state| state.name == descriptor.name).expect("the state is there");
        assert_eq!(read(&subject, &mut *reader, number, subject.all_groups()), entries(&subject, index));
    }
    reader.read(3, subject.all_groups(), &mut |_| Ok(ControlFlow::Continue(()))).expect_err("there are three states");
    drop(reader);
    drop(backend);
    assert_eq!(std::fs::read_dir(dir.path()).expect("the directory is there").count(), 0, "local files are left");
}

/// A range of key groups, of a handle that has a range itself.
pub fn a_reader_keeps_to_its_key_groups_and_stops_when_told(fixture: &dyn BackendFixture) {
    let subject = Subject::with_max_parallelism(fixture, 300);
    let handle = checkpoint(&subject);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let source = subject.store();
    let restored = RestoredState { handle: &handle, source };
    let backend = fixture.backend();
    let mut reader = backend.open_reader(restored, subject.max_parallelism(), dir.path()).expect("it opens");
    let range = KeyGroupRange { start: 250, end: 271 };
    let number = handle.states.iter().position(|state| state.name == "point").expect("the state is there");
    assert_eq!(read(&subject, &mut *reader, number, range), of_groups(&subject, entries(&subject, 1), range));
    let mut seen = 0;
    let stopped = reader.read(number, range, &mut |_| {
        seen += 1;
        Ok(if seen < 4 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    });
    stopped.expect("stopping is no failure");
    assert_eq!(seen, 4);
}

/// Every backend reads what is canonical.
pub fn a_reader_of_a_canonical_handle_sees_the_same(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let max = subject.max_parallelism();
    let [low, high] = [KeyGroupRange { start: 0, end: 50 }, KeyGroupRange { start: 50, end: 128 }];
    let mut sizes = Vec::new();
    let files = [low, high].map(|range| {
        let of_state = |state| of_groups(&subject, entries(&subject, state), range).into_iter();
        let mut rest = (0..3u16).flat_map(|state| of_state(usize::from(state)).map(move |entry| (state, entry)));
        let (file, part) = put_canonical(&subject.store().sink(), "part", max, |writer| match rest.next() {
            Some((state, (key, value))) => writer.push(state, &key, &value).map(|()| ControlFlow::Continue(())),
            None => Ok(ControlFlow::Break(())),
        })
        .expect("the entries are written");
        StateSize::add(&mut sizes, &part);
        (file, range)
    });
    let handle = canonical_handle(subject.all_groups(), states().to_vec(), files.to_vec(), &sizes).expect("details");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let source = subject.store();
    let restored = RestoredState { handle: &handle, source };
    let backend = fixture.backend();
    let mut reader = backend.open_reader(restored, max, dir.path()).expect("it opens");
    for state in 0..3 {
        assert_eq!(read(&subject, &mut *reader, state, subject.all_groups()), entries(&subject, state));
    }
    let across = KeyGroupRange { start: 45, end: 55 };
    assert_eq!(read(&subject, &mut *reader, 1, across), of_groups(&subject, entries(&subject, 1), across));
}
