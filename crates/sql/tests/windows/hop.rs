//! Hopping windows against a computation that adds each row to each of its windows.

use crate::common::{Run, file, materialized, planned, run_json_in_batches};
use crate::input::{Row, assert_same, lines, result, rows, shown, tables};
use headpond_runtime::operator::Counters;
use std::collections::BTreeMap;

const OUT: &str =
    "k STRING, ws TIMESTAMP(3), we TIMESTAMP(3), n BIGINT, s BIGINT, least BIGINT, greatest BIGINT, mean DOUBLE";

fn query(slide_s: i64, size_s: i64, offset_s: i64) -> String {
    format!(
        "INSERT INTO out SELECT k, window_start, window_end, COUNT(*), SUM(v), MIN(v), MAX(v), AVG(CAST(v AS DOUBLE))
         FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '{slide_s}' SECOND, INTERVAL '{size_s}' SECOND, INTERVAL '{offset_s}' SECOND))
         GROUP BY k, window_start, window_end;"
    )
}

/// The result, and how many rows are late for all of their windows.
fn model(rows: &[Row], slide_ms: i64, size_ms: i64, offset_ms: i64) -> (Vec<String>, u64) {
    let mut windows: BTreeMap<(u64, i64), Vec<i64>> = BTreeMap::new();
    let mut late = 0;
    for row in rows {
        let Some(time_ms) = row.time_ms else { continue };
        let last_ms = time_ms - (time_ms - offset_ms).rem_euclid(slide_ms);
        let starts = (0..size_ms / slide_ms).map(|back| last_ms - back * slide_ms);
        let open: Vec<i64> = starts.filter(|start_ms| start_ms + size_ms - 1 > row.watermark_ms).collect();
        late += u64::from(open.is_empty());
        for start_ms in open {
            windows.entry((row.key, start_ms)).or_default().push(row.value);
        }
    }
    let shown = windows.into_iter().map(|((key, start_ms), values)| {
        let (count, sum) = (values.len(), values.iter().sum::<i64>());
        let (least, greatest) = (values.iter().min().expect("a value"), values.iter().max().expect("a value"));
        let mean = sum as f64 / count as f64;
        let (start, end) = (shown(start_ms), shown(start_ms + size_ms));
        format!("k{key} | {start} | {end} | {count} | {sum} | {least} | {greatest} | {mean:?}")
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort();
    (shown, late)
}

#[test]
fn each_row_counts_in_exactly_the_windows_for_which_it_is_not_late() {
    for (seed, slide_s, size_s, offset_s) in
        [(1, 2, 10, 0), (2, 5, 5, 0), (3, 1, 30, 0), (4, 10, 20, 3), (5, 60, 3600, -7)]
    {
        let rows = rows(seed, 250, 4, 3000, 4500);
        let sql = format!("{}{}", tables(4500, OUT), query(slide_s, size_s, offset_s));
        let (expected, late) = model(&rows, slide_s * 1000, size_s * 1000, offset_s * 1000);
        assert_same(&result(&rows, &sql), &expected, &format!("every {slide_s} s, {size_s} s long, from {offset_s} s"));

        let (_dir, path) = file(&lines(&rows));
        let job = planned(&sql.replace("{path}", &path)).expect("the job is right");
        let mut run = Run::new(&job.graph).expect("the job opens");
        run.all(50, 0).expect("the job runs");
        assert_eq!(run.counters.get(Counters::LATE_ROWS), late);
        let without_time = rows.iter().filter(|row| row.time_ms.is_none()).count() as u64;
        assert_eq!(run.counters.get("rows without event time"), without_time);
    }
}

#[test]
fn one_group_of_all_rows_hops_through_silences() {
    let rows = rows(9, 150, 1, 40_000, 1000);
    let sql = format!(
        "{} INSERT INTO out SELECT 'k0', window_start, window_end, COUNT(*), SUM(v), MIN(v), MAX(v), AVG(CAST(v AS DOUBLE))
         FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '4' SECOND)) GROUP BY window_start, window_end;",
        tables(1000, OUT)
    );
    assert_same(&result(&rows, &sql), &model(&rows, 1000, 4000, 0).0, "the windows");
}

#[test]
fn thousands_of_windows_are_over_at_once() {
    let rows = rows(10, 1500, 50, 500, 1000);
    let sql = format!("{}{}", tables(1000, OUT), query(1, 20, 0));
    let output = run_json_in_batches(&lines(&rows), &sql, usize::MAX).expect("the query runs");
    assert_eq!(materialized(&output), model(&rows, 1000, 20_000, 0).0);
}

#[test]
fn all_types_of_accumulators_merge() {
    let input =
        "k STRING, v BIGINT, d DECIMAL(10, 2), f DOUBLE, s STRING, b BOOLEAN, ts TIMESTAMP(3), WATERMARK FOR ts AS ts";
    let out = "we TIMESTAMP(3), sd DECIMAL(20, 2), md DECIMAL(10, 2), sf DOUBLE, mf DOUBLE, ms STRING, mb BOOLEAN, n BIGINT, mt TIMESTAMP(3)";
    let sql = format!(
        "{} INSERT INTO out SELECT window_end, SUM(d), MIN(d), SUM(f), MAX(f), MIN(s), MAX(b), COUNT(s), MAX(ts)
         FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTES)) GROUP BY window_start, window_end;",
        crate::common::tables(input, out)
    );
    let lines = [
        r#"{"k":"a","d":1.5,"f":1e100,"s":"x","b":false,"ts":"2013-01-01 00:00:10"}"#,
        r#"{"k":"a","d":2.25,"f":1.0,"s":"b","b":true,"ts":"2013-01-01 00:01:10"}"#,
        r#"{"k":"a","d":null,"f":-1e100,"s":null,"b":null,"ts":"2013-01-01 00:01:20"}"#,
    ];
    let output = run_json_in_batches(&lines.join("\n"), &sql, 1).expect("the query runs");
    let expected = [
        "2013-01-01T00:01:00 | 1.50 | 1.50 | 1e100 | 1e100 | x | false | 1 | 2013-01-01T00:00:10",
        "2013-01-01T00:02:00 | 3.75 | 1.50 | 1.0 | 1e100 | b | true | 2 | 2013-01-01T00:01:20",
        "2013-01-01T00:03:00 | 2.25 | 2.25 | -1e100 | 1.0 | b | true | 1 | 2013-01-01T00:01:20",
    ];
    assert_eq!(materialized(&output), expected);
}
