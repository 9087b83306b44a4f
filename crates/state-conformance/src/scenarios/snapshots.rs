//! Snapshots: fixed at their cut, uploaded whenever.

use crate::subject::{Entries, as_in_manifest, contents, point_state, register, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::{
    CheckpointId, ErrorKind, KeyedStateBackend, KeyedStateHandle, Snapshot, SnapshotOptions, StateDescriptor, StateId,
};

const KEYS: u32 = 2000;

fn states() -> [StateDescriptor; 2] {
    [point_state("point"), scan_state("scan")]
}

fn opened(subject: &Subject) -> (Box<dyn KeyedStateBackend>, [StateId; 2]) {
    let mut keyed = subject.open();
    let ids = states().map(|descriptor| register(&mut *keyed, &descriptor));
    (keyed, ids)
}

/// Writes a generation: every key anew, a third of them deleted, values of other lengths than before.
fn write_generation(subject: &Subject, keyed: &mut dyn KeyedStateBackend, states: [StateId; 2], generation: u32) {
    for state in states {
        write(keyed, |batch| {
            for i in 0..KEYS {
                let key = subject.key((i % 128) as u16, i.to_be_bytes());
                if (i + generation).is_multiple_of(3) {
                    batch.delete(state, &key);
                } else {
                    batch.put(state, &key, format!("{generation}:{i}").repeat(1 + generation as usize).as_bytes());
                }
            }
        });
    }
}

fn all_contents(keyed: &mut dyn KeyedStateBackend, states: [StateId; 2]) -> [Entries; 2] {
    states.map(|state| contents(keyed, state))
}

fn snapshot(keyed: &mut dyn KeyedStateBackend, id: u64) -> Box<dyn Snapshot> {
    keyed.snapshot(CheckpointId(id), &SnapshotOptions::default()).expect("a snapshot")
}

fn upload(subject: &Subject, snapshot: Box<dyn Snapshot>) -> KeyedStateHandle {
    as_in_manifest(&snapshot.upload(&subject.store().sink()).expect("the snapshot uploads"))
}

fn assert_restores(subject: &Subject, handle: &KeyedStateHandle, expected: &[Entries; 2]) {
    let mut restored = subject.restore(std::slice::from_ref(handle));
    let ids = states().map(|descriptor| register(&mut *restored, &descriptor));
    assert!(all_contents(&mut *restored, ids) == *expected, "the snapshot does not hold what was there at its cut");
    restored.close().expect("the instance closes");
}

/// Later writes, deletions and states are not in it.
pub fn a_snapshot_holds_what_was_there_at_its_cut(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, ids) = opened(&subject);
    write_generation(&subject, &mut *keyed, ids, 1);
    let expected = all_contents(&mut *keyed, ids);
    let at_cut = snapshot(&mut *keyed, 1);
    write_generation(&subject, &mut *keyed, ids, 2);
    write(&mut *keyed, |batch| batch.delete_range(ids[1], &[10], &[20]));
    register(&mut *keyed, &point_state("later"));
    let handle = upload(&subject, at_cut);
    assert_eq!(handle.states, states());
    assert_restores(&subject, &handle, &expected);
}

/// The upload runs on another thread while the operator goes on.
pub fn a_snapshot_uploads_while_writes_go_on(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, ids) = opened(&subject);
    write_generation(&subject, &mut *keyed, ids, 0);
    for generation in 1..5 {
        let expected = all_contents(&mut *keyed, ids);
        let at_cut = snapshot(&mut *keyed, u64::from(generation));
        let sink = subject.store().sink();
        let handle = std::thread::scope(|scope| {
            let uploading = scope.spawn(|| at_cut.upload(&sink).expect("the snapshot uploads"));
            write_generation(&subject, &mut *keyed, ids, generation);
            uploading.join().expect("the upload does not panic")
        });
        keyed.checkpoint_completed(CheckpointId(u64::from(generation))).expect("the completion is noted");
        assert_restores(&subject, &handle, &expected);
    }
}

/// Snapshots overlap; each holds its own cut, whichever is uploaded first.
pub fn overlapping_snapshots_upload_in_any_order(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, ids) = opened(&subject);
    let mut cuts = Vec::new();
    for generation in 0..4 {
        write_generation(&subject, &mut *keyed, ids, generation);
        cuts.push((all_contents(&mut *keyed, ids), snapshot(&mut *keyed, u64::from(generation) + 1)));
    }
    write_generation(&subject, &mut *keyed, ids, 4);
    cuts.swap(0, 2);
    let handles: Vec<_> = cuts.into_iter().map(|(expected, cut)| (expected, upload(&subject, cut))).collect();
    keyed.close().expect("the instance closes");
    for (expected, handle) in &handles {
        assert_restores(&subject, handle, expected);
    }
}

/// Dropping a snapshot cancels it; others and the instance do not notice.
pub fn a_dropped_snapshot_leaves_no_trace(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, ids) = opened(&subject);
    write_generation(&subject, &mut *keyed, ids, 1);
    let dropped = snapshot(&mut *keyed, 1);
    write_generation(&subject, &mut *keyed, ids, 2);
    let expected = all_contents(&mut *keyed, ids);
    let kept = snapshot(&mut *keyed, 2);
    drop(dropped);
    keyed.checkpoint_aborted(CheckpointId(1)).expect("the abortion is noted");
    write_generation(&subject, &mut *keyed, ids, 3);
    let handle = upload(&subject, kept);
    assert_restores(&subject, &handle, &expected);
    drop(snapshot(&mut *keyed, 3));
    keyed.close().expect("the instance closes");
    assert!(!subject.has_local_files(), "a dropped snapshot left local files");
}

/// Notifications may be late, out of order, repeated, of unknown checkpoints, or missing.
pub fn notifications_come_in_any_order_or_never(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, ids) = opened(&subject);
    keyed.checkpoint_completed(CheckpointId(99)).expect("an unknown completion is ignored");
    keyed.checkpoint_aborted(CheckpointId(98)).expect("an unknown abortion is ignored");
    let mut cuts = Vec::new();
    for generation in 0..5 {
        write_generation(&subject, &mut *keyed, ids, generation);
        let expected = all_contents(&mut *keyed, ids);
        let cut = snapshot(&mut *keyed, 100 + u64::from(generation));
        cuts.push((expected, upload(&subject, cut)));
    }
    for (id, completed) in [(103, true), (101, false), (102, true), (103, true), (100, false)] {
        match completed {
            true => keyed.checkpoint_completed(CheckpointId(id)),
            false => keyed.checkpoint_aborted(CheckpointId(id)),
        }
        .expect("the notification is noted");
    }
    let expected = all_contents(&mut *keyed, ids);
    let last = subject.checkpoint(&mut *keyed, 105);
    assert_restores(&subject, &last, &expected);
    assert_restores(&subject, &cuts[4].1, &cuts[4].0);
}

/// A cancelled upload says `Closed`, and the next checkpoint is whole.
pub fn a_cancelled_sink_ends_the_upload(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, ids) = opened(&subject);
    write_generation(&subject, &mut *keyed, ids, 1);
    let at_cut = snapshot(&mut *keyed, 1);
    let sink = subject.store().sink();
    sink.cancel();
    let failure = at_cut.upload(&sink).expect_err("the sink is cancelled");
    assert_eq!(failure.kind(), ErrorKind::Closed, "{failure}");
    keyed.checkpoint_aborted(CheckpointId(1)).expect("the abortion is noted");
    let expected = all_contents(&mut *keyed, ids);
    let handle = subject.checkpoint(&mut *keyed, 2);
    assert_restores(&subject, &handle, &expected);
}
