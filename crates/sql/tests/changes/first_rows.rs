//! Deduplication and Top-N, against sorting.

use super::common::{refused, tables};
use super::{CURRENT, changes, result};
use proptest::prelude::*;
use std::collections::BTreeMap;

const COLUMNS: &str = "seq BIGINT, id BIGINT, gone BOOLEAN, k BIGINT, v BIGINT, s STRING";

#[derive(Debug, Clone)]
struct Version {
    id: u8,
    gone: bool,
    key: u8,
    value: Option<i8>,
    text: &'static str,
}

fn version() -> impl Strategy<Value = Version> {
    let texts = proptest::sample::select(vec!["", "a", "b"]);
    (0u8..9, proptest::bool::weighted(0.25), 0u8..2, proptest::option::weighted(0.8, -2i8..3), texts)
        .prop_map(|(id, gone, key, value, text)| Version { id, gone, key, value, text })
}

fn lines(versions: &[Version]) -> String {
    let line = |(seq, version): (usize, &Version)| {
        let value = version.value.map_or_else(|| "null".to_owned(), |value| value.to_string());
        format!(
            "{{\"seq\":{seq},\"id\":{},\"gone\":{},\"k\":{},\"v\":{value},\"s\":\"{}\"}}\n",
            version.id, version.gone, version.key, version.text
        )
    };
    versions.iter().enumerate().map(line).collect()
}

/// The current versions by key, each with its number.
fn current(versions: &[Version]) -> Vec<(usize, &Version)> {
    let mut current: BTreeMap<u8, (usize, &Version)> = BTreeMap::new();
    for (seq, version) in versions.iter().enumerate() {
        current.insert(version.id, (seq, version));
    }
    current.into_values().filter(|(_, version)| !version.gone).collect()
}

/// The first rows of each key by value, text and number.
fn first(mut rows: Vec<(usize, &Version)>, limit: usize, numbered: bool) -> Vec<String> {
    // `v DESC NULLS FIRST, s, seq DESC`; NULL sorts below all values.
    rows.sort_by_key(|(seq, version)| {
        (
            version.key,
            std::cmp::Reverse(version.value.map_or(i64::MAX, i64::from)),
            version.text,
            std::cmp::Reverse(*seq),
        )
    });
    let mut numbers: BTreeMap<u8, usize> = BTreeMap::new();
    let mut first = Vec::new();
    for (seq, version) in rows {
        let number = numbers.entry(version.key).or_insert(0);
        *number += 1;
        if *number <= limit {
            let number = if numbered { format!(" | {number}") } else { String::new() };
            first.push(format!("{} | {seq} | {}{number}", version.key, version.text));
        }
    }
    first.sort();
    first
}

fn query(from: &str, limit: usize, numbered: bool) -> String {
    let number = if numbered { ", n" } else { "" };
    let condition = [format!("n <= {limit}"), format!("n < {}", limit + 1), format!("{limit} >= n")];
    let condition = &condition[limit % 3];
    let column = if numbered { ", n BIGINT" } else { "" };
    format!(
        "{} INSERT INTO out SELECT k, seq, s{number} FROM (SELECT k, seq, s, ROW_NUMBER() OVER
            (PARTITION BY k ORDER BY v DESC NULLS FIRST, s, seq DESC) AS n FROM {from} AS x) WHERE {condition};",
        tables(COLUMNS, &format!("k BIGINT, seq BIGINT, s STRING{column}"))
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_first_rows_are_those_of_a_sorted_table(
        versions in proptest::collection::vec(version(), 1..60),
        batch in prop_oneof![Just(1usize), 2usize..9, Just(1000)],
        limit in 1usize..5,
        numbered: bool,
        changing: bool,
        settings in proptest::sample::select(vec![
            "",
            "SET 'table.exec.state.ttl' = '1 d';",
            "SET 'table.exec.mini-batch.enabled' = 'true'; SET 'table.exec.mini-batch.size' = '7';",
        ]),
    ) {
        let sql = query(if changing { CURRENT } else { "t" }, limit, numbered);
        let rows = if changing { current(&versions) } else { versions.iter().enumerate().collect() };
        let given = result(&lines(&versions), &format!("{settings} {sql}"), batch);
        prop_assert_eq!(given, first(rows, limit, numbered));
    }
}

#[test]
fn the_first_row_by_time_stays_unless_an_earlier_one_comes() {
    let t = "CREATE TABLE t (k STRING, ts TIMESTAMP(3), n BIGINT, WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE)
             WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');
             CREATE TABLE out (k STRING, n BIGINT) WITH ('connector' = 'blackhole');";
    let lines: String = [("a", 5, 1), ("a", 7, 2), ("a", 3, 3), ("b", 1, 4), ("a", 3, 5), ("a", 7, 6)]
        .iter()
        .map(|(k, second, n)| format!("{{\"k\":\"{k}\",\"ts\":\"2024-01-01 00:00:0{second}\",\"n\":{n}}}\n"))
        .collect();
    let query = |order: &str| {
        format!(
            "{t} INSERT INTO out SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS rn FROM t) WHERE 1 = rn;"
        )
    };
    let first = changes(&lines, &query("ts ASC"), 1, Some(2)).expect("the job runs");
    assert_eq!(first, ["+I a | 1", "-U a | 1", "+U a | 3", "+I b | 4"]);
    // Of two rows of one time the later one is the last.
    let last = changes(&lines, &query("ts DESC"), 1, Some(2)).expect("the job runs");
    assert_eq!(last, ["+I a | 1", "-U a | 1", "+U a | 2", "+I b | 4", "-U a | 2", "+U a | 6"]);
}

#[test]
fn a_sink_with_the_same_key_needs_no_old_rows() {
    let sql = "CREATE TABLE t (k STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');
        CREATE TABLE out (k STRING PRIMARY KEY NOT ENFORCED, n BIGINT) WITH ('connector' = 'blackhole');
        INSERT INTO out SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) AS rn FROM t) WHERE rn = 1;";
    let lines = "{\"k\":\"a\",\"n\":1}\n{\"k\":\"a\",\"n\":3}\n{\"k\":\"a\",\"n\":2}\n";
    assert_eq!(changes(lines, sql, 1, None).expect("the job runs"), ["+I a | 1", "+U a | 3"]);
}

#[test]
fn conditions_beside_the_number_stay() {
    let sql = format!(
        "{} INSERT INTO out SELECT k, v FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS rn FROM t)
            WHERE rn BETWEEN 2 AND 3 AND v > 1;",
        tables(COLUMNS, "k BIGINT, v BIGINT")
    );
    let lines: String = (0..5).map(|v| format!("{{\"k\":1,\"v\":{v}}}\n")).collect();
    for rows in [1, 2, 5] {
        assert_eq!(result(&lines, &sql, rows), ["1 | 2"], "in batches of {rows}");
    }
}

#[test]
fn without_partitions_all_rows_have_one_order() {
    let sql = format!(
        "{} INSERT INTO out SELECT v FROM (SELECT v, ROW_NUMBER() OVER (ORDER BY v DESC) AS rn FROM t) WHERE rn <= 2;",
        tables(COLUMNS, "v BIGINT")
    );
    let lines: String = (0..5).map(|v| format!("{{\"v\":{v}}}\n")).collect();
    assert_eq!(result(&lines, &sql, 1), ["3", "4"]);
}

#[test]
fn what_is_not_supported_is_named_with_its_place() {
    let refused = |query: &str| refused(&format!("{}\nINSERT INTO out {query};", tables(COLUMNS, "v BIGINT")));
    for (query, words, place) in [
        (
            "SELECT r FROM (SELECT RANK() OVER (PARTITION BY k ORDER BY v) AS r FROM t) WHERE r = 1",
            "RANK OVER",
            "line 3, ",
        ),
        ("SELECT DENSE_RANK() OVER (ORDER BY v) FROM t", "DENSE_RANK OVER", "line 3, "),
        ("SELECT SUM(v) OVER (PARTITION BY k ORDER BY seq) FROM t", "SUM OVER", "line 3, "),
        ("SELECT ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) FROM t", "ROW_NUMBER() without a limit", "line 3, "),
        (
            "SELECT v FROM (SELECT v, ROW_NUMBER() OVER (PARTITION BY k) AS n FROM t) WHERE n = 1",
            "needs an order",
            "line 3, ",
        ),
        (
            "SELECT v FROM (SELECT v, ROW_NUMBER() OVER (ORDER BY v) AS n FROM t) WHERE n < 1",
            "keeps no row",
            "line 3, ",
        ),
        ("SELECT v FROM t ORDER BY v", "ORDER BY", "line 3, "),
    ] {
        let error = refused(query);
        assert!(error.contains(words) && error.contains(place), "{query}: {error}");
    }
}
