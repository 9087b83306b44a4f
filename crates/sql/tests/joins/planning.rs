//! Which queries are joins, and which are refused.

use crate::common::{materialized, planned, refused, run_over};

const TABLES: &str = "
    CREATE TABLE a (k BIGINT, v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{a}', 'format' = 'json');
    CREATE TABLE b (k BIGINT, w BIGINT) WITH ('connector' = 'filesystem', 'path' = '{b}', 'format' = 'json');
    CREATE TABLE out (x BIGINT, y BIGINT) WITH ('connector' = 'blackhole');";

const A: &str = "{\"k\":1,\"v\":10}\n{\"k\":2,\"v\":20}\n{\"k\":3,\"v\":30}\n{\"k\":null,\"v\":40}\n";
const B: &str = "{\"k\":1,\"w\":5}\n{\"k\":3,\"w\":6}\n{\"k\":3,\"w\":7}\n";

fn result(query: &str) -> Vec<String> {
    let output = run_over(&[("a", A), ("b", B)], &format!("{TABLES} INSERT INTO out {query};"), 1);
    materialized(&output.unwrap_or_else(|error| panic!("{query}: {error}")))
}

#[test]
fn joins_have_many_forms() {
    for (query, expected) in [
        ("SELECT v, w FROM a JOIN b ON a.k = b.k", &["10 | 5", "30 | 6", "30 | 7"][..]),
        ("SELECT v, w FROM a, b WHERE a.k = b.k AND w <> 6", &["10 | 5", "30 | 7"]),
        ("SELECT v, w FROM a JOIN b USING (k)", &["10 | 5", "30 | 6", "30 | 7"]),
        ("SELECT k, v + w FROM a NATURAL JOIN b", &["1 | 15", "3 | 36", "3 | 37"]),
        ("SELECT v, w FROM a JOIN b ON a.k + 1 = b.k + 1 AND a.v > b.w * 4", &["30 | 6", "30 | 7"]),
        ("SELECT v, w FROM a CROSS JOIN b WHERE a.k = b.k AND a.k = 1", &["10 | 5"]),
        ("SELECT x.v, y.v FROM a x JOIN a y ON x.k = y.k WHERE x.k < 3", &["10 | 10", "20 | 20"]),
        ("SELECT k, v FROM a WHERE k IN (SELECT k FROM b)", &["1 | 10", "3 | 30"]),
        ("SELECT k, v FROM a WHERE k IS NOT NULL AND k NOT IN (SELECT k FROM b WHERE k IS NOT NULL)", &["2 | 20"]),
        (
            "SELECT k, v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w * 10 < a.v + 55)",
            &["1 | 10", "3 | 30"],
        ),
        ("SELECT k, v FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE b.k = a.k)", &["2 | 20", "NULL | 40"]),
        ("SELECT k, v FROM a WHERE k IN (SELECT k FROM b GROUP BY k HAVING COUNT(*) > 1)", &["3 | 30"]),
        (
            "SELECT a.k, s FROM a LEFT JOIN (SELECT k, SUM(w) AS s FROM b GROUP BY k) x ON a.k = x.k",
            &["1 | 5", "2 | NULL", "3 | 13", "NULL | NULL"],
        ),
        ("SELECT a.k, COUNT(w) FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k", &["1 | 1", "2 | 0", "3 | 2", "NULL | 0"]),
        ("SELECT v, w FROM a LEFT JOIN b ON a.k = b.k WHERE w > 5", &["30 | 6", "30 | 7"]),
        ("SELECT SUM(v), SUM(w) FROM a JOIN b ON a.k = b.k", &["70 | 18"]),
    ] {
        assert_eq!(result(query), expected, "{query}");
    }
}

#[test]
fn what_is_no_join_of_ours_is_refused() {
    for (query, message) in [
        ("SELECT v, w FROM a, b", "a join without an equality"),
        ("SELECT v, w FROM a JOIN b ON a.k < b.k", "a join without an equality"),
        ("SELECT k, v FROM a WHERE k NOT IN (SELECT k FROM b)", "where k may be NULL"),
        ("SELECT k, v FROM a WHERE v > 15 OR k IN (SELECT k FROM b)", "IN (SELECT …) or EXISTS within OR"),
        ("SELECT k, (SELECT MAX(w) FROM b) FROM a", "a query in place of a value is not supported"),
        ("SELECT v, w FROM a JOIN b FOR SYSTEM_TIME AS OF a.v ON a.k = b.k", "FOR SYSTEM_TIME AS OF is not supported"),
    ] {
        let refusal = refused(&format!("{TABLES}\nINSERT INTO out {query};"));
        assert!(refusal.contains(message) && refusal.contains("line 5"), "{query}: {refusal}");
        assert!(refusal.contains('['), "a way out of {query}: {refusal}");
    }
}

#[test]
fn explain_tells_what_a_join_keeps() {
    let sql = format!("{TABLES} INSERT INTO out SELECT v, w FROM a LEFT JOIN b ON a.k = b.k;");
    let text = planned(&sql).expect("the job is right").explain();
    for line in [
        "out/join/0: left join by k = k",
        "key: int64?",
        "state `left rows` (row): `matches by k` int64, k int64?, v int64?",
        "state `right rows` (row): `k by k` int64?, w int64?",
        "unbounded: no window, no TTL",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
