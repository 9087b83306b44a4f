//! Every operation that keeps state, over real flights, killed and restored in the middle, on both backends and several
//! workers, against a computation that knows nothing of Headpond.
//!
//! One job runs all of them, so that one kill interrupts all. The flights are out of order by up to 22 hours.

mod expected;
mod input;
mod job;

use expected::{Expected, TABLES};
use input::Input;
use std::collections::BTreeMap;

/// Rows as JSON, each with how often it comes.
type Rows = BTreeMap<String, i64>;

fn check(backend: &str, parallelism: usize, format: &str) {
    let place = tempfile::tempdir().expect("a temporary directory");
    let found = job::run(place.path(), backend, parallelism, format);
    let expected = Expected::of(&Input::read());
    let mut wrong = Vec::new();
    for table in TABLES {
        let (found, wanted) = (&found[table], &expected.tables[table]);
        assert!(!wanted.is_empty(), "{table} has rows");
        let differing = wanted.iter().chain(found).find(|(row, _)| found.get(*row) != wanted.get(*row));
        if let Some((row, _)) = differing {
            wrong.push(format!("{table}: {:?} times instead of {:?}: {row}", found.get(row), wanted.get(row)));
        }
    }
    assert!(wrong.is_empty(), "{backend}, {parallelism} workers, {format}:\n{}", wrong.join("\n"));
}

#[test]
fn memory_one_worker() {
    check("memory", 1, "row");
}

#[test]
fn memory_three_workers() {
    check("memory", 3, "avro");
}

#[test]
fn rocksdb_one_worker() {
    check("rocksdb", 1, "protobuf");
}

#[test]
fn rocksdb_three_workers() {
    check("rocksdb", 3, "row");
}
