//! The edits.

use crate::expected::{Input, Row, distinct, greatest, groups, joined, least, mean, of_group, sum};
use crate::job::{FIRSTS, Job, Query, SESSIONS, TOPS, TOTALS, WINDOWS};
use serde_json::{Value, json};

/// What a table must hold.
pub(crate) type Expected = fn(Input) -> Vec<String>;

/// An edit of the job.
pub(crate) struct Edit {
    pub(crate) name: &'static str,
    pub(crate) job: Job,
    /// What both commands get.
    pub(crate) flags: &'static str,
    /// What both end with.
    pub(crate) code: i32,
    /// What is said of parts. All others restore as they are.
    pub(crate) verdicts: Vec<(&'static str, &'static str)>,
    /// What `check` says besides.
    pub(crate) says: Vec<&'static str>,
    /// Tables with what they hold in the end.
    pub(crate) tables: Vec<(&'static str, Expected)>,
}

const MIGRATES: &str = "restores after a migration";
const EMPTY: &str = "starts empty";
const CANNOT: &str = "cannot be restored";
const DROPPED: &str = "is dropped";
const AGGREGATE: &str = "operator totals/group-aggregate/0";
const SINK: &str = "sink totals/sink/0";

/// The edits of a job whose values are kept in this form.
pub(crate) fn edits(format: &str) -> Vec<Edit> {
    let first = || Job { format: format.to_owned(), ..Job::default() };
    let edit =
        |name, job| Edit { name, job, flags: "", code: 0, verdicts: Vec::new(), says: Vec::new(), tables: Vec::new() };
    let totals = |columns: &str, query: &str| {
        first().with("totals", Some(&format!("{columns}, PRIMARY KEY (k) NOT ENFORCED")), query)
    };
    let as_first: Vec<(&'static str, Expected)> = vec![
        ("totals", totals_as_first),
        ("firsts", firsts),
        ("joined", all_joined),
        ("windows", windows),
        ("sessions", |input| input.sessions(|plain, _| plain)),
        ("tops", Input::tops),
    ];
    let by_j = "SELECT j, COUNT(*), SUM(x), MIN(x) FROM numbers GROUP BY j";
    let mut renamed = first();
    renamed.queries[0].table = "sums".to_owned();
    let mut kept = renamed.clone();
    kept.queries[0].query = TOTALS.replace("SELECT", "SELECT /*+ STATE_UID('totals') */");
    let mut more = first();
    let counts = "j STRING, n BIGINT, PRIMARY KEY (j) NOT ENFORCED";
    more.queries.push(Query::new("counts", counts, "SELECT j, COUNT(*) FROM numbers GROUP BY j"));
    let mut fewer = first();
    fewer.queries.retain(|query| query.table != "joined");
    let in_front =
        "SELECT /*+ STATE_UID('group-aggregate/1' = 'group-aggregate/0', 'group-aggregate/0' = 'distinct/0') */
        k, COUNT(*), SUM(x), MIN(x) FROM (SELECT DISTINCT k, x FROM numbers) GROUP BY k";
    let mut wider = totals("k STRING, n BIGINT, s BIGINT, least BIGINT", TOTALS);
    wider.columns = wider.columns.replace("x INT", "x BIGINT");
    let mut with_rank = first().with(
        "joined",
        Some("id BIGINT, name STRING, `rank` BIGINT"),
        "SELECT n.id, m.name, m.`rank` FROM numbers n JOIN names m ON n.k = m.k",
    );
    with_rank.names += ", `rank` BIGINT";
    let other_format = if format == "avro" { "row" } else { "avro" };
    vec![
        Edit { tables: as_first.clone(), ..edit("nothing is changed", first()) },
        Edit { tables: as_first.clone(), flags: "--parallelism 3", ..edit("three workers", first()) },
        Edit {
            tables: vec![("totals", |input| {
                let mut rows = input.before();
                rows.extend(input.behind().into_iter().filter(|row| row.x > 0));
                totals_of(&rows)
            })],
            ..edit("another WHERE", first().with("totals", None, &TOTALS.replace("GROUP", "WHERE x > 0 GROUP")))
        },
        Edit {
            verdicts: vec![(AGGREGATE, MIGRATES), (SINK, MIGRATES)],
            says: vec!["`max(x)` is new: it counts from this checkpoint on", "column `mean` is new: NULL"],
            tables: vec![("totals", |input| {
                Input::totals(&input.all(), |k, rows| {
                    let new = of_group(&input.behind(), k);
                    let mut row = total(k, rows);
                    row["mean"] = json!(mean(&new));
                    row["most"] = json!(greatest(&new));
                    // A group that gets no rows is not written again.
                    row["different"] = if new.is_empty() { Value::Null } else { json!(distinct(&new)) };
                    row
                })
            })],
            ..edit(
                "aggregates are added",
                totals(
                    "k STRING, n BIGINT, s BIGINT, least INT, mean DOUBLE, most INT, different BIGINT",
                    "SELECT k, COUNT(*), SUM(x), MIN(x), AVG(p), MAX(x), COUNT(DISTINCT x) FROM numbers GROUP BY k",
                ),
            )
        },
        Edit {
            verdicts: vec![(AGGREGATE, MIGRATES), (SINK, MIGRATES)],
            says: vec!["`sum(x)` goes", "column `s BIGINT` goes"],
            tables: vec![("totals", |input| {
                Input::totals(&input.all(), |k, rows| json!({ "k": k, "n": rows.len(), "least": least(rows) }))
            })],
            ..edit(
                "an aggregate is removed",
                totals("k STRING, n BIGINT, least INT", "SELECT k, COUNT(*), MIN(x) FROM numbers GROUP BY k"),
            )
        },
        Edit {
            verdicts: vec![(AGGREGATE, MIGRATES), (SINK, MIGRATES)],
            says: vec!["fields move", "columns move"],
            tables: vec![("totals", totals_as_first)],
            ..edit(
                "aggregates and columns in another order",
                totals(
                    "least INT, k STRING, s BIGINT, n BIGINT",
                    "SELECT MIN(x), k, SUM(x), COUNT(*) FROM numbers GROUP BY k",
                ),
            )
        },
        Edit {
            verdicts: vec![(AGGREGATE, MIGRATES), (SINK, MIGRATES)],
            says: vec!["`min(x)` becomes int64 instead of int32", "column `least` becomes BIGINT instead of INT"],
            tables: vec![("totals", totals_as_first)],
            ..edit("INT becomes BIGINT", wider)
        },
        Edit {
            code: 4,
            verdicts: vec![(AGGREGATE, CANNOT), (SINK, MIGRATES)],
            says: vec!["AVG(x) needs more than the `sum(x)` that is known"],
            ..edit(
                "an aggregate is added that needs more than what is known",
                totals(
                    "k STRING, n BIGINT, s BIGINT, least INT, mean DOUBLE",
                    &TOTALS.replace("MIN(x)", "MIN(x), AVG(x)"),
                ),
            )
        },
        Edit {
            code: 4,
            verdicts: vec![(AGGREGATE, CANNOT)],
            says: vec!["the state is of `rows by k`, and the query needs `rows by j`", "--allow-dropped-state"],
            ..edit("another key", first().with("totals", None, by_j))
        },
        Edit {
            flags: "--allow-dropped-state",
            verdicts: vec![(AGGREGATE, EMPTY)],
            tables: vec![
                ("joined", all_joined),
                ("totals", |input| {
                    let of_j = groups(&input.behind(), |row| row.j);
                    let new = of_j.iter().map(|(j, rows)| total(j, rows).to_string());
                    totals_of(&input.before()).into_iter().chain(new).collect()
                }),
            ],
            ..edit("another key, the state dropped", first().with("totals", None, by_j))
        },
        Edit {
            code: 4,
            verdicts: vec![
                (AGGREGATE, CANNOT),
                (SINK, CANNOT),
                ("operator sums/group-aggregate/0", EMPTY),
                ("sink sums/sink/0", EMPTY),
            ],
            says: vec!["STATE_UID", "--allow-dropped-state"],
            ..edit("a table is renamed", renamed)
        },
        Edit { tables: as_first.clone(), ..edit("a table is renamed, its state keeps its name", kept) },
        Edit {
            verdicts: vec![("operator counts/group-aggregate/0", EMPTY), ("sink counts/sink/0", EMPTY)],
            tables: [
                as_first.clone(),
                vec![("counts", |input| {
                    let of_j = groups(&input.behind(), |row| row.j);
                    of_j.iter().map(|(j, rows)| json!({ "j": j, "n": rows.len() }).to_string()).collect()
                })],
            ]
            .concat(),
            ..edit("a query is added", more)
        },
        Edit {
            code: 4,
            verdicts: vec![
                ("operator joined/join/0", CANNOT),
                ("sink joined/sink/0", CANNOT),
                ("source names/source/0", CANNOT),
            ],
            ..edit("a query is removed", fewer.clone())
        },
        Edit {
            flags: "--allow-dropped-state",
            verdicts: vec![
                ("operator joined/join/0", DROPPED),
                ("sink joined/sink/0", DROPPED),
                ("source names/source/0", DROPPED),
            ],
            tables: vec![("totals", totals_as_first), ("firsts", firsts), ("windows", windows)],
            ..edit("a query is removed, its state dropped", fewer)
        },
        Edit {
            verdicts: vec![("operator firsts/rank/0", MIGRATES), ("sink firsts/sink/0", MIGRATES)],
            says: vec!["`j` is new: NULL in the rows there are"],
            tables: vec![("firsts", |input| {
                let j = |row: Row| if row.id < input.cut { Value::Null } else { json!(row.j) };
                input.firsts(|row| json!({ "k": row.k, "id": row.id, "j": j(row) }))
            })],
            ..edit(
                "a column is added to first rows",
                first().with(
                    "firsts",
                    Some("k STRING, id BIGINT, j STRING, PRIMARY KEY (k) NOT ENFORCED"),
                    &FIRSTS.replace("k, id", "k, id, j"),
                ),
            )
        },
        Edit {
            verdicts: vec![("operator joined/join/0", MIGRATES)],
            says: vec!["state `right rows`: `rank` is new: NULL in the rows there are"],
            tables: vec![("joined", |input| {
                input.joined(|row, name| json!({ "id": row.id, "name": name, "rank": null }))
            })],
            ..edit("a column is added to a side of a join", with_rank)
        },
        Edit {
            verdicts: vec![("operator windows/window-aggregate/0", MIGRATES)],
            says: vec!["`sum(x)` is new"],
            tables: vec![("windows", |input| {
                input.windows(|mut plain, behind| {
                    plain["s"] = if behind.is_empty() { Value::Null } else { json!(sum(behind)) };
                    plain
                })
            })],
            ..edit(
                "an aggregate is added to windows",
                first().with(
                    "windows",
                    Some("window_start TIMESTAMP(3), k STRING, n BIGINT, s BIGINT"),
                    &WINDOWS.replace("COUNT(*)", "COUNT(*), SUM(x)"),
                ),
            )
        },
        Edit {
            verdicts: vec![("operator sessions/window-aggregate/0", MIGRATES)],
            says: vec!["state `accumulators`: `sum(x)` is new", "state `older sessions`: `sum(x)` is new"],
            tables: vec![("sessions", |input| {
                input.sessions(|mut plain, behind| {
                    plain["s"] = json!(sum(behind));
                    plain
                })
            })],
            ..edit(
                "an aggregate is added to sessions",
                first().with(
                    "sessions",
                    Some("window_start TIMESTAMP(3), k STRING, n BIGINT, s BIGINT"),
                    &SESSIONS.replace("COUNT(*)", "COUNT(*), SUM(x)"),
                ),
            )
        },
        Edit {
            code: 4,
            verdicts: vec![("operator sessions/window-aggregate/0", CANNOT)],
            ..edit("another gap of sessions", first().with("sessions", None, &SESSIONS.replace("'2'", "'3'")))
        },
        Edit {
            verdicts: vec![("operator tops/rank/0", MIGRATES)],
            says: vec!["`ts` is new: NULL in the rows there are"],
            tables: vec![("tops", Input::tops)],
            ..edit(
                "a column is added to the first rows in order",
                first().with("tops", Some("k STRING, id BIGINT, ts TIMESTAMP(3)"), &TOPS.replace("k, id", "k, id, ts")),
            )
        },
        Edit {
            code: 4,
            verdicts: vec![("operator tops/rank/0", CANNOT)],
            ..edit("more rows of each key", first().with("tops", None, &TOPS.replace("<= 2", "<= 3")))
        },
        Edit {
            code: 4,
            verdicts: vec![("operator totals/distinct/0", CANNOT)],
            says: vec!["--allow-empty-state"],
            ..edit("an operator is put in front", first().with("totals", None, in_front))
        },
        Edit {
            flags: "--allow-empty-state",
            verdicts: vec![("operator totals/distinct/0", EMPTY)],
            tables: vec![("totals", |input| {
                let mut rows = input.before();
                for row in input.behind() {
                    let is_known = |other: &Row| other.id >= input.cut && (other.k, other.x) == (row.k, row.x);
                    if !rows.iter().any(is_known) {
                        rows.push(row);
                    }
                }
                totals_of(&rows)
            })],
            ..edit("an operator is put in front, empty", first().with("totals", None, in_front))
        },
        Edit {
            code: 4,
            verdicts: vec![(AGGREGATE, CANNOT)],
            says: vec!["TTL was none and is now in processing time"],
            ..edit(
                "state begins to expire",
                first().with("totals", None, &TOTALS.replace("SELECT", "SELECT /*+ STATE_TTL('numbers' = '1 d') */")),
            )
        },
        Edit {
            verdicts: vec![
                (AGGREGATE, MIGRATES),
                ("operator firsts/rank/0", MIGRATES),
                ("operator joined/join/0", MIGRATES),
                ("operator windows/window-aggregate/0", MIGRATES),
                ("operator sessions/window-aggregate/0", MIGRATES),
            ],
            tables: as_first,
            ..edit("values are kept in another form", Job { format: other_format.to_owned(), ..Job::default() })
        },
    ]
}

fn total(k: &str, rows: &[Row]) -> Value {
    json!({ "k": k, "n": rows.len(), "s": sum(rows), "least": least(rows) })
}

fn totals_of(rows: &[Row]) -> Vec<String> {
    Input::totals(rows, total)
}

fn totals_as_first(input: Input) -> Vec<String> {
    totals_of(&input.all())
}

fn firsts(input: Input) -> Vec<String> {
    input.firsts(|row| json!({ "k": row.k, "id": row.id }))
}

fn all_joined(input: Input) -> Vec<String> {
    input.joined(joined)
}

fn windows(input: Input) -> Vec<String> {
    input.windows(|plain, _| plain)
}
