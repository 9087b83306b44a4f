//! Keys: created exclusively, listed, deleted.

use super::{JOB, get, names, put};
use crate::{Bytes, StoreFactory};
use headpond_checkpoint::CheckpointStore;
use headpond_checkpoint::store::Creation;
use std::sync::Barrier;
use std::thread;

fn create(store: &dyn CheckpointStore, key: &str, bytes: &[u8]) -> Creation {
    let staged = store.stage(JOB, &mut Bytes::unnamed(bytes)).unwrap();
    store.sync(&[&staged]).unwrap();
    store.put_exclusive(staged, key).unwrap()
}

/// A manifest's key.
pub fn an_exclusive_key_is_created_once(place: &StoreFactory) {
    let store = place();
    let key = format!("{JOB}/chk-1/manifest.json");
    assert_eq!(create(store.as_ref(), &key, b"first"), Creation::Created);
    assert_eq!(create(store.as_ref(), &key, b"second"), Creation::Exists);
    assert_eq!(create(place().as_ref(), &key, b"third"), Creation::Exists);
    assert_eq!(get(store.as_ref(), &key).unwrap(), b"first");
    assert_eq!(create(store.as_ref(), &format!("{JOB}/chk-2/manifest.json"), b"another"), Creation::Created);
}

/// Several attempts at once.
pub fn one_of_many_creators_wins(place: &StoreFactory) {
    for round in 0..5 {
        let key = format!("{JOB}/chk-{round}/manifest.json");
        let start = Barrier::new(4);
        let race = |index: u8| {
            let store = place();
            start.wait();
            create(store.as_ref(), &key, &[index; 1000]) == Creation::Created
        };
        let won: Vec<bool> = thread::scope(|scope| {
            let race = &race;
            let threads: Vec<_> = (0..4).map(|index| scope.spawn(move || race(index))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winners: Vec<usize> = (0..4).filter(|index| won[*index]).collect();
        assert_eq!(winners.len(), 1, "{winners:?} won");
        assert_eq!(get(place().as_ref(), &key).unwrap(), [winners[0] as u8; 1000]);
    }
}

/// Absent keys and directories.
pub fn what_is_not_there_is_none(place: &StoreFactory) {
    let store = place();
    assert!(store.open("job/shared/nothing").unwrap().is_none());
    assert_eq!(store.length("job/shared/nothing").unwrap(), None);
    assert_eq!(names(store.as_ref(), "job/shared"), [""; 0]);
    assert_eq!(names(store.as_ref(), ""), [""; 0]);
    put(store.as_ref(), "job/shared/something", b"x");
    assert!(store.open("job/shared/some").unwrap().is_none(), "a beginning of a name is no name");
    assert_eq!(names(store.as_ref(), "job/sha"), [""; 0]);
}

/// Files and directories.
pub fn a_listing_has_the_names_immediately_below(place: &StoreFactory) {
    let store = place();
    for key in ["job/chk-1/manifest.json", "job/chk-10/manifest.json", "job/shared/a", "job/shared/b", "other/shared/c"]
    {
        put(store.as_ref(), key, key.as_bytes());
    }
    let listed: Vec<String> = names(store.as_ref(), "job").into_iter().filter(|name| name != "staging").collect();
    assert_eq!(listed, ["chk-1", "chk-10", "shared"]);
    assert_eq!(names(store.as_ref(), "job/shared"), ["a", "b"]);
    assert_eq!(names(store.as_ref(), "job/chk-1"), ["manifest.json"]);
    assert_eq!(names(store.as_ref(), ""), ["job", "other"]);
}

/// One call for many.
pub fn files_are_deleted_and_absent_ones_are_no_error(place: &StoreFactory) {
    let store = place();
    let keys: Vec<String> = (0..30).map(|file| format!("{JOB}/shared/{file}")).collect();
    keys.iter().for_each(|key| put(store.as_ref(), key, key.as_bytes()));
    store.delete(&keys[..29]).unwrap();
    assert_eq!(names(store.as_ref(), &format!("{JOB}/shared")), ["29"]);
    store.delete(&keys).unwrap();
    store.delete(&keys).unwrap();
    store.delete(&[]).unwrap();
    assert_eq!(names(store.as_ref(), &format!("{JOB}/shared")), [""; 0]);
}

/// Only empty ones go.
pub fn a_directory_that_is_not_empty_stays(place: &StoreFactory) {
    let store = place();
    let key = format!("{JOB}/chk-1/manifest.json");
    put(store.as_ref(), &key, b"a manifest");
    store.remove_directory(&format!("{JOB}/chk-1")).unwrap();
    assert!(get(store.as_ref(), &key).is_some());
    store.delete(&[key]).unwrap();
    store.remove_directory(&format!("{JOB}/chk-1")).unwrap();
    store.remove_directory(&format!("{JOB}/chk-1")).unwrap();
    assert!(!names(store.as_ref(), JOB).contains(&"chk-1".to_owned()));
}

/// What a dead attempt left half done.
pub fn clearing_what_is_staged_spares_what_has_its_key(place: &StoreFactory) {
    let dead = place();
    put(dead.as_ref(), "job/shared/kept", b"kept");
    dead.stage(JOB, &mut Bytes::unnamed(b"never created")).unwrap();
    drop(dead);
    let store = place();
    store.clear_staging(JOB).unwrap();
    store.clear_staging("a job without anything").unwrap();
    assert_eq!(get(store.as_ref(), "job/shared/kept").unwrap(), b"kept");
    assert_eq!(names(store.as_ref(), "job/staging"), [""; 0]);
}
