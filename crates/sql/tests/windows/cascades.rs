//! Windows over the results of windows.

use crate::common::{planned, run_json_in_batches};
use crate::input::{Row, assert_same, lines, result, rows, shown, tables};
use std::collections::BTreeMap;

const OUT: &str = "k STRING, ws TIMESTAMP(3), we TIMESTAMP(3), n BIGINT, s BIGINT";

/// The rows that are not late for their windows of `size_ms`: key, window's start, and value.
fn in_windows(rows: &[Row], size_ms: i64) -> Vec<(u64, i64, i64)> {
    let placed = rows.iter().filter_map(|row| {
        let start_ms = row.time_ms?.div_euclid(size_ms) * size_ms;
        (start_ms + size_ms - 1 > row.watermark_ms).then_some((row.key, start_ms, row.value))
    });
    placed.collect()
}

#[test]
fn a_larger_window_over_smaller_ones() {
    let rows = rows(31, 300, 4, 3000, 4500);
    let mut windows: BTreeMap<(u64, i64), (i64, i64)> = BTreeMap::new();
    for (key, start_ms, value) in in_windows(&rows, 5000) {
        let (count, sum) = windows.entry((key, start_ms.div_euclid(60_000) * 60_000)).or_default();
        *count += 1;
        *sum += value;
    }
    let expected = windows.into_iter().map(|((key, start_ms), (count, sum))| {
        format!("k{key} | {} | {} | {count} | {sum}", shown(start_ms), shown(start_ms + 60_000))
    });
    let mut expected: Vec<String> = expected.collect();
    expected.sort();
    let inner = "CREATE VIEW v AS SELECT k, window_time AS wt, COUNT(*) AS n, SUM(v) AS s
        FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY k, window_start, window_end, window_time;";
    for outer in [
        "SELECT k, window_start, window_end, SUM(n), SUM(s) FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(wt), INTERVAL '1' MINUTE))
         GROUP BY k, window_start, window_end",
        "SELECT k, TUMBLE_START(wt, INTERVAL '1' MINUTE), TUMBLE_END(wt, INTERVAL '1' MINUTE), SUM(n), SUM(s) FROM v
         GROUP BY k, TUMBLE(wt, INTERVAL '1' MINUTE)",
        "SELECT k, window_start, window_end, SUM(n), SUM(s)
         FROM TABLE(HOP(TABLE v, DESCRIPTOR(wt), INTERVAL '1' MINUTE, INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end",
    ] {
        let sql = format!("{}{inner} INSERT INTO out {outer};", tables(4500, OUT));
        assert_same(&result(&rows, &sql), &expected, outer);
    }
}

#[test]
fn the_same_windows_grouped_again_close_with_them() {
    let rows = rows(32, 250, 5, 3000, 4500);
    for (slide_s, size_s) in [(5, 5), (2, 8)] {
        // The greatest count of any key in each window.
        let mut counts: BTreeMap<i64, BTreeMap<u64, i64>> = BTreeMap::new();
        for row in &rows {
            let Some(time_ms) = row.time_ms else { continue };
            let last_ms = time_ms.div_euclid(slide_s * 1000) * slide_s * 1000;
            for back in 0..size_s / slide_s {
                let start_ms = last_ms - back * slide_s * 1000;
                if start_ms + size_s * 1000 - 1 > row.watermark_ms {
                    *counts.entry(start_ms).or_default().entry(row.key).or_default() += 1;
                }
            }
        }
        let expected = counts.into_iter().map(|(start_ms, of_keys)| {
            let greatest = of_keys.values().max().expect("a key");
            let (start, end) = (shown(start_ms), shown(start_ms + size_s * 1000));
            format!("NULL | {start} | {end} | {greatest} | {}", of_keys.len())
        });
        let mut expected: Vec<String> = expected.collect();
        expected.sort();
        let function = match slide_s == size_s {
            true => format!("TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '{size_s}' SECOND)"),
            false => format!("HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '{slide_s}' SECOND, INTERVAL '{size_s}' SECOND)"),
        };
        let sql = format!(
            "{} INSERT INTO out (ws, we, n, s) SELECT c.starttime, c.endtime, MAX(c.num), COUNT(*)
             FROM (SELECT k, COUNT(*) AS num, window_start AS starttime, window_end AS endtime FROM TABLE({function})
                   GROUP BY k, window_start, window_end) AS c
             GROUP BY c.starttime, c.endtime;",
            tables(4500, OUT)
        );
        let output = run_json_in_batches(&lines(&rows), &sql, 20).expect("the query runs");
        assert!(output.iter().all(|row| row.starts_with("+I ")), "a window is given once: {output:?}");
        assert_same(&result(&rows, &sql), &expected, "the windows");
    }
}

#[test]
fn sessions_of_windows_and_windows_of_sessions() {
    let rows = rows(33, 200, 3, 4000, 4500);
    // Windows that follow each other belong to one session.
    let mut windows: BTreeMap<u64, BTreeMap<i64, i64>> = BTreeMap::new();
    for (key, start_ms, value) in in_windows(&rows, 5000) {
        *windows.entry(key).or_default().entry(start_ms).or_default() += value;
    }
    let mut expected = Vec::new();
    let mut in_minutes: BTreeMap<(u64, i64), (i64, i64)> = BTreeMap::new();
    for (key, windows) in windows {
        let windows: Vec<(i64, i64)> = windows.into_iter().collect();
        for session in windows.chunk_by(|a, b| b.0 - a.0 <= 5000) {
            let (first_ms, last_ms) = (session[0].0 + 4999, session[session.len() - 1].0 + 4999);
            let sum: i64 = session.iter().map(|(_, sum)| sum).sum();
            expected.push(format!(
                "k{key} | {} | {} | {} | {sum}",
                shown(first_ms),
                shown(last_ms + 5000),
                session.len()
            ));
            let minute = in_minutes.entry((key, (last_ms + 4999).div_euclid(60_000) * 60_000)).or_default();
            minute.0 += 1;
            minute.1 += sum;
        }
    }
    expected.sort();
    let inner = "CREATE VIEW v AS SELECT k, window_time, SUM(v) AS s
        FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY k, window_start, window_end, window_time;
      CREATE VIEW w AS SELECT k, SESSION_ROWTIME(window_time, INTERVAL '5' SECOND) AS session_time,
        SESSION_START(window_time, INTERVAL '5' SECOND) AS ws, SESSION_END(window_time, INTERVAL '5' SECOND) AS we, COUNT(*) AS n, SUM(s) AS s
        FROM v GROUP BY k, SESSION(window_time, INTERVAL '5' SECOND);";
    let sql = format!("{}{inner} INSERT INTO out SELECT k, ws, we, n, s FROM w;", tables(4500, OUT));
    assert_same(&result(&rows, &sql), &expected, "the windows");

    let expected = in_minutes.into_iter().map(|((key, start_ms), (count, sum))| {
        format!("k{key} | {} | {} | {count} | {sum}", shown(start_ms), shown(start_ms + 60_000))
    });
    let mut expected: Vec<String> = expected.collect();
    expected.sort();
    let sql = format!(
        "{}{inner} INSERT INTO out SELECT k, window_start, window_end, COUNT(*), SUM(s)
         FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(session_time), INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end;",
        tables(4500, OUT)
    );
    assert_same(&result(&rows, &sql), &expected, "the windows");
}

#[test]
fn windows_of_rows_that_have_windows_already() {
    let rows = rows(34, 150, 3, 3000, 4500);
    let sql = |from: &str| {
        format!(
            "{} INSERT INTO out SELECT k, window_start, window_end, COUNT(*), SUM(v) FROM {from}
             GROUP BY k, window_start, window_end;",
            tables(4500, OUT)
        )
    };
    let plain = result(&rows, &sql("TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))"));
    // A condition that needs the rows of windows.
    let filtered = result(
        &rows,
        &sql(
            "(SELECT * FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) WHERE ts < window_end)",
        ),
    );
    assert_eq!(filtered, plain);
}

#[test]
fn a_plan_says_what_it_keeps() {
    let sql = tables(4500, OUT).replace("{path}", "x");
    let explained =
        |query: &str| planned(&format!("{sql} INSERT INTO out {query};")).expect("the job is right").explain();
    let text = explained(
        "SELECT k, SESSION_START(ts, INTERVAL '5' SECOND), SESSION_END(ts, INTERVAL '5' SECOND), COUNT(*), SUM(v)
         FROM t GROUP BY k, SESSION(ts, INTERVAL '5' SECOND)",
    );
    assert!(text.contains("group by k, sessions with a gap of 5000 ms; COUNT(*), SUM(v)"), "{text}");
    assert!(text.contains("state `accumulators` (row): timer timestamp?"), "{text}");
    assert!(text.contains("state `older sessions` (row): "), "{text}");
    assert!(text.contains("expiry: when a window closes"), "{text}");
    let text = explained(
        "SELECT k, window_start, window_end, COUNT(*), SUM(v)
         FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end",
    );
    assert!(text.contains("hopping windows of 10000 ms every 5000 ms"), "{text}");
}
