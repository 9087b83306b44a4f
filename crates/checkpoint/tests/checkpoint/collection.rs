//! What is deleted, and what is spared.

use crate::support::*;
use headpond_state::{CheckpointId, ErrorKind};
use std::sync::Arc;
use std::thread;

#[test]
fn what_is_beyond_retention_goes_with_the_files_only_it_names() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let first = checkpoint(&storage, &me, None, &files(&[("1.sst", "one"), ("2.sst", "two")])).unwrap();
    let second = checkpoint(&storage, &me, Some(&first), &files(&[("1.sst", "one"), ("3.sst", "three")])).unwrap();
    assert_eq!(storage.collect(2).unwrap().checkpoints, []);
    let collected = storage.collect(1).unwrap();
    assert_eq!((collected.checkpoints, collected.files), (vec![first.checkpoint], 1));
    assert!(!dir.path().join("totals/chk-1").exists());
    assert_eq!(restore(&storage, &second).unwrap().len(), 2);
    assert_eq!(shared(dir.path()).len(), 2);
}

#[test]
fn files_of_a_dead_attempt_go_and_foreign_files_stay() {
    let dir = scratch();
    let orphan = format!("totals/shared/{}.sst", "ab".repeat(32));
    for path in [orphan.as_str(), "totals/shared/notes.txt", "totals/staging/17-3"] {
        std::fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
        std::fs::write(dir.path().join(path), "left").unwrap();
    }
    std::fs::create_dir(dir.path().join("totals/chk-8")).unwrap();
    let storage = open(dir.path());
    let committed = checkpoint(&storage, &attempt("b"), None, &files(&[("1.sst", "one")])).unwrap();
    assert_eq!(committed.checkpoint, CheckpointId(9), "beyond the unfinished one");
    assert_eq!(storage.collect(1).unwrap().files, 1);
    assert!(!dir.path().join(&orphan).exists() && dir.path().join("totals/shared/notes.txt").exists());
    assert!(!dir.path().join("totals/staging/17-3").exists() && !dir.path().join("totals/chk-8").exists());
}

#[test]
fn a_base_is_spared_while_a_checkpoint_in_flight_may_reuse_it() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let state = files(&[("1.sst", "one")]);
    let first = checkpoint(&storage, &me, None, &state).unwrap();
    let slow = storage.begin(CheckpointId(7), &me, Some(&first), true).unwrap();
    let stored = upload(&slow, Some(&first), &state).unwrap();
    checkpoint(&storage, &me, None, &files(&[("2.sst", "two")])).unwrap();
    let collected = storage.collect(1).unwrap();
    assert_eq!((collected.checkpoints, collected.files), (vec![first.checkpoint], 0));
    let committed = storage.commit(slow, manifest(CheckpointId(7), &me, stored)).unwrap();
    assert_eq!(restore(&storage, &committed).unwrap(), state);
}

#[test]
fn nothing_is_deleted_while_a_newer_manifest_cannot_be_read() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let first = checkpoint(&storage, &me, None, &files(&[("1.sst", "one")])).unwrap();
    let second = checkpoint(&storage, &me, Some(&first), &files(&[("2.sst", "two")])).unwrap();
    drop(storage);
    flip_byte(&dir.path().join("totals/chk-1/manifest.json"));
    let (storage, me) = (open(dir.path()), attempt("b"));
    let third = checkpoint(&storage, &me, Some(&second), &files(&[("3.sst", "three")])).unwrap();
    assert_eq!(storage.collect(3).unwrap().files, 0);
    assert_eq!(shared(dir.path()).len(), 3);
    assert_eq!(storage.collect(2).unwrap().checkpoints, [CheckpointId(1)]);
    assert_eq!(shared(dir.path()).len(), 2);
    assert_eq!(storage.latest_verified().unwrap().unwrap().manifest, third);
}

#[test]
fn only_the_owner_collects() {
    let dir = scratch();
    let storage = open(dir.path());
    checkpoint(&storage, &attempt("a"), None, &files(&[])).unwrap();
    assert_eq!(open(dir.path()).collect(1).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn collecting_while_the_same_bytes_come_and_go_never_breaks_a_checkpoint() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let running = Arc::new(());
    let (collector, alive) = (storage.clone(), Arc::downgrade(&running));
    let first = checkpoint(&storage, &me, None, &files(&[])).unwrap();
    let collecting = thread::spawn(move || {
        while alive.upgrade().is_some() {
            collector.collect(1).unwrap();
        }
    });
    let mut base = first;
    for round in 0..40 {
        // Each content leaves with one checkpoint and comes back with the next but one.
        let contents = if round % 2 == 0 { ["a", "b"] } else { ["c", "d"] };
        let state = files(&[("1.sst", contents[0]), ("2.sst", contents[1])]);
        base = checkpoint(&storage, &me, Some(&base), &state).unwrap();
        assert_eq!(restore(&storage, &base).unwrap(), state);
    }
    drop(running);
    collecting.join().unwrap();
    assert_eq!(storage.latest_verified().unwrap().unwrap().manifest, base);
}
