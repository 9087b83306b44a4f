//! The ways in which windows are written.

use crate::common::{materialized, run_json_in_batches};
use crate::input::{lines, rows, tables};

const OUT: &str = "k STRING, ws TIMESTAMP(3), we TIMESTAMP(3), wt TIMESTAMP(3), n BIGINT";

fn all_give_the_same(queries: &[String]) {
    let rows = rows(21, 120, 3, 3000, 4500);
    let outputs: Vec<Vec<String>> = queries
        .iter()
        .map(|query| {
            let sql = format!("{}{query}", tables(4500, OUT));
            materialized(
                &run_json_in_batches(&lines(&rows), &sql, 13).unwrap_or_else(|error| panic!("{query}: {error}")),
            )
        })
        .collect();
    assert!(outputs[0].len() > 10, "{:?}", outputs[0]);
    for (output, query) in outputs.iter().zip(queries) {
        assert_eq!(*output, outputs[0], "{query}");
    }
}

fn selected(from: &str) -> String {
    format!(
        "INSERT INTO out SELECT k, window_start, window_end, window_time, COUNT(*) FROM {from}
         GROUP BY k, window_start, window_end, window_time;"
    )
}

#[test]
fn hop_is_written_in_many_ways() {
    all_give_the_same(&[
        selected("TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))"),
        selected("HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECONDS, INTERVAL '10' SECONDS)"),
        selected("table(hop(data => table t, timecol => descriptor(ts), size => interval '10' second, slide => interval '5' second))"),
        selected("TABLE(HOP(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SLIDE => INTERVAL '5' SECOND, SIZE => INTERVAL '10' SECOND, OFFSET => INTERVAL '1' HOUR))"),
        selected("TABLE(HOP((SELECT * FROM t), DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) AS w"),
        format!(
            "CREATE VIEW v AS SELECT ts AS time_of_row, k FROM t; {}",
            selected("TABLE(HOP(TABLE v, DESCRIPTOR(time_of_row), INTERVAL '5' SECOND, INTERVAL '10' SECOND))")
        ),
        "INSERT INTO out WITH w AS (SELECT k, ts FROM t), h AS (SELECT * FROM TABLE(HOP(TABLE w, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)))
         SELECT k, window_start, window_end, window_time, COUNT(*) FROM h GROUP BY window_start, window_end, k, window_time;".to_owned(),
        "INSERT INTO out SELECT k, HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), hop_end(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND),
           HOP_ROWTIME(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), COUNT(*)
         FROM t GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), k;".to_owned(),
        // What needs the windows as columns has a row for each window, and the same result.
        "INSERT INTO out SELECT k, window_start, window_end, window_time, COUNT(window_end)
         FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end, window_time;".to_owned(),
    ]);
}

#[test]
fn conditions_on_windows_stand_where_people_put_them() {
    let condition = "> TIMESTAMP '2013-01-01 00:02:00'";
    all_give_the_same(&[
        format!(
            "INSERT INTO out SELECT * FROM (SELECT k, window_start, window_end, window_time, COUNT(*)
             FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end, window_time)
             WHERE window_start {condition};"
        ),
        format!(
            "INSERT INTO out SELECT k, window_start, window_end, window_time, COUNT(*)
             FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) WHERE window_start {condition}
             GROUP BY k, window_start, window_end, window_time;"
        ),
        format!(
            "INSERT INTO out SELECT k, hop_start(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), hop_end(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND),
               HOP_ROWTIME(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), COUNT(*)
             FROM t GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), k
             HAVING HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) {condition};"
        ),
        format!(
            "INSERT INTO out SELECT k, window_start, window_end, window_time, COUNT(*)
             FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) WHERE window_start {condition} AND ts < window_end
             GROUP BY k, window_start, window_end, window_time;"
        ),
    ]);
}

#[test]
fn hopping_windows_without_a_grouping_are_rows() {
    let lines = "{\"k\":\"a\",\"v\":1,\"ts\":\"2013-01-01 00:00:07\"}\n{\"k\":\"b\",\"v\":1,\"ts\":null}\n";
    let sql = format!(
        "{} INSERT INTO out SELECT k, window_start, window_end, window_time, v + 1
         FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) WHERE v = 1;",
        tables(0, OUT)
    );
    let output = run_json_in_batches(lines, &sql, 10).expect("the query runs");
    let expected = [
        "+I a | 2013-01-01T00:00:00 | 2013-01-01T00:00:10 | 2013-01-01T00:00:09.999 | 2",
        "+I a | 2013-01-01T00:00:05 | 2013-01-01T00:00:15 | 2013-01-01T00:00:14.999 | 2",
        "+I b | NULL | NULL | NULL | 2",
    ];
    assert_eq!(output, expected);
}

#[test]
fn hopping_windows_are_rows_where_nobody_asks_for_their_columns() {
    let lines =
        "{\"k\":\"a\",\"v\":1,\"ts\":\"2013-01-01 00:00:07\"}\n{\"k\":\"a\",\"v\":1,\"ts\":\"2013-01-01 00:00:10\"}\n";
    let from = "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND))";
    for query in [
        format!("SELECT k, COUNT(*) FROM {from} GROUP BY k"),
        format!("SELECT k, COUNT(*) FROM (SELECT k FROM {from}) GROUP BY k"),
    ] {
        let sql = format!("{} INSERT INTO out (k, n) {query};", tables(0, OUT));
        let output = run_json_in_batches(lines, &sql, 10).expect("the query runs");
        assert_eq!(materialized(&output), ["a | NULL | NULL | NULL | 6"]);
    }
}

#[test]
fn windows_may_be_given_to_rows_of_windows() {
    let lines = "{\"k\":\"a\",\"v\":1,\"ts\":\"2013-01-01 00:00:07\"}\n";
    let inner = "SELECT k, ts, window_start AS s FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))";
    let sql = format!(
        "{} CREATE VIEW v AS {inner};
         INSERT INTO out SELECT k, s, window_end, window_end, COUNT(*)
         FROM TABLE(HOP(TABLE v, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)) GROUP BY k, s, window_start, window_end;",
        tables(0, OUT)
    );
    let output = run_json_in_batches(lines, &sql, 10).expect("the query runs");
    let expected = [
        "a | 2013-01-01T00:00:00 | 2013-01-01T00:01:00 | 2013-01-01T00:01:00 | 1",
        "a | 2013-01-01T00:00:00 | 2013-01-01T00:02:00 | 2013-01-01T00:02:00 | 1",
        "a | 2013-01-01T00:00:05 | 2013-01-01T00:01:00 | 2013-01-01T00:01:00 | 1",
        "a | 2013-01-01T00:00:05 | 2013-01-01T00:02:00 | 2013-01-01T00:02:00 | 1",
    ];
    assert_eq!(materialized(&output), expected);
}

#[test]
fn fields_of_rows_are_columns_of_views() {
    let sql = "
        CREATE TABLE events (kind INT, bid ROW<bidder BIGINT, price BIGINT>, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '4' SECOND)
          WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');
        CREATE VIEW bid AS SELECT bid.bidder, bid.price, events.ts FROM events WHERE kind = 2;
        CREATE TABLE out (bidder BIGINT, n BIGINT, s TIMESTAMP(3), e TIMESTAMP(3)) WITH ('connector' = 'blackhole');
        INSERT INTO out SELECT B.bidder, COUNT(*), SESSION_START(B.ts, INTERVAL '10' SECOND), SESSION_END(B.ts, INTERVAL '10' SECOND)
        FROM bid B GROUP BY B.bidder, SESSION(B.ts, INTERVAL '10' SECOND);";
    let lines = [
        r#"{"kind":2,"bid":{"bidder":7,"price":1},"ts":"2013-01-01 00:00:07"}"#,
        r#"{"kind":1,"bid":null,"ts":"2013-01-01 00:00:09"}"#,
        r#"{"kind":2,"bid":{"bidder":7,"price":2},"ts":"2013-01-01 00:00:10"}"#,
    ];
    let output = run_json_in_batches(&lines.join("\n"), sql, 1).expect("the query runs");
    assert_eq!(output, ["+I 7 | 2 | 2013-01-01T00:00:07 | 2013-01-01T00:00:20"]);
}
