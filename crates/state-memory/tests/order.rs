//! States that are scanned, filled in any order.

use headpond_state::backend::ScanRange;
use headpond_state::{CodecId, StateDescriptor, StateKind, WriteBatch};
use headpond_state_conformance::{BackendFixture, Subject};
use headpond_state_memory::MemoryStateBackend;
use std::ops::ControlFlow;

#[test]
fn keys_that_descend_are_all_found() {
    let orders: [fn(u32) -> u32; 4] =
        [|i| i, |i| 5000 - i, |i| if i % 2 == 0 { 2500 + i / 2 } else { 2500 - i / 2 - 1 }, |i| i * 2027 % 5003];
    for order in orders {
        let fixture: &dyn BackendFixture = &MemoryStateBackend::new;
        let subject = Subject::new(fixture);
        let mut keyed = subject.open();
        let descriptor = StateDescriptor::new("s", StateKind::Map, CodecId::new("bytes", 1));
        let state = keyed.register(&descriptor).expect("a state");
        let mut batch = WriteBatch::new();
        let key =
            |i: u32| subject.key(3, [b"a key that has a beginning ".as_slice(), &order(i).to_be_bytes()].concat());
        for i in 0..5000 {
            batch.put(state, &key(i), &i.to_be_bytes());
            if i % 100 == 99 {
                keyed.write(&mut batch).expect("a write");
            }
        }
        for i in 0..5000 {
            assert!(
                keyed
                    .read(state, &key(i), &mut |value| {
                        assert_eq!(value, i.to_be_bytes());
                        Ok(())
                    })
                    .expect("a read")
            );
        }
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let visit = &mut |entry: headpond_state::backend::Entry<'_>| {
            keys.push(entry.key.to_vec());
            Ok(ControlFlow::Continue(()))
        };
        keyed.scan(state, &ScanRange::all(), visit).expect("a scan");
        assert_eq!(keys.len(), 5000);
        assert!(keys.is_sorted());
    }
}
