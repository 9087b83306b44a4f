//! The process dies at any store call, and the next one finds the last committed checkpoint.

use crate::support::*;
use headpond_checkpoint::store::{Creation, Ownership, Staged};
use headpond_checkpoint::verify::verify;
use headpond_checkpoint::{CheckpointStore, DirectoryStore, Manifest};
use headpond_state::{CheckpointId, Error, ErrorKind, Result};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// When the call that is refused fails.
#[derive(Debug, Clone, Copy)]
enum Crash {
    Before,
    /// It took effect and nobody learned of it.
    After,
}

/// A store that works for some calls and then for none, as for a process that died.
#[derive(Debug)]
struct Mortal {
    store: DirectoryStore,
    left: AtomicU32,
    crash: Crash,
}

impl Mortal {
    fn call<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let dead = || Error::unavailable("the process is dead");
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Err(_) => Err(dead()),
            Ok(1) => match self.crash {
                Crash::Before => Err(dead()),
                Crash::After => call().and_then(|_| Err(dead())),
            },
            Ok(_) => call(),
        }
    }
}

impl CheckpointStore for Mortal {
    fn locate(&self, key: &str) -> String {
        self.store.locate(key)
    }
    fn stage(&self, job: &str, content: &mut dyn Read) -> Result<Staged> {
        self.call(|| self.store.stage(job, content))
    }
    fn publish(&self, batch: Vec<(Staged, String)>) -> Result<()> {
        // File by file: a crash between two of them is a crash too.
        batch.into_iter().try_for_each(|one| self.call(|| self.store.publish(vec![one])))
    }
    fn discard(&self, staged: Staged) {
        // Nobody learns whether a discard worked.
        self.call(|| {
            self.store.discard(staged);
            Ok(())
        })
        .ok();
    }
    fn clear_staging(&self, job: &str) -> Result<()> {
        self.call(|| self.store.clear_staging(job))
    }
    fn put_exclusive(&self, staged: Staged, key: &str) -> Result<Creation> {
        self.call(|| self.store.put_exclusive(staged, key))
    }
    fn sync(&self, staged: &[&Staged]) -> Result<()> {
        self.call(|| self.store.sync(staged))
    }
    fn open(&self, key: &str) -> Result<Option<Box<dyn Read + Send>>> {
        self.call(|| self.store.open(key))
    }
    fn length(&self, key: &str) -> Result<Option<u64>> {
        self.call(|| self.store.length(key))
    }
    fn list(&self, directory: &str) -> Result<Vec<String>> {
        self.call(|| self.store.list(directory))
    }
    fn delete(&self, key: &str) -> Result<()> {
        self.call(|| self.store.delete(key))
    }
    fn acquire(&self, key: &str, owner: &str, patience: Duration) -> Result<Box<dyn Ownership>> {
        self.call(|| self.store.acquire(key, owner, patience))
    }
}

fn states() -> [Files; 4] {
    [
        files(&[("1.sst", "one"), ("2.sst", "two")]),
        files(&[("1.sst", "one"), ("3.sst", "three")]),
        files(&[("2.sst", "two"), ("3.sst", "three"), ("4.sst", "four")]),
        files(&[("5.sst", "five"), ("1.sst", "one")]),
    ]
}

/// Runs an attempt that restores, checks what it restored, and takes the remaining checkpoints. Returns those committed, and
/// whether it came to its end.
fn run(dir: &Path, name: &str, calls: u32, crash: Crash) -> (Vec<Manifest>, bool) {
    let store = Mortal { store: DirectoryStore::new(dir), left: AtomicU32::new(calls), crash };
    let storage = over(Arc::new(store));
    let mut committed = Vec::new();
    let me = attempt(name);
    let outcome = (|| {
        storage.own(&me)?;
        let mut base = storage.latest_verified()?.map(|found| found.manifest);
        if let Some(base) = &base {
            assert_intact(dir, base);
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
        Ok::<(), Error>(())
    })();
    (committed, outcome.is_ok())
}

/// How many states the checkpoint has seen.
fn progress(manifest: &Manifest) -> usize {
    manifest.sources[0].splits[0].rows as usize
}

fn assert_intact(dir: &Path, manifest: &Manifest) {
    assert_eq!(restore(&open(dir), manifest).unwrap(), states()[progress(manifest) - 1]);
}

#[test]
fn the_last_committed_checkpoint_is_found_intact_and_the_job_goes_on() {
    for crash in [Crash::Before, Crash::After] {
        for calls in 1.. {
            let dir = scratch();
            let (committed, ended) = run(dir.path(), "a", calls, crash);
            let found = open(dir.path()).latest_verified().unwrap();
            if let Some(last) = committed.last() {
                let found = found.as_ref().unwrap_or_else(|| panic!("{crash:?} at call {calls}: nothing was found"));
                assert!(found.skipped.is_empty(), "{crash:?} at call {calls}: {:?}", found.skipped);
                // A commit of which nobody learned may be there beyond the last known one.
                assert!(progress(&found.manifest) - progress(last) <= 1, "{crash:?} at call {calls}");
                assert_intact(dir.path(), &found.manifest);
                let report = verify(dir.path().to_str().unwrap()).unwrap();
                assert!(report.is_sound(), "{crash:?} at call {calls}: {report}");
            }
            if ended {
                break;
            }
            let (_, ended) = run(dir.path(), "b", u32::MAX, crash);
            assert!(ended, "{crash:?} at call {calls}: the next attempt goes on");
            let last = open(dir.path()).latest_verified().unwrap().unwrap().manifest;
            assert_eq!(progress(&last), states().len());
            assert_intact(dir.path(), &last);
            if last.attempt == attempt("b") {
                assert_eq!(shared(dir.path()).len(), 2, "{crash:?} at call {calls}: no garbage is left");
            }
        }
    }
}

#[test]
fn when_nobody_knows_whether_a_commit_took_effect_the_attempt_stops() {
    let dir = scratch();
    let store = Arc::new(Mortal {
        store: DirectoryStore::new(dir.path()),
        left: AtomicU32::new(u32::MAX),
        crash: Crash::After,
    });
    let storage = over(Arc::clone(&store) as Arc<dyn CheckpointStore>);
    let me = attempt("a");
    let pending = storage.begin(CheckpointId(1), &me, None, true).unwrap();
    // The commit looks for strangers, stages the manifest, syncs it, and gives it its name.
    store.left.store(4, Ordering::SeqCst);
    storage.commit(pending, manifest(CheckpointId(1), &me, vec![])).unwrap_err();
    store.left.store(u32::MAX, Ordering::SeqCst);
    assert!(dir.path().join("totals/chk-1/manifest.json").exists());
    assert_eq!(storage.begin(CheckpointId(2), &me, None, true).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(storage.collect(1).unwrap_err().kind(), ErrorKind::Closed);
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

#[test]
fn the_job_survives_a_crash_of_every_second_attempt_as_well() {
    for calls in (8..60).step_by(3) {
        let dir = scratch();
        let mut ended = false;
        for index in 0..60 {
            // Each attempt lives a little longer, so that one reaches the end.
            ended = run(dir.path(), &format!("attempt {index}"), calls + index, Crash::After).1;
            if ended {
                break;
            }
        }
        assert!(ended);
        let last = open(dir.path()).latest_verified().unwrap().unwrap().manifest;
        assert_intact(dir.path(), &last);
    }
}
