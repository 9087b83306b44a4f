//! What tables there are, and how a checkpoint is found.

use crate::support::{TestJob, TestOperator, entry, key, row, rows, try_rows};
use headpond_rows::RowFormat;
use headpond_state::columns::ValueColumn;
use headpond_state::schema::Datum;
use headpond_state::typed::Timers;
use headpond_state::{CodecId, StateColumns, StateDescriptor, StateKind};

fn value_state(name: &str) -> StateDescriptor {
    StateDescriptor::new(name, StateKind::Value, CodecId::new("i64", 1))
        .with_key_schema("utf8")
        .with_value_schema("i64")
}

fn operator(id: &'static str, states: Vec<StateDescriptor>) -> TestOperator {
    TestOperator { id, states: states.into_iter().map(|state| (state, Vec::new())).collect() }
}

#[test]
fn a_table_has_the_name_of_its_operator_where_that_tells_which() {
    let job = TestJob::new();
    let list = |name: &str| {
        StateDescriptor::new(name, StateKind::List, CodecId::new("utf8", 1))
            .with_key_schema("int64")
            .with_value_schema("utf8")
    };
    let operators = [
        operator("totals/group-aggregate/0", vec![value_state("accumulators")]),
        operator(
            "hours/window/0",
            vec![value_state("accumulators"), Timers::descriptor("window ends").with_key_schema("utf8")],
        ),
        operator("both/join/0", vec![list("left rows"), list("right rows")]),
        operator("2nd", vec![value_state("a"), value_state("b")]),
    ];
    job.checkpoint(&operators, 2);
    let catalog = job.open("job").expect("there is a checkpoint");
    let names: Vec<&str> = catalog.tables().iter().map(|table| table.name()).collect();
    let expected = [
        "totals_group_aggregate_0",
        "hours_window_0",
        "hours_window_0_window_ends",
        "both_join_0_left_rows",
        "both_join_0_right_rows",
        "_2nd_a",
        "_2nd_b",
    ];
    assert_eq!(names, expected);
    let error = try_rows(&catalog, "SELECT * FROM hours_windo_0").expect_err("there is no such table");
    assert_eq!(error.way_out(), Some("did you mean `hours_window_0`?"));
    let error = try_rows(&catalog, "zzzzzz").expect_err("there is no such table");
    assert!(
        error.way_out().is_some_and(|hint| hint.starts_with("the tables are `totals_group_aggregate_0`, ")),
        "{error}"
    );
}

#[test]
fn the_newest_checkpoint_of_a_job_is_opened_and_any_other_by_its_path() {
    let job = TestJob::new();
    let states = |flights: i64| {
        let value = [vec![1], flights.to_le_bytes().to_vec()].concat();
        let entries = vec![entry(key("utf8", &["UA".into()]), Vec::new(), value)];
        [TestOperator { id: "op", states: vec![(value_state("flights"), entries)] }]
    };
    job.checkpoint(&states(1), 1);
    job.checkpoint(&states(2), 1);
    for (path, expected) in
        [("", "UA|2|NULL"), ("job", "UA|2|NULL"), ("job/chk-2", "UA|2|NULL"), ("job/chk-1", "UA|1|NULL")]
    {
        let catalog = job.open(path).expect("there is a checkpoint");
        assert_eq!(rows(&catalog, "op"), ["key_0|value|expires_at", expected], "{path}");
    }
    let error = job.open("job/chk-7").expect_err("there is none");
    assert!(error.to_string().contains("there is no such checkpoint"), "{error}");
}

#[test]
fn columns_have_the_querys_names_and_sums_and_averages_their_values() {
    let schema = "`rows by carrier` int64, `sum(delay)` float64?, `sum(delay) lost` float64, `count(delay)` int64";
    let column = |name: &str, field: &str, divided_by: Option<&str>| ValueColumn {
        name: name.to_owned(),
        field: field.to_owned(),
        divided_by: divided_by.map(str::to_owned),
        ty: None,
    };
    let columns = StateColumns {
        key: "carrier utf8?".parse().expect("a schema"),
        value: vec![column("delay_sum", "sum(delay)", None), column("delay_avg", "sum(delay)", Some("count(delay)"))],
        ..StateColumns::default()
    };
    let state = StateDescriptor::new("accumulators", StateKind::Aggregating, CodecId::new("row", 1))
        .with_key_schema("utf8?")
        .with_value_schema(schema);
    let group = |carrier: Datum, rows: i64, sum: Option<f64>, lost: f64, count: i64| {
        let fields = [rows.into(), sum.into(), lost.into(), count.into()];
        entry(key("utf8?", &[carrier]), Vec::new(), row(RowFormat::Row, schema, &fields))
    };
    let entries = || vec![group("UA".into(), 3, Some(6.0), 0.5, 2), group(Datum::Null, 1, None, 0.0, 0)];
    let job = TestJob::new();
    let with_columns = state.clone().with_columns(columns);
    job.checkpoint(&[TestOperator { id: "totals", states: vec![(with_columns, entries())] }], 1);
    job.checkpoint(&[TestOperator { id: "totals", states: vec![(state, entries())] }], 1);
    let query = "SELECT * FROM totals ORDER BY 1";
    let expected = ["carrier|delay_sum|delay_avg|_rows|expires_at", "UA|6.5|3.25|3|NULL", "NULL|NULL|NULL|1|NULL"];
    assert_eq!(rows(&job.open("job/chk-1").expect("a checkpoint"), query), expected);
    // Without columns, as older releases wrote them.
    let expected = ["key_0|rows|sum(delay)|count(delay)|expires_at", "UA|3|6.5|2|NULL", "NULL|1|NULL|0|NULL"];
    assert_eq!(rows(&job.open("job/chk-2").expect("a checkpoint"), query), expected);
}
