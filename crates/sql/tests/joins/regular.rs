//! Regular joins over random changes: inserts, updates, deletes, NULL keys, duplicates.

use crate::common::{Run, materialized, planned_over};
use crate::rows::{KINDS, Kind, Random, Row, cell, nested_loop};
use std::collections::{BTreeMap, BTreeSet};

/// A change of the row `id`: what is added to its key, its value and its number.
#[derive(Debug, Clone, Copy)]
struct Change {
    id: i64,
    k: i64,
    v: i64,
    n: i64,
}

/// Changes that keep keys within 0 (NULL) to 3, values within 0 to 2, and numbers 0 (gone) or 1.
fn changes(random: &mut Random, count: usize) -> Vec<Change> {
    let mut rows: BTreeMap<i64, (i64, i64, i64)> = BTreeMap::new();
    let one = |_| {
        let id = random.below(8);
        let row = rows.entry(id).or_default();
        let next = (random.below(4), random.below(3), i64::from(random.below(4) > 0));
        let change = Change { id, k: next.0 - row.0, v: next.1 - row.1, n: next.2 - row.2 };
        *row = next;
        change
    };
    (0..count).map(one).collect()
}

fn json(changes: &[Change]) -> String {
    let line = |c: &Change| format!("{{\"id\":{},\"k\":{},\"v\":{},\"n\":{}}}\n", c.id, c.k, c.v, c.n);
    changes.iter().map(line).collect()
}

/// What is left of the rows after these changes. `changing`: else every change is a row of its own.
fn table(changes: &[Change], changing: bool) -> Vec<Row> {
    let row = |k: i64, v: i64| Row { k: (k != 0).then_some(k), v, ts: 0 };
    if !changing {
        return changes.iter().map(|c| row(c.k, c.v)).collect();
    }
    let mut sums: BTreeMap<i64, (i64, i64, i64)> = BTreeMap::new();
    for c in changes {
        let sum = sums.entry(c.id).or_default();
        *sum = (sum.0 + c.k, sum.1 + c.v, sum.2 + c.n);
    }
    sums.values().filter(|(_, _, n)| *n > 0).map(|(k, v, _)| row(*k, *v)).collect()
}

/// What the two rows of a pair must fulfil.
#[derive(Debug, Clone, Copy)]
enum On {
    Key,
    KeyAndValue,
    KeyOrNull,
}

impl On {
    fn text(self) -> &'static str {
        match self {
            On::Key => "l.k = r.k",
            On::KeyAndValue => "l.k = r.k AND l.v <= r.v",
            On::KeyOrNull => "l.k IS NOT DISTINCT FROM r.k",
        }
    }

    fn holds(self, l: &Row, r: &Row) -> bool {
        match self {
            On::Key => l.k.is_some(),
            On::KeyAndValue => l.k.is_some() && l.v <= r.v,
            On::KeyOrNull => true,
        }
    }
}

fn script(kind: Kind, changing: [bool; 2], on: On) -> String {
    let view = |table: &str, changing: bool| {
        let rows = match changing {
            false => format!("SELECT NULLIF(k, 0) AS k, v FROM {table}"),
            true => format!(
                "SELECT NULLIF(k, 0) AS k, v FROM
                   (SELECT id, SUM(k) AS k, SUM(v) AS v, SUM(n) AS n FROM {table} GROUP BY id) s WHERE n > 0"
            ),
        };
        format!(
            "CREATE TABLE {table} (id BIGINT, k BIGINT, v BIGINT, n BIGINT)
               WITH ('connector' = 'filesystem', 'path' = '{{{table}}}', 'format' = 'json');
             CREATE VIEW {table}_rows AS {rows};"
        )
    };
    let on = on.text();
    let (columns, query) = match kind {
        Kind::Semi => (2, format!("SELECT k, v FROM a_rows l WHERE EXISTS (SELECT 1 FROM b_rows r WHERE {on})")),
        Kind::Anti => (2, format!("SELECT k, v FROM a_rows l WHERE NOT EXISTS (SELECT 1 FROM b_rows r WHERE {on})")),
        _ => {
            let join = format!("{kind:?}").to_uppercase();
            (4, format!("SELECT l.k, l.v, r.k, r.v FROM a_rows l {join} JOIN b_rows r ON {on}"))
        }
    };
    let out: Vec<String> = (0..columns).map(|column| format!("c{column} BIGINT")).collect();
    format!(
        "{}{} CREATE TABLE out ({}) WITH ('connector' = 'blackhole'); INSERT INTO out {query};",
        view("a", changing[0]),
        view("b", changing[1]),
        out.join(", ")
    )
}

fn expected(kind: Kind, left: &[Row], right: &[Row], on: On) -> Vec<String> {
    let show = |row: &Row| format!("{} | {}", cell(row.k), row.v);
    nested_loop(kind, left, right, |l, r| on.holds(l, r), show, "NULL | NULL")
}

fn check(kind: Kind, changing: [bool; 2], on: On, rows_per_tick: usize, seed: u64) {
    let mut random = Random(seed);
    let (a, b) = (changes(&mut random, 40), changes(&mut random, 30));
    let sql = script(kind, changing, on);
    let (_dir, job) = planned_over(&[("a", &json(&a)), ("b", &json(&b))], &sql).expect("the job is right");
    let mut run = Run::new(&job.graph).expect("the job opens");
    run.rewind().expect("the sources open");
    let restart_at = random.below(20);
    let mut tick = 0;
    loop {
        let goes_on = run.tick(rows_per_tick, 0).expect("the job runs");
        tick += 1;
        let seen = |changes: &[Change]| changes.len().min(rows_per_tick.saturating_mul(tick));
        let left = table(&a[..seen(&a)], changing[0]);
        let right = table(&b[..seen(&b)], changing[1]);
        let context = format!("{kind:?}, {changing:?}, {on:?}, {rows_per_tick} rows, seed {seed}, tick {tick}");
        assert_eq!(materialized(&run.output), expected(kind, &left, &right, on), "{context}");
        if kind == Kind::Inner && changing == [false, false] {
            assert!(run.output.iter().all(|row| row.starts_with("+I ")), "{context}");
        }
        if !goes_on {
            break;
        }
        if tick as i64 == restart_at {
            run.restart().expect("the job restarts");
        }
    }
    assert_eq!(run.counters.get("rows taken back without state"), 0);
}

#[test]
fn every_kind_of_join_follows_its_inputs() {
    for kind in KINDS {
        for changing in [[false, false], [true, false], [false, true], [true, true]] {
            for on in [On::Key, On::KeyAndValue, On::KeyOrNull] {
                for (rows_per_tick, seed) in [(1, 1), (5, 2), (100, 3)] {
                    check(kind, changing, on, rows_per_tick, seed);
                }
            }
        }
    }
}

#[test]
fn three_tables_are_a_tree_of_joins() {
    let lines =
        |rows: &[(i64, i64)]| rows.iter().map(|(k, v)| format!("{{\"k\":{k},\"v\":{v}}}\n")).collect::<String>();
    let (a, b, c) = (lines(&[(1, 10), (2, 20)]), lines(&[(1, 11), (1, 12)]), lines(&[(11, 7), (12, 8), (12, 9)]));
    let table = |name: &str| {
        format!(
            "CREATE TABLE {name} (k BIGINT, v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{{{name}}}', 'format' = 'json');"
        )
    };
    let sql = |from: &str| {
        format!(
            "{}{}{} CREATE TABLE out (a BIGINT, b BIGINT, c BIGINT) WITH ('connector' = 'blackhole');
             INSERT INTO out SELECT a.v, b.v, c.v FROM {from};",
            table("a"),
            table("b"),
            table("c")
        )
    };
    let inputs = [("a", a.as_str()), ("b", b.as_str()), ("c", c.as_str())];
    for from in [
        "a JOIN b ON a.k = b.k JOIN c ON b.v = c.k",
        "a, b, c WHERE b.v = c.k AND a.k = b.k",
        "a, c, b WHERE b.v = c.k AND a.k = b.k AND a.v > 1",
        "b JOIN a USING (k) LEFT JOIN c ON b.v = c.k",
    ] {
        let output = crate::common::run_over(&inputs, &sql(from), 1).expect("the query runs");
        assert_eq!(materialized(&output), ["10 | 11 | 7", "10 | 12 | 8", "10 | 12 | 9"], "{from}");
    }
}

/// `INTERSECT` and `EXCEPT` of rows with NULLs and duplicates, of inputs that may take rows back.
#[test]
fn intersections_and_differences_follow_their_inputs() {
    for (operator, in_both) in [("INTERSECT", true), ("EXCEPT", false)] {
        for (changing, seed) in [([false, false], 4), ([true, false], 5), ([false, true], 6), ([true, true], 7)] {
            let mut random = Random(seed);
            let (a, b) = (changes(&mut random, 40), changes(&mut random, 12));
            let views = script(Kind::Semi, changing, On::Key);
            let (views, _) = views.split_once("INSERT INTO").expect("an insert");
            let sql = format!("{views} INSERT INTO out SELECT k, v FROM a_rows {operator} SELECT k, v FROM b_rows;");
            let (_dir, job) = planned_over(&[("a", &json(&a)), ("b", &json(&b))], &sql).expect("the job is right");
            let mut run = Run::new(&job.graph).expect("the job opens");
            run.rewind().expect("the sources open");
            for tick in 1.. {
                let goes_on = run.tick(3, 0).expect("the job runs");
                let cells = |changes: &[Change], changing| -> BTreeSet<String> {
                    let rows = table(&changes[..changes.len().min(3 * tick)], changing);
                    rows.iter().map(|row| format!("{} | {}", cell(row.k), row.v)).collect()
                };
                let (left, right) = (cells(&a, changing[0]), cells(&b, changing[1]));
                let kept = left.into_iter().filter(|row| right.contains(row) == in_both);
                let expected: Vec<String> = kept.collect();
                assert_eq!(materialized(&run.output), expected, "{operator}, {changing:?}, tick {tick}");
                if !goes_on {
                    break;
                }
                if tick == 5 {
                    run.restart().expect("the job restarts");
                }
            }
        }
    }
}
