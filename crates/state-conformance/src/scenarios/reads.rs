//! Reading by whole key.

use crate::subject::{get, get_many, point_state, put, register, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::{Error, ErrorKind, KeyBatch, ScanRange, ValueBatch};
use std::ops::ControlFlow;

/// A read sees what earlier writes of the same instance did.
pub fn reads_see_earlier_writes(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *keyed, &descriptor);
        let key = subject.key(7, "k");
        assert_eq!(get(&mut *keyed, state, &key), None);
        put(&mut *keyed, state, &key, "one");
        assert_eq!(get(&mut *keyed, state, &key), Some(b"one".to_vec()));
        put(&mut *keyed, state, &key, "two");
        assert_eq!(get(&mut *keyed, state, &key), Some(b"two".to_vec()));
        write(&mut *keyed, |batch| batch.delete(state, &key));
        assert_eq!(get(&mut *keyed, state, &key), None);
    }
    keyed.close().expect("the instance closes");
}

/// `read_many` visits every key once, in the batch's order, whatever repeats or is missing.
pub fn a_batch_of_keys_is_read_in_its_order_with_duplicates_and_missing_keys(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *keyed, &descriptor);
        write(&mut *keyed, |batch| {
            for i in (0..1000u32).step_by(2) {
                batch.put(state, &subject.key((i % 128) as u16, i.to_be_bytes()), i.to_string().as_bytes());
            }
        });
        let order = (0..3000u32).map(|i| i * 7919 % 1000);
        let keys: Vec<_> = order.clone().map(|i| subject.key((i % 128) as u16, i.to_be_bytes())).collect();
        let expected: Vec<_> = order.map(|i| (i % 2 == 0).then(|| i.to_string().into_bytes())).collect();
        assert_eq!(get_many(&mut *keyed, state, &keys), expected);
        assert_eq!(get_many(&mut *keyed, state, &[]), Vec::<Option<Vec<u8>>>::new());
    }
}

/// A visitor that fails ends the call with its error, is not called again, and leaves the instance as good as it was.
pub fn a_visitors_error_ends_the_call_and_nothing_else(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *keyed, &descriptor);
        let keys: Vec<_> = (0..100u8).map(|i| subject.key(u16::from(i % 8), [i])).collect();
        write(&mut *keyed, |batch| keys.iter().for_each(|key| batch.put(state, key, key)));
        let mut batch = KeyBatch::new();
        keys.iter().for_each(|key| batch.push(key));
        let wrong = || Error::corrupt("the value is not to this visitor's liking");
        let prefixes = [subject.key(0, ""), subject.key(1, "")];
        let ranges = [ScanRange::prefix(&prefixes[0]), ScanRange::prefix(&prefixes[1])];
        let mut visits = [0; 4];
        let failures = [
            keyed
                .read(state, &keys[0], &mut |_| {
                    visits[0] += 1;
                    Err(wrong())
                })
                .map(drop),
            keyed.read_many(state, &batch, &mut |_, _| {
                visits[1] += 1;
                if visits[1] == 3 { Err(wrong()) } else { Ok(()) }
            }),
            keyed.scan(state, &ScanRange::all(), &mut |_| {
                visits[2] += 1;
                if visits[2] == 3 { Err(wrong()) } else { Ok(ControlFlow::Continue(())) }
            }),
            keyed.scan_many(state, &ranges, &mut |_, _| {
                visits[3] += 1;
                if visits[3] == 3 { Err(wrong()) } else { Ok(ControlFlow::Continue(())) }
            }),
        ];
        for failure in failures {
            let failure = failure.expect_err("the visitor failed");
            assert_eq!((failure.kind(), failure.message()), (ErrorKind::Corrupt, wrong().message()), "{failure}");
        }
        assert_eq!(visits, [1, 3, 3, 3]);
        assert_eq!(get(&mut *keyed, state, &keys[7]), Some(keys[7].clone()));
        put(&mut *keyed, state, &keys[7], "still written");
    }
}

/// The values of many keys in one buffer are those that a visitor is given.
pub fn a_batch_of_keys_is_read_into_one_buffer(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let state = register(&mut *keyed, &point_state("s"));
    let mut values = ValueBatch::new();
    for round in 1..4u32 {
        write(&mut *keyed, |batch| {
            for i in (0..500u32).step_by(round as usize) {
                let value = vec![i as u8; (i % 7 * round) as usize];
                batch.put(state, &subject.key((i % 128) as u16, i.to_be_bytes()), &value);
            }
        });
        let order = (0..700u32).map(|i| i * 7919 % 1000);
        let keys: Vec<_> = order.map(|i| subject.key((i % 128) as u16, i.to_be_bytes())).collect();
        let mut batch = KeyBatch::new();
        keys.iter().for_each(|key| batch.push(key));
        values.read(&mut *keyed, state, &batch).expect("the keys are read");
        let expected = get_many(&mut *keyed, state, &keys);
        assert_eq!(values.len(), expected.len());
        let (bytes, places) = values.parts();
        for (index, expected) in expected.iter().enumerate() {
            assert_eq!(values.get(index), expected.as_deref());
            assert_eq!(places[index].clone().map(|place| &bytes[place]), expected.as_deref());
        }
    }
}

/// The same key in two states is two entries.
pub fn states_do_not_see_each_other(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let first = register(&mut *keyed, &point_state("first"));
    let second = register(&mut *keyed, &point_state("second"));
    let key = subject.key(3, "k");
    put(&mut *keyed, first, &key, "of the first");
    assert_eq!(get(&mut *keyed, second, &key), None);
    put(&mut *keyed, second, &key, "of the second");
    write(&mut *keyed, |batch| batch.delete(first, &key));
    assert_eq!(get(&mut *keyed, second, &key), Some(b"of the second".to_vec()));
}

/// Values are bytes: none at all, every byte value, and megabytes of them; keys are long or nothing but their key
/// group.
pub fn empty_and_large_values_are_kept(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let values = [Vec::new(), (0..=255).collect(), vec![7; 3 << 20]];
    let keys = [subject.key(0, ""), subject.key(127, [0xff; 5]), subject.key(64, vec![b'x'; 100_000])];
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *keyed, &descriptor);
        for value in &values {
            for key in &keys {
                put(&mut *keyed, state, key, value);
            }
            assert_eq!(get_many(&mut *keyed, state, &keys), vec![Some(value.clone()); keys.len()]);
        }
    }
}
