//! The input, and what its rows give.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of the input.
pub(crate) const ROWS: usize = 4000;
/// So many rows at the beginning are of a group that gets no others.
const OLD: usize = 200;

/// The input, of which `cut` rows had been read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input {
    pub(crate) cut: usize,
}

/// A row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) id: usize,
    pub(crate) k: &'static str,
    pub(crate) j: &'static str,
    pub(crate) x: i64,
}

fn row(id: usize) -> Row {
    let k = if id < OLD { "old" } else { ["a", "b", "c", "d", "e"][id % 5] };
    Row { id, k, j: ["u", "v", "w"][id % 3], x: (id * 7919 % 1000) as i64 - 300 }
}

fn time(seconds: usize) -> String {
    format!("2024-01-01 {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The file that is read: a row a second.
pub(crate) fn numbers() -> String {
    let line = |id: usize| {
        let Row { k, j, x, .. } = row(id);
        format!("{}\n", json!({ "id": id, "k": k, "j": j, "x": x, "p": x as f64 / 4.0, "ts": time(id) }))
    };
    (0..ROWS).map(line).collect()
}

/// The other file.
pub(crate) fn names() -> String {
    ["a", "b", "old"].iter().map(|k| format!("{}\n", json!({ "k": k, "name": format!("<{k}>"), "rank": 7 }))).collect()
}

/// Rows by group.
pub(crate) type Groups = BTreeMap<&'static str, Vec<Row>>;

impl Input {
    pub(crate) fn all(self) -> Vec<Row> {
        (0..ROWS).map(row).collect()
    }

    /// The rows before the checkpoint.
    pub(crate) fn before(self) -> Vec<Row> {
        (0..self.cut).map(row).collect()
    }

    /// The rows behind it.
    pub(crate) fn behind(self) -> Vec<Row> {
        (self.cut..ROWS).map(row).collect()
    }

    /// The totals as the job had them first, computed from these rows: count, sum and minimum.
    pub(crate) fn totals(rows: &[Row], of: impl Fn(&'static str, &[Row]) -> Value) -> Vec<String> {
        groups(rows, |row| row.k).iter().map(|(k, rows)| of(k, rows).to_string()).collect()
    }

    /// The first rows of each group, in the table as it was.
    pub(crate) fn firsts(self, of: impl Fn(Row) -> Value) -> Vec<String> {
        groups(&self.all(), |row| row.k).values().map(|rows| of(rows[0]).to_string()).collect()
    }

    /// The rows of the join: `of` gives those behind the checkpoint.
    pub(crate) fn joined(self, of: impl Fn(Row, String) -> Value) -> Vec<String> {
        let named = |rows: Vec<Row>| rows.into_iter().filter(|row| matches!(row.k, "a" | "b" | "old"));
        let before = named(self.before()).map(|row| joined(row, format!("<{}>", row.k)));
        let behind = named(self.behind()).map(|row| of(row, format!("<{}>", row.k)));
        before.chain(behind).map(|row| row.to_string()).collect()
    }

    /// The windows of ten minutes: `of` gives those that were still open at the checkpoint, with their rows behind it.
    pub(crate) fn windows(self, of: impl Fn(Value, &[Row]) -> Value) -> Vec<String> {
        let mut windows: BTreeMap<(usize, &str), Vec<Row>> = BTreeMap::new();
        for row in self.all() {
            windows.entry((row.id / 600, row.k)).or_default().push(row);
        }
        let result = |((window, k), rows): (&(usize, &str), &Vec<Row>)| {
            let plain = json!({ "window_start": time(window * 600), "k": k, "n": rows.len() });
            // Event time has reached the last row's time.
            let was_closed = (window + 1) * 600 < self.cut;
            let behind: Vec<Row> = rows.iter().copied().filter(|row| row.id >= self.cut).collect();
            if was_closed { plain } else { of(plain, &behind) }
        };
        windows.iter().map(|entry| result(entry).to_string()).collect()
    }
}

impl Input {
    /// The sessions with a gap of two minutes: one of each group. `of` gives those that were open at the checkpoint.
    pub(crate) fn sessions(self, of: impl Fn(Value, &[Row]) -> Value) -> Vec<String> {
        let result = |(k, rows): (&&str, &Vec<Row>)| {
            let plain = json!({ "window_start": time(rows[0].id), "k": k, "n": rows.len() });
            let behind: Vec<Row> = rows.iter().copied().filter(|row| row.id >= self.cut).collect();
            if *k == "old" { plain } else { of(plain, &behind) }
        };
        groups(&self.all(), |row| row.k).iter().map(|entry| result(entry).to_string()).collect()
    }

    /// The two greatest rows of each group.
    pub(crate) fn tops(self) -> Vec<String> {
        let tops = groups(&self.all(), |row| row.k).into_values().flat_map(|mut rows| {
            rows.sort_by_key(|row| (-row.x, row.id));
            rows.truncate(2);
            rows
        });
        tops.map(|row| json!({ "k": row.k, "id": row.id }).to_string()).collect()
    }
}

pub(crate) fn joined(row: Row, name: String) -> Value {
    json!({ "id": row.id, "name": name })
}

pub(crate) fn groups(rows: &[Row], key: impl Fn(Row) -> &'static str) -> Groups {
    let mut groups = Groups::new();
    rows.iter().for_each(|row| groups.entry(key(*row)).or_default().push(*row));
    groups
}

pub(crate) fn sum(rows: &[Row]) -> i64 {
    rows.iter().map(|row| row.x).sum()
}

pub(crate) fn least(rows: &[Row]) -> Option<i64> {
    rows.iter().map(|row| row.x).min()
}

pub(crate) fn greatest(rows: &[Row]) -> Option<i64> {
    rows.iter().map(|row| row.x).max()
}

pub(crate) fn distinct(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.x).collect::<BTreeSet<_>>().len()
}

/// The mean of the column `p`.
pub(crate) fn mean(rows: &[Row]) -> Option<f64> {
    (!rows.is_empty()).then(|| sum(rows) as f64 / 4.0 / rows.len() as f64)
}

/// The rows of one group.
pub(crate) fn of_group(rows: &[Row], k: &str) -> Vec<Row> {
    rows.iter().copied().filter(|row| row.k == k).collect()
}
