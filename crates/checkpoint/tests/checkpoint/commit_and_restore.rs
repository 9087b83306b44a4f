//! What was committed is what is restored.

use crate::support::*;
use headpond_checkpoint::Failpoints;
use headpond_checkpoint::failpoints::{AFTER_MANIFEST, BEFORE_MANIFEST, BEFORE_PUBLISH};
use headpond_checkpoint::{CheckpointStorage, Recovered, StorageOptions, open_checkpoint};
use headpond_state::{CheckpointId, ErrorKind, Remedy};
use std::sync::{Arc, Mutex};

#[test]
fn a_committed_checkpoint_is_restored_with_its_manifest_and_files() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let state = files(&[("1.sst", "one"), ("2.sst", "two"), ("meta", "")]);
    let committed = checkpoint(&storage, &me, None, &state).unwrap();
    assert_eq!(
        (committed.checkpoint, committed.stats.uploaded_files, committed.stats.uploaded_bytes),
        (CheckpointId(1), 3, 6)
    );

    let found = open(dir.path()).latest_verified().unwrap().unwrap();
    assert_eq!(found.manifest, committed);
    assert!(found.skipped.is_empty());
    assert_eq!(restore(&storage, &found.manifest).unwrap(), state);
    let path = dir.path().join("totals/chk-1");
    let (storage, Recovered { manifest, .. }) =
        open_checkpoint(&local(), &format!("file://{}", path.display())).unwrap();
    assert_eq!(restore(&storage, &manifest).unwrap(), state);
}

#[test]
fn all_files_are_fetched_at_once_or_the_damaged_one_is_named() {
    let dir = scratch();
    let storage = open(dir.path());
    let state = files(&[("1.sst", "one"), ("2.sst", "two"), ("3.sst", "three"), ("4.sst", "four"), ("5.sst", "five")]);
    let committed = checkpoint(&storage, &attempt("a"), None, &state).unwrap();
    let into = |name: &str| {
        let to = dir.path().join(name);
        std::fs::create_dir(&to).unwrap();
        let wanted: Vec<_> = committed.files().map(|file| (file, to.join(&file.name))).collect();
        storage.source().fetch_all(&wanted).map(|()| to)
    };
    let sound = into("sound").unwrap();
    for (name, content) in &state {
        assert_eq!(&std::fs::read(sound.join(name)).unwrap(), content);
    }
    flip_byte(&shared_file(dir.path(), committed.files().nth(2).unwrap()));
    let error = into("damaged").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("3.sst"), "{error}");
}

#[test]
fn nothing_is_there_before_the_first_commit() {
    let dir = scratch();
    let storage = open(&dir.path().join("not/yet/there"));
    assert!(storage.latest_verified().unwrap().is_none());
    assert!(storage.list().unwrap().is_empty());
    assert_eq!(storage.next_id().unwrap(), CheckpointId(1));
    assert!(!dir.path().join("not").exists(), "looking creates nothing");
}

#[test]
fn an_incremental_checkpoint_stores_only_what_its_base_lacks() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let first = checkpoint(&storage, &me, None, &files(&[("1.sst", "one"), ("2.sst", "two")])).unwrap();
    let state = files(&[("1.sst", "one"), ("3.sst", "three")]);
    let second = checkpoint(&storage, &me, Some(&first), &state).unwrap();
    assert_eq!((second.stats.uploaded_bytes, second.stats.reused_bytes), (5, 3));
    assert_eq!(second.base, Some(first.checkpoint));
    assert_eq!(second.uploaded.len(), 1);
    assert_eq!(restore(&storage, &second).unwrap(), state);
}

#[test]
fn a_full_checkpoint_reuses_nothing_and_still_continues_its_base() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let state = files(&[("1.sst", "one")]);
    let first = checkpoint(&storage, &me, None, &state).unwrap();
    let pending = storage.begin(CheckpointId(2), &me, Some(&first), false).unwrap();
    let stored = upload(&pending, Some(&first), &state).unwrap();
    let second = storage.commit(pending, manifest(CheckpointId(2), &me, stored)).unwrap();
    assert_eq!((second.stats.uploaded_files, second.stats.reused_files), (1, 0));
    assert_eq!((second.base, second.incremental), (Some(first.checkpoint), false));
}

#[test]
fn a_file_that_merely_exists_is_stored_again() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let state = files(&[("1.sst", "the content of the first file")]);
    let first = checkpoint(&storage, &me, None, &state).unwrap();
    let second = checkpoint(&storage, &me, Some(&first), &files(&[("2.sst", "another")])).unwrap();
    // It is there, it is damaged, and the base does not name it.
    flip_byte(&shared_file(dir.path(), first.files().next().unwrap()));
    let pending = storage.begin(CheckpointId(3), &me, Some(&second), true).unwrap();
    assert!(!pending.sink().reuse(first.files().next().unwrap()).unwrap());
    drop(pending);
    let third = checkpoint(&storage, &me, Some(&second), &state).unwrap();
    assert_eq!(third.stats.uploaded_files, 1);
    assert_eq!(restore(&storage, &third).unwrap(), state);
}

#[test]
fn recovery_falls_back_over_damaged_files_and_manifests_and_says_so() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let mut committed = vec![checkpoint(&storage, &me, None, &files(&[("1.sst", "content 1")])).unwrap()];
    for content in ["content 2", "content 3", "content 4"] {
        committed.push(checkpoint(&storage, &me, committed.last(), &files(&[("1.sst", content)])).unwrap());
    }
    drop(storage);
    std::fs::remove_file(shared_file(dir.path(), committed[1].files().next().unwrap())).unwrap();
    flip_byte(&dir.path().join("totals/chk-3/manifest.json"));
    flip_byte(&shared_file(dir.path(), committed[3].files().next().unwrap()));

    let storage = open(dir.path());
    let found = storage.latest_verified().unwrap().unwrap();
    assert_eq!(found.manifest, committed[0]);
    let skipped: Vec<(u64, bool)> =
        found.skipped.iter().map(|(id, reason)| (id.0, reason.contains(dir.path().to_str().unwrap()))).collect();
    assert_eq!(skipped, [(4, true), (3, true), (2, true)], "newest first, each naming a path");

    // The next one has a number beyond all, continues the restored one, and makes the skipped ones go.
    let next = checkpoint(&storage, &attempt("b"), Some(&found.manifest), &files(&[("1.sst", "content 5")])).unwrap();
    assert_eq!((next.checkpoint, next.base), (CheckpointId(5), Some(CheckpointId(1))));
    assert_eq!(storage.collect(10).unwrap().checkpoints, [2, 3, 4].map(CheckpointId));
    flip_byte(&shared_file(dir.path(), next.files().next().unwrap()));
    assert_eq!(storage.latest_verified().unwrap().unwrap().manifest.checkpoint, CheckpointId(1));
}

#[test]
fn when_all_are_damaged_it_is_an_error_that_names_each() {
    let dir = scratch();
    checkpoint(&open(dir.path()), &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    flip_byte(&shared(dir.path())[0]);
    let error = open(dir.path()).latest_verified().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("checkpoint 1") && error.to_string().contains("1.sst"), "{error}");
    assert_eq!(error.remedies(), [Remedy::RestoreAnother, Remedy::StartAnew]);
}

#[test]
fn a_missing_checkpoint_is_an_error_that_names_those_there_are() {
    let dir = scratch();
    let storage = open(dir.path());
    checkpoint(&storage, &attempt("a"), None, &files(&[])).unwrap();
    let error = storage.load(CheckpointId(9)).unwrap_err();
    assert_eq!((error.kind(), error.way_out()), (ErrorKind::Invalid, Some("there are chk-1")));
}

#[test]
fn a_manifest_that_names_a_file_the_checkpoint_does_not_have_is_refused() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let first = checkpoint(&storage, &me, None, &files(&[("1.sst", "one")])).unwrap();
    let pending = storage.begin(CheckpointId(2), &me, Some(&first), true).unwrap();
    let stored: Vec<_> = first.files().cloned().collect();
    let error = storage.commit(pending, manifest(CheckpointId(2), &me, stored)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal, "it did not ask for the reuse");
    assert_eq!(storage.latest_verified().unwrap().unwrap().manifest, first);
}

#[test]
fn failpoints_are_passed_in_order() {
    let dir = scratch();
    let passed = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&passed);
    let failpoints = Failpoints::new(move |name| seen.lock().unwrap().push(name));
    let storage =
        CheckpointStorage::open(dir.path().to_str().unwrap(), JOB, StorageOptions { failpoints, ..options() }).unwrap();
    checkpoint(&storage, &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    storage.collect(1).unwrap();
    assert_eq!(*passed.lock().unwrap(), Failpoints::NAMES);
    let order = [BEFORE_PUBLISH, BEFORE_MANIFEST, AFTER_MANIFEST];
    assert!(order.iter().all(|name| Failpoints::NAMES.contains(name)));
}
