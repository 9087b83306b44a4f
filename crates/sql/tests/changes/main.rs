//! Running changes: whatever comes and is taken back, the result is that of the rows that are left.

#[path = "../common/mod.rs"]
mod common;

mod aggregates;
mod expiry;
mod first_rows;
mod mini_batches;
mod nexmark;
mod unions;
mod windows;

use common::{Rows, Run, file, materialized, planned};
use headpond_state::Result;

/// The changes that a table `out` gets of a script over JSON lines, in batches of `rows` rows; with `reopened_every`,
/// operators begin anew after so many batches.
fn changes(lines: &str, sql: &str, rows: usize, reopened_every: Option<usize>) -> Result<Rows> {
    let (_dir, path) = file(lines);
    let job = planned(&sql.replace("{path}", &path))?;
    let mut run = Run::new(&job.graph)?;
    run.reopened_every = reopened_every;
    run.all(rows, 0)?;
    Ok(run.output)
}

/// What is left of them.
fn result(lines: &str, sql: &str, rows: usize) -> Rows {
    materialized(&changes(lines, sql, rows, Some(3)).expect("the job runs"))
}

/// A subquery that gives the current row of each `id` of a table `t`, which is gone where its last one says so: rows
/// that come, change and go in any order.
const CURRENT: &str = "(SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY seq DESC) AS rn FROM t)
                        WHERE rn = 1 AND NOT gone)";
