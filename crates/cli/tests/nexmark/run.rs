//! Runs of a query's file: its first run is killed, its second ends.

use crate::{EVENTS, EVENTS_PER_SECOND, text_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a query's table holds at the end.
pub(crate) struct Outcome {
    /// Each row as JSON with its count, changes applied.
    pub(crate) rows: BTreeMap<String, i64>,
    /// All that was written.
    pub(crate) values: Vec<Value>,
}

/// Runs a query with each backend, one of them on several workers.
pub(crate) fn both_ways(query: &str, check: impl Fn(&str, Outcome)) {
    for (backend, parallelism) in [("memory", "3"), ("rocksdb", "1")] {
        let place = tempfile::tempdir().expect("a temporary directory");
        run(place.path(), query, backend, parallelism);
        check(backend, outcome(&place.path().join("out")));
    }
}

fn run(place: &Path, query: &str, backend: &str, parallelism: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/nexmark/{query}.sql"));
    let text = fs::read_to_string(file).expect("the query is there");
    let mut job =
        replaced(&text, "'events.num' = '1000000'", &format!("'events.num' = '{EVENTS}', 'splits' = '{parallelism}'"));
    job = replaced(&job, "'next-event.rate' = '10000'", &format!("'next-event.rate' = '{EVENTS_PER_SECOND}'"));
    job = replaced(&job, &format!("'headpond-out/nexmark-{query}'"), "'out'");
    let settings = format!(
        "SET 'state.backend.type' = '{backend}';
         SET 'execution.checkpointing.dir' = 'file:checkpoints';
         SET 'execution.checkpointing.interval' = '100 ms';
         SET 'state.backend.rocksdb.localdir' = 'local';\n"
    );
    // Slow enough to be killed before its end, with checkpoints behind it.
    let pace = format!("'splits' = '{parallelism}', 'scan.rows-per-second' = '{EVENTS}'");
    let paced = replaced(&job, &format!("'splits' = '{parallelism}'"), &pace);
    fs::write(place.join("job.sql"), format!("{settings}{paced}")).expect("a file can be written");
    let mut child = headpond(place, parallelism).stderr(Stdio::null()).spawn().expect("the binary starts");
    std::thread::sleep(Duration::from_millis(700));
    child.kill().expect("a child can be killed");
    child.wait().expect("a child");
    fs::write(place.join("job.sql"), format!("{settings}{job}")).expect("a file can be written");
    let output = headpond(place, parallelism).output().expect("the binary starts");
    assert!(output.status.success(), "{query} on {backend}: {}", String::from_utf8_lossy(&output.stderr));
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the query's file has {from}");
    text.replace(from, to)
}

fn headpond(place: &Path, parallelism: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headpond"));
    command.args(["run", "job.sql", "--progress", "none", "--parallelism", parallelism]);
    command.current_dir(place).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn outcome(dir: &Path) -> Outcome {
    let mut outcome = Outcome { rows: BTreeMap::new(), values: Vec::new() };
    let mut files: Vec<PathBuf> =
        fs::read_dir(dir).into_iter().flatten().map(|entry| entry.expect("a readable directory").path()).collect();
    files.sort();
    for path in files {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() || name.starts_with(['.', '_']) {
            continue;
        }
        for line in fs::read_to_string(&path).expect("text").lines() {
            let mut value: Value = serde_json::from_str(line).expect("JSON lines");
            let op = value.as_object_mut().and_then(|row| row.remove("op"));
            let taken_back = op.is_some_and(|op| op == "-U" || op == "-D");
            *outcome.rows.entry(text_of(value.clone())).or_insert(0) += if taken_back { -1 } else { 1 };
            outcome.values.push(value);
        }
    }
    outcome.rows.retain(|_, count| *count != 0);
    outcome
}
