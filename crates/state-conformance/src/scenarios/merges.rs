//! Merge operators.

use crate::subject::{get, point_state, register, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::{MergeOperator, StateDescriptor};

fn merging_states() -> [StateDescriptor; 2] {
    [point_state("point").with_merge(MergeOperator::Append), scan_state("scan").with_merge(MergeOperator::Append)]
}

/// Operands fold into the value in the order of writing, within a batch and across batches.
pub fn operands_fold_into_the_value_in_order(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let key = subject.key(5, "k");
    for descriptor in merging_states() {
        let state = register(&mut *keyed, &descriptor);
        write(&mut *keyed, |batch| {
            batch.merge(state, &key, b"a");
            batch.merge(state, &key, b"b");
        });
        write(&mut *keyed, |batch| batch.merge(state, &key, b"c"));
        assert_eq!(get(&mut *keyed, state, &key), Some(b"abc".to_vec()));
    }
    let sum = register(&mut *keyed, &point_state("sum").with_merge(MergeOperator::AddI64));
    for summand in [40i64, -3, i64::MAX, 5] {
        write(&mut *keyed, |batch| batch.merge(sum, &key, &summand.to_le_bytes()));
    }
    let expected = 42i64.wrapping_add(i64::MAX);
    assert_eq!(get(&mut *keyed, sum, &key), Some(expected.to_le_bytes().to_vec()));
}

/// A put sets what later operands fold into; a deletion leaves nothing to fold into.
pub fn a_merge_after_a_put_or_delete_begins_there(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let (put, deleted, ranged) = (subject.key(5, "a"), subject.key(5, "b"), subject.key(5, "c"));
    for descriptor in merging_states() {
        let state = register(&mut *keyed, &descriptor);
        for key in [&put, &deleted, &ranged] {
            write(&mut *keyed, |batch| batch.merge(state, key, b"before "));
        }
        write(&mut *keyed, |batch| {
            batch.put(state, &put, b"set ");
            batch.merge(state, &put, b"merged");
            batch.delete(state, &deleted);
            batch.merge(state, &deleted, b"merged");
            batch.delete_range(state, &ranged, &subject.key(5, "d"));
            batch.merge(state, &ranged, b"merged");
        });
        assert_eq!(get(&mut *keyed, state, &put), Some(b"set merged".to_vec()));
        assert_eq!(get(&mut *keyed, state, &deleted), Some(b"merged".to_vec()));
        assert_eq!(get(&mut *keyed, state, &ranged), Some(b"merged".to_vec()));
    }
}

/// Folding goes on after a restore where it was at the cut.
pub fn merged_values_survive_a_restore(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let key = subject.key(5, "k");
    for descriptor in merging_states() {
        let state = register(&mut *keyed, &descriptor);
        write(&mut *keyed, |batch| batch.merge(state, &key, b"before "));
    }
    let handle = subject.checkpoint(&mut *keyed, 1);
    let mut restored = subject.restore(&[handle]);
    for descriptor in merging_states() {
        let state = register(&mut *restored, &descriptor);
        write(&mut *restored, |batch| batch.merge(state, &key, b"and after"));
        assert_eq!(get(&mut *restored, state, &key), Some(b"before and after".to_vec()));
    }
}
