//! Window joins: rows of the same window.

use crate::common::{Run, materialized, planned_over};
use crate::interval::{DELAY_MS, json, rows};
use crate::rows::{KINDS, Kind, Random, Row, cell, nested_loop};
use std::collections::BTreeMap;

const SIZE_MS: i64 = 5_000;

/// The rows whose window the watermark of those before them has not passed; their time is that of the window.
fn in_time(rows: &[Row]) -> Vec<Row> {
    let mut watermark_ms = i64::MIN;
    let judged = rows.iter().map(|row| {
        let start = row.ts.div_euclid(SIZE_MS) * SIZE_MS;
        let is_late = start + SIZE_MS - 1 <= watermark_ms;
        watermark_ms = watermark_ms.max(row.ts - DELAY_MS);
        (Row { ts: start, ..*row }, is_late)
    });
    judged.filter(|(_, is_late)| !is_late).map(|(row, _)| row).collect()
}

/// A row for each key and window, its value the number of rows.
fn counted(rows: &[Row]) -> Vec<Row> {
    let mut counts: BTreeMap<(Option<i64>, i64), i64> = BTreeMap::new();
    rows.iter().for_each(|row| *counts.entry((row.k, row.ts)).or_default() += 1);
    counts.into_iter().map(|((k, ts), v)| Row { k, v, ts }).collect()
}

fn script(kind: Kind, grouped: bool) -> String {
    let table = |name: &str| {
        format!(
            "CREATE TABLE {name} (k BIGINT, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '3' SECOND)
               WITH ('connector' = 'filesystem', 'path' = '{{{name}}}', 'format' = 'json');"
        )
    };
    let windows = |table: &str| format!("TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(ts), INTERVAL '5' SECOND))");
    let input = |table: &str| match grouped {
        false => format!("(SELECT k, v, window_start, window_end FROM {})", windows(table)),
        true => format!(
            "(SELECT k, COUNT(*) AS v, window_start, window_end FROM {} GROUP BY k, window_start, window_end)",
            windows(table)
        ),
    };
    let on = "l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end";
    let (left, right) = (input("a"), input("b"));
    let (columns, query) = match kind {
        Kind::Semi => (2, format!("SELECT k, v FROM {left} l WHERE EXISTS (SELECT 1 FROM {right} r WHERE {on})")),
        Kind::Anti => (2, format!("SELECT k, v FROM {left} l WHERE NOT EXISTS (SELECT 1 FROM {right} r WHERE {on})")),
        _ => {
            let join = format!("{kind:?}").to_uppercase();
            (4, format!("SELECT l.k, l.v, r.k, r.v FROM {left} l {join} JOIN {right} r ON {on}"))
        }
    };
    let out: Vec<String> = (0..columns).map(|column| format!("c{column} BIGINT")).collect();
    format!(
        "{}{} CREATE TABLE out ({}) WITH ('connector' = 'blackhole'); INSERT INTO out {query};",
        table("a"),
        table("b"),
        out.join(", ")
    )
}

#[test]
fn rows_of_a_window_match_and_go_with_it() {
    for kind in KINDS {
        for (grouped, rows_per_tick, seed) in [(false, 1, 1), (true, 1, 2), (false, 13, 3), (true, 13, 4)] {
            let mut random = Random(seed);
            let (a, b) = (rows(&mut random, 100), rows(&mut random, 120));
            let inputs = [("a", json(&a)), ("b", json(&b))];
            let inputs = [(inputs[0].0, inputs[0].1.as_str()), (inputs[1].0, inputs[1].1.as_str())];
            let (_dir, job) = planned_over(&inputs, &script(kind, grouped)).expect("the job is right");
            let context = format!("{kind:?}, grouped {grouped}, {rows_per_tick} rows");
            assert!(job.explain().contains("out/window-join/0"), "{context}: {}", job.explain());
            let mut run = Run::new(&job.graph).expect("the job opens");
            run.rewind().expect("the sources open");
            let mut tick = 0;
            while run.tick(rows_per_tick, 0).expect("the job runs") {
                tick += 1;
                if tick == 5 {
                    run.restart().expect("the job restarts");
                }
            }
            let of = |rows: &[Row]| if grouped { counted(&in_time(rows)) } else { in_time(rows) };
            let show = |row: &Row| format!("{} | {}", cell(row.k), row.v);
            let expected =
                nested_loop(kind, &of(&a), &of(&b), |l, r| l.k.is_some() && l.ts == r.ts, show, "NULL | NULL");
            assert!(run.output.iter().all(|row| row.starts_with("+I ")), "{context}");
            assert_eq!(materialized(&run.output), expected, "{context}");
            assert_eq!(run.entries(), 0, "all windows are over; {context}");
        }
    }
}
