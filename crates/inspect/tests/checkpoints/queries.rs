//! SQL over tables.

use crate::support::{Canonical, TestJob, TestOperator, entry, key, row, rows, try_rows};
use headpond_rows::RowFormat;
use headpond_state::{CodecId, ErrorKind, StateDescriptor, StateKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const SCHEMA: &str = "flights int64, delay float64?";

fn flights(count: i64) -> TestOperator {
    let state = StateDescriptor::new("flights", StateKind::Value, CodecId::new("row", 1))
        .with_key_schema("utf8,int64")
        .with_value_schema(SCHEMA);
    let carriers = ["AA", "DL", "UA"];
    let entries = (0..count).map(|number| {
        let carrier = carriers[number as usize % carriers.len()];
        let delay = (number % 5 != 0).then_some(number as f64 / 2.0);
        let value = row(RowFormat::Row, SCHEMA, &[number.into(), delay.into()]);
        entry(key("utf8,int64", &[carrier.into(), number.into()]), vec![], value)
    });
    TestOperator { id: "flights", states: vec![(state, entries.collect())] }
}

fn names() -> TestOperator {
    let state = StateDescriptor::new("names", StateKind::Value, CodecId::new("utf8", 1))
        .with_key_schema("utf8")
        .with_value_schema("utf8");
    let entries = [("AA", "American"), ("UA", "United"), ("WN", "Southwest")];
    let entries =
        entries.map(|(carrier, name)| entry(key("utf8", &[carrier.into()]), vec![], [&[1], name.as_bytes()].concat()));
    TestOperator { id: "names", states: vec![(state, entries.into())] }
}

fn job(count: i64, parallelism: usize) -> TestJob {
    let job = TestJob::new();
    job.checkpoint(&[flights(count), names()], parallelism);
    job
}

#[test]
fn queries_give_what_sql_says_whatever_the_parallelism() {
    let queries: [(&str, &[&str]); 12] = [
        ("SELECT COUNT(*), SUM(flights), MAX(delay) FROM flights", &["30|435|14.5"]),
        (
            "SELECT key_0, COUNT(*) AS n, COUNT(delay) FROM flights GROUP BY key_0 ORDER BY n DESC, key_0",
            &["AA|10|8", "DL|10|8", "UA|10|8"],
        ),
        ("SELECT key_1 FROM flights WHERE key_0 = 'UA' AND delay > 10 ORDER BY key_1 LIMIT 2", &["23", "26"]),
        ("SELECT key_1 FROM flights ORDER BY key_1 DESC LIMIT 2 OFFSET 1", &["28", "27"]),
        ("SELECT DISTINCT key_0 FROM flights ORDER BY key_0", &["AA", "DL", "UA"]),
        (
            "SELECT f.key_0, n.value, COUNT(*) FROM flights f LEFT JOIN names n ON f.key_0 = n.key_0 \
             GROUP BY f.key_0, n.value ORDER BY 1",
            &["AA|American|10", "DL|NULL|10", "UA|United|10"],
        ),
        ("SELECT key_0 FROM names WHERE key_0 NOT IN (SELECT key_0 FROM flights)", &["WN"]),
        ("SELECT COUNT(*) FROM flights WHERE flights > (SELECT AVG(flights) FROM flights)", &["15"]),
        (
            "SELECT key_0, key_1 FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY key_0 ORDER BY key_1 DESC) AS n \
             FROM flights) WHERE n = 1 ORDER BY key_0",
            &["AA|27", "DL|28", "UA|29"],
        ),
        (
            "WITH late AS (SELECT * FROM flights WHERE delay >= 14) \
             SELECT key_1 FROM late UNION ALL SELECT 99 ORDER BY key_1",
            &["28", "29", "99"],
        ),
        ("SELECT a, UPPER(b) FROM (VALUES (1, 'x'), (2, 'y')) AS t (a, b) ORDER BY a", &["1|X", "2|Y"]),
        ("SELECT COUNT(*) FROM names a JOIN names b ON a.key_0 < b.key_0 CROSS JOIN names c", &["9"]),
    ];
    for parallelism in [1, 3] {
        let job = job(30, parallelism);
        let catalog = job.open("job").expect("there is a checkpoint");
        for (query, expected) in queries {
            assert_eq!(rows(&catalog, query)[1..], *expected, "`{query}` with parallelism {parallelism}");
        }
    }
}

#[test]
fn a_limit_ends_the_reading_and_a_count_decodes_nothing() {
    let job = job(200_000, 2);
    let readers = Canonical::default();
    let entries = Arc::clone(&readers.entries);
    let catalog = job.open_with("job", Arc::new(readers)).expect("there is a checkpoint");
    assert_eq!(rows(&catalog, "SELECT flights FROM flights LIMIT 3").len(), 4);
    let read = entries.load(Ordering::Relaxed);
    assert!(read < 1000, "{read} entries were read for three rows");
    assert_eq!(rows(&catalog, "SELECT COUNT(*) FROM flights"), ["count(*)", "200000"]);
}

#[test]
fn mistakes_are_named() {
    let job = job(3, 1);
    let catalog = job.open("job").expect("there is a checkpoint");
    let fails = |query: &str| try_rows(&catalog, query).expect_err(query);
    let error = fails("SELECT flihgts FROM flights");
    assert_eq!(error.message(), "there is no column `flihgts`");
    assert_eq!(error.way_out(), Some("did you mean `flights`?"));
    assert_eq!(fails("SELECT FROM WHERE").kind(), ErrorKind::Invalid);
    assert_eq!(fails("SELECT key_0 + 1 FROM names").kind(), ErrorKind::Invalid);
    assert_eq!(fails("SELECT 1; SELECT 2").message(), "there is more than one statement");
    for query in ["DELETE FROM flights", "CREATE TABLE t (a INT)", "INSERT INTO flights SELECT * FROM flights"] {
        assert_eq!(fails(query).kind(), ErrorKind::Unsupported, "{query}");
    }
    assert_eq!(fails("SELECT key_0, COUNT(*) FROM flights GROUP BY ROLLUP (key_0)").kind(), ErrorKind::Unsupported);
}
