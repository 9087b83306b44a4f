//! `table.exec.state.ttl`.

use crate::common::{Run, planned_over};

fn script(query: &str) -> String {
    let table = |name: &str| {
        format!(
            "CREATE TABLE {name} (k BIGINT, v BIGINT)
               WITH ('connector' = 'filesystem', 'path' = '{{{name}}}', 'format' = 'json');"
        )
    };
    format!(
        "SET 'table.exec.state.ttl' = '1 s'; {}{}
         CREATE TABLE out (v BIGINT, w BIGINT) WITH ('connector' = 'blackhole'); INSERT INTO out {query};",
        table("a"),
        table("b")
    )
}

#[test]
fn an_expired_row_matches_nothing() {
    let sql = script("SELECT a.v, b.v FROM a JOIN b ON a.k = b.k");
    let b = "{\"k\":1,\"v\":10}\n{\"k\":1,\"v\":20}\n{\"k\":1,\"v\":30}\n";
    let (_dir, job) = planned_over(&[("a", "{\"k\":1,\"v\":1}\n"), ("b", b)], &sql).expect("the job is right");
    let mut run = Run::new(&job.graph).expect("the job opens");
    run.rewind().expect("the sources open");
    run.read(0, 1, 0).expect("the job runs");
    for now_ms in [500, 999, 1_000] {
        run.read(1, 1, now_ms).expect("the job runs");
    }
    assert_eq!(run.output, ["+I 1 | 10", "+I 1 | 20"]);
    assert!(job.explain().contains("expiry: 1000 ms after the last write"), "{}", job.explain());
}

#[test]
fn what_has_expired_may_be_taken_back() {
    let sql = script("SELECT x.n, b.v FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) x JOIN b ON x.k = b.k");
    let a = "{\"k\":1}\n{\"k\":1}\n{\"k\":1}\n";
    let (_dir, job) = planned_over(&[("a", a), ("b", "{\"k\":1,\"v\":7}\n")], &sql).expect("the job is right");
    let mut run = Run::new(&job.graph).expect("the job opens");
    run.rewind().expect("the sources open");
    run.read(0, 1, 0).expect("the job runs");
    run.read(1, 1, 600).expect("the job runs");
    run.read(0, 1, 900).expect("the job runs");
    assert_eq!(run.output, ["+I 1 | 7", "-D 1 | 7", "+I 2 | 7"]);
    // The partner has expired; the groups live on from write to write.
    run.read(0, 1, 1_700).expect("the job runs");
    assert_eq!(run.output.len(), 3);
}

#[test]
fn each_side_has_a_time_to_live_of_its_own() {
    let sql = script("SELECT /*+ STATE_TTL('a' = '2 s', 'b' = '0 s') */ a.v, b.v FROM a JOIN b ON a.k = b.k");
    let a = "{\"k\":1,\"v\":1}\n{\"k\":1,\"v\":2}\n";
    let b = "{\"k\":1,\"v\":10}\n{\"k\":1,\"v\":20}\n";
    let (_dir, job) = planned_over(&[("a", a), ("b", b)], &sql).expect("the job is right");
    let text = job.explain();
    assert!(text.contains("2000 ms after the last write") && text.contains("never; unbounded"), "{text}");
    let mut run = Run::new(&job.graph).expect("the job opens");
    run.rewind().expect("the sources open");
    run.read(0, 1, 0).expect("the job runs");
    run.read(1, 1, 1_999).expect("the job runs");
    run.read(1, 1, 2_000).expect("the job runs");
    run.read(0, 1, 100_000).expect("the job runs");
    assert_eq!(run.output, ["+I 1 | 10", "+I 2 | 10", "+I 2 | 20"]);
}
