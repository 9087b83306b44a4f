//! Whole jobs over stores that die or fail at random, with each state backend: output is exact, and nothing unnamed
//! stays.

mod job;

use headpond_checkpoint::savepoint::{Original, export};
use headpond_checkpoint::{CheckpointStorage, CheckpointStore, DirectoryStore, StorageOptions};
use headpond_runtime::{Ending, Result};
use headpond_store_conformance::{Crash, Faults, Faulty, Mortal};
use job::{Backend, JOB, Run, expected};
use std::sync::Arc;

/// A directory in memory where the system has such a place: `fsync` takes its time on a disk.
fn scratch() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a temporary directory")
}

/// Everything was published once, and the store holds what its last checkpoints name and no more.
fn assert_exact(run: &Run, store: &Arc<dyn CheckpointStore>, what: &str) {
    assert_eq!(run.published(), expected(), "{what}");
    let storage = CheckpointStorage::over(Arc::clone(store), JOB, StorageOptions::default()).expect("a job's name");
    let last = storage.latest_verified().expect("it can be read").expect("there is one");
    assert!(last.manifest.finished && last.skipped.is_empty(), "{what}");
    let kept = storage.list().expect("it can be read");
    let manifests = kept.iter().map(|summary| summary.manifest.as_ref().expect("it can be read"));
    let mut named: Vec<_> = manifests.flat_map(|manifest| manifest.files().map(|file| file.hash)).collect();
    named.sort();
    named.dedup();
    let left = store.list(&format!("{JOB}/shared")).expect("it can be listed");
    assert_eq!(left.len(), named.len(), "{what}: unnamed files stay");
}

fn dies_at_every_call(backend: Backend) {
    for crash in [Crash::Before, Crash::After] {
        for calls in 1.. {
            let (dir, what) = (scratch(), format!("{backend:?}, {crash:?} at call {calls}"));
            let healthy: Arc<dyn CheckpointStore> = Arc::new(DirectoryStore::new(dir.path().join("checkpoints")));
            let run = Run::new(backend, dir.path());
            // A process that has died tolerates nothing.
            let died = run.attempt(Arc::new(Mortal::new(Arc::clone(&healthy), calls, crash)), Some(0)).is_err();
            let ended = run.attempt(Arc::clone(&healthy), Some(0));
            assert_eq!(ended.unwrap_or_else(|error| panic!("{what}: {error}")), Ending::Finished);
            if !died {
                // It may have died in its last collection, which nobody repeats once a job has finished.
                let storage = CheckpointStorage::over(Arc::clone(&healthy), JOB, StorageOptions::default());
                storage.and_then(|storage| storage.prune(None, false)).expect("the job does not run");
            }
            assert_exact(&run, &healthy, &what);
            if !died {
                break;
            }
        }
    }
}

#[test]
fn a_job_in_memory_dies_at_any_call_of_its_store_and_its_output_is_exact() {
    dies_at_every_call(Backend::Memory);
}

#[test]
fn a_job_in_rocksdb_dies_at_any_call_of_its_store_and_its_output_is_exact() {
    dies_at_every_call(Backend::RocksDb);
}

/// A copy of what a job has left behind dies at every call of the savepoint's store. The checkpoint stays, the
/// savepoint is not there or whole, and the job goes on from it with the other backend.
fn savepoint_dies_at_every_call(backend: Backend, other: Backend) {
    for crash in [Crash::Before, Crash::After] {
        for calls in 1.. {
            let (dir, what) = (scratch(), format!("{backend:?}, {crash:?} at call {calls}"));
            let healthy: Arc<dyn CheckpointStore> = Arc::new(DirectoryStore::new(dir.path().join("checkpoints")));
            let run = Run::new(backend, dir.path());
            run.to_the_middle(Arc::clone(&healthy));
            let newest = |store: &Arc<dyn CheckpointStore>, name: &str| {
                let storage =
                    CheckpointStorage::over(Arc::clone(store), name, StorageOptions::default()).expect("a name");
                let found = storage.latest_verified().unwrap_or_else(|error| panic!("{what}: {error}"));
                found.map(|found| (storage, found.manifest))
            };
            let (storage, checkpoint) = newest(&healthy, JOB).expect("the job has taken a checkpoint");
            assert!(!checkpoint.finished);
            let savepoints: Arc<dyn CheckpointStore> = Arc::new(DirectoryStore::new(dir.path().join("savepoints")));
            let (source, reader, local) = (storage.source(), backend.open(), dir.path().join("copy"));
            let copy = |to: Arc<dyn CheckpointStore>| {
                let source = source.as_ref();
                let original = Original { manifest: &checkpoint, source, backend: &*reader, local_dir: &local };
                export(original, to, "copy")
            };
            let ended = copy(Arc::new(Mortal::new(Arc::clone(&savepoints), calls, crash))).is_ok();
            let exists = newest(&savepoints, "copy").is_some();
            assert!(exists || !ended, "{what}: the copy said it was there");
            if !exists {
                copy(Arc::clone(&savepoints)).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            storage.load_verified(checkpoint.checkpoint).unwrap_or_else(|error| panic!("{what}: {error}"));
            let ending = run.go_on_from(&dir.path().join("savepoints/copy"), other, &dir.path().join("continued"));
            assert_eq!(ending.unwrap_or_else(|error| panic!("{what}: {error}")), Ending::Finished);
            assert_eq!(run.published(), expected(), "{what}");
            if ended {
                break;
            }
        }
    }
}

#[test]
fn a_savepoint_of_state_in_memory_may_die_at_any_call_and_goes_on_in_rocksdb() {
    savepoint_dies_at_every_call(Backend::Memory, Backend::RocksDb);
}

#[test]
fn a_savepoint_of_state_in_rocksdb_may_die_at_any_call_and_goes_on_in_memory() {
    savepoint_dies_at_every_call(Backend::RocksDb, Backend::Memory);
}

fn fails_at_random(backend: Backend, seeds: std::ops::Range<u64>) {
    let only = std::env::var("HEADPOND_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in only.map_or(seeds, |seed: u64| seed..seed + 1) {
        let (dir, what) = (scratch(), format!("{backend:?}, HEADPOND_SEED={seed}"));
        let healthy: Arc<dyn CheckpointStore> = Arc::new(DirectoryStore::new(dir.path().join("checkpoints")));
        let run = Run::new(backend, dir.path());
        let faults = Faults { refused: 10, unanswered: 8, torn: 10, repeated: 30, stale: 60, late: 10 };
        let mut ended: Option<Result<Ending>> = None;
        for attempt in 0..6 {
            let faulty = Arc::new(Faulty::new(Arc::clone(&healthy), faults, seed * 10 + attempt));
            if attempt > 3 {
                faulty.recover();
            }
            ended = Some(run.attempt(faulty, None));
            if matches!(ended, Some(Ok(_))) {
                break;
            }
        }
        let ended = ended.expect("there were attempts").unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(ended, Ending::Finished, "{what}");
        assert_eq!(run.published(), expected(), "{what}");
    }
}

#[test]
fn a_job_in_memory_over_a_store_that_fails_at_random_publishes_everything_once() {
    fails_at_random(Backend::Memory, 0..200);
}

#[test]
fn a_job_in_rocksdb_over_a_store_that_fails_at_random_publishes_everything_once() {
    fails_at_random(Backend::RocksDb, 1_000..1_100);
}
