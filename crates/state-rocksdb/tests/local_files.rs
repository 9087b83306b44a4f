//! What a database leaves on local disk, and what happens when that disk does not do.

mod instance;

use headpond_state::{Context, ErrorKind, StateBackend, WriteBatch};
use headpond_state_rocksdb::{EmbeddedRocksDbStateBackend, RocksDbOptions};
use instance::{Instance, params, value_state};
use std::fs;
use tempfile::TempDir;

#[test]
fn what_a_killed_attempt_left_is_removed() {
    let backend = EmbeddedRocksDbStateBackend::new(true);
    let dir = TempDir::new().expect("a temporary directory");
    let local = dir.path().join("state");
    fs::create_dir_all(local.join("db-77-abc-0/db")).expect("a directory");
    fs::write(local.join("db-77-abc-0/db/000001.sst"), "old").expect("a file");
    let keyed = backend.open_keyed(params(local.clone()), &[]).expect("the instance opens");
    assert!(!local.join("db-77-abc-0").exists());
    keyed.close().expect("the instance closes");
    assert!(!local.exists());
}

#[test]
fn two_instances_may_be_given_one_directory_one_after_the_other() {
    let backend = EmbeddedRocksDbStateBackend::new(true);
    let dir = TempDir::new().expect("a temporary directory");
    let first = backend.open_keyed(params(dir.path().join("state")), &[]).expect("the instance opens");
    let mut second = backend.open_keyed(params(dir.path().join("state")), &[]).expect("the instance opens");
    first.close().expect("the instance closes");
    let state = second.register(&value_state("s")).expect("the state registers");
    let mut batch = WriteBatch::new();
    batch.put(state, &[1, 1], b"v");
    second.write(&mut batch).expect("the batch is written");
    assert!(second.read(state, &[1, 1], &mut |_| Ok(())).expect("the key is read"));
}

#[test]
fn instances_are_dealt_to_the_configured_directories() {
    let disks = TempDir::new().expect("a temporary directory");
    let backend = EmbeddedRocksDbStateBackend::with_options(RocksDbOptions {
        local_directories: vec![disks.path().join("a"), disks.path().join("b")],
        ..RocksDbOptions::default()
    });
    let open: Vec<_> = (0..16).map(|_| Instance::open(&backend)).collect();
    let on = |disk: &str| fs::read_dir(disks.path().join(disk)).map_or(0, Iterator::count);
    assert_eq!(on("a") + on("b"), 16);
    assert!(on("a") > 0 && on("b") > 0, "all instances are on one disk");
    drop(open);
    assert_eq!(on("a") + on("b"), 0);
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let backend = EmbeddedRocksDbStateBackend::new(true);
    let dir = TempDir::new().expect("a temporary directory");
    let file = dir.path().join("file");
    fs::write(&file, "").expect("a file");
    let failure = backend.open_keyed(params(file.join("state")), &[]).expect_err("a file is no directory");
    assert_eq!(failure.kind(), ErrorKind::Invalid, "{failure}");
    assert!(failure.place(Context::Path).is_some_and(|path| path.contains("file")), "{failure}");
}
