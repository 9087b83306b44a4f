//! Object stores keep the contract of a checkpoint store.

use crate::server::Server;
use headpond_object_store::{BucketStore, ObjectStoreOptions};
use headpond_store_conformance::{StoreFactory, crash};
use object_store::memory::InMemory;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

fn memory() -> StoreFactory {
    let bucket = Arc::new(InMemory::new());
    Box::new(move || {
        let options = ObjectStoreOptions { part_bytes: 5 << 20, ..ObjectStoreOptions::default() };
        let bucket = Arc::clone(&bucket) as Arc<dyn object_store::ObjectStore>;
        Arc::new(BucketStore::new(bucket, "memory://bucket", "a prefix", options).unwrap())
    })
}

/// A prefix of its own for each test, in the bucket of one server.
fn s3() -> StoreFactory {
    static SERVER: LazyLock<Arc<Server>> = LazyLock::new(Server::start);
    static PLACES: AtomicUsize = AtomicUsize::new(0);
    let prefix = format!("place {}/below", PLACES.fetch_add(1, Ordering::SeqCst));
    Box::new(move || SERVER.store(&prefix))
}

mod in_memory {
    headpond_store_conformance::conformance_tests!(crate::conformance::memory);
}

mod on_s3 {
    headpond_store_conformance::conformance_tests!(crate::conformance::s3);
}

#[test]
fn a_crash_at_any_call_loses_nothing_committed_in_memory() {
    crash::at_every_call(&memory, 1);
}

#[test]
fn attempts_that_crash_one_after_another_come_to_the_end_in_memory() {
    crash::of_every_attempt(&memory, 9);
}

#[test]
fn a_crash_at_a_call_loses_nothing_committed_on_s3() {
    crash::at_every_call(&s3, 31);
}
