//! `table.exec.state.ttl`.

mod common;

use common::{Run, file, planned, tables};

#[test]
fn a_total_begins_anew_once_its_state_has_expired() {
    let (_dir, path) = file("{\"k\":\"a\",\"v\":1}\n");
    let sql = format!(
        "SET 'table.exec.state.ttl' = '1 s'; {} INSERT INTO out SELECT k, SUM(v) FROM t GROUP BY k;",
        tables("k STRING, v BIGINT", "k STRING, s BIGINT")
    );
    let job = planned(&sql.replace("{path}", &path)).expect("the job is right");
    let mut run = Run::new(&job.graph).expect("the job opens");
    for now_ms in [0, 999, 1998, 2998] {
        run.all(8, now_ms).expect("the job runs");
    }
    // A write prolongs the life of the state; at 2998 ms it is a second old.
    assert_eq!(run.output, ["+I a | 1", "-U a | 1", "+U a | 2", "-U a | 2", "+U a | 3", "+I a | 1"]);
    assert!(job.warnings.is_empty(), "{:?}", job.warnings);
}

#[test]
fn state_that_never_expires_is_announced_where_rows_never_end() {
    let job = |options: &str| {
        planned(&format!(
            "CREATE TABLE t (k STRING, v BIGINT) WITH ('connector' = 'datagen'{options});
             CREATE TABLE out (k STRING, s BIGINT) WITH ('connector' = 'blackhole');
             INSERT INTO out SELECT k, SUM(v) FROM t GROUP BY k;"
        ))
        .expect("the job is right")
    };
    let endless = job("");
    assert!(endless.warnings[0].contains("out/group-aggregate/0 keeps state for every key for ever"), "{endless:?}");
    assert!(endless.explain().contains("unbounded: no window, no TTL"), "{}", endless.explain());
    assert!(job(", 'number-of-rows' = '1'").warnings.is_empty(), "rows end, and the state with them");
}
