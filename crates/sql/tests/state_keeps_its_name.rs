//! The hint `STATE_UID`: operators keep the ids under which their state was kept.

mod common;

use common::planned;

const TABLES: &str = "
    CREATE TABLE clicks (page STRING, price DOUBLE) WITH ('connector' = 'filesystem', 'path' = 'clicks.json', 'format' = 'json');
    CREATE TABLE a (page STRING, n BIGINT) WITH ('connector' = 'blackhole');
    CREATE TABLE b (page STRING, n BIGINT) WITH ('connector' = 'blackhole');
";
const COUNTS: &str = "page, COUNT(*) FROM clicks GROUP BY page";

/// The ids of a job's operators.
fn ids(inserts: &str) -> Result<Vec<String>, String> {
    let job = planned(&format!("{TABLES}{inserts}")).map_err(|error| error.to_string())?;
    Ok(job.graph.nodes().map(|(_, node)| node.id.to_string()).filter(|id| !id.contains("calc")).collect())
}

fn has(ids: &[String], id: &str) -> bool {
    ids.iter().any(|other| other == id)
}

#[test]
fn all_ids_of_an_insert_begin_with_the_name() {
    let ids = ids(&format!("INSERT INTO a SELECT /*+ STATE_UID('totals') */ {COUNTS};")).expect("planned");
    assert!(has(&ids, "totals/group-aggregate/0") && has(&ids, "totals/sink/0"), "{ids:?}");
    let both = format!("INSERT INTO a SELECT /*+ STATE_UID('x'), STATE_TTL('clicks' = '1 d') */ {COUNTS};");
    assert!(has(&self::ids(&both).expect("planned"), "x/group-aggregate/0"));
}

#[test]
fn single_operators_keep_the_ids_that_they_had_elsewhere() {
    let query = "page, COUNT(*) FROM (SELECT DISTINCT page, price FROM clicks) GROUP BY page";
    let hint = "STATE_UID('group-aggregate/1' = 'group-aggregate/0', 'group-aggregate/0' = 'distinct/0')";
    let job = planned(&format!("{TABLES} INSERT INTO a SELECT /*+ {hint} */ {query};")).expect("planned");
    let of =
        |id: &str| job.graph.nodes().find(|(_, node)| node.id.as_str() == id).map(|(_, node)| node.description.clone());
    assert!(of("a/group-aggregate/0").is_some_and(|text| text.contains("COUNT")));
    assert!(of("a/distinct/0").is_some_and(|text| !text.contains("COUNT")));
}

#[test]
fn another_insert_into_the_table_is_counted_without_the_pinned_one() {
    let inserts = format!(
        "INSERT INTO a SELECT /*+ STATE_UID('first') */ {COUNTS}; INSERT INTO a SELECT {COUNTS}; INSERT INTO b SELECT {COUNTS};"
    );
    let ids = ids(&inserts).expect("planned");
    for id in ["first/group-aggregate/0", "a/group-aggregate/0", "b/group-aggregate/0"] {
        assert!(has(&ids, id), "{id}: {ids:?}");
    }
}

#[test]
fn what_the_hint_gets_wrong_is_named() {
    let wrong = [
        (
            format!("INSERT INTO a SELECT {COUNTS}; INSERT INTO b SELECT /*+ STATE_UID('a') */ {COUNTS};"),
            "another INSERT keeps its state as 'a'",
        ),
        (
            format!("INSERT INTO a SELECT /*+ STATE_UID('join/0' = 'join/1') */ {COUNTS};"),
            "names 'join/0', which the query has not",
        ),
        (
            format!("INSERT INTO a SELECT /*+ STATE_UID('sink/0' = 'group-aggregate/0') */ {COUNTS};"),
            "are both 'group-aggregate/0'",
        ),
        (format!("INSERT INTO a SELECT /*+ STATE_UID('a/b') */ {COUNTS};"), "the hint is not readable"),
        (format!("INSERT INTO a SELECT /*+ STATE_UID('x', 'y') */ {COUNTS};"), "the hint is not readable"),
        (format!("INSERT INTO a SELECT /*+ STATE_UID('x') STATE_UID('y') */ {COUNTS};"), "one hint STATE_UID"),
        (
            format!("CREATE VIEW v AS SELECT /*+ STATE_UID('x') */ {COUNTS}; INSERT INTO a SELECT * FROM v;"),
            "a view keeps no state",
        ),
    ];
    for (inserts, expected) in wrong {
        let error = ids(&inserts).expect_err("refused");
        assert!(error.contains(expected), "{inserts}\n{error}");
    }
}
