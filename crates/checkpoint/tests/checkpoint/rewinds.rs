//! What a restore left behind is not restored by itself.

use crate::support::*;
use headpond_checkpoint::decisions::rewind::Start;
use headpond_checkpoint::{CheckpointStorage, Resume};
use headpond_state::{CheckpointId, ErrorKind};
use std::path::Path;

/// Five checkpoints of a run, which then ends.
fn five(dir: &Path) {
    let (storage, me) = (open(dir), attempt("a"));
    let mut base = None;
    for number in 1..=5 {
        let text = format!("state {number}");
        base = Some(checkpoint(&storage, &me, base.as_ref(), &files(&[("1.sst", text.as_str())])).unwrap());
    }
}

/// A run that begins with `start` and is killed before its first checkpoint.
fn killed(dir: &Path, name: &str, start: Start) {
    let storage = open(dir);
    storage.own(&attempt(name)).unwrap();
    storage.note_rewind(start).unwrap();
}

fn resumed(storage: &CheckpointStorage) -> Result<u64, String> {
    match storage.resume(|_| Ok(())) {
        Ok(Resume::From(recovered)) => Ok(recovered.manifest.checkpoint.0),
        Ok(Resume::Anew) => Err("anew".to_owned()),
        Ok(Resume::Elsewhere { location, .. }) => Err(location),
        Err(error) => Err(format!("{:?}", error.kind())),
    }
}

#[test]
fn a_run_that_was_restored_and_killed_goes_on_from_what_it_was_restored_from() {
    let dir = scratch();
    five(dir.path());
    assert_eq!(resumed(&open(dir.path())), Ok(5));
    killed(dir.path(), "b", Start::Checkpoint(CheckpointId(3)));
    assert_eq!(resumed(&open(dir.path())), Ok(3));
    assert_eq!(open(dir.path()).latest_verified().unwrap().unwrap().manifest.checkpoint, CheckpointId(3));
    // Again, further back; then to the beginning, then to a savepoint.
    killed(dir.path(), "c", Start::Checkpoint(CheckpointId(2)));
    assert_eq!(resumed(&open(dir.path())), Ok(2));
    killed(dir.path(), "d", Start::Anew);
    assert_eq!(resumed(&open(dir.path())), Err("anew".to_owned()));
    killed(dir.path(), "e", Start::Elsewhere { location: "s3://bucket/savepoint".to_owned() });
    assert_eq!(resumed(&open(dir.path())), Err("s3://bucket/savepoint".to_owned()));
    // Nothing is deleted meanwhile: the user may want another one.
    open(dir.path()).prune(Some(1), false).unwrap();
    killed(dir.path(), "f", Start::Checkpoint(CheckpointId(4)));
    assert_eq!(resumed(&open(dir.path())), Ok(4));
}

#[test]
fn the_first_checkpoint_behind_a_restore_is_the_one_to_go_on_from() {
    let dir = scratch();
    five(dir.path());
    let storage = open(dir.path());
    let me = attempt("b");
    storage.own(&me).unwrap();
    let restored = storage.load(CheckpointId(3)).unwrap();
    storage.note_rewind(Start::Checkpoint(CheckpointId(3))).unwrap();
    let first = checkpoint(&storage, &me, Some(&restored), &files(&[("1.sst", "another")])).unwrap();
    assert_eq!(first.checkpoint, CheckpointId(6));
    drop(storage);
    assert_eq!(resumed(&open(dir.path())), Ok(6));
    // Where it is damaged, the job falls back within its own history.
    flip_byte(&dir.path().join("totals/chk-6/manifest.json"));
    assert_eq!(resumed(&open(dir.path())), Ok(3));
}

#[test]
fn behind_a_savepoint_of_elsewhere_a_job_falls_back_to_it() {
    let dir = scratch();
    five(dir.path());
    let storage = open(dir.path());
    let me = attempt("b");
    storage.own(&me).unwrap();
    storage.note_rewind(Start::Elsewhere { location: "/savepoints/one/chk-9".to_owned() }).unwrap();
    checkpoint(&storage, &me, None, &files(&[("1.sst", "another")])).unwrap();
    drop(storage);
    flip_byte(&dir.path().join("totals/chk-6/manifest.json"));
    match open(dir.path()).resume(|_| Ok(())).unwrap() {
        Resume::Elsewhere { location, skipped } => {
            assert_eq!(location, "/savepoints/one/chk-9");
            assert_eq!(skipped.first().map(|(id, _)| *id), Some(CheckpointId(6)));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_checkpoint_that_fails_the_callers_check_is_fallen_back_from() {
    let dir = scratch();
    five(dir.path());
    let storage = open(dir.path());
    let check = |kind: ErrorKind| {
        storage.resume(move |manifest| match manifest.checkpoint.0 {
            4.. => Err(headpond_state::Error::new(kind, "a staged file was cut")),
            _ => Ok(()),
        })
    };
    match check(ErrorKind::Corrupt).unwrap() {
        Resume::From(recovered) => {
            assert_eq!(recovered.manifest.checkpoint, CheckpointId(3));
            assert!(recovered.skipped.iter().all(|(_, why)| why.contains("a staged file was cut")));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(check(ErrorKind::Incompatible).unwrap_err().kind(), ErrorKind::Incompatible);
}

#[test]
fn a_damaged_note_is_refused_and_one_that_is_not_needed_is_not_written() {
    let dir = scratch();
    killed(dir.path(), "a", Start::Anew);
    let note = dir.path().join("totals/rewind.json");
    assert!(!note.exists());
    five(dir.path());
    killed(dir.path(), "b", Start::Checkpoint(CheckpointId(3)));
    let sound = std::fs::read(&note).unwrap();
    for at in 0..sound.len() {
        let mut damaged = sound.clone();
        damaged[at] ^= 1;
        std::fs::write(&note, damaged).unwrap();
        assert_eq!(resumed(&open(dir.path())), Err("Corrupt".to_owned()), "byte {at}");
    }
}

#[test]
fn a_location_of_the_jobs_own_directory_is_recognized() {
    let dir = scratch();
    let storage = open(dir.path());
    let own = storage.locate(CheckpointId(3));
    assert_eq!(storage.start_at(&own, CheckpointId(3)).unwrap(), Start::Checkpoint(CheckpointId(3)));
    for other in ["s3://bucket/savepoint/chk-3", "/elsewhere/totals/chk-3"] {
        let start = storage.start_at(other, CheckpointId(3)).unwrap();
        assert_eq!(start, Start::Elsewhere { location: other.to_owned() });
    }
}
