//! The process dies at any store call, and the next one finds the last committed checkpoint.

use crate::support::*;
use headpond_checkpoint::{CheckpointStore, DirectoryStore};
use headpond_state::{CheckpointId, ErrorKind};
use headpond_store_conformance::{Crash, Mortal, StoreFactory, crash};
use std::sync::Arc;

fn place() -> StoreFactory {
    let dir = scratch();
    Box::new(move || Arc::new(DirectoryStore::new(dir.path())))
}

#[test]
fn the_last_committed_checkpoint_is_found_intact_and_the_job_goes_on() {
    crash::at_every_call(&place, 1);
}

#[test]
fn the_job_survives_a_crash_of_every_second_attempt_as_well() {
    crash::of_every_attempt(&place, 3);
}

#[test]
fn a_savepoint_is_whole_or_not_there_and_its_checkpoint_stays() {
    crash::of_a_savepoint(&place, 1);
}

#[test]
fn a_checkpoint_of_which_nobody_knows_whether_it_was_committed_is_complete_until_the_next_withdraws_it() {
    let dir = scratch();
    let store = Arc::new(Mortal::new(Arc::new(DirectoryStore::new(dir.path())), u32::MAX, Crash::After));
    let storage = over(Arc::clone(&store) as Arc<dyn CheckpointStore>);
    let me = attempt("a");
    let state = files(&[("1.sst", "one")]);
    let pending = storage.begin(CheckpointId(1), &me, None, true).unwrap();
    let stored = upload(&pending, None, &state).unwrap();
    // The commit looks for strangers, stages the manifest, syncs, publishes the file, and gives the manifest its name.
    store.live_for(5);
    storage.commit(pending, manifest(CheckpointId(1), &me, stored)).unwrap_err();
    assert!(dir.path().join("totals/chk-1/manifest.json").exists());
    let next = storage.begin(CheckpointId(2), &me, None, true).unwrap();
    let error = storage.commit(next, manifest(CheckpointId(2), &me, vec![])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "the store is still away: {error}");

    store.live_for(u32::MAX);
    storage.collect(1).unwrap();
    let found = storage.latest_verified().unwrap().unwrap().manifest;
    assert_eq!(restore(&storage, &found).unwrap(), state, "a restart may take it");
    let third = checkpoint(&storage, &me, None, &files(&[("2.sst", "two")])).unwrap();
    assert!(!dir.path().join("totals/chk-1").exists());
    storage.collect(1).unwrap();
    assert_eq!(shared(dir.path()).len(), 1);
    assert_eq!(storage.latest_verified().unwrap().unwrap().manifest, third);
}

#[test]
fn a_commit_that_failed_for_certain_leaves_the_attempt_running() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let pending = storage.begin(CheckpointId(1), &me, None, true).unwrap();
    std::fs::write(dir.path().join("totals/chk-1"), "in the way").unwrap();
    let error = storage.commit(pending, manifest(CheckpointId(1), &me, vec![])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    let pending = storage.begin(CheckpointId(2), &me, None, true).unwrap();
    storage.commit(pending, manifest(CheckpointId(2), &me, vec![])).unwrap();
}
