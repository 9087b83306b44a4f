//! Random rows with times, and what a model of windows needs to know of them.

use crate::common::{Rows, Run, file, materialized, planned};
use std::fmt::Write;

/// A row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) key: u64,
    pub(crate) value: i64,
    /// Milliseconds since 2013-01-01; `None`: NULL.
    pub(crate) time_ms: Option<i64>,
    /// The watermark just before the row.
    pub(crate) watermark_ms: i64,
}

/// Where times of tests begin: 2013-01-01T00:00:00.
pub(crate) const BEGIN_MS: i64 = 1_356_998_400_000;

/// Rows of which some come late, some very late, and some without a time. Watermarks are `delay_ms` behind.
pub(crate) fn rows(seed: u64, count: usize, keys: u64, step_ms: i64, delay_ms: i64) -> Vec<Row> {
    let mut random = Random(seed.wrapping_mul(2).wrapping_add(1));
    let mut now_ms = 0;
    let mut watermark_ms = i64::MIN;
    let mut rows = Vec::with_capacity(count);
    for _ in 0..count {
        // Mostly small steps, sometimes a silence.
        now_ms += if random.below(20) == 0 {
            random.below(20 * step_ms as u64) as i64
        } else {
            random.below(step_ms as u64) as i64
        };
        let back_ms = match random.below(10) {
            0 => random.below(4 * delay_ms.max(1) as u64) as i64,
            1..=3 => random.below(delay_ms.max(1) as u64) as i64,
            _ => 0,
        };
        let time_ms = (random.below(50) > 0).then_some(now_ms - back_ms);
        rows.push(Row { key: random.below(keys), value: random.below(1000) as i64 - 300, time_ms, watermark_ms });
        if let Some(time_ms) = time_ms {
            watermark_ms = watermark_ms.max(time_ms - delay_ms);
        }
    }
    rows
}

/// The rows as JSON lines with the columns `k`, `v` and `ts`.
pub(crate) fn lines(rows: &[Row]) -> String {
    let mut lines = String::new();
    for row in rows {
        let time = row.time_ms.map_or("null".to_owned(), |time_ms| format!("\"{}\"", shown(time_ms).replace('T', " ")));
        writeln!(lines, "{{\"k\":\"k{}\",\"v\":{},\"ts\":{time}}}", row.key, row.value).expect("a string takes all");
    }
    lines
}

/// A time as a result shows it.
pub(crate) fn shown(time_ms: i64) -> String {
    let instant = chrono::DateTime::from_timestamp_millis(BEGIN_MS + time_ms).expect("a time of our days");
    let format = if time_ms % 1000 == 0 { "%Y-%m-%dT%H:%M:%S" } else { "%Y-%m-%dT%H:%M:%S%.3f" };
    instant.format(format).to_string()
}

/// The tables `t (k, v, ts)`, whose watermark is `delay_ms` behind, and `out`.
pub(crate) fn tables(delay_ms: i64, out: &str) -> String {
    let (seconds, milliseconds) = (delay_ms / 1000, delay_ms % 1000);
    format!(
        "CREATE TABLE t (k STRING, v BIGINT, ts TIMESTAMP(3),
           WATERMARK FOR ts AS ts - INTERVAL '{seconds}.{milliseconds:03}' SECOND)
         WITH ('connector' = 'filesystem', 'path' = '{{path}}', 'format' = 'json');
         CREATE TABLE out ({out}) WITH ('connector' = 'blackhole');"
    )
}

/// The rows of a query over these rows, in order, checked to be the same whatever the batches, with and without
/// restarts.
pub(crate) fn result(rows: &[Row], sql: &str) -> Rows {
    let (_dir, path) = file(&lines(rows));
    let job = planned(&sql.replace("{path}", &path)).expect("the job is right");
    let mut results = [(1, usize::MAX), (13, 4), (usize::MAX, usize::MAX)].map(|(size, ticks_between_restarts)| {
        let mut run = Run::new(&job.graph).expect("the job opens");
        run.rewind().expect("the input opens");
        let mut ticks = 0;
        while run.tick(size, 0).expect("the job runs") {
            ticks += 1;
            if ticks % ticks_between_restarts == 0 {
                run.restart().expect("the job restarts");
            }
        }
        materialized(&run.output)
    });
    for pair in results.windows(2) {
        assert_same(&pair[0], &pair[1], "the result depends on the batches");
    }
    std::mem::take(&mut results[0])
}

/// Fails with what only one of two results has.
#[track_caller]
pub(crate) fn assert_same(result: &[String], expected: &[String], what: &str) {
    let only = |of: &[String], other: &[String]| -> Vec<String> {
        of.iter().filter(|row| !other.contains(row)).take(5).cloned().collect()
    };
    let (surplus, missing) = (only(result, expected), only(expected, result));
    assert!(
        result == expected,
        "{what}: {} rows instead of {}, such as {surplus:?} instead of {missing:?}",
        result.len(),
        expected.len()
    );
}

/// Numbers that look random (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit.max(1)
    }
}
