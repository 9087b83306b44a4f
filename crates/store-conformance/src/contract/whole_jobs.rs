//! Everything together, as a job does it.

use crate::StoreFactory;
use crate::jobs::{JOB, attempt, checkpoint, files, manifest, over, restore, upload};
use headpond_checkpoint::layout::JobLayout;
use headpond_checkpoint::verify::verify;
use headpond_checkpoint::{CheckpointStore, Location, Recovered, Stores, find_checkpoints, open_checkpoint};
use headpond_state::{ErrorKind, Result};
use std::sync::Arc;

/// Incremental checkpoints, restores, collections.
pub fn checkpoints_are_committed_restored_and_collected(place: &StoreFactory) {
    let me = attempt("a");
    let states = [
        files(&[("1.sst", "one"), ("2.sst", "two"), ("meta", "")]),
        files(&[("2.sst", "two"), ("3.sst", "three"), ("meta", "")]),
        files(&[("3.sst", "three"), ("4.sst", "one")]),
    ];
    let storage = over(place());
    let mut base = None;
    for state in &states {
        let committed = checkpoint(&storage, &me, base.as_ref(), state).unwrap();
        let found = over(place()).latest_verified().unwrap().unwrap();
        assert_eq!(found.manifest, committed);
        assert!(found.skipped.is_empty(), "{:?}", found.skipped);
        assert_eq!(&restore(&over(place()), &committed).unwrap(), state);
        storage.collect(1).unwrap();
        base = Some(committed);
    }
    assert_eq!(storage.list().unwrap().len(), 1);
    assert_eq!(place().list(&format!("{JOB}/shared")).unwrap().len(), 2);
    drop(storage);
    let next = over(place());
    let resumed = checkpoint(&next, &attempt("b"), base.as_ref(), &states[0]).unwrap();
    assert_eq!(restore(&next, &resumed).unwrap(), states[0]);
}

/// A run that was believed dead.
pub fn the_older_of_two_attempts_commits_nothing_more(place: &StoreFactory) {
    let (older, newer) = (over(place()), over(place()));
    let (a, b) = (attempt("a"), attempt("b"));
    let first = checkpoint(&older, &a, None, &files(&[("1.sst", "one")])).unwrap();
    let in_flight = older.begin(older.next_id().unwrap(), &a, Some(&first), true).unwrap();
    let stored = upload(&in_flight, Some(&first), &files(&[("2.sst", "two")])).unwrap();
    if let Err(refused) = newer.own(&b) {
        // A store with locks.
        assert_eq!(refused.kind(), ErrorKind::Fenced);
        older.release();
        newer.own(&b).unwrap();
    }
    let found = newer.latest_verified().unwrap().unwrap();
    assert_eq!(found.manifest, first);
    let id = in_flight.id();
    let late = older.commit(in_flight, manifest(id, &a, stored)).unwrap_err();
    assert!(matches!(late.kind(), ErrorKind::Fenced | ErrorKind::Closed), "{late}");
    let second = checkpoint(&newer, &b, Some(&first), &files(&[("1.sst", "one"), ("3.sst", "three")])).unwrap();
    let collected = older.collect(1).unwrap_err();
    assert!(matches!(collected.kind(), ErrorKind::Fenced | ErrorKind::Closed), "{collected}");
    newer.collect(1).unwrap();
    assert_eq!(newer.latest_verified().unwrap().unwrap().manifest, second);
    assert_eq!(restore(&newer, &second).unwrap(), files(&[("1.sst", "one"), ("3.sst", "three")]));
}

/// One store for every location, whatever comes after its root.
#[derive(Debug)]
struct Everywhere {
    root: Arc<dyn CheckpointStore>,
}

impl Stores for Everywhere {
    fn open(&self, _: &Location) -> Result<Arc<dyn CheckpointStore>> {
        Ok(Arc::clone(&self.root))
    }
}

/// What `headpond checkpoint` does with a location.
pub fn what_is_at_a_location_is_found(place: &StoreFactory) {
    for job in ["one", "two"] {
        let storage = headpond_checkpoint::CheckpointStorage::over(place(), job, crate::jobs::options()).unwrap();
        checkpoint(&storage, &attempt("a"), None, &files(&[("1.sst", job)])).unwrap();
    }
    let stores = Everywhere { root: place() };
    let found = find_checkpoints(&stores, "test://host").unwrap();
    assert_eq!(found.jobs.iter().map(|job| job.job()).collect::<Vec<_>>(), ["one", "two"]);
    let report = verify(&stores, "test://host").unwrap();
    assert!(report.is_sound() && report.checkpoints.len() == 2, "{report}");
    let (_, Recovered { manifest, .. }) = open_checkpoint(&stores, "test://host/two/chk-1").unwrap();
    assert_eq!(manifest.files().count(), 1);
    assert_eq!(JobLayout::new("two").unwrap().manifest(manifest.checkpoint), "two/chk-1/manifest.json");
}
