//! What has changed between two checkpoints.

use crate::support::{TestJob, TestOperator, entry, key, row};
use headpond_inspect::{StateDiff, as_text, diff};
use headpond_rows::RowFormat;
use headpond_state::{CodecId, StateDescriptor, StateKind};
use std::collections::BTreeMap;

type Model = BTreeMap<i64, i64>;

fn value_state(name: &str, format: RowFormat, schema: &str) -> StateDescriptor {
    StateDescriptor::new(name, StateKind::Value, CodecId::new(format.name(), 1))
        .with_key_schema("int64")
        .with_value_schema(schema)
}

fn operator(id: &'static str, model: &Model, format: RowFormat) -> TestOperator {
    let entries = model.iter().map(|(number, value)| {
        entry(key("int64", &[(*number).into()]), vec![], row(format, "n int64", &[(*value).into()]))
    });
    TestOperator { id, states: vec![(value_state("state", format, "n int64"), entries.collect())] }
}

fn differences(job: &TestJob, from: &str, to: &str, rows: usize) -> Vec<StateDiff> {
    let open = |path: &str| job.open(path).expect("there is a checkpoint");
    let mut found = Vec::new();
    diff(&open(from), &open(to), rows, &mut |state| {
        found.push(state);
        Ok(())
    })
    .expect("the checkpoints can be compared");
    found
}

fn counts(diff: &StateDiff) -> [u64; 4] {
    [diff.added, diff.removed, diff.changed, diff.unchanged]
}

#[test]
fn entries_are_counted_as_a_model_counts_them_across_parallelisms_and_formats() {
    let mut random = 1u64;
    let mut next = |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % bound
    };
    for (parallelism, format) in [(1, RowFormat::Row), (2, RowFormat::Row), (3, RowFormat::Protobuf)] {
        let mut model = || -> Model { (0..800).map(|_| (next(1_500) as i64, next(3) as i64)).collect() };
        let (a, b) = (model(), model());
        let job = TestJob::new();
        job.checkpoint(&[operator("op", &a, RowFormat::Row)], 2);
        job.checkpoint(&[operator("op", &b, format)], parallelism);
        let both =
            |same: bool| a.iter().filter(|(key, value)| b.get(key).is_some_and(|b| (b == *value) == same)).count();
        let only = |a: &Model, b: &Model| a.keys().filter(|key| !b.contains_key(key)).count();
        let expected = [only(&b, &a), only(&a, &b), both(false), both(true)].map(|count| count as u64);
        let found = differences(&job, "job/chk-1", "job/chk-2", 0);
        assert_eq!(found.len(), 1);
        assert_eq!(counts(&found[0]), expected, "parallelism {parallelism}, format {format}");
        assert!(differences(&job, "job/chk-2", "job/chk-2", 0)[0].is_empty());
    }
}

#[test]
fn examples_show_rows_before_and_after() {
    let job = TestJob::new();
    job.checkpoint(&[operator("op", &Model::from([(1, 10), (2, 20), (3, 30)]), RowFormat::Row)], 1);
    job.checkpoint(&[operator("op", &Model::from([(2, 21), (3, 30), (4, 40)]), RowFormat::Row)], 1);
    let found = differences(&job, "job/chk-1", "job/chk-2", 10);
    let columns = as_text(found[0].examples.as_ref().expect("there are examples")).expect("they have a text");
    let mut rows: Vec<String> =
        (0..columns[0].len()).map(|row| [0, 1, 2].map(|column| columns[column][row].as_str()).join(" ")).collect();
    rows.sort();
    assert_eq!(rows, ["+I 4 40", "+U 2 21", "-D 1 10", "-U 2 20"]);
    let some = differences(&job, "job/chk-1", "job/chk-2", 1);
    assert_eq!(counts(&some[0]), [1, 1, 1, 1]);
    assert!(some[0].examples.as_ref().is_some_and(|rows| rows.num_rows() <= 2));
}

#[test]
fn operators_and_states_that_only_one_has_are_told_and_other_keys_are_not_compared() {
    let job = TestJob::new();
    let model = Model::from([(1, 10)]);
    let mut other = operator("changed", &model, RowFormat::Row);
    job.checkpoint(&[operator("gone", &model, RowFormat::Row), operator("changed", &model, RowFormat::Row)], 1);
    other.states[0].0.key_schema = "int64?".into();
    job.checkpoint(&[operator("new", &model, RowFormat::Row), other], 2);
    let found = differences(&job, "job/chk-1", "job/chk-2", 0);
    let found: Vec<(&str, [u64; 4], Option<&str>)> =
        found.iter().map(|state| (state.operator.as_str(), counts(state), state.incomparable.as_deref())).collect();
    let expected = [
        ("gone", [0, 1, 0, 0], None),
        ("changed", [0; 4], Some("its key was `int64` and is `int64?`")),
        ("new", [1, 0, 0, 0], None),
    ];
    assert_eq!(found, expected);
}
