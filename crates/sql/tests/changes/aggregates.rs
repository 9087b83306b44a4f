//! Aggregates over rows that are taken back, against recomputation.

use super::common::{run_json, tables};
use super::{CURRENT, result};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A version of a row.
#[derive(Debug, Clone)]
struct Version {
    id: u8,
    gone: bool,
    key: Option<u8>,
    integer: Option<i64>,
    float: Option<f64>,
    text: Option<&'static str>,
    time: Option<u8>,
    counts: bool,
}

fn version() -> impl Strategy<Value = Version> {
    let floats = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e300, 1.25, -7.5, 1e-3, 3e9];
    let values = (
        proptest::option::weighted(0.8, -3i64..4),
        proptest::option::weighted(0.8, proptest::sample::select(floats.to_vec())),
        proptest::option::weighted(0.8, proptest::sample::select(vec!["", "a", "ab", "b", "ü"])),
        proptest::option::weighted(0.8, 0u8..5),
    );
    (0u8..7, proptest::bool::weighted(0.3), proptest::option::weighted(0.9, 0u8..2), values, any::<bool>()).prop_map(
        |(id, gone, key, (integer, float, text, time), counts)| Version {
            id,
            gone,
            key,
            integer,
            float,
            text,
            time,
            counts,
        },
    )
}

fn json(seq: usize, version: &Version) -> String {
    let optional = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    format!(
        "{{\"seq\":{seq},\"id\":{},\"gone\":{},\"k\":{},\"i\":{},\"f\":{},\"s\":{},\"ts\":{},\"c\":{}}}\n",
        version.id,
        version.gone,
        optional(version.key.map(|key| key.to_string())),
        optional(version.integer.map(|integer| integer.to_string())),
        optional(version.float.map(|float| format!("\"{}\"", java(float)))),
        optional(version.text.map(|text| format!("\"{text}\""))),
        optional(version.time.map(|time| format!("\"2024-01-01 00:00:0{time}\""))),
        version.counts,
    )
}

/// A number as a cast reads it.
fn java(float: f64) -> String {
    format!("{float:?}").replace("inf", "Infinity")
}

const COLUMNS: &str =
    "seq BIGINT, id BIGINT, gone BOOLEAN, k BIGINT, i BIGINT, f STRING, s STRING, ts TIMESTAMP(3), c BOOLEAN";

/// The aggregates, each with its type and what it is of rows.
type Recomputed = fn(&[&Version]) -> Value;
const AGGREGATES: &[(&str, &str, Recomputed)] = &[
    ("COUNT(*)", "BIGINT", |rows| Value::count(rows.len())),
    ("COUNT(i)", "BIGINT", |rows| Value::count(integers(rows).len())),
    ("SUM(i)", "BIGINT", |rows| sum(&integers(rows))),
    ("MIN(i)", "BIGINT", |rows| Value::of(integers(rows).iter().min())),
    ("MAX(i)", "BIGINT", |rows| Value::of(integers(rows).iter().max())),
    ("SUM(i) FILTER (WHERE c)", "BIGINT", |rows| sum(&integers(&counting(rows)))),
    ("MAX(i) FILTER (WHERE c)", "BIGINT", |rows| Value::of(integers(&counting(rows)).iter().max())),
    ("COUNT(*) FILTER (WHERE c)", "BIGINT", |rows| Value::count(counting(rows).len())),
    ("COUNT(DISTINCT i)", "BIGINT", |rows| Value::count(distinct(&integers(rows)).len())),
    ("COUNT(DISTINCT i) FILTER (WHERE c)", "BIGINT", |rows| Value::count(distinct(&integers(&counting(rows))).len())),
    ("SUM(DISTINCT i)", "BIGINT", |rows| sum(&distinct(&integers(rows)))),
    ("MIN(DISTINCT i)", "BIGINT", |rows| Value::of(integers(rows).iter().min())),
    ("AVG(DISTINCT i)", "BIGINT", |rows| {
        let values = distinct(&integers(rows));
        // Of whole numbers it is one, cut off.
        let average = (!values.is_empty()).then(|| values.iter().sum::<i64>() / values.len() as i64);
        Value::of(average.as_ref())
    }),
    ("SUM(CAST(f AS DOUBLE))", "DOUBLE", |rows| {
        let floats = floats(rows);
        Value::Float((!floats.is_empty()).then(|| floats.iter().sum()))
    }),
    ("AVG(CAST(f AS DOUBLE))", "DOUBLE", |rows| average(&floats(rows))),
    ("MIN(CAST(f AS DOUBLE))", "DOUBLE", |rows| Value::Float(ordered(floats(rows)).first().copied())),
    ("MAX(CAST(f AS DOUBLE))", "DOUBLE", |rows| Value::Float(ordered(floats(rows)).last().copied())),
    ("COUNT(DISTINCT CAST(f AS DOUBLE))", "BIGINT", |rows| {
        Value::count(floats(rows).iter().map(|float| format!("{:?}", float + 0.0)).collect::<BTreeSet<_>>().len())
    }),
    ("SUM(CAST(i AS DECIMAL(10, 2)) / 4)", "DECIMAL(38, 6)", |rows| {
        let quarters: Vec<f64> = integers(rows).iter().map(|value| *value as f64 / 4.0).collect();
        Value::Float((!quarters.is_empty()).then(|| quarters.iter().sum()))
    }),
    ("MAX(CAST(i AS DECIMAL(10, 2)) / 4)", "DECIMAL(38, 6)", |rows| {
        Value::Float(integers(rows).iter().max().map(|value| *value as f64 / 4.0))
    }),
    ("MIN(s)", "STRING", |rows| Value::of(texts(rows).iter().min())),
    ("MAX(s)", "STRING", |rows| Value::of(texts(rows).iter().max())),
    ("COUNT(DISTINCT s) FILTER (WHERE c)", "BIGINT", |rows| {
        Value::count(texts(&counting(rows)).into_iter().collect::<BTreeSet<_>>().len())
    }),
    ("MIN(ts)", "TIMESTAMP(3)", |rows| Value::of(times(rows).iter().min())),
    ("MAX(ts)", "TIMESTAMP(3)", |rows| Value::of(times(rows).iter().max())),
    ("MAX(c)", "BOOLEAN", |rows| Value::of(rows.iter().map(|row| row.counts).max().as_ref())),
];

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text(String),
    Float(Option<f64>),
}

impl Value {
    fn count(count: usize) -> Self {
        Value::Text(count.to_string())
    }

    fn of(value: Option<&impl ToString>) -> Self {
        Value::Text(value.map_or_else(|| "NULL".to_owned(), ToString::to_string))
    }

    fn is(&self, shown: &str) -> bool {
        match self {
            Value::Text(text) => text == shown,
            Value::Float(None) => shown == "NULL",
            Value::Float(Some(expected)) => match shown.parse::<f64>() {
                Ok(actual) if expected.is_nan() => actual.is_nan(),
                Ok(actual) if expected.is_infinite() => actual == *expected,
                Ok(actual) => (actual - expected).abs() <= 1e-9 * expected.abs(),
                Err(_) => false,
            },
        }
    }
}

fn counting<'v>(rows: &[&'v Version]) -> Vec<&'v Version> {
    rows.iter().copied().filter(|row| row.counts).collect()
}

fn integers(rows: &[&Version]) -> Vec<i64> {
    rows.iter().filter_map(|row| row.integer).collect()
}

fn floats(rows: &[&Version]) -> Vec<f64> {
    let mut floats: Vec<f64> = rows.iter().filter_map(|row| row.float).collect();
    // Small ones first, so that an ordinary sum is exact.
    floats.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    floats
}

fn ordered(mut floats: Vec<f64>) -> Vec<f64> {
    floats.sort_by(f64::total_cmp);
    floats
}

fn texts(rows: &[&Version]) -> Vec<&'static str> {
    rows.iter().filter_map(|row| row.text).collect()
}

fn times(rows: &[&Version]) -> Vec<String> {
    rows.iter().filter_map(|row| row.time).map(|time| format!("2024-01-01T00:00:0{time}")).collect()
}

fn sum(values: &[i64]) -> Value {
    Value::of((!values.is_empty()).then(|| values.iter().sum::<i64>()).as_ref())
}

fn average(values: &[f64]) -> Value {
    Value::Float((!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64))
}

fn distinct(values: &[i64]) -> Vec<i64> {
    values.iter().copied().collect::<BTreeSet<_>>().into_iter().collect()
}

fn expected(versions: &[Version], changing: bool) -> BTreeMap<String, Vec<Value>> {
    let mut current: BTreeMap<usize, &Version> = BTreeMap::new();
    for (seq, version) in versions.iter().enumerate() {
        current.insert(if changing { version.id.into() } else { seq }, version);
    }
    let mut groups: BTreeMap<String, Vec<&Version>> = BTreeMap::new();
    for version in current.values().filter(|version| !version.gone || !changing) {
        let key = version.key.map_or_else(|| "NULL".to_owned(), |key| key.to_string());
        groups.entry(key).or_default().push(version);
    }
    let recomputed = |rows: Vec<&Version>| AGGREGATES.iter().map(|(_, _, of)| of(&rows)).collect();
    groups.into_iter().map(|(key, rows)| (key, recomputed(rows))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_aggregate_is_that_of_the_rows_that_are_left(
        versions in proptest::collection::vec(version(), 1..40),
        batch in prop_oneof![Just(1usize), 2usize..9, Just(1000)],
        changing in proptest::bool::weighted(0.8),
        settings in proptest::sample::select(vec![
            "",
            "SET 'table.exec.state.ttl' = '1 d';",
            "SET 'state.serialization.format' = 'protobuf';",
            "SET 'state.serialization.format' = 'avro';",
            "SET 'table.exec.mini-batch.enabled' = 'true'; SET 'table.exec.mini-batch.allow-latency' = '1 h';",
        ]),
    ) {
        let lines: String = versions.iter().enumerate().map(|(seq, version)| json(seq, version)).collect();
        let types: Vec<String> =
            AGGREGATES.iter().enumerate().map(|(index, (_, ty, _))| format!("a{index} {ty}")).collect();
        let calls: Vec<&str> = AGGREGATES.iter().map(|(call, ..)| *call).collect();
        let sql = format!(
            "{settings} {} INSERT INTO out SELECT k, {} FROM {} GROUP BY k;",
            tables(COLUMNS, &format!("k BIGINT, {}", types.join(", "))),
            calls.join(", "),
            if changing { CURRENT } else { "t" },
        );
        let rows = result(&lines, &sql, batch);
        let expected = expected(&versions, changing);
        prop_assert_eq!(rows.len(), expected.len(), "{:?}", rows);
        for row in &rows {
            let cells: Vec<&str> = row.split(" | ").collect();
            let values = expected.get(cells[0]);
            prop_assert!(values.is_some(), "no group {} is left", cells[0]);
            for ((value, cell), (call, ..)) in values.into_iter().flatten().zip(&cells[1..]).zip(AGGREGATES) {
                prop_assert!(value.is(cell), "{} of {} is {} and should be {:?}", call, cells[0], cell, value);
            }
        }
    }
}

#[test]
fn a_group_that_loses_all_its_rows_is_deleted_with_its_values() {
    let lines: String = [("1", "false", 5), ("1", "true", 5), ("1", "false", 7)]
        .iter()
        .enumerate()
        .map(|(seq, (id, gone, i))| format!("{{\"seq\":{seq},\"id\":{id},\"gone\":{gone},\"k\":1,\"i\":{i}}}\n"))
        .collect();
    let sql = format!(
        "{} INSERT INTO out SELECT k, MIN(i), COUNT(DISTINCT i) FROM {CURRENT} GROUP BY k;",
        tables(COLUMNS, "k BIGINT, least BIGINT, n BIGINT")
    );
    let changes = super::changes(&lines, &sql, 1, None).expect("the job runs");
    assert_eq!(changes, ["+I 1 | 5 | 1", "-D 1 | 5 | 1", "+I 1 | 7 | 1"]);
}

#[test]
fn aggregates_are_aggregated() {
    let lines: String = [(1, 5), (1, 9), (2, 1), (3, 5), (2, 9), (1, 3)]
        .iter()
        .map(|(k, v)| format!("{{\"k\":{k},\"v\":{v}}}\n"))
        .collect();
    let sql = format!(
        "{} INSERT INTO out SELECT m, COUNT(*), AVG(CAST(n AS DOUBLE)), MIN(k) FROM
            (SELECT k, MAX(v) AS m, COUNT(*) AS n FROM t GROUP BY k) GROUP BY m;",
        tables("k BIGINT, v BIGINT", "m BIGINT, keys BIGINT, n DOUBLE, least BIGINT")
    );
    for rows in 1..=6 {
        assert_eq!(result(&lines, &sql, rows), ["5 | 1 | 1.0 | 3", "9 | 2 | 2.5 | 1"], "in batches of {rows}");
    }
}

#[test]
fn a_distinct_count_goes_on_while_its_group_lives_and_ends_with_it() {
    let (_dir, path) = super::file("{\"k\":\"a\",\"v\":1}\n");
    let sql = format!(
        "SET 'table.exec.state.ttl' = '1 s'; {} INSERT INTO out SELECT k, COUNT(DISTINCT v) FROM t GROUP BY k;",
        tables("k STRING, v BIGINT", "k STRING, n BIGINT")
    );
    let job = super::planned(&sql.replace("{path}", &path)).expect("the job is right");
    let mut run = super::Run::new(&job.graph).expect("the job opens");
    let with = |content: &str| std::fs::write(&path, content).expect("the file is written");
    run.all(8, 0).expect("the job runs");
    // The value 1 is not seen for longer than the TTL, but its group is.
    for now_ms in [900, 1800, 2700] {
        with("{\"k\":\"a\",\"v\":2}\n");
        run.all(8, now_ms).expect("the job runs");
    }
    with("{\"k\":\"a\",\"v\":1}\n");
    run.all(8, 3000).expect("the job runs");
    assert_eq!(run.output, ["+I a | 1", "-U a | 1", "+U a | 2"]);
    // Nobody has touched the group for a second.
    run.all(8, 4000).expect("the job runs");
    assert_eq!(run.output.last().map(String::as_str), Some("+I a | 1"));
}

#[test]
fn distinct_rows_are_given_once() {
    let lines = "{\"k\":1,\"v\":2}\n{\"k\":1,\"v\":2}\n{\"k\":1,\"v\":null}\n{\"k\":1,\"v\":null}\n{\"k\":2,\"v\":2}\n";
    let sql =
        format!("{} INSERT INTO out SELECT DISTINCT k, v FROM t;", tables("k BIGINT, v BIGINT", "k BIGINT, v BIGINT"));
    assert_eq!(run_json(lines, &sql).expect("the job runs").len(), 3);
    for rows in [1, 2, 5] {
        let changes = super::changes(lines, &sql, rows, Some(1)).expect("the job runs");
        assert_eq!(changes, ["+I 1 | 2", "+I 1 | NULL", "+I 2 | 2"], "only new rows, in batches of {rows}");
    }
}

#[test]
fn a_group_that_has_expired_begins_anew_with_what_comes() {
    let (_dir, path) = super::file("{\"k\":1,\"v\":1}\n");
    let sql = format!(
        "{} INSERT INTO out SELECT /*+ STATE_TTL('x' = '1 s') */ g, SUM(m), COUNT(DISTINCT m) FROM
            (SELECT k, 7 AS g, MAX(v) AS m FROM t GROUP BY k) AS x GROUP BY g;",
        tables("k BIGINT, v BIGINT", "g BIGINT, s BIGINT, n BIGINT")
    );
    let job = super::planned(&sql.replace("{path}", &path)).expect("the job is right");
    let mut run = super::Run::new(&job.graph).expect("the job opens");
    run.all(8, 0).expect("the job runs");
    std::fs::write(&path, "{\"k\":1,\"v\":2}\n").expect("the file is written");
    run.all(8, 2000).expect("the job runs");
    // The row that is taken back is not there any more; the one that replaces it is.
    assert_eq!(run.output, ["+I 7 | 1 | 1", "+I 7 | 2 | 1"]);
    assert_eq!(run.counters.get("rows taken back without state"), 1);
}
