//! `EXPLAIN`: what each operator with state keeps, under which key, and when that expires.

mod common;

use common::{Run, planned};
use headpond_state::{StateDescriptor, StateKind};

const TABLES: &str = "
    CREATE TABLE clicks (user_id BIGINT, page STRING, price DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE)
      WITH ('connector' = 'filesystem', 'path' = 'clicks.json', 'format' = 'json');
    CREATE TABLE users (user_id BIGINT, city STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
      WITH ('connector' = 'filesystem', 'path' = 'users.json', 'format' = 'json');
";

const UNBOUNDED: &str = "expiry: never; unbounded: no window, no TTL";
const CLOSES: &str = "expiry: when a window closes";
const TTL: &str = "expiry: 7200000 ms after the last write";

/// An operator's id, and what lines that `EXPLAIN` says of it begin with.
type Operator = (&'static str, &'static [&'static str]);

/// Queries with their operators that have state.
const QUERIES: &[(&str, &[Operator])] = &[
    (
        "SELECT page, COUNT(*) AS n, COUNT(DISTINCT user_id) AS users FROM clicks GROUP BY page",
        &[("query/group-aggregate/0", &["key: utf8?", "state `accumulators`", "state `values`", UNBOUNDED])],
    ),
    (
        "SELECT COUNT(*) AS n FROM clicks",
        &[("query/group-aggregate/0", &["key: none, one group", "expiry: never; there is one group"])],
    ),
    (
        "SELECT /*+ STATE_TTL('clicks' = '2 h') */ page, MAX(price) AS highest FROM clicks GROUP BY page",
        &[("query/group-aggregate/0", &["key: utf8?", "state `accumulators`", TTL])],
    ),
    (
        "SELECT DISTINCT page, user_id FROM clicks",
        &[("query/group-aggregate/0", &["key: utf8?,int64?", "state `accumulators`", UNBOUNDED])],
    ),
    (
        "SELECT window_start, page, SUM(price) AS total FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' HOUR))
         GROUP BY window_start, window_end, page",
        &[("query/window-aggregate/0", &["key: utf8?", "state `accumulators`", CLOSES])],
    ),
    (
        "SELECT window_start, page, COUNT(DISTINCT user_id) AS users
         FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' MINUTE, INTERVAL '1' HOUR))
         GROUP BY window_start, window_end, page",
        &[("query/window-aggregate/0", &["key: utf8?", "state `accumulators`", "state `values`", CLOSES])],
    ),
    (
        "SELECT window_start, user_id, COUNT(*) AS n
         FROM TABLE(SESSION(TABLE clicks PARTITION BY user_id, DESCRIPTOR(ts), INTERVAL '30' MINUTE))
         GROUP BY window_start, window_end, user_id",
        &[("query/window-aggregate/0", &["key: int64?", "state `accumulators`", "state `older sessions`", CLOSES])],
    ),
    (
        "SELECT page, city FROM clicks JOIN users ON clicks.user_id = users.user_id",
        &[("query/join/0", &["key: int64?", "state `left rows`", "state `right rows`", UNBOUNDED])],
    ),
    (
        "SELECT /*+ STATE_TTL('clicks' = '2 h', 'users' = '2 h') */ page, city
         FROM clicks LEFT JOIN users ON clicks.user_id = users.user_id",
        &[("query/join/0", &["key: int64?", "state `left rows`", "state `right rows`", TTL])],
    ),
    (
        "SELECT page FROM clicks WHERE user_id IN (SELECT user_id FROM users)",
        &[("query/join/0", &["key: int64?", "state `left rows`", "state `right rows`", UNBOUNDED])],
    ),
    (
        "SELECT page, city FROM clicks JOIN users ON clicks.user_id = users.user_id
         AND clicks.ts BETWEEN users.ts - INTERVAL '1' HOUR AND users.ts",
        &[(
            "query/interval-join/0",
            &[
                "key: int64?",
                "state `left rows`",
                "state `right rows`",
                "expiry: when event time is 3600000 ms beyond a row's time",
            ],
        )],
    ),
    (
        "SELECT page, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY page ORDER BY ts) AS n FROM clicks) WHERE n = 1",
        &[("query/rank/0", &["key: utf8?", "state `first row`", UNBOUNDED])],
    ),
    (
        "SELECT page, price, n FROM
           (SELECT *, ROW_NUMBER() OVER (PARTITION BY page ORDER BY price DESC) AS n FROM clicks) WHERE n <= 3",
        &[("query/rank/0", &["key: utf8?", "state `rows`", UNBOUNDED])],
    ),
    (
        "SELECT n, COUNT(*) AS pages FROM (SELECT page, COUNT(*) AS n FROM clicks GROUP BY page) GROUP BY n",
        &[
            ("query/group-aggregate/0", &["key: utf8?", "state `accumulators`", UNBOUNDED]),
            ("query/group-aggregate/1", &["key: int64?", "state `accumulators`", UNBOUNDED]),
        ],
    ),
];

/// The lines of an operator.
fn lines_of<'t>(text: &'t str, id: &str) -> Vec<&'t str> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("{id}: ")));
    let first = lines.next();
    first.into_iter().chain(lines.take_while(|line| line.starts_with(' '))).collect()
}

#[test]
fn explain_names_what_is_kept_the_key_and_the_expiry() {
    for (query, operators) in QUERIES {
        let job = planned(&format!("{TABLES} EXPLAIN {query};")).expect("the query is right");
        for (id, expected) in *operators {
            let lines = lines_of(&job.shown[0], id);
            for part in *expected {
                assert!(lines.iter().any(|line| line.trim().starts_with(part)), "{part}: {query}\n{}", job.shown[0]);
            }
        }
    }
}

#[test]
fn every_state_that_an_operator_registers_is_in_explain() {
    for (query, operators) in QUERIES {
        let sql = format!(
            "{TABLES} CREATE VIEW query_view AS {query};
             EXPLAIN INSERT INTO out SELECT * FROM query_view;"
        );
        let columns = planned(&format!("{TABLES} EXPLAIN {query};")).expect("the query is right").shown.remove(0);
        let columns =
            columns.lines().rev().find_map(|line| line.strip_prefix("  columns: ")).expect("columns").to_owned();
        let out = format!("CREATE TABLE out ({columns}) WITH ('connector' = 'blackhole');");
        let job =
            planned(&format!("{out} {sql} INSERT INTO out SELECT * FROM query_view;")).expect("the query is right");
        let mut run = Run::new(&job.graph).expect("the job opens");
        let registered = run.states().expect("states can be listed");
        assert_eq!(registered.len(), operators.len(), "{query}");
        for (id, states) in registered {
            let lines = lines_of(&job.shown[0], id.as_str());
            for StateDescriptor { name, .. } in states.iter().filter(|state| state.kind != StateKind::Timer) {
                assert!(
                    lines.iter().any(|line| line.contains(&format!("state `{name}`"))),
                    "{name} of {id}: {query}\n{}",
                    job.shown[0]
                );
            }
        }
    }
}
