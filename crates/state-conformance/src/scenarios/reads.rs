//! Reading by whole key.

use crate::subject::{get, get_many, point_state, put, register, scan_state, write};
use crate::{BackendFixture, Subject};

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

/// Values are bytes: none at all, every byte value, and megabytes of them; keys are long or nothing but their key group.
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
