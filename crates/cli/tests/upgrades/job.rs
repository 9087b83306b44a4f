//! The job as it was first, its run, and places to run its edits in.

use crate::expected::ROWS;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The parts of the job's SQL that edits replace.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// The columns of the table that is read.
    pub(crate) columns: String,
    /// The columns of the other one.
    pub(crate) names: String,
    /// The queries, each with its table, and more.
    pub(crate) queries: Vec<Query>,
    /// The form of values.
    pub(crate) format: String,
}

/// A query with the table that it fills.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    /// The table.
    pub(crate) table: String,
    /// Where its files are.
    pub(crate) path: String,
    /// Its columns.
    pub(crate) columns: String,
    /// The query.
    pub(crate) query: String,
}

pub(crate) const TOTALS: &str = "SELECT k, COUNT(*), SUM(x), MIN(x) FROM numbers GROUP BY k";
pub(crate) const FIRSTS: &str = "SELECT k, id FROM
    (SELECT k, id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS n FROM numbers) WHERE n = 1";
pub(crate) const JOINED: &str = "SELECT n.id, m.name FROM numbers n JOIN names m ON n.k = m.k";
pub(crate) const WINDOWS: &str = "SELECT window_start, k, COUNT(*)
    FROM TABLE(TUMBLE(TABLE numbers, DESCRIPTOR(ts), INTERVAL '10' MINUTES)) GROUP BY window_start, window_end, k";

pub(crate) const SESSIONS: &str = "SELECT window_start, k, COUNT(*)
    FROM TABLE(SESSION(TABLE numbers PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' MINUTES))
    GROUP BY window_start, window_end, k";
pub(crate) const TOPS: &str = "SELECT k, id FROM
    (SELECT k, id, p, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC, id) AS n FROM numbers) WHERE n <= 2";

impl Query {
    pub(crate) fn new(table: &str, columns: &str, query: &str) -> Self {
        Query { table: table.to_owned(), path: table.to_owned(), columns: columns.to_owned(), query: query.to_owned() }
    }
}

impl Default for Job {
    fn default() -> Self {
        let keyed = "PRIMARY KEY (k) NOT ENFORCED";
        Job {
            columns: "id BIGINT, k STRING, j STRING, x INT, p DOUBLE".to_owned(),
            names: "k STRING, name STRING".to_owned(),
            queries: vec![
                Query::new("totals", &format!("k STRING, n BIGINT, s BIGINT, least INT, {keyed}"), TOTALS),
                Query::new("firsts", &format!("k STRING, id BIGINT, {keyed}"), FIRSTS),
                Query::new("joined", "id BIGINT, name STRING", JOINED),
                Query::new("windows", "window_start TIMESTAMP(3), k STRING, n BIGINT", WINDOWS),
                Query::new("sessions", "window_start TIMESTAMP(3), k STRING, n BIGINT", SESSIONS),
                Query::new("tops", "k STRING, id BIGINT", TOPS),
            ],
            format: "row".to_owned(),
        }
    }
}

impl Job {
    /// The job with another query, and other columns of its table.
    pub(crate) fn with(mut self, table: &str, columns: Option<&str>, query: &str) -> Self {
        let changed = self.queries.iter_mut().find(|query| query.table == table).expect("the table is there");
        changed.query = query.to_owned();
        if let Some(columns) = columns {
            changed.columns = columns.to_owned();
        }
        self
    }

    /// Its SQL; `pace` is what else the source's options say.
    pub(crate) fn text(&self, pace: &str) -> String {
        let Job { columns, names, queries, format } = self;
        let mut text = format!(
            "SET 'pipeline.name' = 'job';
             SET 'state.serialization.format' = '{format}';
             SET 'execution.checkpointing.dir' = 'file:checkpoints';
             SET 'execution.checkpointing.interval' = '20 ms';
             SET 'execution.checkpointing.num-retained' = '1000';
             CREATE TABLE numbers ({columns}, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
               WITH ('connector' = 'filesystem', 'path' = 'numbers.json', 'format' = 'json'{pace});
             CREATE TABLE names ({names}) WITH ('connector' = 'filesystem', 'path' = 'names.json', 'format' = 'json');\n"
        );
        for Query { table, path, columns, query } in queries {
            text += &format!(
                "CREATE TABLE {table} ({columns})
                   WITH ('connector' = 'filesystem', 'path' = 'out/{path}', 'format' = 'json');
                 INSERT INTO {table} {query};\n"
            );
        }
        text
    }
}

/// A directory to run in.
pub(crate) struct Place(tempfile::TempDir);

/// What a command left.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn shown(&self) -> String {
        format!("exit code {}\n{}{}", self.code, self.out, self.err)
    }
}

impl Place {
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).expect("files can be written");
    }

    /// Runs the binary with arguments separated by blanks.
    pub(crate) fn headpond(&self, arguments: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headpond"));
        command.current_dir(self.0.path()).args(arguments.split_whitespace()).stdin(Stdio::null());
        for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HEADPOND_")) {
            command.env_remove(variable);
        }
        let output = command.output().expect("the binary can be started");
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The rows in a table's published files, as JSON whose members are in order. Of changes, the rows that are left:
    /// their columns `k` and `id`.
    pub(crate) fn rows(&self, table: &str) -> Vec<String> {
        let Ok(files) = fs::read_dir(self.0.path().join("out").join(table)) else { return Vec::new() };
        let paths = files.flatten().map(|file| file.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("current-") || name.starts_with("part-")
        });
        let texts: Vec<String> = paths.map(|path| fs::read_to_string(path).expect("a readable file")).collect();
        let rows: Vec<Value> = texts.iter().flat_map(|text| text.lines()).map(parsed).collect();
        if rows.iter().all(|row| row.get("op").is_none()) {
            return rows.iter().map(Value::to_string).collect();
        }
        let mut left: BTreeMap<String, i64> = BTreeMap::new();
        for row in rows {
            let change = if row["op"].as_str().is_some_and(|op| op.starts_with('+')) { 1 } else { -1 };
            *left.entry(json!({ "k": row["k"], "id": row["id"] }).to_string()).or_default() += change;
        }
        left.into_iter()
            .filter(|(_, count)| *count != 0)
            .map(|(row, count)| {
                assert_eq!(count, 1, "{row}");
                row
            })
            .collect()
    }
}

/// A line's object.
pub(crate) fn parsed(line: &str) -> Value {
    serde_json::from_str(line).expect("a JSON line")
}

/// The job's first run.
pub(crate) struct Base {
    place: Place,
    pub(crate) backend: String,
    /// The checkpoint in the middle that edits begin at.
    pub(crate) checkpoint: String,
    rows: usize,
}

impl Base {
    /// Runs it, more slowly until a checkpoint is in the middle: on a busy machine they are few.
    pub(crate) fn run(backend: &str, format: &str) -> Self {
        let job = Job { format: format.to_owned(), ..Job::default() };
        for rows_per_second in [4000, 1500, 500, 200] {
            let place = Place(tempfile::tempdir().expect("a temporary directory"));
            place.write("numbers.json", &crate::expected::numbers());
            place.write("names.json", &crate::expected::names());
            place.write("job.sql", &job.text(&format!(", 'scan.rows-per-second' = '{rows_per_second}'")));
            let ran = place.headpond(&format!("run job.sql --progress none -D state.backend.type={backend}"));
            assert_eq!(ran.code, 0, "{}", ran.shown());
            let (checkpoint, rows) = in_the_middle(&place);
            if rows.abs_diff(ROWS / 2) < ROWS * 2 / 5 {
                return Base { place, backend: backend.to_owned(), checkpoint, rows };
            }
        }
        panic!("no checkpoint was taken in the middle of the job");
    }

    /// How many rows had been read at the checkpoint.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// A place with all that the first run has left.
    pub(crate) fn copy(&self) -> Place {
        let place = Place(tempfile::tempdir().expect("a temporary directory"));
        copy(self.place.0.path(), place.0.path());
        place
    }
}

/// The checkpoint whose rows are nearest to half of them.
fn in_the_middle(place: &Place) -> (String, usize) {
    let directory = place.0.path().join("checkpoints/job");
    let names = fs::read_dir(&directory).expect("checkpoints").flatten().map(|entry| entry.file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.starts_with("chk-"));
    let rows = |name: &str| {
        let shown = place.headpond(&format!("checkpoint show checkpoints/job/{name}"));
        let position = shown.out.split("positions of source numbers/source/0").nth(1)?;
        let row = position.split("row ").nth(1)?;
        let digits: String = row.chars().take_while(|c| c.is_ascii_digit() || *c == ' ').collect();
        digits.replace(' ', "").parse::<usize>().ok()
    };
    let found = names.filter_map(|name| Some((format!("checkpoints/job/{name}"), rows(&name)?)));
    found.min_by_key(|(_, rows)| rows.abs_diff(ROWS / 2)).expect("a checkpoint")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let (path, to): (PathBuf, PathBuf) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &to),
            false => assert!(fs::copy(&path, &to).is_ok(), "{} is copied", path.display()),
        }
    }
}
