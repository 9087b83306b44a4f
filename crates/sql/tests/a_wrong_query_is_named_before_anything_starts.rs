//! What planning refuses, and how.

mod common;

use common::{planned, refused};
use headpond_state::Context;

const TABLES: &str =
    "CREATE TABLE flights (carrier STRING, dep_delay DOUBLE, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
  WITH ('connector' = 'datagen', 'number-of-rows' = '1');
CREATE TABLE totals (carrier STRING, n BIGINT) WITH ('connector' = 'blackhole');
";

fn refused_query(query: &str) -> String {
    refused(&format!("{TABLES}INSERT INTO totals {query};"))
}

#[test]
fn names_that_are_near_are_suggested() {
    for (query, expected, hint) in [
        ("SELECT carier, n FROM flights", "there is no column `carier` (line 4, column 27", "did you mean `carrier`?"),
        ("SELECT carrier, n FROM flight", "there is no table `flight` (line 4, column 43", "did you mean `flights`?"),
        (
            "SELECT UPER(carrier), n FROM flights",
            "function UPER is not supported (line 4, column 20",
            "did you mean upper?",
        ),
        (
            "(carrier, m) SELECT carrier, n FROM flights",
            "table `totals` has no column `m` (line 4, column 30",
            "`carrier`, `n`",
        ),
    ] {
        let error = refused_query(query);
        assert!(error.starts_with(expected), "{query}: {error}");
        assert!(error.to_lowercase().contains(hint), "{query}: {error}");
    }
}

#[test]
fn columns_are_checked_by_number_and_type() {
    let error = refused_query("SELECT carrier FROM flights");
    assert!(
        error.starts_with("table `totals` takes 2 columns here, and the query gives 1 (line 4, column 13"),
        "{error}"
    );
    let error = refused_query("SELECT carrier, dep_delay FROM flights");
    assert!(error.starts_with("column `n` of table `totals` is BIGINT, and `dep_delay` is DOUBLE"), "{error}");
    assert!(error.contains("CAST(… AS BIGINT)"), "{error}");
    planned(&format!("{TABLES}INSERT INTO totals SELECT carrier, n FROM flights;")).expect("an INT fits a BIGINT");
}

#[test]
fn what_comes_later_is_refused_by_name_and_place() {
    for (query, expected) in [
        (
            "SELECT carrier, n FROM flights INTERSECT ALL SELECT carrier, n FROM flights",
            "INTERSECT ALL is not supported (line 4, column 51",
        ),
        ("SELECT carrier, n FROM flights ORDER BY n", "ORDER BY is not supported (line 4, column 51"),
        ("SELECT carrier, n FROM flights LIMIT 5", "LIMIT is not supported (line 4, column 51"),
        (
            "SELECT carrier, SUM(n) OVER (PARTITION BY carrier ORDER BY ts) FROM flights",
            "SUM OVER is not supported (line 4, column 43",
        ),
        (
            "SELECT carrier, ROW_NUMBER() OVER (PARTITION BY n ORDER BY ts) FROM flights",
            "ROW_NUMBER() without a limit is not supported",
        ),
        (
            "SELECT carrier, n FROM flights EXCEPT ALL SELECT carrier, n FROM flights",
            "EXCEPT ALL is not supported (line 4, column 51",
        ),
        (
            "SELECT carrier, 1 FROM TABLE(CUMULATE(TABLE flights, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE))",
            "CUMULATE is not supported",
        ),
        (
            "SELECT carrier, 1 FROM TABLE(SESSION(TABLE flights, DESCRIPTOR(ts), INTERVAL '1' MINUTE))",
            "SESSION without a GROUP BY of its windows is not supported",
        ),
        (
            "SELECT a.carrier, a.n FROM flights a, flights b",
            "a join without an equality between a column of one side and a column of the other is not supported",
        ),
        ("SELECT carrier, LISTAGG(carrier) FROM flights GROUP BY carrier", "the aggregate LISTAGG is not supported"),
    ] {
        let error = refused_query(query);
        assert!(error.starts_with(expected), "{query}: {error}");
        assert!(error.contains("path job.sql") && error.contains("line 4"), "{query}: {error}");
        assert!(error.ends_with(']'), "{query} names no way out: {error}");
    }
    planned(&format!("{TABLES}INSERT INTO totals SELECT carrier, n FROM flights WHERE n IS DISTINCT FROM 3;"))
        .expect("IS DISTINCT FROM is supported");
}

#[test]
fn a_refusal_says_what_to_write_instead_or_where_to_read_on() {
    for (query, hint) in [
        ("SELECT carrier, SUM(n) OVER (ORDER BY ts) FROM flights", "ROW_NUMBER() OVER"),
        ("SELECT carrier, 1 FROM TABLE(CUMULATE(TABLE flights))", "TUMBLE, HOP and SESSION are"),
        ("SELECT a.carrier, a.n FROM flights a, flights b", "add one: ON a.k = b.k"),
        ("SELECT carrier, LISTAGG(carrier) FROM flights GROUP BY carrier", "docs/reference/sql.md lists"),
    ] {
        let error = refused_query(query);
        assert!(error.contains(hint), "{query}: {error}");
    }
}

#[test]
fn messages_are_in_the_words_of_the_query() {
    let error = refused_query("SELECT carrier, n + 1 FROM flights GROUP BY carrier");
    assert!(
        error.starts_with("`flights.n` is neither grouped by nor within an aggregate (line 4, column 36"),
        "{error}"
    );
    assert!(error.contains("add it to GROUP BY"), "{error}");
    let error = refused_query("SELECT carrier, x FROM (SELECT carrier AS x, n AS x FROM flights)");
    assert!(error.contains("have the same name") && error.contains("… AS a"), "{error}");
    let error = refused_query("SELECT carrier, n + carrier + ts FROM flights");
    assert!(!error.contains("Utf8") && !error.contains("Int32"), "{error}");
    let error = refused(
        "CREATE TABLE t (m MAP<STRING, INT>) WITH ('connector' = 'filesystem', 'path' = 'none.json', 'format' = 'json');
         CREATE TABLE out (n BIGINT) WITH ('connector' = 'blackhole'); INSERT INTO out SELECT COUNT(*) FROM t GROUP BY m;",
    );
    assert!(error.starts_with("MAP<STRING, INT> can be neither a key nor compared"), "{error}");
    assert!(error.contains("m['key']"), "{error}");
}

#[test]
fn a_window_needs_the_tables_event_time() {
    let query = |time: &str| {
        format!(
            "SELECT carrier, COUNT(*) FROM TABLE(TUMBLE(TABLE {time}, INTERVAL '1' DAY)) GROUP BY carrier, window_start, window_end"
        )
    };
    planned(&format!("{TABLES}INSERT INTO totals {};", query("flights, DESCRIPTOR(ts)")))
        .expect("ts is the event time");
    let sql = format!(
        "{TABLES}CREATE TABLE plain (carrier STRING, ts TIMESTAMP(3)) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
         INSERT INTO totals {};",
        query("plain, DESCRIPTOR(ts)")
    );
    let error = refused(&sql);
    assert!(error.starts_with("a window needs event time, and its input has none"), "{error}");
    let error = refused_query(&query("flights, DESCRIPTOR(n)"));
    assert!(error.contains("takes a TIMESTAMP(3)"), "{error}");
}

#[test]
fn options_are_checked_with_their_place() {
    let error = refused("SET 'state.backend.typ' = 'rocksdb';");
    assert!(error.contains("state.backend.typ") && error.contains("line 1, column 1"), "{error}");
    assert!(error.contains("did you mean 'state.backend.type'?"), "{error}");
    let error = refused("\n SET 'table.local-time-zone' = 'Mars/Olympus';");
    assert!(error.contains("Mars/Olympus"), "{error}");
    let error = refused("CREATE TABLE t (a INT) WITH ('connector' = 'filesystem',\n 'pth' = 'x', 'format' = 'csv');");
    assert!(error.contains("pth") && error.contains("line 2, column 2"), "{error}");
}

#[test]
fn explain_shows_operators_and_what_they_keep() {
    let job = planned(&format!(
        "SET 'pipeline.name' = 'my job'; {TABLES}
         EXPLAIN INSERT INTO totals SELECT carrier, COUNT(*) FROM flights WHERE n > 3 GROUP BY carrier;
         EXPLAIN SELECT carrier, window_start, SUM(n) FROM TABLE(TUMBLE(TABLE flights, DESCRIPTOR(ts), INTERVAL '1' DAY)) GROUP BY carrier, window_start, window_end;"
    ))
    .expect("the script is right");
    assert_eq!(job.name, "my job");
    let text = &job.shown[0];
    for part in [
        "flights/source/0: read carrier, n, ts from table flights",
        "totals/calc/0: keep rows where n > 3; compute carrier",
        "totals/group-aggregate/0: group by carrier; COUNT(*)",
        "  key: utf8?",
        "  state `accumulators` (row): `rows by carrier` int64",
        "  expiry: never; unbounded: no window, no TTL",
        "totals/sink/0: write to table totals",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(
        job.shown[1].contains("query/window-aggregate/0: group by carrier, tumbling windows of 86400000 ms"),
        "{}",
        job.shown[1]
    );
    assert!(job.shown[1].contains("expiry: when a window closes"), "{}", job.shown[1]);
}

/// Plans a text as the command line does, and gives the lines of its errors.
fn lines_of_faults(text: &str) -> Vec<String> {
    let planned = headpond_sql::plan_text(
        text,
        "job.sql",
        headpond_config::Config::default(),
        &headpond_connectors::Connectors::built_in(),
    );
    let error = planned.expect_err("a wrong script");
    let all = std::iter::once(&error).chain(error.further());
    all.map(|error| error.place(Context::Line).unwrap_or_else(|| panic!("{error}")).to_owned()).collect()
}

#[test]
fn all_faults_of_a_script_are_named_at_once() {
    let lines = lines_of_faults(
        "SET 'state.backend.typ' = 'memory';
SET 'table.exec.state.ttl' = 'long';
CREATE TABLE a (k BIGINT, n INT) WITH ('connector' = 'datagen', 'rows-per-secnd' = '1');
CREATE TABLE b (k BIGINT n INT) WITH ('connector' = 'datagen');
CREATE TABLE c (k BIGINT, n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
CREATE TABLE out (k BIGINT) WITH ('connector' = 'blackhole');
CREATE VIEW v AS SELECT m FROM c;
INSERT INTO out SELECT k FROM a;
INSERT INTO out SELECT k FROM b;
INSERT INTO out SELECT m FROM v;
INSERT INTO out SELECT l FROM c;
INSERT INTO out SELECT k FORM c;
INSERT INTO out SELECT c1.k FROM c AS c1 JOIN c AS c2 ON c1.k > c2.k;
DROP TABLE c;",
    );
    // What reads a table that is wrong itself is not judged.
    assert_eq!(lines, ["1", "2", "3", "4", "7", "11", "12", "13", "14"]);
}

#[test]
fn a_fault_does_not_hide_a_later_one_of_another_table() {
    let lines = lines_of_faults(&format!(
        "{TABLES}CREATE TABLE x (a INT) WITH ('connector' = 'nowhere');
INSERT INTO totals SELECT carrier, nn FROM flights;
INSERT INTO totals SELECT 'x', a FROM x;"
    ));
    assert_eq!(lines, ["4", "5"]);
}
