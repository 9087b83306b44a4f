//! The process dies at any store call, and the next one finds the last committed checkpoint.

use crate::StoreFactory;
use crate::jobs::{Files, JOB, attempt, checkpoint, files, manifest, options, over, restore, upload};
use crate::mortal::{Crash, Mortal};
use crate::rows::{FilesAsEntries, files_of};
use headpond_checkpoint::savepoint::{Original, export};
use headpond_checkpoint::{CheckpointStorage, CheckpointStore, Manifest};
use headpond_state::{Error, Result};
use std::sync::Arc;

/// Lets an attempt die at each `step`th call of its store, before and after the call has taken effect, and the next
/// attempt go on. Nothing committed is lost, nothing unnamed is left.
pub fn at_every_call(place: &dyn Fn() -> StoreFactory, step: usize) {
    for crash in [Crash::Before, Crash::After] {
        for calls in (1..).step_by(step) {
            let place = place();
            let (committed, ended) = run(&place, "a", calls, crash);
            let found = over(place()).latest_verified().unwrap();
            if let Some(last) = committed.last() {
                let found = found.as_ref().unwrap_or_else(|| panic!("{crash:?} at call {calls}: nothing was found"));
                assert!(found.skipped.is_empty(), "{crash:?} at call {calls}: {:?}", found.skipped);
                // A commit of which nobody learned may be there beyond the last known one.
                assert!(progress(&found.manifest) - progress(last) <= 1, "{crash:?} at call {calls}");
                assert_intact(&place, &found.manifest, &state_of(&found.manifest));
                for summary in over(place()).list().unwrap() {
                    over(place())
                        .load_verified(summary.id)
                        .unwrap_or_else(|e| panic!("{crash:?} at call {calls}: {e}"));
                }
            }
            if ended {
                break;
            }
            let (_, ended) = run(&place, "b", u32::MAX, crash);
            assert!(ended, "{crash:?} at call {calls}: the next attempt goes on");
            let last = over(place()).latest_verified().unwrap().unwrap().manifest;
            assert_eq!(progress(&last), states().len());
            assert_intact(&place, &last, &state_of(&last));
            if last.attempt == attempt("b") {
                let left = place().list(&format!("{JOB}/shared")).unwrap();
                assert_eq!(left.len(), 2, "{crash:?} at call {calls}: no garbage is left");
            }
        }
    }
}

/// Lets every attempt die, each after a few calls more than the one before, until one reaches the end.
pub fn of_every_attempt(place: &dyn Fn() -> StoreFactory, step: usize) {
    for calls in (8..60).step_by(step) {
        let place = place();
        let mut ended = false;
        for index in 0..60 {
            ended = run(&place, &format!("attempt {index}"), calls + index, Crash::After).1;
            if ended {
                break;
            }
        }
        assert!(ended);
        let last = over(place()).latest_verified().unwrap().unwrap().manifest;
        assert_intact(&place, &last, &state_of(&last));
    }
}

/// Lets a copy to a savepoint die at each `step`th call of the savepoint's store. The checkpoint stays as it is, the
/// savepoint is not there or whole, and the next copy of the same name succeeds and leaves nothing unnamed.
pub fn of_a_savepoint(place: &dyn Fn() -> StoreFactory, step: usize) {
    let original = place();
    let storage = over(original());
    let me = attempt("a");
    let checkpoint = checkpoint(&storage, &me, None, &states()[2]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let source = storage.source();
    let copy = |to: Arc<dyn CheckpointStore>| {
        let original = Original {
            manifest: &checkpoint,
            source: source.as_ref(),
            backend: &FilesAsEntries,
            local_dir: directory.path(),
        };
        export(original, to, SAVEPOINT)
    };
    for crash in [Crash::Before, Crash::After] {
        for calls in (1..).step_by(step) {
            let place = place();
            let ended = copy(Arc::new(Mortal::new(place(), calls, crash))).is_ok();
            let savepoint = || CheckpointStorage::over(place(), SAVEPOINT, options()).unwrap();
            let at = format!("{crash:?} at call {calls}");
            let found = savepoint().latest_verified().unwrap();
            let exists = found.is_some();
            assert!(exists || !ended, "{at}: the copy said it was there");
            let manifest = match found {
                Some(found) => {
                    copy(place()).expect_err("there is one of that name");
                    found.manifest
                }
                None => copy(place()).unwrap_or_else(|error| panic!("{at}: {error}")),
            };
            assert_eq!(files_of(&savepoint(), &manifest).unwrap(), states()[2], "{at}");
            assert_eq!(manifest.savepoint.as_ref().map(|origin| origin.job.as_str()), Some(JOB));
            if !exists {
                let left = place().list(&format!("{SAVEPOINT}/shared")).unwrap();
                assert_eq!(left.len(), 1, "{at}: no garbage is left");
            }
            assert_intact(&original, &storage.load_verified(checkpoint.checkpoint).unwrap(), &states()[2]);
            if ended {
                break;
            }
        }
    }
}

/// The savepoint's name.
const SAVEPOINT: &str = "copy";

fn states() -> [Files; 4] {
    [
        files(&[("1.sst", "one"), ("2.sst", "two")]),
        files(&[("1.sst", "one"), ("3.sst", "three")]),
        files(&[("2.sst", "two"), ("3.sst", "three"), ("4.sst", "four")]),
        files(&[("5.sst", "five"), ("1.sst", "one")]),
    ]
}

/// Runs an attempt that restores, checks what it restored, and takes the remaining checkpoints. Returns those
/// committed, and whether it came to its end.
fn run(place: &StoreFactory, name: &str, calls: u32, crash: Crash) -> (Vec<Manifest>, bool) {
    let storage = over(Arc::new(Mortal::new(place(), calls, crash)));
    let mut committed = Vec::new();
    let outcome = take_all(place, &storage, name, &mut committed);
    (committed, outcome.is_ok())
}

fn take_all(
    place: &StoreFactory,
    storage: &CheckpointStorage,
    name: &str,
    committed: &mut Vec<Manifest>,
) -> Result<(), Error> {
    let me = attempt(name);
    storage.own(&me)?;
    let mut base = storage.latest_verified()?.map(|found| found.manifest);
    if let Some(base) = &base {
        assert_intact(place, base, &state_of(base));
    }
    let done = base.as_ref().map_or(0, progress);
    for (index, state) in states().iter().enumerate().skip(done) {
        let id = storage.next_id()?;
        let pending = storage.begin(id, &me, base.as_ref(), true)?;
        let stored = upload(&pending, base.as_ref(), state)?;
        let mut manifest = manifest(id, &me, stored);
        manifest.sources[0].splits[0].rows = index as u64 + 1;
        let manifest = storage.commit(pending, manifest)?;
        committed.push(manifest.clone());
        base = Some(manifest);
        storage.collect(1)?;
    }
    Ok(())
}

/// How many states the checkpoint has seen.
fn progress(manifest: &Manifest) -> usize {
    manifest.sources[0].splits[0].rows as usize
}

fn state_of(manifest: &Manifest) -> Files {
    states()[progress(manifest) - 1].clone()
}

fn assert_intact(place: &StoreFactory, manifest: &Manifest, state: &Files) {
    assert_eq!(restore(&over(place()), manifest).unwrap(), *state);
}
