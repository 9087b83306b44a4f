//! Late rows in a table of their own.

use crate::common::{Run, file, planned, refused};
use crate::input::{Row, assert_same, lines, rows, shown};
use headpond_runtime::operator::Counters;

const DELAY_MS: i64 = 2000;

fn tables(late: &str) -> String {
    format!(
        "SET 'table.exec.late-rows.table' = 'late';
         CREATE TABLE t (k STRING, v BIGINT, w BIGINT, ts TIMESTAMP(3), twice AS v * 2, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
           WITH ('connector' = 'filesystem', 'path' = '{{path}}', 'format' = 'json');
         CREATE TABLE out (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
         CREATE TABLE late ({late}) WITH ('connector' = 'blackhole');"
    )
}

/// What the table of late rows gets.
fn late_rows(rows: &[Row], sql: &str, size: usize) -> Vec<String> {
    let (_dir, path) = file(&lines(rows));
    let job = planned(&sql.replace("{path}", &path)).expect("the job is right");
    let mut run = Run::new(&job.graph).expect("the job opens");
    run.all(size, 0).expect("the job runs");
    // Of the two tables, the one of late rows has more columns.
    let mut late: Vec<String> = run.output.iter().filter(|row| row.matches(" | ").count() > 1).cloned().collect();
    late.sort();
    assert_eq!(run.counters.get(Counters::LATE_ROWS), late.len() as u64);
    late
}

fn as_rows(rows: impl Iterator<Item = Row>) -> Vec<String> {
    let shown = |row: Row| {
        let time = shown(row.time_ms.expect("a time"));
        format!("+I {time} | k{} | {} | NULL | {}", row.key, row.value * 2, row.value)
    };
    let mut rows: Vec<String> = rows.map(shown).collect();
    rows.sort();
    rows
}

#[test]
fn rows_that_are_late_for_all_their_windows_go_to_their_table() {
    let rows = rows(41, 300, 3, 2000, DELAY_MS);
    let late_for = |end_ms: fn(i64) -> i64| {
        let is_late = move |row: &&Row| row.time_ms.is_some_and(|time_ms| end_ms(time_ms) - 1 <= row.watermark_ms);
        as_rows(rows.iter().filter(is_late).copied())
    };
    let late = "ts TIMESTAMP(3), k STRING, twice BIGINT, w BIGINT, v DECIMAL(20, 0)";
    for (windows, expected) in [
        (
            "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND)",
            late_for(|time_ms| time_ms.div_euclid(1000) * 1000 + 1000),
        ),
        (
            "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '2' SECOND)",
            late_for(|time_ms| time_ms.div_euclid(1000) * 1000 + 2000),
        ),
    ] {
        assert!(expected.len() > 5, "{} late rows", expected.len());
        let sql = format!(
            "{} INSERT INTO out SELECT k, COUNT(*) FROM TABLE({windows}) GROUP BY k, window_start, window_end;",
            tables(late)
        );
        for size in [1, 50, usize::MAX] {
            assert_same(&late_rows(&rows, &sql, size), &expected, windows);
        }
    }
    // Only rows that the query takes are late.
    let sql = format!(
        "{} INSERT INTO out SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND))
         WHERE k = 'k1' GROUP BY k, window_start, window_end;",
        tables(late)
    );
    let of_one =
        late_for(|time_ms| time_ms.div_euclid(1000) * 1000 + 1000).into_iter().filter(|row| row.contains("| k1 |"));
    assert_same(&late_rows(&rows, &sql, 50), &of_one.collect::<Vec<_>>(), "of one key");
}

#[test]
fn late_rows_of_several_queries_go_to_one_table() {
    let rows = rows(42, 200, 1, 2000, DELAY_MS);
    let query = |windows: &str| format!("INSERT INTO out SELECT k, COUNT(*) FROM t GROUP BY k, {windows};");
    let late = "ts TIMESTAMP(3), k STRING, v BIGINT";
    let tumble = format!("{}{}", tables(late), query("TUMBLE(ts, INTERVAL '1' SECOND)"));
    let session = format!("{}{}", tables(late), query("SESSION(ts, INTERVAL '1' SECOND)"));
    let both = format!("{tumble}{}", query("SESSION(ts, INTERVAL '1' SECOND)"));
    let mut expected = late_rows(&rows, &tumble, 20);
    let of_sessions = late_rows(&rows, &session, 20);
    assert!(!of_sessions.is_empty() && !expected.is_empty());
    expected.extend(of_sessions);
    expected.sort();
    assert_same(&late_rows(&rows, &both, 20), &expected, "of both");
}

#[test]
fn a_table_of_late_rows_that_does_not_fit_is_refused() {
    let query = "INSERT INTO out SELECT k, COUNT(*) FROM t GROUP BY k, TUMBLE(ts, INTERVAL '1' SECOND);";
    let error = refused(&format!("{}{query}", tables("k STRING, vv BIGINT").replace("{path}", "x")));
    assert!(error.contains("`vv`") && error.contains("table.exec.late-rows.table"), "{error}");
    let error = refused(&format!("{}{query}", tables("k STRING, v INT").replace("{path}", "x")));
    assert!(
        error.contains("column `v` of table `late`, which gets late rows, is INT, and that of table `t` is BIGINT"),
        "{error}"
    );
    let error = refused(&format!(
        "SET 'table.exec.late-rows.table' = 'lost'; {}{query}",
        tables("k STRING").replace("{path}", "x").replacen("SET 'table.exec.late-rows.table' = 'late';", "", 1)
    ));
    assert!(error.contains("there is no table `lost`") && error.contains("table.exec.late-rows.table"), "{error}");
}
