//! Queries that are long or nest deep are planned in a moment, or refused by a limit that names itself.

mod common;

use common::{materialized, planned, refused, run_json, tables};

fn script(output: &str, query: &str) -> String {
    format!("{} INSERT INTO out {query};", tables("a INT, s STRING", output))
}

fn at_no_path(sql: &str) -> String {
    sql.replace("{path}", "/none")
}

const LINES: &str = "{\"a\": 3, \"s\": \"x\"}\n{\"a\": 4, \"s\": \"y\"}\n";

#[test]
fn ten_thousand_conditions() {
    let or: Vec<String> = (0..10_000).map(|n| format!("a = {}", n * 3)).collect();
    let query = format!("SELECT COUNT(*) FROM t WHERE {}", or.join(" OR "));
    let rows = run_json(LINES, &script("n BIGINT", &query)).expect("the query runs");
    assert_eq!(materialized(&rows), ["1"]);
    let and: Vec<String> = (0..10_000).map(|n| format!("a <> {}", n * 3)).collect();
    let query = format!("SELECT COUNT(*) FROM t WHERE {}", and.join(" AND "));
    let rows = run_json(LINES, &script("n BIGINT", &query)).expect("the query runs");
    assert_eq!(materialized(&rows), ["1"]);
}

#[test]
fn ten_thousand_branches() {
    for other in ["", ", -1"] {
        let branches: Vec<String> = (0..10_000).map(|n| format!("WHEN {n}{other} THEN {}", n * 2)).collect();
        let query = format!("SELECT CASE a {} END FROM t", branches.join(" "));
        let rows = run_json(LINES, &script("v INT", &query)).expect("the query runs");
        assert_eq!(materialized(&rows), ["6", "8"], "{other}");
    }
}

#[test]
fn thousands_of_texts_and_queries() {
    let query = format!("SELECT {} FROM t", vec!["s"; 3_000].join(" || "));
    let rows = run_json(LINES, &script("v STRING", &query)).expect("the query runs");
    assert_eq!(rows[0].len(), "+I ".len() + 3_000);
    let unions: Vec<String> = (0..1_000).map(|n| format!("SELECT a FROM t WHERE a = {}", n % 8)).collect();
    let rows = run_json(LINES, &script("a INT", &unions.join(" UNION ALL "))).expect("the query runs");
    assert_eq!(rows.len(), 2 * 1_000 / 8);
}

#[test]
fn what_nests_too_deep_is_refused_by_its_limit() {
    let sum = format!("SELECT {} FROM t", vec!["a"; 2_900].join(" + "));
    let case = format!("SELECT {}1{} FROM t", "CASE WHEN a > 1 THEN ".repeat(500), " ELSE 2 END".repeat(500));
    for (query, levels) in [(sum, "2900 levels"), (case, "502 levels")] {
        let error = refused(&at_no_path(&script("v INT", &query)));
        assert!(error.starts_with(&format!("an expression that nests {levels} is not supported; 250 are")), "{error}");
    }
    let parentheses = format!("SELECT {}a{} FROM t", "(".repeat(500), ")".repeat(500));
    planned(&at_no_path(&script("v INT", &parentheses))).expect("parentheses are no levels");
    let parentheses = format!("SELECT {}a{} FROM t", "(".repeat(9_000), ")".repeat(9_000));
    let error = refused(&at_no_path(&script("v INT", &parentheses)));
    assert!(error.starts_with("a statement that nests more than 600 levels is not supported"), "{error}");
    let arrays = format!("SELECT CARDINALITY({}1{}) FROM t", "ARRAY[".repeat(49), "]".repeat(49));
    planned(&at_no_path(&script("v INT", &arrays))).expect("49 levels are planned in a moment");
}

#[test]
fn views_over_views() {
    let chained: String =
        (1..=876).map(|n| format!("CREATE VIEW v{n} AS SELECT a + 1 AS a FROM v{};\n", n - 1)).collect();
    let sql = format!(
        "{} CREATE VIEW v0 AS SELECT a FROM t; {chained} INSERT INTO out SELECT a FROM v876;",
        tables("a INT, s STRING", "a INT")
    );
    assert_eq!(materialized(&run_json(LINES, &sql).expect("the query runs")), ["879", "880"]);
    let doubled: String = (1..=18)
        .map(|n| format!("CREATE VIEW v{n} AS SELECT a FROM v{m} UNION ALL SELECT a FROM v{m};\n", m = n - 1))
        .collect();
    let sql = format!(
        "{} CREATE VIEW v0 AS SELECT a FROM t; {doubled} INSERT INTO out SELECT a FROM v18;",
        tables("a INT, s STRING", "a INT")
    );
    let error = refused(&at_no_path(&sql));
    assert!(error.starts_with("a query of more than 20000 steps is not supported"), "{error}");
}
