//! Windows of processing time, with a clock that the test moves.

use crate::common::{Run, file, materialized, planned};
use crate::input::{BEGIN_MS, Row, lines};

const TABLES: &str = "
    CREATE TABLE t (k STRING, v BIGINT, p AS PROCTIME())
      WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');
    CREATE TABLE out (k STRING, ws TIMESTAMP(3), we TIMESTAMP(3), n BIGINT, s BIGINT) WITH ('connector' = 'blackhole');";

/// The result of a query over rows that come at these seconds, one by one; with it, the rows given before the input
/// ends.
fn run(query: &str, seconds: &[i64]) -> (Vec<String>, usize) {
    let row = |index: usize| Row { key: index as u64 % 2, value: 1 << index, time_ms: None, watermark_ms: 0 };
    let rows: Vec<Row> = (0..seconds.len()).map(row).collect();
    let (_dir, path) = file(&lines(&rows));
    let job = planned(&format!("{TABLES}{query}").replace("{path}", &path)).expect("the job is right");
    let mut run = Run::new(&job.graph).expect("the job opens");
    run.rewind().expect("the input opens");
    for second in seconds {
        assert!(run.tick(1, BEGIN_MS + second * 1000).expect("the job runs"));
        run.restart().expect("the job restarts");
    }
    let given = run.output.len();
    let end_ms = BEGIN_MS + seconds[seconds.len() - 1] * 1000;
    while run.tick(1, end_ms).expect("the job runs") {}
    (materialized(&run.output), given)
}

#[test]
fn rows_are_in_the_window_in_which_they_come() {
    let query = "INSERT INTO out SELECT k, window_start, window_end, COUNT(*), SUM(v)
        FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(p), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end;";
    let expected = [
        "k0 | 2013-01-01T00:00:00 | 2013-01-01T00:00:10 | 2 | 5",
        "k0 | 2013-01-01T00:00:10 | 2013-01-01T00:00:20 | 1 | 16",
        "k1 | 2013-01-01T00:00:00 | 2013-01-01T00:00:10 | 1 | 2",
        "k1 | 2013-01-01T00:00:10 | 2013-01-01T00:00:20 | 1 | 8",
    ];
    let (output, given) = run(query, &[1, 2, 9, 11, 15]);
    assert_eq!(output, expected);
    assert_eq!(given, 2, "the first window is over before the input ends");
    let older = "INSERT INTO out SELECT k, TUMBLE_START(p, INTERVAL '10' SECOND), TUMBLE_END(p, INTERVAL '10' SECOND), COUNT(*), SUM(v)
        FROM t GROUP BY k, TUMBLE(p, INTERVAL '10' SECOND) HAVING TUMBLE_PROCTIME(p, INTERVAL '10' SECOND) IS NOT NULL;";
    assert_eq!(run(older, &[1, 2, 9, 11, 15]).0, expected);
}

#[test]
fn windows_hop_with_the_clock() {
    let query = "INSERT INTO out SELECT k, window_start, window_end, COUNT(*), SUM(v)
        FROM TABLE(HOP(TABLE t, DESCRIPTOR(p), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end;";
    let expected = [
        "k0 | 2012-12-31T23:59:55 | 2013-01-01T00:00:05 | 1 | 1",
        "k0 | 2013-01-01T00:00:00 | 2013-01-01T00:00:10 | 2 | 5",
        "k0 | 2013-01-01T00:00:05 | 2013-01-01T00:00:15 | 1 | 4",
        "k1 | 2012-12-31T23:59:55 | 2013-01-01T00:00:05 | 1 | 2",
        "k1 | 2013-01-01T00:00:00 | 2013-01-01T00:00:10 | 1 | 2",
    ];
    assert_eq!(run(query, &[1, 2, 9]).0, expected);
}

#[test]
fn sessions_end_when_nothing_comes() {
    let query = "INSERT INTO out SELECT k, window_start, window_end, COUNT(*), SUM(v)
        FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(p), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end;";
    let expected = [
        "k0 | 2013-01-01T00:00:01 | 2013-01-01T00:00:19 | 2 | 5",
        "k0 | 2013-01-01T00:00:30 | 2013-01-01T00:00:40 | 1 | 16",
        "k1 | 2013-01-01T00:00:02 | 2013-01-01T00:00:22 | 2 | 10",
    ];
    let (output, given) = run(query, &[1, 2, 9, 12, 30]);
    assert_eq!(output, expected);
    assert_eq!(given, 2);
}
