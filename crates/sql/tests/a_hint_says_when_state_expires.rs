//! `STATE_TTL` hints.

mod common;

use common::{planned, refused};

const TABLES: &str = "CREATE TABLE t (k BIGINT, v BIGINT) WITH ('connector' = 'datagen');
    CREATE VIEW w AS SELECT k, v FROM t WHERE v > 0;
    CREATE TABLE out (k BIGINT, n BIGINT) WITH ('connector' = 'blackhole');";

fn expiry(settings: &str, query: &str) -> String {
    let job = planned(&format!("{settings} {TABLES} INSERT INTO out {query};")).expect("a job");
    let explained = job.explain();
    let line = explained.lines().find(|line| line.trim_start().starts_with("expiry")).expect("an operator with state");
    line.trim().to_owned()
}

#[test]
fn the_name_or_alias_of_the_input_chooses_the_state() {
    for query in [
        "SELECT /*+ STATE_TTL('t' = '2 h') */ k, COUNT(*) FROM t GROUP BY k",
        "SELECT /*+ STATE_TTL('x'='7200 s') */ k, COUNT(*) FROM t x GROUP BY k",
        "SELECT /*+ STATE_TTL('w' = '2h') */ k, COUNT(*) FROM w GROUP BY k",
        "SELECT k, COUNT(*) FROM t GROUP BY k /*+ STATE_TTL('t' = '2 h') */",
        "SELECT k, COUNT(*) FROM t GROUP BY k -- the end\n /* of it */ /*+ STATE_TTL('t' = '2 h') */ /* at last */",
        "SELECT k, COUNT(*) FROM t /*+ STATE_TTL('t' = '2 h') */ GROUP BY k",
        "SELECT /*+ state_ttl('t' = '2 h') */ k, COUNT(*) FROM t WHERE v > 3 GROUP BY k",
    ] {
        assert_eq!(
            expiry("SET 'table.exec.state.ttl' = '1 d';", query),
            "expiry: 7200000 ms after the last write",
            "{query}"
        );
    }
}

#[test]
fn a_hint_of_zero_keeps_state_for_ever() {
    let query = "SELECT /*+ STATE_TTL('t' = '0 s') */ k, COUNT(*) FROM t GROUP BY k";
    let expiry = expiry("SET 'table.exec.state.ttl' = '1 d';", query);
    assert_eq!(expiry, "expiry: never; unbounded: no window, no TTL");
}

#[test]
fn a_hint_is_refused_wherever_it_can_do_nothing() {
    let query = "INSERT INTO out SELECT k, COUNT(*) FROM t GROUP BY k";
    for (hinted, expected) in [
        (format!("{query} /*+ FOO('x') */"), "the hint FOO is not supported (line 4, column 55"),
        (format!("/*+ FOO('x') */ {query}"), "a hint stands in front of a statement (line 4, column 2"),
        (format!("{query}; /*+ STATE_TTL('t' = '1 d') */"), "a hint stands in front of a statement (line 4, column 56"),
        ("DROP TABLE out /*+ FOO('x') */".to_owned(), "a hint here is not supported (line 4, column 17"),
    ] {
        let error = refused(&format!("{TABLES}\n {hinted};"));
        assert!(error.contains(expected), "{hinted}: {error}");
    }
}

#[test]
fn a_hint_that_cannot_be_followed_is_an_error_with_its_place() {
    let error =
        |hint: &str| refused(&format!("{TABLES}\nINSERT INTO out SELECT {hint} k, COUNT(*) FROM t GROUP BY k;"));
    assert!(error("/*+ STATE_TTL('nobody' = '1 d') */").contains("STATE_TTL('nobody') fits no input"));
    assert!(error("/*+ STATE_TTL('t' = 'soon') */").contains("line 4, column 24"));
    assert!(error("/*+ STATE_TTL(t = 1) */").contains("not readable at `t`"));
    assert!(error("/*+ BROADCAST(t) */").contains("the hint BROADCAST is not supported"));
    assert!(error("/*+ STATE_TTL('t' = '1 d', 't' = '2 d') */").contains("two hints"));
}
