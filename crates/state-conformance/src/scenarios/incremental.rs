//! What a checkpoint uploads and what it reuses.

use crate::subject::{contents, point_state, put, register, write};
use crate::{BackendFixture, Subject};
use headpond_state::{
    CheckpointId, KeyedStateBackend, KeyedStateHandle, MergeOperator, SnapshotOptions, StateId, WriteBatch,
};

const INCREMENTAL: SnapshotOptions = SnapshotOptions { incremental: true, compact: false };
const FULL: SnapshotOptions = SnapshotOptions { incremental: false, compact: false };

fn filled(subject: &Subject) -> (Box<dyn KeyedStateBackend>, StateId) {
    let mut keyed = subject.open();
    let state = register(&mut *keyed, &point_state("s"));
    write(&mut *keyed, |batch| {
        for i in 0..5000u32 {
            batch.put(
                state,
                &subject.key((i % 128) as u16, i.to_be_bytes()),
                &i.wrapping_mul(2_654_435_761).to_le_bytes(),
            );
        }
    });
    (keyed, state)
}

fn assert_restores(subject: &Subject, handle: &KeyedStateHandle, keyed: &mut dyn KeyedStateBackend, state: StateId) {
    let mut restored = subject.restore(std::slice::from_ref(handle));
    let again = register(&mut *restored, &point_state("s"));
    assert!(contents(&mut *restored, again) == contents(keyed, state), "the checkpoint restores something else");
    restored.close().expect("the instance closes");
}

/// With `incremental: false` a checkpoint stands alone.
pub fn a_full_checkpoint_reuses_nothing(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, state) = filled(&subject);
    let (first, _) = subject.checkpoint_on(&mut *keyed, 1, &[], &INCREMENTAL);
    let snapshot = keyed.snapshot(CheckpointId(2), &FULL).expect("a snapshot");
    let sink = subject.store().sink_on([&first]);
    let second = snapshot.upload(&sink).expect("the snapshot uploads");
    assert_eq!(sink.reused_bytes(), 0);
    assert!(sink.uploaded_bytes() >= second.byte_len(), "a full checkpoint has files it did not upload");
    assert_restores(&subject, &second, &mut *keyed, state);
}

/// A file may be reused when the base names it, and only then: everything else may be deleted at any time.
pub fn only_what_the_base_names_is_reused(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, state) = filled(&subject);
    let (first, uploaded) = subject.checkpoint_on(&mut *keyed, 1, &[], &INCREMENTAL);
    assert!(uploaded >= first.byte_len());

    let base = [first];
    let (second, uploaded) = subject.checkpoint_on(&mut *keyed, 2, &base, &INCREMENTAL);
    subject.store().retain([&second]);
    assert_restores(&subject, &second, &mut *keyed, state);
    assert!(uploaded <= base[0].byte_len() + 4096, "nothing changed, and {uploaded} bytes were uploaded");

    // The store has lost the base, and the sink says so.
    subject.store().retain([]);
    let (third, uploaded) = subject.checkpoint_on(&mut *keyed, 3, &[], &INCREMENTAL);
    assert!(uploaded >= third.byte_len());
    assert_restores(&subject, &third, &mut *keyed, state);
}

/// Each checkpoint builds on the one before; only the last is kept.
pub fn a_chain_of_checkpoints_restores_from_its_last(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, state) = filled(&subject);
    let mut base = Vec::new();
    for id in 1..=8u64 {
        // Ever fewer changes; from the sixth on none.
        let changes = 2000u32.checked_shr(2 * id as u32).unwrap_or(0);
        write(&mut *keyed, |batch| {
            for i in (0..changes).map(|i| (i * 7919 + id as u32) % 5000) {
                batch.put(state, &subject.key((i % 128) as u16, i.to_be_bytes()), &id.to_le_bytes());
            }
        });
        let (handle, _) = subject.checkpoint_on(&mut *keyed, id, &base, &INCREMENTAL);
        subject.store().retain([&handle]);
        base = vec![handle];
    }
    assert_restores(&subject, &base[0], &mut *keyed, state);
}

/// Files of a checkpoint that came to nothing are deleted, and no later checkpoint may count on them.
pub fn an_aborted_checkpoint_is_no_base(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, state) = filled(&subject);
    let (first, _) = subject.checkpoint_on(&mut *keyed, 1, &[], &INCREMENTAL);
    let base = [first];
    put(&mut *keyed, state, &subject.key(1, "changed"), "once");

    let snapshot = keyed.snapshot(CheckpointId(2), &INCREMENTAL).expect("a snapshot");
    snapshot.upload(&subject.store().sink_on(&base)).expect("the snapshot uploads");
    keyed.checkpoint_aborted(CheckpointId(2)).expect("the abortion is noted");
    subject.store().retain(&base);

    let (third, _) = subject.checkpoint_on(&mut *keyed, 3, &base, &INCREMENTAL);
    subject.store().retain([&third]);
    assert_restores(&subject, &third, &mut *keyed, state);
}

/// Whatever a batch consists of, the next checkpoint has it: nothing but a deletion, a range, a merge.
pub fn every_kind_of_write_is_a_change(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let state = register(&mut *keyed, &point_state("s").with_merge(MergeOperator::Append));
    let keys: Vec<_> = (0..8).map(|group| subject.key(group, "k")).collect();
    write(&mut *keyed, |batch| keys.iter().for_each(|key| batch.put(state, key, b"v")));
    let mut base = vec![subject.checkpoint_on(&mut *keyed, 1, &[], &INCREMENTAL).0];
    let writes: [&dyn Fn(&mut WriteBatch); 4] = [
        &|batch| batch.put(state, &keys[0], b"w"),
        &|batch| batch.delete(state, &keys[1]),
        &|batch| batch.delete_range(state, &keys[2], &keys[4]),
        &|batch| batch.merge(state, &keys[5], b"+"),
    ];
    for (id, fill) in (2..).zip(writes) {
        write(&mut *keyed, fill);
        let (handle, _) = subject.checkpoint_on(&mut *keyed, id, &base, &INCREMENTAL);
        subject.store().retain([&handle]);
        let mut restored = subject.restore(std::slice::from_ref(&handle));
        let again = register(&mut *restored, &point_state("s").with_merge(MergeOperator::Append));
        assert_eq!(contents(&mut *restored, again), contents(&mut *keyed, state), "after write {id}");
        base = vec![handle];
    }
}
