//! What an incremental checkpoint of state in memory reuses.

use headpond_state::{CheckpointId, KeyedStateBackend, KeyedStateHandle, SnapshotOptions, StateDescriptor};
use headpond_state::{CodecId, StateKind, WriteBatch};
use headpond_state_conformance::{BackendFixture, MemorySink, Subject};
use headpond_state_memory::MemoryStateBackend;

fn upload(keyed: &mut dyn KeyedStateBackend, id: u64, sink: &MemorySink) -> KeyedStateHandle {
    let snapshot = keyed.snapshot(CheckpointId(id), &SnapshotOptions::default()).expect("a snapshot");
    snapshot.upload(sink).expect("an upload")
}

#[test]
fn files_of_key_groups_that_did_not_change_are_reused() {
    let fixture: &dyn BackendFixture = &MemoryStateBackend::new;
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let descriptor = StateDescriptor::new("s", StateKind::Value, CodecId::new("bytes", 1));
    let state = keyed.register(&descriptor).expect("a state");
    let mut batch = WriteBatch::new();
    for i in 0..100_000u32 {
        batch.put(state, &subject.key((i % 128) as u16, i.to_be_bytes()), &[i as u8; 400]);
    }
    keyed.write(&mut batch).expect("a write");
    let first = upload(&mut *keyed, 1, &subject.store().sink());
    assert!(first.files.len() > 1, "40 MB in one file");

    let sink = subject.store().sink_on([&first]);
    let second = upload(&mut *keyed, 2, &sink);
    assert_eq!((sink.uploaded_bytes(), second.files == first.files), (0, true), "nothing changed");

    batch.put(state, &subject.key(3, 3u32.to_be_bytes()), &[0; 400]);
    keyed.write(&mut batch).expect("a write");
    let sink = subject.store().sink_on([&second]);
    let third = upload(&mut *keyed, 3, &sink);
    let changed = third.files.iter().filter(|file| !second.files.contains(file)).count();
    assert_eq!(changed, 1, "one key group changed");
    assert_eq!(sink.uploaded_bytes() + sink.reused_bytes(), third.byte_len());
}
