//! Runs a planned job in one thread, without the runtime: what each sink gets is the result.
#![allow(dead_code, unreachable_pub)]

mod run;

pub use run::Run;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use headpond_config::Config;
use headpond_connectors::Connectors;
use headpond_runtime::ChangeBatch;
use headpond_sql::{PlannedJob, parse, plan};
use headpond_state::{Error, Result};
use std::collections::BTreeMap;

/// Plans a script.
pub fn planned(sql: &str) -> Result<PlannedJob> {
    plan(&parse(sql, "job.sql")?, Config::default(), &Connectors::built_in())
}

/// The error of a script, with its way out.
pub fn refused(sql: &str) -> String {
    with_way_out(&planned(sql).expect_err("the script is wrong"))
}

/// An error, with its way out.
pub fn with_way_out(error: &Error) -> String {
    match error.way_out() {
        Some(hint) => format!("{error} [{hint}]"),
        None => error.to_string(),
    }
}

/// A temporary file with this content, and its path.
pub fn file(content: &str) -> (tempfile::TempDir, String) {
    let (dir, mut paths) = files(&[("input", content)]);
    (dir, paths.remove(0))
}

/// Temporary files of these names with this content, and their paths.
pub fn files(contents: &[(&str, &str)]) -> (tempfile::TempDir, Vec<String>) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let write = |(name, content): &(&str, &str)| {
        let path = dir.path().join(format!("{name}.json"));
        std::fs::write(&path, content).expect("a temporary file");
        path.to_string_lossy().into_owned()
    };
    let paths = contents.iter().map(write).collect();
    (dir, paths)
}

/// Rows as text: the change kind, then the columns.
pub type Rows = Vec<String>;

/// Runs a script over JSON lines; `{path}` in it is their file. Gives what the table `out` gets.
pub fn run_json(lines: &str, sql: &str) -> Result<Rows> {
    run_json_in_batches(lines, sql, usize::MAX)
}

/// As [`run_json`], with at most `rows` rows in a batch and a tick after each batch.
pub fn run_json_in_batches(lines: &str, sql: &str, rows: usize) -> Result<Rows> {
    let (_dir, path) = file(lines);
    let job = planned(&sql.replace("{path}", &path))?;
    let mut run = Run::new(&job.graph)?;
    run.all(rows, 0)?;
    Ok(run.output)
}

/// A script over several inputs: `{name}` in it is the file of the JSON lines of that name. The files live as long as
/// what is returned first.
pub fn planned_over(inputs: &[(&str, &str)], sql: &str) -> Result<(tempfile::TempDir, PlannedJob)> {
    let (dir, paths) = files(inputs);
    let named = inputs.iter().zip(&paths);
    let sql = named.fold(sql.to_owned(), |sql, ((name, _), path)| sql.replace(&format!("{{{name}}}"), path));
    Ok((dir, planned(&sql)?))
}

/// Runs a script over several inputs, with at most `rows` rows of each in a tick.
pub fn run_over(inputs: &[(&str, &str)], sql: &str, rows: usize) -> Result<Rows> {
    let (_dir, job) = planned_over(inputs, sql)?;
    let mut run = Run::new(&job.graph)?;
    run.all(rows, 0)?;
    Ok(run.output)
}

/// A batch's rows as text.
pub fn shown(batch: &ChangeBatch) -> Rows {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<&ArrayRef> = batch.rows().columns().iter().collect();
    let format = |column: &ArrayRef, row: usize| {
        ArrayFormatter::try_new(column.as_ref(), &options).expect("a column that can be shown").value(row).to_string()
    };
    (0..batch.num_rows())
        .map(|row| {
            let cells = columns.iter().map(|column| format(column, row)).collect::<Vec<_>>().join(" | ");
            format!("{} {cells}", batch.kind(row).short())
        })
        .collect()
}

/// What is left when all changes are applied: rows in order.
pub fn materialized(rows: &[String]) -> Rows {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for row in rows {
        let (kind, row) = row.split_once(' ').expect("a kind before the row");
        *counts.entry(row).or_default() += if matches!(kind, "+I" | "+U") { 1 } else { -1 };
    }
    let mut left = Vec::new();
    for (row, count) in counts {
        assert!(count >= 0, "row `{row}` was taken back more often than given");
        left.extend(std::iter::repeat_n(row.to_owned(), count as usize));
    }
    left
}

/// Rows of a batch in another order.
pub fn reordered(batch: &ChangeBatch, order: &[u32]) -> ChangeBatch {
    batch.take(&UInt32Array::from(order.to_vec())).expect("rows within the batch")
}

/// A table `t` with these columns over the input file, and a table `out` with these.
pub fn tables(input: &str, output: &str) -> String {
    format!(
        "CREATE TABLE t ({input}) WITH ('connector' = 'filesystem', 'path' = '{{path}}', 'format' = 'json');
         CREATE TABLE out ({output}) WITH ('connector' = 'blackhole');"
    )
}
