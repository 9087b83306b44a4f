//! Sessions against a computation that looks at one row after the other.

use crate::common::{Run, file, materialized, planned, refused, run_json_in_batches};
use crate::input::{Row, assert_same, lines, result, rows, shown, tables};
use headpond_runtime::operator::Counters;
use std::collections::BTreeMap;
use std::io::Read;

const OUT: &str =
    "k STRING, ws TIMESTAMP(3), we TIMESTAMP(3), wt TIMESTAMP(3), n BIGINT, s BIGINT, least BIGINT, mean DOUBLE";

fn query(gap_ms: i64) -> String {
    format!(
        "INSERT INTO out SELECT k, window_start, window_end, window_time, COUNT(*), SUM(v), MIN(v), AVG(CAST(v AS DOUBLE))
         FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '{}.{:03}' SECOND))
         GROUP BY k, window_start, window_end, window_time;",
        gap_ms / 1000,
        gap_ms % 1000
    )
}

/// A session: its first and its last time, and its values.
#[derive(Debug, Clone)]
struct Session {
    key: u64,
    first_ms: i64,
    last_ms: i64,
    values: Vec<i64>,
}

/// The sessions, and how many rows are late: each row joins what it touches and what is not over for its watermark.
fn sessions(rows: &[Row], gap_ms: i64) -> (Vec<Session>, u64) {
    let mut sessions: Vec<Session> = Vec::new();
    let mut late = 0;
    for row in rows {
        let Some(time_ms) = row.time_ms else { continue };
        let touches = |session: &Session| {
            session.key == row.key
                && session.first_ms - gap_ms <= time_ms
                && time_ms <= session.last_ms + gap_ms
                && session.last_ms + gap_ms > row.watermark_ms
        };
        let (touched, others): (Vec<Session>, Vec<Session>) = sessions.into_iter().partition(touches);
        sessions = others;
        if touched.is_empty() && time_ms + gap_ms <= row.watermark_ms {
            late += 1;
            continue;
        }
        let mut joined = Session { key: row.key, first_ms: time_ms, last_ms: time_ms, values: vec![row.value] };
        for session in touched {
            joined.first_ms = joined.first_ms.min(session.first_ms);
            joined.last_ms = joined.last_ms.max(session.last_ms);
            joined.values.extend(session.values);
        }
        sessions.push(joined);
    }
    (sessions, late)
}

fn as_rows(sessions: &[Session], gap_ms: i64) -> Vec<String> {
    let shown = |session: &Session| {
        let Session { key, first_ms, last_ms, values } = session;
        let (count, sum) = (values.len(), values.iter().sum::<i64>());
        let (least, mean) = (values.iter().min().expect("a value"), sum as f64 / count as f64);
        let (start, end, time) = (shown(*first_ms), shown(last_ms + gap_ms), shown(last_ms + gap_ms - 1));
        format!("k{key} | {start} | {end} | {time} | {count} | {sum} | {least} | {mean:?}")
    };
    let mut rows: Vec<String> = sessions.iter().map(shown).collect();
    rows.sort();
    rows
}

#[test]
fn rows_join_the_sessions_that_they_touch() {
    for (seed, keys, step_ms, delay_ms, gap_ms) in
        [(1, 3, 2000, 3000, 4000), (2, 1, 3000, 10_000, 1500), (3, 5, 500, 0, 1500), (4, 2, 1000, 60_000, 2000)]
    {
        let rows = rows(seed, 250, keys, step_ms, delay_ms);
        let (sessions, late) = sessions(&rows, gap_ms);
        let sql = format!("{}{}", tables(delay_ms, OUT), query(gap_ms));
        assert_same(&result(&rows, &sql), &as_rows(&sessions, gap_ms), &format!("a gap of {gap_ms} ms"));

        let (_dir, path) = file(&lines(&rows));
        let job = planned(&sql.replace("{path}", &path)).expect("the job is right");
        let mut run = Run::new(&job.graph).expect("the job opens");
        run.all(50, 0).expect("the job runs");
        assert_eq!(run.counters.get(Counters::LATE_ROWS), late);
    }
}

#[test]
fn a_key_with_hundreds_of_open_sessions_keeps_them_apart() {
    for seed in [1, 2, 3] {
        // A watermark far behind, so that hardly anything is over, and rows all over the place.
        let mut rows = rows(seed, 300, 2, 1000, 20_000_000);
        let mut random = crate::input::Random(seed);
        let mut greatest = i64::MIN;
        for row in &mut rows {
            let time_ms = random.below(3_000_000) as i64;
            row.time_ms = Some(time_ms);
            row.watermark_ms = greatest.saturating_sub(20_000_000);
            greatest = greatest.max(time_ms);
        }
        // Then time passes the half of it, and rows come for what is left.
        let mut late: Vec<Row> = rows.iter().rev().take(60).copied().collect();
        rows.push(Row { key: 0, value: 1, time_ms: Some(21_500_000), watermark_ms: greatest - 20_000_000 });
        for row in &mut late {
            row.watermark_ms = 1_500_000;
        }
        rows.extend(late);
        let (sessions, late) = sessions(&rows, 5000);
        assert!(late > 0 && sessions.len() > 100, "{late} late rows, {} sessions", sessions.len());
        for format in ["row", "protobuf", "avro"] {
            let set = format!("SET 'state.serialization.format' = '{format}';");
            let sql = format!("{set}{}{}", tables(20_000_000, OUT), query(5000));
            assert_same(&result(&rows, &sql), &as_rows(&sessions, 5000), format);
        }
    }
}

#[test]
fn rows_ahead_of_their_watermarks_have_the_same_sessions_in_any_order() {
    let mut rows = rows(5, 200, 2, 2000, 0);
    rows.retain(|row| row.time_ms.is_some());
    let delay_ms = 10_000_000;
    for row in &mut rows {
        row.watermark_ms = i64::MIN;
    }
    let expected = as_rows(&sessions(&rows, 1000).0, 1000);
    let sql = format!("{}{}", tables(delay_ms, OUT), query(1000));
    assert_same(&result(&rows, &sql), &expected, "the windows");
    rows.reverse();
    assert_same(&result(&rows, &sql), &expected, "the windows");
}

#[test]
fn rows_exactly_one_gap_apart_are_together() {
    let row = |time_ms: i64| Row { key: 1, value: 1, time_ms: Some(time_ms), watermark_ms: 0 };
    // The watermark is a millisecond behind: it does not reach the end of the first row's session before the second
    // row.
    let rows = [row(0), row(10_000), row(20_001)];
    let sql = format!("{}{}", tables(1, OUT), query(10_000));
    let output = run_json_in_batches(&lines(&rows), &sql, 1).expect("the query runs");
    let expected = [
        "k1 | 2013-01-01T00:00:00 | 2013-01-01T00:00:20 | 2013-01-01T00:00:19.999 | 2 | 2 | 1 | 1.0",
        "k1 | 2013-01-01T00:00:20.001 | 2013-01-01T00:00:30.001 | 2013-01-01T00:00:30 | 1 | 1 | 1 | 1.0",
    ];
    assert_eq!(materialized(&output), expected);
}

#[test]
fn the_ways_in_which_sessions_are_written_mean_the_same() {
    let rows = rows(6, 150, 3, 2000, 3000);
    let selected = |from: &str| {
        format!(
            "INSERT INTO out SELECT k, window_start, window_end, window_time, COUNT(*), SUM(v), MIN(v), AVG(CAST(v AS DOUBLE))
             FROM {from} GROUP BY k, window_start, window_end, window_time;"
        )
    };
    let queries = [
        selected("TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '4' SECOND))"),
        selected("TABLE(SESSION(TABLE t PARTITION BY (k), DESCRIPTOR(ts), INTERVAL '4' SECONDS))"),
        selected("session(data => table t partition by k, timecol => descriptor(ts), gap => interval '4' seconds) AS s"),
        "INSERT INTO out SELECT k, SESSION_START(ts, INTERVAL '4' SECOND), SESSION_END(ts, INTERVAL '4' SECOND),
           session_rowtime(ts, INTERVAL '4' SECOND), COUNT(*), SUM(v), MIN(v), AVG(CAST(v AS DOUBLE))
         FROM t GROUP BY k, SESSION(ts, INTERVAL '4' SECOND);".to_owned(),
        "CREATE VIEW v AS SELECT k AS name, v AS amount, ts AS at FROM t;
         INSERT INTO out SELECT name, window_start, window_end, window_time, COUNT(*), SUM(amount), MIN(amount), AVG(CAST(amount AS DOUBLE))
         FROM TABLE(SESSION(TABLE v PARTITION BY name, DESCRIPTOR(at), INTERVAL '4' SECOND)) GROUP BY window_start, name, window_end, window_time;".to_owned(),
    ];
    let expected = as_rows(&sessions(&rows, 4000).0, 4000);
    for query in queries {
        let sql = format!("{}{query}", tables(3000, OUT));
        assert_same(&result(&rows, &sql), &expected, &query);
    }
}

#[test]
fn conditions_on_sessions_hold_for_sessions() {
    let rows = rows(7, 150, 3, 2000, 3000);
    let gap_ms = 4000;
    let (all, _) = sessions(&rows, gap_ms);
    let long: Vec<Session> =
        all.into_iter().filter(|session| session.first_ms > 60_000 && session.values.len() > 1).collect();
    let condition = "> TIMESTAMP '2013-01-01 00:01:00'";
    for query in [
        format!(
            "INSERT INTO out SELECT k, window_start, window_end, window_time, COUNT(*), SUM(v), MIN(v), AVG(CAST(v AS DOUBLE))
             FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '4' SECOND))
             GROUP BY k, window_start, window_end, window_time HAVING COUNT(*) > 1 AND window_start {condition};"
        ),
        format!(
            "INSERT INTO out SELECT * FROM (SELECT k, SESSION_START(ts, INTERVAL '4' SECOND) AS s, SESSION_END(ts, INTERVAL '4' SECOND),
               SESSION_ROWTIME(ts, INTERVAL '4' SECOND), COUNT(*) AS n, SUM(v), MIN(v), AVG(CAST(v AS DOUBLE))
             FROM t GROUP BY k, SESSION(ts, INTERVAL '4' SECOND)) WHERE s {condition} AND n > 1;"
        ),
    ] {
        let sql = format!("{}{query}", tables(3000, OUT));
        assert_same(&result(&rows, &sql), &as_rows(&long, gap_ms), &query);
    }
}

#[test]
fn sessions_of_all_rows_together_have_no_partition() {
    let mut rows = rows(8, 150, 3, 2000, 3000);
    let sql = format!(
        "{} INSERT INTO out SELECT 'k0', window_start, window_end, window_time, COUNT(*), SUM(v), MIN(v), AVG(CAST(v AS DOUBLE))
         FROM TABLE(SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '3' SECOND)) GROUP BY window_start, window_end, window_time;",
        tables(3000, OUT)
    );
    let output = result(&rows, &sql);
    rows.iter_mut().for_each(|row| row.key = 0);
    assert_eq!(output, as_rows(&sessions(&rows, 3000).0, 3000));
}

#[test]
fn what_sessions_cannot_be_is_refused() {
    let refused =
        |query: &str| refused(&format!("{} {query};", tables(0, "k STRING, n BIGINT").replace("{path}", "x")));
    let error = refused(
        "INSERT INTO out SELECT k, v FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' HOUR))
         WHERE window_start IS NOT NULL",
    );
    assert!(error.contains("SESSION without a GROUP BY of its windows is not supported"), "{error}");
    let error = refused(
        "INSERT INTO out SELECT k, COUNT(*) FROM TABLE(SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR))
         GROUP BY k, window_start, window_end",
    );
    assert!(error.contains("other columns than those of SESSION's PARTITION BY"), "{error}");
    let error = refused(
        "INSERT INTO out SELECT k, COUNT(window_start) FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' HOUR))
         GROUP BY k, window_start, window_end",
    );
    assert!(error.contains("SESSION without a GROUP BY of its windows is not supported"), "{error}");
    let error = refused(
        "INSERT INTO out SELECT k, COUNT(*) FROM TABLE(SESSION(TABLE t PARTITION BY kk, DESCRIPTOR(ts), INTERVAL '1' HOUR))
         GROUP BY k, window_start, window_end",
    );
    assert!(error.contains("there is no column `kk`"), "{error}");
}

/// The sessions of January's aircraft, computed from the file itself.
#[test]
fn sessions_of_aircraft() {
    const GAP_MS: i64 = 6 * 3_600_000;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/flights/flights-2013-01.csv.gz");
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("the example's data");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("a compressed text");
    let mut times: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let time = chrono::DateTime::parse_from_rfc3339(fields[18]).expect("a time").timestamp_millis();
        if fields[11] != "NA" {
            times.entry(fields[11]).or_default().push(time);
        }
    }
    let shown = |time_ms: i64| shown(time_ms - crate::input::BEGIN_MS);
    let mut expected = Vec::new();
    for (aircraft, times) in &mut times {
        times.sort_unstable();
        for session in times.chunk_by(|a, b| b - a <= GAP_MS) {
            let (first, last) = (session[0], session[session.len() - 1]);
            expected.push(format!("{aircraft} | {} | {} | {}", shown(first), shown(last + GAP_MS), session.len()));
        }
    }
    expected.sort();
    assert!(expected.len() > 20_000, "{}", expected.len());

    let columns = text.lines().next().expect("a header").split(',').map(|name| match name {
        "tailnum" => "tailnum STRING".to_owned(),
        "time_hour" => "time_hour TIMESTAMP(3)".to_owned(),
        name => format!("`{name}` STRING"),
    });
    let sql = format!(
        "CREATE TABLE flights ({}, WATERMARK FOR time_hour AS time_hour - INTERVAL '1' DAY)
         WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'csv.header' = 'true', 'csv.null-literal' = 'NA');
         CREATE TABLE out (tailnum STRING, first_flight TIMESTAMP(3), session_end TIMESTAMP(3), n BIGINT) WITH ('connector' = 'blackhole');
         INSERT INTO out SELECT tailnum, window_start, window_end, COUNT(*)
         FROM TABLE(SESSION(TABLE flights PARTITION BY tailnum, DESCRIPTOR(time_hour), INTERVAL '6' HOURS))
         WHERE tailnum IS NOT NULL GROUP BY tailnum, window_start, window_end;",
        columns.collect::<Vec<_>>().join(", ")
    );
    let job = planned(&sql).expect("the job is right");
    let mut run = Run::new(&job.graph).expect("the job opens");
    run.all(8192, 0).expect("the job runs");
    assert_eq!(run.counters.get(Counters::LATE_ROWS), 0);
    assert_eq!(materialized(&run.output), expected);
}
