//! Tables whose sources give changes: results are those of the rows that are left.

mod common;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray, UInt8Array};
use arrow_schema::{Schema, SchemaRef};
use common::{Rows, Run, materialized, with_way_out};
use headpond_config::{Config, ConfigOption, Verbatim};
use headpond_connectors::options::{OptionGroup, Options};
use headpond_connectors::{Connector, Connectors, SinkInput, TableDescription};
use headpond_runtime::sink::Sink;
use headpond_runtime::source::{ChangelogMode, ReadBatch, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_runtime::{ChangeBatch, ChangeKind, Error, Result};
use headpond_sql::{PlannedJob, parse, plan};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

const fn option(key: &'static str) -> ConfigOption<Verbatim> {
    ConfigOption::unset(key, "required", "For these tests.")
}
static MODE: ConfigOption<Verbatim> = option("mode");
static CHANGES: ConfigOption<Verbatim> = option("changes");
static OPTIONS: OptionGroup =
    OptionGroup { name: "changes", doc: "Changes as text.", options: &[MODE.definition(), CHANGES.definition()] };

/// Changes of `k STRING, g STRING, v BIGINT`, each a line such as `+I a x 1`; `_` is NULL.
#[derive(Debug)]
struct Changes;

impl Connector for Changes {
    fn options(&self) -> &'static OptionGroup {
        &OPTIONS
    }
    fn reads(&self) -> bool {
        true
    }
    fn writes(&self) -> bool {
        false
    }
    fn source(&self, table: &TableDescription, projection: Option<&[usize]>) -> Result<Arc<dyn Source>> {
        let options = Options::new(table);
        let mode = match options.get(&MODE)?.0.as_str() {
            "upsert" => ChangelogMode::Upsert,
            "all" => ChangelogMode::All,
            _ => ChangelogMode::InsertOnly,
        };
        let columns = projection.map_or_else(|| vec![0, 1, 2], <[usize]>::to_vec);
        let fields = columns.iter().map(|column| table.schema.field(*column).clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let changes = options.get(&CHANGES)?.0;
        let lines = changes.split(';').map(str::trim).filter(|line| !line.is_empty());
        Ok(Arc::new(ChangesSource { mode, columns, schema, lines: lines.map(str::to_owned).collect() }))
    }
    fn sink(&self, _: &TableDescription, _: &SinkInput) -> Result<Arc<dyn Sink>> {
        Err(Error::internal("it writes nothing"))
    }
}

#[derive(Debug, Clone)]
struct ChangesSource {
    mode: ChangelogMode,
    columns: Vec<usize>,
    schema: SchemaRef,
    lines: Vec<String>,
}

impl Source for ChangesSource {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
    fn changelog_mode(&self) -> ChangelogMode {
        self.mode
    }
    fn is_bounded(&self) -> bool {
        true
    }
    fn splits(&self) -> Result<Vec<SourceSplit>> {
        Ok(vec![SourceSplit { id: "changes".to_owned() }])
    }
    fn open(&self, _: &SourceSplit, _: Option<&Value>, _: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        Ok(Box::new(ChangesReader { source: self.clone(), next: 0 }))
    }
}

#[derive(Debug)]
struct ChangesReader {
    source: ChangesSource,
    next: usize,
}

impl SplitReader for ChangesReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        let lines = &self.source.lines[self.next..];
        let lines = &lines[..lines.len().min(max_rows)];
        if lines.is_empty() {
            return Ok(None);
        }
        self.next += lines.len();
        let parts: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').collect()).collect();
        let text = |at: usize| parts.iter().map(|row| (row[at] != "_").then(|| row[at])).collect::<StringArray>();
        let all: [ArrayRef; 3] = [
            Arc::new(text(1)),
            Arc::new(text(2)),
            Arc::new(parts.iter().map(|row| row[3].parse().ok()).collect::<Int64Array>()),
        ];
        let kinds = [ChangeKind::Insert, ChangeKind::UpdateBefore, ChangeKind::UpdateAfter, ChangeKind::Delete];
        let kind = |row: &Vec<&str>| kinds.into_iter().find(|kind| kind.short() == row[0]).expect("a kind") as u8;
        let kinds: UInt8Array = parts.iter().map(kind).collect::<Vec<_>>().into();
        let columns = self.source.columns.iter().map(|column| all[*column].clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(lines.len()));
        let rows = RecordBatch::try_new_with_options(self.source.schema.clone(), columns, &options).expect("columns");
        Ok(Some(ReadBatch { rows: ChangeBatch::with_kinds(rows, kinds)?, position: self.next.into(), skipped: 0 }))
    }
}

fn planned(sql: &str) -> Result<PlannedJob> {
    plan(&parse(sql, "job.sql")?, Config::default(), &Connectors::built_in().with(Changes))
}

/// What a query over tables `t` and `u` of the changes gives, with operators begun anew on the way.
fn changes(mode: &str, lines: &[String], query: &str, rows: usize) -> Rows {
    let settings = "SET 'table.exec.source.cdc-events-duplicate' = 'true';";
    let table = |name: &str| {
        format!(
            "CREATE TABLE {name} (k STRING, g STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED)
               WITH ('connector' = 'changes', 'mode' = '{mode}', 'changes' = '{}');",
            lines.join(";")
        )
    };
    let columns = if query.contains("JOIN") { "a STRING, b BIGINT, c BIGINT" } else { "a STRING, b BIGINT" };
    let out = format!("CREATE TABLE out ({columns}) WITH ('connector' = 'blackhole');");
    let job = planned(&format!("{settings}{}{}{out} INSERT INTO out {query};", table("t"), table("u"))).expect("a job");
    let mut run = Run::new(&job.graph).expect("its operators open");
    run.reopened_every = Some(3);
    run.all(rows, 0).expect("it runs");
    run.output
}

/// Upserts and deletions of ten keys: repeated ones, and deletions of keys without a row, which know the key alone.
fn upserts() -> Vec<String> {
    let line = |n: u64| {
        let (key, group, value) = (n * 7 % 10, n * n % 4, n * 13 % 50);
        match n % 5 {
            4 => vec![format!("-D k{key} _ _")],
            3 => vec![format!("+U k{key} g{group} {value}"); 2],
            _ => vec![format!("+I k{key} g{group} {value}")],
        }
    };
    (0..120).flat_map(line).collect()
}

/// The same as all changes of rows, some of them given twice.
fn all_changes() -> Vec<String> {
    let mut rows = BTreeMap::<String, String>::new();
    let mut lines = Vec::new();
    for line in upserts() {
        let (kind, row) = line.split_once(' ').expect("a kind");
        let (key, rest) = row.split_once(' ').map(|(key, rest)| (key.to_owned(), rest)).expect("a key");
        let before = if kind == "-D" { rows.remove(&key) } else { rows.insert(key.clone(), rest.to_owned()) };
        let given = match (before, kind) {
            (None, "-D") => vec![],
            (Some(before), "-D") => vec![format!("-D {key} {before}")],
            (None, _) => vec![format!("+I {key} {rest}")],
            (Some(before), _) => vec![format!("-U {key} {before}"), format!("+U {key} {rest}")],
        };
        let times = if lines.len() % 3 == 0 { 2 } else { 1 };
        (0..times).for_each(|_| lines.extend(given.iter().cloned()));
    }
    lines
}

/// The rows that are left: group and value by key.
fn left() -> BTreeMap<String, (String, i64)> {
    let mut rows = BTreeMap::new();
    for line in upserts() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["-D", key, ..] => drop(rows.remove(key)),
            [_, key, group, value] => {
                drop(rows.insert(key.to_owned(), (group.to_owned(), value.parse().expect("a number"))))
            }
            _ => unreachable!(),
        }
    }
    rows
}

fn check(query: &str, mut expected: Rows) {
    expected.sort();
    for (mode, lines) in [("upsert", upserts()), ("all", all_changes())] {
        for rows in [1, 4, 1000] {
            let given = changes(mode, &lines, query, rows);
            assert_eq!(materialized(&given), expected, "{mode}, {rows} rows in a batch: {query}");
        }
    }
}

#[test]
fn rows_are_the_last_of_each_key() {
    check("SELECT k, v FROM t", left().into_iter().map(|(key, (_, value))| format!("{key} | {value}")).collect());
    check("SELECT g, v FROM t WHERE v > 20", {
        let kept = left().into_values().filter(|(_, value)| *value > 20);
        kept.map(|(group, value)| format!("{group} | {value}")).collect()
    });
}

#[test]
fn an_aggregate_counts_what_is_left() {
    let mut sums = BTreeMap::<String, i64>::new();
    left().into_values().for_each(|(group, value)| *sums.entry(group).or_default() += value);
    check("SELECT g, SUM(v) FROM t GROUP BY g", sums.iter().map(|(group, sum)| format!("{group} | {sum}")).collect());
}

#[test]
fn a_join_of_changing_tables_has_the_pairs_that_are_left() {
    let rows = left();
    let pairs = rows.values().flat_map(|(group, value)| {
        rows.values()
            .filter(move |(other, _)| other == group)
            .map(move |(_, other)| format!("{group} | {value} | {other}"))
    });
    check("SELECT t.g, t.v, u.v FROM t JOIN u ON t.g = u.g", pairs.collect());
}

#[test]
fn the_first_of_each_group_are_those_of_the_rows_that_are_left() {
    let mut best = BTreeMap::<String, i64>::new();
    for (group, value) in left().into_values() {
        let known = best.entry(group).or_insert(i64::MIN);
        *known = value.max(*known);
    }
    check(
        "SELECT g, v FROM (SELECT g, v, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v DESC) AS n FROM t) WHERE n = 1",
        best.iter().map(|(group, value)| format!("{group} | {value}")).collect(),
    );
}

#[test]
fn what_repeats_or_is_unknown_gives_no_change() {
    let lines = ["-D a _ _", "+I a x 1", "+U a x 1", "+U a y 2", "-D a _ _", "-D a _ _"].map(str::to_owned);
    let given = changes("upsert", &lines, "SELECT k, v FROM t", 1);
    assert_eq!(given, ["+I a | 1", "-U a | 1", "+U a | 2", "-D a | 2"]);
}

#[test]
fn what_cannot_be_is_refused_with_a_way_out() {
    let refused = |columns: &str, mode: &str, query: &str| {
        let sql = format!(
            "CREATE TABLE t ({columns}) WITH ('connector' = 'changes', 'mode' = '{mode}', 'changes' = '');
             CREATE TABLE out (n BIGINT) WITH ('connector' = 'blackhole'); INSERT INTO out {query};"
        );
        with_way_out(&planned(&sql).expect_err("it cannot run"))
    };
    let without_key = refused("k STRING, g STRING, v BIGINT", "upsert", "SELECT v FROM t");
    assert!(without_key.contains("no key is declared") && without_key.contains("line 1"), "{without_key}");
    let windows = refused(
        "k STRING, g STRING, v BIGINT, t AS TO_TIMESTAMP_LTZ(v, 3), WATERMARK FOR t AS t",
        "all",
        "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(t), INTERVAL '1' HOUR)) GROUP BY window_start, window_end",
    );
    assert!(windows.contains("windows over a changing result are not supported"), "{windows}");
}
