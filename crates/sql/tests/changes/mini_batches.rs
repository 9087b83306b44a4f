//! Mini-batches hold changes back, never results.

use super::common::tables;
use super::{Run, file, materialized, planned};

const SETTINGS: &str = "SET 'table.exec.mini-batch.enabled' = 'true';
    SET 'table.exec.mini-batch.allow-latency' = '10 s'; SET 'table.exec.mini-batch.size' = '1000';";

fn lines() -> String {
    (0..40).map(|n| format!("{{\"k\":{},\"v\":{}}}\n", n % 3, n * 7 % 11)).collect()
}

#[test]
fn changes_within_a_mini_batch_are_given_once() {
    let (_dir, path) = file(&lines());
    let query = "INSERT INTO out SELECT k, SUM(v), MAX(v) FROM t GROUP BY k;";
    let sql =
        format!("{} {query}", tables("k BIGINT, v BIGINT", "k BIGINT, s BIGINT, m BIGINT")).replace("{path}", &path);
    let run = |sql: &str, every| {
        let job = planned(sql).expect("the job is right");
        let mut run = Run::new(&job.graph).expect("the job opens");
        run.reopened_every = every;
        run.all(2, 0).expect("the job runs");
        run.output
    };
    let at_once = run(&sql, None);
    let gathered = run(&format!("{SETTINGS} {sql}"), None);
    assert_eq!(gathered.len(), 3, "one row of each key: {gathered:?}");
    assert!(at_once.len() > 20, "{at_once:?}");
    // A checkpoint ends a mini-batch: what is gathered is not in the state.
    let interrupted = run(&format!("{SETTINGS} {sql}"), Some(5));
    assert!(interrupted.len() > gathered.len(), "{interrupted:?}");
    assert_eq!(materialized(&at_once), materialized(&gathered));
    assert_eq!(materialized(&at_once), materialized(&interrupted));
}

#[test]
fn a_mini_batch_ends_when_it_is_full() {
    let (_dir, path) = file(&lines());
    let sql = format!(
        "{SETTINGS} SET 'table.exec.mini-batch.size' = '10'; {} INSERT INTO out SELECT COUNT(*) FROM t;",
        tables("k BIGINT, v BIGINT", "n BIGINT")
    );
    let job = planned(&sql.replace("{path}", &path)).expect("the job is right");
    let mut run = Run::new(&job.graph).expect("the job opens");
    run.all(5, 0).expect("the job runs");
    let counts: Vec<&str> = run.output.iter().filter_map(|row| row.strip_prefix("+U ")).collect();
    assert_eq!(counts, ["20", "30", "40"]);
}
