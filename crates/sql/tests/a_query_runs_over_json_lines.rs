//! Queries end to end, without the runtime.

mod common;

use common::{materialized, run_json, run_json_in_batches, tables};

const SALES: &str = r#"{"k":"a","v":1,"d":1.5}
{"k":"b","v":2,"d":null}
{"k":"a","v":3,"d":0.5}
{"k":null,"v":4,"d":2.0}
{"k":null,"v":null,"d":1.0}
"#;

fn sales(output: &str, query: &str) -> Vec<String> {
    let sql = format!("{} INSERT INTO out {query};", tables("k STRING, v BIGINT, d DOUBLE", output));
    let whole = run_json(SALES, &sql).expect("the query runs");
    let by_row = run_json_in_batches(SALES, &sql, 1).expect("the query runs row by row");
    assert_eq!(materialized(&whole), materialized(&by_row), "batches make no difference");
    materialized(&whole)
}

#[test]
fn filter_and_projection() {
    let rows = sales(
        "k STRING, w BIGINT, big STRING",
        "SELECT UPPER(k), v * 2, CASE WHEN v > 2 THEN 'yes' ELSE 'no' END FROM t WHERE v >= 2",
    );
    assert_eq!(
        rows,
        ["B | 4 | no", "A | 6 | yes", "NULL | 8 | yes"]
            .map(str::to_owned)
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    );
}

#[test]
fn totals_by_key_with_a_group_for_null() {
    let rows = sales(
        "k STRING, n BIGINT, nv BIGINT, s BIGINT, lo BIGINT, hi BIGINT, a DOUBLE",
        "SELECT k, COUNT(*), COUNT(v), SUM(v), MIN(v), MAX(v), AVG(d) FROM t GROUP BY k",
    );
    assert_eq!(rows, ["NULL | 2 | 1 | 4 | 4 | 4 | 1.5", "a | 2 | 2 | 4 | 1 | 3 | 1.0", "b | 1 | 1 | 2 | 2 | 2 | NULL"]);
}

#[test]
fn a_total_without_key_has_one_row() {
    assert_eq!(sales("n BIGINT, s DOUBLE", "SELECT COUNT(*), SUM(d) FROM t"), ["5 | 5.0"]);
    let sql = format!("{} INSERT INTO out SELECT COUNT(*) FROM t;", tables("k STRING", "n BIGINT"));
    assert!(run_json("", &sql).expect("the query runs").is_empty(), "without input there is no row");
}

#[test]
fn filter_clause_counts_some_rows() {
    let rows = sales(
        "k STRING, n BIGINT, s BIGINT",
        "SELECT k, COUNT(*) FILTER (WHERE v > 1), SUM(v) FILTER (WHERE d > 1) FROM t GROUP BY k",
    );
    assert_eq!(rows, ["NULL | 1 | 4", "a | 1 | 1", "b | 1 | NULL"]);
}

#[test]
fn having_turns_updates_into_inserts_and_deletes() {
    let sql = format!(
        "{} INSERT INTO out SELECT k, SUM(v) FROM t GROUP BY k HAVING SUM(v) BETWEEN 2 AND 5;",
        tables("k STRING, v BIGINT", "k STRING, s BIGINT")
    );
    let lines = "{\"k\":\"a\",\"v\":1}\n{\"k\":\"a\",\"v\":2}\n{\"k\":\"a\",\"v\":1}\n{\"k\":\"a\",\"v\":9}\n";
    let rows = run_json_in_batches(lines, &sql, 1).expect("the query runs");
    assert_eq!(rows, ["+I a | 3", "-U a | 3", "+U a | 4", "-D a | 4"]);
}

#[test]
fn an_aggregate_of_an_aggregate_takes_rows_back() {
    let rows = sales(
        "n BIGINT, keys BIGINT, s BIGINT, a DOUBLE",
        "SELECT n, COUNT(*), SUM(s), AVG(CAST(s AS DOUBLE)) FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY k) GROUP BY n",
    );
    assert_eq!(rows, ["1 | 1 | 2 | 2.0", "2 | 2 | 8 | 4.0"]);
}

#[test]
fn unchanged_results_are_not_given_again() {
    let sql = format!(
        "{} INSERT INTO out SELECT k, MAX(v) FROM t GROUP BY k;",
        tables("k STRING, v BIGINT", "k STRING, m BIGINT")
    );
    let lines = "{\"k\":\"a\",\"v\":5}\n{\"k\":\"a\",\"v\":2}\n{\"k\":\"a\",\"v\":7}\n";
    let rows = run_json_in_batches(lines, &sql, 1).expect("the query runs");
    assert_eq!(rows, ["+I a | 5", "-U a | 5", "+U a | 7"]);
}

#[test]
fn views_and_columns_that_are_computed() {
    let sql = "CREATE TABLE t (a INT, b AS a + 1, c AS UPPER(s), s STRING)
                 WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');
               CREATE TABLE out (x BIGINT, y STRING) WITH ('connector' = 'blackhole');
               CREATE VIEW doubled (x, y) AS SELECT b * 2, c FROM t;
               INSERT INTO out SELECT x, y FROM doubled WHERE x > 2;";
    let rows = run_json("{\"a\":0,\"s\":\"p\"}\n{\"a\":1,\"s\":\"q\"}\n", sql).expect("the query runs");
    assert_eq!(rows, ["+I 4 | Q"]);
}

#[test]
fn columns_that_are_taken_by_position_may_have_one_name() {
    let four = "a BIGINT, b STRING, c DOUBLE, d BIGINT";
    for query in [
        "SELECT v, CAST(v AS STRING), CAST(v AS DOUBLE), v FROM t WHERE v = 2",
        "SELECT v AS x, CAST(v AS STRING) AS x, CAST(v AS DOUBLE) AS x, t.v AS x FROM t WHERE v = 2",
        "SELECT v + 0, CAST(CAST(v AS BIGINT) + 0 AS STRING), CAST(v + 0 AS DOUBLE), t.v + 0 FROM t WHERE v = 2",
        "SELECT MAX(v), CAST(MAX(v) AS STRING), CAST(max(v) AS DOUBLE), MAX(t.v) FROM t WHERE v = 2 GROUP BY v",
        "SELECT v, CAST(v AS STRING), CAST(v AS DOUBLE), v FROM t GROUP BY v HAVING v = 2",
        "(SELECT v AS x, CAST(v AS STRING), CAST(v AS DOUBLE), v FROM (SELECT *, CAST(v AS STRING) FROM t) WHERE v = 2)",
        "SELECT v, CAST(v AS STRING), CAST(v AS DOUBLE), v FROM (SELECT v, v, CAST(v AS INT), CAST(v AS STRING) FROM t) AS t WHERE v = 2",
    ] {
        assert_eq!(sales(four, query), ["2 | 2 | 2.0 | 2"], "{query}");
    }
    assert_eq!(
        sales("k STRING, v BIGINT, d DOUBLE, w BIGINT, x STRING", "SELECT *, v, CAST(v AS STRING) FROM t WHERE v = 3"),
        ["a | 3 | 0.5 | 3 | 3"]
    );
    let sql = "CREATE TABLE t (v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');
               CREATE TABLE out (a BIGINT, b STRING) WITH ('connector' = 'blackhole');
               CREATE VIEW two (a, b) AS SELECT v AS x, CAST(v AS STRING) AS x FROM t;
               CREATE VIEW one AS SELECT v, CAST(v AS STRING), CAST(v AS INT) FROM t;
               INSERT INTO out SELECT a, b FROM two;
               INSERT INTO out SELECT v, CAST(v AS STRING) FROM one;";
    assert_eq!(run_json("{\"v\":1}\n", sql).expect("the query runs"), ["+I 1 | 1", "+I 1 | 1"]);
}

#[test]
fn columns_that_an_insert_leaves_out_are_null() {
    let rows = sales("x STRING, y BIGINT, z STRING", "(z, y) SELECT k, v FROM t WHERE v = 1");
    assert_eq!(rows, ["NULL | 1 | a"]);
}

#[test]
fn a_sink_that_overwrites_by_the_same_key_gets_no_old_rows() {
    let tables = |key: &str| {
        format!(
            "CREATE TABLE t (k STRING, v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{{path}}', 'format' = 'json');
             CREATE TABLE out (k STRING, s BIGINT, PRIMARY KEY ({key}) NOT ENFORCED) WITH ('connector' = 'blackhole');"
        )
    };
    let lines = "{\"k\":\"a\",\"v\":1}\n{\"k\":\"a\",\"v\":2}\n";
    let run = |key: &str, query: &str| {
        run_json_in_batches(lines, &format!("{} INSERT INTO out {query};", tables(key)), 1).expect("the query runs")
    };
    let totals = "SELECT k, SUM(v) FROM t GROUP BY k";
    assert_eq!(run("k", totals), ["+I a | 1", "+U a | 3"]);
    assert_eq!(run("s", totals), ["+I a | 1", "-U a | 1", "+U a | 3"], "the key changes");
    assert_eq!(run("k", &format!("{totals} HAVING SUM(v) < 3")), ["+I a | 1", "-D a | 1"], "a row may leave");
}

#[test]
fn a_field_of_a_row_is_a_column_of_its_name() {
    let lines =
        "{\"p\": {\"id\": 1, \"name\": \"Ada\"}, \"k\": 7}\n{\"p\": {\"id\": 2, \"name\": \"Bob\"}, \"k\": 8}\n";
    let tables = tables("p ROW<id BIGINT, name STRING>, k BIGINT", "id BIGINT, name STRING, k BIGINT");
    for query in [
        "CREATE VIEW v AS SELECT p.id, p.name, k FROM t; INSERT INTO out SELECT id, name, k FROM v WHERE id > 1",
        "INSERT INTO out SELECT id, w.name, k FROM (SELECT p.id, t.p.name, t.k FROM t) w WHERE w.id > 1",
        "INSERT INTO out SELECT x.id, x.name, x.k FROM
           (SELECT p.id, p.name, k FROM t UNION ALL SELECT p.id, p.name, k FROM t WHERE k > 100) x WHERE x.id > 1",
    ] {
        let rows = run_json(lines, &format!("{tables} {query};")).expect(query);
        assert_eq!(rows, ["+I 2 | Bob | 8"], "{query}");
    }
}
