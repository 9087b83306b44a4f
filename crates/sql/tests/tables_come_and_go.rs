//! `DROP`, `IF EXISTS`, `OR REPLACE`, `SHOW`, `DESCRIBE`.

mod common;

use common::{planned, refused};

const TABLE: &str = "CREATE TABLE t (a INT NOT NULL, s STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1');";
const OUT: &str = "CREATE TABLE out (a INT) WITH ('connector' = 'blackhole');";

#[test]
fn a_script_that_cleans_up_before_it_begins_runs() {
    let job = planned(&format!(
        "DROP TABLE IF EXISTS t; DROP TEMPORARY VIEW IF EXISTS w; {TABLE}
         CREATE TABLE IF NOT EXISTS t (b INT) WITH ('connector' = 'datagen');
         CREATE VIEW w AS SELECT s FROM t;
         CREATE OR REPLACE VIEW w AS SELECT a, s FROM t;
         CREATE VIEW IF NOT EXISTS w AS SELECT s FROM t;
         SHOW TABLES; SHOW VIEWS; DESCRIBE t; DESC w; {OUT} INSERT INTO out SELECT a FROM w;"
    ))
    .expect("a plan");
    assert_eq!(job.shown, ["t\nw", "w", "a INT NOT NULL\ns STRING", "a INT NOT NULL\ns STRING"]);
}

#[test]
fn what_is_dropped_is_gone() {
    let error = refused(&format!("{TABLE} {OUT} DROP TABLE t; INSERT INTO out SELECT a FROM t;"));
    assert!(error.starts_with("there is no table `t`"), "{error}");
    planned(&format!("{TABLE} DROP TABLE t; {TABLE} {OUT} INSERT INTO out SELECT a FROM t;")).expect("another table");
}

#[test]
fn what_cannot_be_dropped_is_named() {
    for (statements, expected) in [
        (format!("{TABLE} DROP TABLE u;"), "there is no table `u`"),
        (format!("{TABLE} DROP VIEW t;"), "`t` is a table"),
        (
            format!("{TABLE} {OUT} INSERT INTO out SELECT a FROM t; DROP TABLE t;"),
            "the table `t` is used before: to drop it is not supported",
        ),
        ("DROP DATABASE d;".to_owned(), "DROP DATABASE is not supported"),
        ("SHOW FUNCTIONS;".to_owned(), "SHOW FUNCTIONS is not supported"),
        (format!("{TABLE} CREATE OR REPLACE TABLE t (a INT);"), "CREATE OR REPLACE TABLE is not supported"),
    ] {
        let error = refused(&statements);
        assert!(error.starts_with(expected), "{statements}: {error}");
        assert!(error.ends_with(']'), "{statements} names no way out: {error}");
    }
}
