//! The parts of the contract, each a scenario that begins with an empty [`StoreFactory`](crate::StoreFactory).

pub mod contents;
pub mod keys;
pub mod owners;
pub mod whole_jobs;

use crate::Bytes;
use headpond_checkpoint::CheckpointStore;
use std::io::Read;

/// A directory of a job.
const JOB: &str = "job";

/// Bytes that do not repeat, so that a part in the wrong place is seen.
fn pattern(length: usize) -> Vec<u8> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&(seed >> 8).to_le_bytes()[..7]);
    }
    bytes.truncate(length);
    bytes
}

/// Stages, syncs and publishes.
fn put(store: &dyn CheckpointStore, key: &str, bytes: &[u8]) {
    put_content(store, key, Bytes::new(key, bytes));
}

fn put_content(store: &dyn CheckpointStore, key: &str, mut content: Bytes) {
    let staged = store.stage(JOB, &mut content).unwrap();
    store.sync(&[&staged]).unwrap();
    store.publish(vec![(staged, key.to_owned())]).unwrap();
}

/// The whole content, if there is any, after a look at its length.
fn get(store: &dyn CheckpointStore, key: &str) -> Option<Vec<u8>> {
    let mut opened = store.open(key).unwrap()?;
    let mut bytes = Vec::new();
    opened.content.read_to_end(&mut bytes).unwrap();
    assert_eq!(opened.length, bytes.len() as u64, "{key}");
    assert_eq!(store.length(key).unwrap(), Some(opened.length), "{key}");
    Some(bytes)
}

fn names(store: &dyn CheckpointStore, directory: &str) -> Vec<String> {
    let mut names = store.list(directory).unwrap();
    names.sort();
    names
}
