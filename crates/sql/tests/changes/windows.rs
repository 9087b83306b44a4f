//! Aggregates of distinct values in windows.

use super::common::refused;
use super::result;
use std::collections::{BTreeMap, BTreeSet};

const TABLES: &str = "CREATE TABLE t (k BIGINT, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '3' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');
    CREATE TABLE out (k BIGINT, start TIMESTAMP(3), n BIGINT, few BIGINT, s BIGINT, c BIGINT) WITH ('connector' = 'blackhole');";

/// Key, value and second.
fn rows() -> Vec<(u64, u64, u64)> {
    (0..200u64).map(|row| (row * row % 3, row * 7919 % 11, (row / 3).saturating_sub(row % 4 / 2))).collect()
}

fn expected(size: u64, slide: u64) -> Vec<String> {
    let mut windows: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    for (key, value, second) in rows() {
        // The first windows begin before the first row: 60 seconds are added.
        let last = (second + 60) / slide * slide;
        (0..size / slide).for_each(|back| windows.entry((key, last - back * slide)).or_default().push(value));
    }
    let shown = |((key, start), values): ((u64, u64), Vec<u64>)| {
        let distinct: BTreeSet<u64> = values.iter().copied().collect();
        let few = distinct.iter().filter(|value| **value < 4).count();
        let sum: u64 = distinct.iter().sum();
        let (minute, second) = (start / 60, start % 60);
        format!("{key} | 2024-01-01T00:{minute:02}:{second:02} | {} | {few} | {sum} | {}", distinct.len(), values.len())
    };
    let mut rows: Vec<String> = windows.into_iter().map(shown).collect();
    rows.sort();
    rows
}

fn query(window: &str) -> String {
    format!(
        "{TABLES} INSERT INTO out SELECT k, window_start, COUNT(DISTINCT v), COUNT(DISTINCT v) FILTER (WHERE v < 4), SUM(DISTINCT v),
            COUNT(*) FROM TABLE({window}) GROUP BY k, window_start, window_end;"
    )
}

#[test]
fn a_window_counts_each_of_its_values_once() {
    let lines: String = rows()
        .iter()
        .map(|(key, value, second)| {
            let (minute, second) = ((second + 60) / 60, (second + 60) % 60);
            format!("{{\"k\":{key},\"v\":{value},\"ts\":\"2024-01-01 00:{minute:02}:{second:02}\"}}\n")
        })
        .collect();
    for batch in [1, 7, 1000] {
        let tumbling = query("TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)");
        assert_eq!(result(&lines, &tumbling, batch), expected(10, 10), "in batches of {batch}");
        let hopping = query("HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND)");
        assert_eq!(result(&lines, &hopping, batch), expected(15, 5), "in batches of {batch}");
    }
}

#[test]
fn sessions_have_no_distinct_values() {
    let error = refused(&query("SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND)"));
    assert!(error.contains("an aggregate of DISTINCT values in sessions is not supported"), "{error}");
    assert!(error.contains("TUMBLE and HOP"), "{error}");
}
