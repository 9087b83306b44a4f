//! Registering states.

use crate::subject::{contents, point_state, put, register, scan_state};
use crate::{BackendFixture, Subject};
use headpond_state::ttl::{TimeDomain, TtlConfig};
use headpond_state::{
    AccessPattern, CodecId, Context, ErrorKind, MergeOperator, StateColumns, StateDescriptor, StateId, StateKind,
};

/// An equal descriptor finds the same state.
pub fn equal_descriptors_have_one_id(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let first = register(&mut *keyed, &point_state("a"));
    let second = register(&mut *keyed, &point_state("b"));
    assert_ne!(first, second);
    assert_eq!(register(&mut *keyed, &point_state("a")), first);
    assert_eq!(register(&mut *keyed, &point_state("b")), second);
    let failure = keyed.register(&scan_state("a")).expect_err("one name, two shapes");
    assert_eq!(failure.kind(), ErrorKind::Incompatible, "{failure}");
}

/// What a state is does not change while the job runs: not how long its entries live, and not how it is read.
pub fn a_second_registration_under_another_declaration_is_incompatible(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let declared = point_state("s").with_ttl(Some(TtlConfig::new(1000)));
    let state = register(&mut *keyed, &declared);
    let changes = [
        declared.clone().with_ttl(Some(TtlConfig::new(2000))),
        declared.clone().with_ttl(None),
        declared.clone().with_access(AccessPattern::Scan),
        declared.clone().with_value_schema("another"),
    ];
    for changed in changes {
        let failure = keyed.register(&changed).expect_err("one name, two declarations");
        assert_eq!(failure.kind(), ErrorKind::Incompatible, "{failure}");
        assert_eq!(failure.place(Context::State), Some("s"), "{failure}");
        assert!(failure.way_out().is_some(), "`{failure}` names no way out");
    }
    assert_eq!(register(&mut *keyed, &declared), state, "a refused declaration changes nothing");
}

/// Names end up in files and in messages.
pub fn a_name_that_is_empty_or_has_a_nul_character_is_invalid(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    for name in ["", "\0", "totals\0", "a\0b"] {
        let failure = keyed.register(&point_state(name)).expect_err("a bad name");
        assert_eq!(failure.kind(), ErrorKind::Invalid, "{failure}");
    }
    for name in ["x", "a b", "größe", "a/b", "..", "state:x"] {
        register(&mut *keyed, &point_state(name));
    }
}

/// Ids are those that `register` returned.
pub fn an_id_that_was_not_given_is_invalid(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let unknown = StateId(register(&mut *keyed, &point_state("s")).0 + 1);
    let key = subject.key(1, "k");
    let failure = keyed.read(unknown, &key, &mut |_| Ok(())).expect_err("an unknown id");
    assert_eq!(failure.kind(), ErrorKind::Invalid, "{failure}");
}

/// Ids are dense, in the order of registration, after a restore too.
pub fn states_are_numbered_in_order(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    for (i, name) in ["a", "b", "c"].iter().enumerate() {
        assert_eq!(register(&mut *keyed, &point_state(name)), StateId(i as u16));
    }
    let handle = subject.checkpoint(&mut *keyed, 1);
    let mut restored = subject.restore(&[handle]);
    for (i, name) in ["c", "new", "a"].iter().enumerate() {
        assert_eq!(register(&mut *restored, &point_state(name)), StateId(i as u16));
    }
}

/// A merge sees neither operands' stamps nor the refresh they carry.
pub fn a_ttl_with_a_merge_operator_is_invalid(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let descriptor = point_state("s").with_ttl(Some(TtlConfig::new(1000))).with_merge(MergeOperator::AddI64);
    let failure = keyed.register(&descriptor).expect_err("a TTL with a merge operator");
    assert_eq!(failure.kind(), ErrorKind::Invalid, "{failure}");
    assert_eq!(failure.place(Context::State), Some("s"));
    register(&mut *keyed, &point_state("s"));
}

/// Whatever decides how bytes are read must be what it was, and the error says what is not.
pub fn a_restored_state_of_another_shape_is_incompatible(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let event_time = TtlConfig { domain: TimeDomain::EventTime, ..TtlConfig::new(1000) };
    let written = StateDescriptor::new("s", StateKind::Value, CodecId::new("row", 2))
        .with_key_schema("carrier STRING")
        .with_value_schema("n BIGINT");
    let expiring = written.clone().with_ttl(Some(TtlConfig::new(1000)));
    let expiring = StateDescriptor { name: "expiring".to_owned(), ..expiring };
    let state = register(&mut *keyed, &written);
    put(&mut *keyed, state, &subject.key(1, "k"), "v");
    register(&mut *keyed, &expiring);
    let handle = subject.checkpoint(&mut *keyed, 1);

    let changes = [
        ("kind", StateDescriptor { kind: StateKind::List, ..written.clone() }),
        ("key", written.clone().with_key_schema("origin STRING")),
        ("codec", StateDescriptor { codec: CodecId::new("avro", 2), ..written.clone() }),
        ("codec", StateDescriptor { codec: CodecId::new("row", 1), ..written.clone() }),
        ("value", written.clone().with_value_schema("n DOUBLE")),
        ("merge", written.clone().with_merge(MergeOperator::Append)),
        ("TTL", written.clone().with_ttl(Some(TtlConfig::new(1000)))),
        ("TTL", expiring.clone().with_ttl(None)),
        ("TTL", expiring.clone().with_ttl(Some(event_time))),
    ];
    for (what, changed) in changes {
        let mut restored = subject.restore(std::slice::from_ref(&handle));
        let failure = restored.register(&changed).expect_err("the shape has changed");
        assert_eq!(failure.kind(), ErrorKind::Incompatible, "{failure}");
        assert_eq!(failure.place(Context::State), Some(changed.name.as_str()), "{failure}");
        assert!(failure.message().contains(what), "`{failure}` does not name the {what}");
    }
}

/// How long a TTL is, a newer version of the codec, how a state is read and what people call its columns may change
/// between runs.
pub fn a_changed_ttl_duration_or_hint_is_no_difference(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let written = point_state("s").with_ttl(Some(TtlConfig::new(1000)));
    let state = register(&mut *keyed, &written);
    for i in 0..100u8 {
        put(&mut *keyed, state, &subject.key(1, [i]), [0; 9]);
    }
    let expected = contents(&mut *keyed, state);
    let handle = subject.checkpoint(&mut *keyed, 1);
    for access in [AccessPattern::Point, AccessPattern::Scan] {
        let mut changed = written.clone().with_ttl(Some(TtlConfig::new(2000))).with_access(access);
        changed.codec.version += 1;
        changed.columns.key = "carrier utf8".parse().expect("a schema");
        let mut restored = subject.restore(std::slice::from_ref(&handle));
        let state = register(&mut *restored, &changed);
        let renamed = changed.clone().with_columns(StateColumns::default());
        assert_eq!(register(&mut *restored, &renamed), state);
        register(&mut *restored, &changed);
        assert_eq!(contents(&mut *restored, state), expected);
        let again = subject.checkpoint(&mut *restored, 2);
        assert_eq!(again.states, [changed], "a snapshot has the descriptor that was registered");
    }
}
