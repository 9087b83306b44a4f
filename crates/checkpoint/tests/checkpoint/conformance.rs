//! A directory is a checkpoint store.

use crate::support::scratch;
use headpond_checkpoint::DirectoryStore;
use headpond_store_conformance::StoreFactory;
use std::sync::Arc;

fn place() -> StoreFactory {
    let dir = scratch();
    Box::new(move || Arc::new(DirectoryStore::new(dir.path())))
}

headpond_store_conformance::conformance_tests!(place);
