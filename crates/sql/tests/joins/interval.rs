//! Interval joins over rows out of order and late, whatever the batches and the order of the inputs.

use crate::common::{Run, materialized, planned_over, run_over};
use crate::rows::{KINDS, Kind, Random, Row, cell, nested_loop};
use headpond_runtime::operator::Counters;

pub(crate) const DELAY_MS: i64 = 3_000;

pub(crate) fn rows(random: &mut Random, count: usize) -> Vec<Row> {
    let mut now_ms = 1_000_000;
    let one = |_| {
        now_ms += random.below(2_000);
        let back_ms = if random.below(5) == 0 { random.below(8_000) } else { random.below(2_500) };
        let k = random.below(4);
        Row { k: (k != 0).then_some(k), v: random.below(3), ts: now_ms - back_ms }
    };
    (0..count).map(one).collect()
}

pub(crate) fn json(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let k = row.k.map_or_else(|| "null".to_owned(), |k| k.to_string());
        let (s, ms) = (row.ts / 1000, row.ts % 1000);
        let time = format!("1970-01-01 {:02}:{:02}:{:02}.{ms:03}", s / 3600, s / 60 % 60, s % 60);
        format!("{{\"k\":{k},\"v\":{},\"ts\":\"{time}\"}}\n", row.v)
    };
    rows.iter().map(line).collect()
}

/// The rows that are not behind the watermark of those before them.
fn in_time(rows: &[Row]) -> Vec<Row> {
    let mut watermark_ms = i64::MIN;
    let judged = rows.iter().map(|row| {
        let is_late = row.ts < watermark_ms;
        watermark_ms = watermark_ms.max(row.ts - DELAY_MS);
        (*row, is_late)
    });
    judged.filter(|(_, is_late)| !is_late).map(|(row, _)| row).collect()
}

fn script(kind: Kind, bounds: &str) -> String {
    let table = |name: &str| {
        format!(
            "CREATE TABLE {name} (k BIGINT, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '3' SECOND)
               WITH ('connector' = 'filesystem', 'path' = '{{{name}}}', 'format' = 'json');"
        )
    };
    let on = format!("l.k = r.k AND {bounds}");
    let ms = |table: &str| format!("{table}.k, {table}.v");
    let (columns, query) = match kind {
        Kind::Semi => (2, format!("SELECT k, v FROM a l WHERE EXISTS (SELECT 1 FROM b r WHERE {on})")),
        Kind::Anti => (2, format!("SELECT k, v FROM a l WHERE NOT EXISTS (SELECT 1 FROM b r WHERE {on})")),
        _ => {
            let join = format!("{kind:?}").to_uppercase();
            (4, format!("SELECT {}, {} FROM a l {join} JOIN b r ON {on}", ms("l"), ms("r")))
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

/// How a run reads its two inputs.
#[derive(Debug, Clone, Copy)]
enum Order {
    InTurn,
    LeftFirst,
    RightFirst,
}

fn check(kind: Kind, (bounds, lower_ms, upper_ms): (&str, i64, i64), order: Order, rows_per_tick: usize, seed: u64) {
    let mut random = Random(seed);
    let (a, b) = (rows(&mut random, 120), rows(&mut random, 150));
    let (_dir, job) =
        planned_over(&[("a", &json(&a)), ("b", &json(&b))], &script(kind, bounds)).expect("the job is right");
    assert!(job.explain().contains("out/interval-join/0"), "{}", job.explain());
    let context = format!("{kind:?} {bounds} {order:?} {rows_per_tick} rows, seed {seed}");
    let mut run = Run::new(&job.graph).expect("the job opens");
    run.rewind().expect("the sources open");
    match order {
        Order::InTurn => {}
        Order::LeftFirst => while run.read(0, rows_per_tick, 0).expect("the job runs") {},
        Order::RightFirst => while run.read(1, rows_per_tick, 0).expect("the job runs") {},
    }
    let restart_at = random.below(20);
    for tick in 0.. {
        if tick == restart_at {
            run.restart().expect("the job restarts");
        }
        if !run.tick(rows_per_tick, 0).expect("the job runs") {
            break;
        }
    }
    let (left, right) = (in_time(&a), in_time(&b));
    let late = a.len() - left.len() + b.len() - right.len();
    let matches = |l: &Row, r: &Row| l.k.is_some() && (lower_ms..=upper_ms).contains(&(r.ts - l.ts));
    let show = |row: &Row| format!("{} | {}", cell(row.k), row.v);
    assert!(run.output.iter().all(|row| row.starts_with("+I ")), "{context}");
    assert_eq!(materialized(&run.output), nested_loop(kind, &left, &right, matches, show, "NULL | NULL"), "{context}");
    // Rows whose key is NULL are left out before anyone looks at their time, where they cannot be in the result.
    if kind == Kind::Full {
        assert_eq!(run.counters.get(Counters::LATE_ROWS), late as u64, "{context}");
    }
    assert_eq!(run.entries(), 0, "event time has passed everything; {context}");
}

const BOUNDS: [(&str, i64, i64); 6] = [
    ("l.ts BETWEEN r.ts - INTERVAL '2' SECOND AND r.ts + INTERVAL '4' SECOND", -4_000, 2_000),
    ("r.ts >= l.ts AND r.ts < l.ts + INTERVAL '1' SECOND", 0, 999),
    ("l.ts > r.ts + INTERVAL '1' SECOND AND l.ts - INTERVAL '5' SECOND <= r.ts", -5_000, -1_001),
    ("r.ts - l.ts BETWEEN INTERVAL '2' SECOND AND INTERVAL '7' SECOND", 2_000, 7_000),
    ("l.ts = r.ts", 0, 0),
    ("l.ts - r.ts < INTERVAL '1.5' SECOND AND INTERVAL '2' SECOND > r.ts - l.ts", -1_499, 1_999),
];

#[test]
fn every_kind_of_interval_join_is_the_batch_join_of_what_is_not_late() {
    for kind in KINDS {
        for (index, bounds) in BOUNDS.into_iter().enumerate() {
            for (order, rows_per_tick) in
                [(Order::InTurn, 1), (Order::InTurn, 11), (Order::LeftFirst, 50), (Order::RightFirst, 8)]
            {
                check(kind, bounds, order, rows_per_tick, index as u64 * 10 + rows_per_tick as u64);
            }
        }
    }
}

#[test]
fn a_row_as_old_as_the_watermark_before_it_is_joined() {
    let line = |k: i64, v: i64, second: i64| format!("{{\"k\":{k},\"v\":{v},\"ts\":\"2024-06-01 10:00:0{second}\"}}\n");
    let (left, right) = (line(1, 1, 0) + &line(2, 2, 0), line(1, 10, 2) + &line(1, 11, 2) + &line(2, 12, 4));
    let sql = script(Kind::Left, "r.ts BETWEEN l.ts - INTERVAL '3' SECOND AND l.ts + INTERVAL '3' SECOND")
        .replace("ts - INTERVAL '3' SECOND)", "ts)");
    for rows in [1, 10] {
        let given = run_over(&[("a", &left), ("b", &right)], &sql, rows).expect("the job runs");
        assert_eq!(materialized(&given), ["1 | 1 | 1 | 10", "1 | 1 | 1 | 11", "2 | 2 | NULL | NULL"], "{rows} rows");
    }
}

#[test]
fn the_state_holds_what_event_time_has_not_passed() {
    let mut random = Random(7);
    let all: Vec<Row> = (0..2_000).map(|n| Row { k: Some(random.below(50)), v: 0, ts: 1_000_000 + n * 500 }).collect();
    let sql = script(Kind::Inner, BOUNDS[0].0);
    let (_dir, job) = planned_over(&[("a", &json(&all)), ("b", &json(&all))], &sql).expect("the job is right");
    let mut run = Run::new(&job.graph).expect("the job opens");
    run.rewind().expect("the sources open");
    let mut entries_max = 0;
    while run.tick(20, 0).expect("the job runs") {
        entries_max = entries_max.max(run.entries());
    }
    // 6 s of bounds, 6 s of bucket, 3 s of delay and 10 s of a tick are 50 rows of each side.
    assert!((20..=100).contains(&entries_max), "{entries_max}");
}
