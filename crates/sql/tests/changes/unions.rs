//! `UNION ALL` and `UNION`.

use super::common::tables;
use super::{CURRENT, changes, result};

const LINES: &str = "{\"seq\":1,\"id\":1,\"gone\":false,\"k\":1}\n{\"seq\":2,\"id\":2,\"gone\":false,\"k\":1}\n\
                     {\"seq\":3,\"id\":1,\"gone\":true,\"k\":1}\n";
const COLUMNS: &str = "seq BIGINT, id BIGINT, gone BOOLEAN, k INT";

#[test]
fn all_rows_of_all_queries_come() {
    let sql = format!(
        "{} INSERT INTO out SELECT k, id FROM t WHERE id = 1 UNION ALL SELECT 7, id FROM t UNION ALL SELECT NULL, 0 FROM t WHERE gone;",
        tables(COLUMNS, "k BIGINT, id BIGINT")
    );
    assert_eq!(result(LINES, &sql, 2), ["1 | 1", "1 | 1", "7 | 1", "7 | 1", "7 | 2", "NULL | 0"]);
}

#[test]
fn a_union_has_every_row_once_as_long_as_a_query_gives_it() {
    let sql = format!(
        "{} INSERT INTO out SELECT id FROM {CURRENT} AS x UNION SELECT id FROM t WHERE id = 2;",
        tables(COLUMNS, "id BIGINT")
    );
    assert_eq!(result(LINES, &sql, 1), ["2"]);
    let given = changes(LINES, &sql, 1, None).expect("the job runs");
    assert!(given.contains(&"-D 1".to_owned()), "{given:?}");
}

#[test]
fn windows_over_a_union_know_both_watermarks() {
    let table = |name: &str| {
        format!(
            "CREATE TABLE {name} (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
             WITH ('connector' = 'filesystem', 'path' = '{{path}}', 'format' = 'json');"
        )
    };
    let sql = format!(
        "{} {} CREATE VIEW u AS SELECT k, ts FROM a UNION ALL SELECT k, ts FROM b;
         CREATE TABLE out (start TIMESTAMP(3), n BIGINT) WITH ('connector' = 'blackhole');
         INSERT INTO out SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE u, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
         GROUP BY window_start, window_end;",
        table("a"),
        table("b"),
    );
    let lines = "{\"k\":\"x\",\"ts\":\"2024-01-01 00:00:01\"}\n{\"k\":\"x\",\"ts\":\"2024-01-01 00:01:01\"}\n";
    let rows = result(lines, &sql, 8);
    assert_eq!(rows, ["2024-01-01T00:00:00 | 2", "2024-01-01T00:01:00 | 2"]);
}
