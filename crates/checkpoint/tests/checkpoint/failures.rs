//! A store that fails at random.

use crate::support::scratch;
use headpond_checkpoint::DirectoryStore;
use headpond_store_conformance::{StoreFactory, injection};
use std::sync::Arc;

fn place() -> StoreFactory {
    let dir = scratch();
    Box::new(move || Arc::new(DirectoryStore::new(dir.path())))
}

#[test]
fn nothing_committed_is_lost_and_nothing_unnamed_stays_whatever_fails() {
    injection::seeds(&place, 0..1_000);
}

// As many again, on another thread.
#[test]
fn nor_with_other_seeds() {
    injection::seeds(&place, 1_000..2_000);
}
