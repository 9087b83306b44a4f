//! One attempt at a time, and the one that loses stops.

use crate::support::*;
use headpond_state::{CheckpointId, ErrorKind};

#[test]
fn a_second_run_is_told_who_runs_the_job() {
    let dir = scratch();
    let first = open(dir.path());
    first.own(&attempt("first")).unwrap();
    let second = open(dir.path());
    let error = second.own(&attempt("second")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fenced);
    assert!(error.to_string().contains("first (process "), "{error}");
    assert!(second.latest_verified().unwrap().is_none(), "looking is free");
    drop(first);
    second.own(&attempt("second")).unwrap();
}

#[test]
fn a_job_let_go_of_can_be_taken_over() {
    let dir = scratch();
    let first = open(dir.path());
    let pending = first.begin(CheckpointId(1), &attempt("first"), None, true).unwrap();
    first.release();
    let second = open(dir.path());
    checkpoint(&second, &attempt("second"), None, &files(&[])).unwrap();
    let error = first.commit(pending, manifest(CheckpointId(1), &attempt("first"), vec![])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[test]
fn losing_the_race_for_a_number_fences() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let pending = storage.begin(CheckpointId(1), &me, None, true).unwrap();
    // As on a file system without locks: another attempt has committed this number meanwhile.
    let other = manifest(CheckpointId(1), &attempt("b"), vec![]);
    std::fs::create_dir_all(dir.path().join("totals/chk-1")).unwrap();
    std::fs::write(dir.path().join("totals/chk-1/manifest.json"), other.encode().unwrap()).unwrap();
    let error = storage.commit(pending, manifest(CheckpointId(1), &me, vec![])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fenced);
    assert_eq!(storage.latest_verified().unwrap().unwrap().manifest, other);
}

#[test]
fn a_checkpoint_of_another_attempt_with_another_number_fences_too() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let pending = storage.begin(CheckpointId(4), &me, None, true).unwrap();
    std::fs::create_dir_all(dir.path().join("totals/chk-3")).unwrap();
    let error = storage.commit(pending, manifest(CheckpointId(4), &me, vec![])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fenced);
    assert!(!dir.path().join("totals/chk-4").exists());
}

#[test]
fn an_existing_number_cannot_be_begun() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    checkpoint(&storage, &me, None, &files(&[])).unwrap();
    assert_eq!(storage.begin(CheckpointId(1), &me, None, true).unwrap_err().kind(), ErrorKind::Fenced);
    let _pending = storage.begin(CheckpointId(2), &me, None, true).unwrap();
    assert_eq!(storage.begin(CheckpointId(2), &me, None, true).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn a_place_that_cannot_be_written_is_a_clear_error_before_anything_runs() {
    let dir = scratch();
    let file = dir.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let error = open(&file.join("checkpoints")).own(&attempt("a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
    assert!(error.way_out().unwrap().contains("execution.checkpointing.dir"));
}
