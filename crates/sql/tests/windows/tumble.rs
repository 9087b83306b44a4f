//! Tumbling windows.

use crate::common::{Run, file, materialized, planned, run_json_in_batches};
use headpond_runtime::operator::Counters;

const TABLES: &str = "
    CREATE TABLE t (k STRING, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '10' SECOND)
      WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');
    CREATE TABLE out (k STRING, ws TIMESTAMP(3), we TIMESTAMP(3), n BIGINT, s BIGINT) WITH ('connector' = 'blackhole');";

const QUERY: &str = "INSERT INTO out SELECT k, window_start, window_end, COUNT(*), SUM(v)
    FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end;";

const OLDER_QUERY: &str =
    "INSERT INTO out SELECT k, TUMBLE_START(ts, INTERVAL '1' MINUTE), tumble_end(ts, INTERVAL '1' MINUTE),
    COUNT(*), SUM(v) FROM t GROUP BY k, TUMBLE(ts, INTERVAL '1' MINUTE);";

fn line(key: &str, value: i64, time: &str) -> String {
    format!("{{\"k\":\"{key}\",\"v\":{value},\"ts\":\"2013-01-01 {time}\"}}\n")
}

fn input() -> String {
    [
        line("a", 1, "00:00:10"),
        line("b", 2, "00:00:50"),
        line("a", 4, "00:00:59.999"),
        line("a", 8, "00:01:05"),
        line("a", 16, "00:00:30"), // out of order, in time: the watermark is 00:00:55
        line("a", 32, "00:01:10"), // the watermark reaches 00:01:00
        line("b", 64, "00:00:40"), // late
        line("b", 128, "00:05:00"),
    ]
    .concat()
}

const EXPECTED: [&str; 4] = [
    "a | 2013-01-01T00:00:00 | 2013-01-01T00:01:00 | 3 | 21",
    "a | 2013-01-01T00:01:00 | 2013-01-01T00:02:00 | 2 | 40",
    "b | 2013-01-01T00:00:00 | 2013-01-01T00:01:00 | 1 | 2",
    "b | 2013-01-01T00:05:00 | 2013-01-01T00:06:00 | 1 | 128",
];

#[test]
fn each_window_is_given_once_whatever_the_batches() {
    for rows in [1, 3, 100] {
        let output = run_json_in_batches(&input(), &format!("{TABLES}{QUERY}"), rows).expect("the query runs");
        assert!(output.iter().all(|row| row.starts_with("+I ")), "{output:?}");
        assert_eq!(materialized(&output), EXPECTED);
    }
}

#[test]
fn the_older_form_gives_the_same() {
    let output = run_json_in_batches(&input(), &format!("{TABLES}{OLDER_QUERY}"), 3).expect("the query runs");
    assert_eq!(materialized(&output), EXPECTED);
}

#[test]
fn late_rows_are_counted() {
    let (_dir, path) = file(&input());
    let job = planned(&format!("{TABLES}{QUERY}").replace("{path}", &path)).expect("the job is right");
    let mut run = Run::new(&job.graph).expect("the job opens");
    run.all(2, 0).expect("the job runs");
    assert_eq!(run.counters.get(Counters::LATE_ROWS), 1);
}

#[test]
fn a_window_closes_as_soon_as_the_watermark_reaches_its_last_millisecond() {
    let lines = [line("a", 1, "00:00:10"), line("a", 2, "00:01:09.999"), line("a", 4, "00:01:09.999")].concat();
    let output = run_json_in_batches(&lines, &format!("{TABLES}{QUERY}"), 2).expect("the query runs");
    assert_eq!(output[0], "+I a | 2013-01-01T00:00:00 | 2013-01-01T00:01:00 | 1 | 1");
}

#[test]
fn window_columns_without_a_grouping_are_computed_row_by_row() {
    let sql = format!(
        "{TABLES} INSERT INTO out SELECT k, window_start, window_time, v, v FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '30' MINUTE);"
    );
    let output = run_json_in_batches(&line("a", 1, "00:10:00"), &sql, 1).expect("the query runs");
    assert_eq!(output, ["+I a | 2012-12-31T23:30:00 | 2013-01-01T00:29:59.999 | 1 | 1"]);
}

#[test]
fn thousands_of_windows_close_within_bounds() {
    let lines: String = (0..20_000).map(|key| line(&format!("k{key}"), 1, "00:00:10")).collect();
    let output = run_json_in_batches(&lines, &format!("{TABLES}{QUERY}"), 8192).expect("the query runs");
    assert_eq!(output.len(), 20_000);
}
