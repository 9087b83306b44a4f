//! One key with many rows.

use crate::common::{Run, planned_over};

#[test]
fn a_hot_key_streams_its_matches() {
    let pad = "x".repeat(200);
    let many: String = (0..20_000).map(|n| format!("{{\"k\":1,\"v\":{n},\"s\":\"{pad}\"}}\n")).collect();
    let few: String = (0..3).map(|n| format!("{{\"k\":1,\"v\":{n},\"s\":\"\"}}\n")).collect();
    let table = |name: &str| {
        format!(
            "CREATE TABLE {name} (k BIGINT, v BIGINT, s STRING)
               WITH ('connector' = 'filesystem', 'path' = '{{{name}}}', 'format' = 'json');"
        )
    };
    for (join, expected) in [("", 60_000), ("LEFT", 60_000), ("RIGHT", 60_000 + 2 * 20_000)] {
        let sql = format!(
            "{}{} CREATE TABLE out (v BIGINT, w BIGINT, s STRING) WITH ('connector' = 'blackhole');
             INSERT INTO out SELECT a.v, b.v, b.s FROM a {join} JOIN b ON a.k = b.k;",
            table("a"),
            table("b")
        );
        let (_dir, job) = planned_over(&[("a", &few), ("b", &many)], &sql).expect("the job is right");
        let mut run = Run::new(&job.graph).expect("the job opens");
        run.rewind().expect("the sources open");
        while run.read(1, 8192, 0).expect("the job runs") {}
        run.tick(8192, 0).expect("the job runs");
        assert_eq!(run.output.len(), expected, "{join}");
        // A megabyte, and what was under way.
        assert!(run.rows_per_call_max <= 12_000, "{join}: {} rows in one call", run.rows_per_call_max);
    }
}
