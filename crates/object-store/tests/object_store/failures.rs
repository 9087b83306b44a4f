//! A store that fails for a while, and one that fails for good.

use crate::server::{Server, open};
use headpond_checkpoint::CheckpointStore;
use headpond_checkpoint::store::Creation;
use headpond_object_store::ObjectStoreOptions;
use headpond_state::{ErrorKind, Result};
use headpond_store_conformance::Bytes;
use headpond_store_conformance::jobs::{attempt, checkpoint, files, manifest, over, restore, upload};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// A client that gives up soon.
fn impatient(server: &Server, prefix: &str) -> Arc<dyn CheckpointStore> {
    let options = ObjectStoreOptions {
        request_timeout: Duration::from_millis(300),
        retry_timeout: Duration::from_millis(300),
        ..server.options()
    };
    open(options, &format!("s3://checkpoints/{prefix}")).unwrap()
}

fn put(store: &dyn CheckpointStore, key: &str, bytes: &[u8]) -> Result<()> {
    let staged = store.stage("job", &mut Bytes::new(key, bytes))?;
    store.sync(&[&staged])
}

fn get(store: &dyn CheckpointStore, key: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.open(key).unwrap().unwrap().content.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn calls_to_a_server_that_is_down_fail_as_unavailable_and_work_when_it_is_back() {
    let server = Server::start();
    let store = impatient(&server, "down");
    put(store.as_ref(), "job/shared/before", b"before").unwrap();
    server.stop();
    let large = vec![1; 6 << 20];
    let failures = [
        put(store.as_ref(), "job/shared/small", b"small"),
        put(store.as_ref(), "job/shared/large", &large),
        store.list("job").map(drop),
        store.length("job/shared/before").map(drop),
        store.open("job/shared/before").map(drop),
        store.delete(&["job/shared/before".to_owned()]),
        store.acquire("job/owner.lock", "a", Duration::ZERO).map(drop),
    ];
    for (call, failure) in failures.into_iter().enumerate() {
        let error = failure.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "call {call}: {error}");
        assert!(error.to_string().contains("s3://checkpoints/down"), "{error}");
        assert!(error.way_out().unwrap().contains("s3.endpoint"), "{error:?}");
    }
    server.start_again();
    put(store.as_ref(), "job/shared/small", b"small").unwrap();
    put(server.store("down").as_ref(), "job/shared/large", &large).unwrap();
    assert!(get(server.store("down").as_ref(), "job/shared/large") == large);
    assert_eq!(get(store.as_ref(), "job/shared/before"), b"before");
    assert_eq!(get(store.as_ref(), "job/shared/small"), b"small");
}

#[test]
fn a_server_that_goes_and_comes_back_in_the_middle_of_a_checkpoint_costs_nothing_but_time() {
    let server = Server::start();
    let storage = over(server.store("outage"));
    let me = attempt("a");
    let first = checkpoint(&storage, &me, None, &files(&[("1.sst", "one")])).unwrap();
    let pending = storage.begin(storage.next_id().unwrap(), &me, Some(&first), true).unwrap();
    server.stop();
    let state = files(&[("1.sst", "one"), ("2.sst", "two")]);
    let stored = upload(&pending, Some(&first), &state).unwrap();
    let committed = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(500));
            server.start_again();
        });
        let id = pending.id();
        storage.commit(pending, manifest(id, &me, stored)).unwrap()
    });
    assert_eq!(restore(&over(server.store("outage")), &committed).unwrap(), state);
}

#[test]
fn a_checkpoint_that_failed_leaves_the_job_able_to_take_the_next() {
    let server = Server::start();
    let storage = over(impatient(&server, "failed"));
    let me = attempt("a");
    let first = checkpoint(&storage, &me, None, &files(&[("1.sst", "one")])).unwrap();
    let pending = storage.begin(storage.next_id().unwrap(), &me, Some(&first), true).unwrap();
    server.stop();
    let state = files(&[("2.sst", "two")]);
    let stored = upload(&pending, Some(&first), &state).unwrap();
    let id = pending.id();
    let error = storage.commit(pending, manifest(id, &me, stored)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    server.start_again();
    let next = checkpoint(&storage, &me, Some(&first), &state).unwrap();
    storage.collect(1).unwrap();
    assert_eq!(storage.latest_verified().unwrap().unwrap().manifest, next);
}

#[test]
fn a_slow_server_is_waited_for_until_the_time_out() {
    let server = Server::start();
    server.faults.delay_ms.store(100, Ordering::SeqCst);
    put(server.store("slow").as_ref(), "job/shared/1", b"slow").unwrap();
    server.faults.delay_ms.store(2_000, Ordering::SeqCst);
    let store = impatient(&server, "slow");
    let error = put(store.as_ref(), "job/shared/2", b"too slow").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let stuck = put(store.as_ref(), "job/shared/3", &vec![3; 6 << 20]).unwrap_err();
    assert_eq!(stuck.kind(), ErrorKind::Unavailable, "{stuck}");
    assert!(stuck.to_string().contains("timed out"), "{stuck}");
    server.faults.delay_ms.store(0, Ordering::SeqCst);
    put(store.as_ref(), "job/shared/2", b"not any more").unwrap();
}

#[test]
fn throttled_requests_are_repeated() {
    let server = Server::start();
    let store = server.store("throttled");
    let large = vec![1; 6 << 20];
    server.faults.throttled.store(3, Ordering::SeqCst);
    put(store.as_ref(), "job/shared/1", b"bytes").unwrap();
    server.faults.throttled.store(2, Ordering::SeqCst);
    put(store.as_ref(), "job/shared/2", &large).unwrap();
    server.faults.throttled.store(2, Ordering::SeqCst);
    assert_eq!(store.list("job/shared").unwrap().len(), 2);
    server.faults.throttled.store(2, Ordering::SeqCst);
    assert!(get(store.as_ref(), "job/shared/2") == large);
    server.faults.throttled.store(usize::MAX, Ordering::SeqCst);
    let error = impatient(&server, "throttled").list("job").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("SlowDown"), "{error}");
}

#[test]
fn a_torn_upload_leaves_nothing_to_be_seen() {
    let server = Server::start();
    let store = impatient(&server, "torn");
    let large = vec![9; 12 << 20];
    for (key, bytes) in [("job/shared/small", &large[..1000]), ("job/shared/large", &large[..])] {
        server.faults.torn_uploads.store(usize::MAX, Ordering::SeqCst);
        put(store.as_ref(), key, bytes).unwrap_err();
        server.faults.torn_uploads.store(0, Ordering::SeqCst);
        assert!(store.open(key).unwrap().is_none(), "{key}");
        assert_eq!(store.list("job/shared").unwrap(), [""; 0]);
    }
    // An upload that is taken back leaves no parts either.
    let left = std::fs::read_dir(server.directory.path()).unwrap();
    let parts = left.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains(".part-")).count();
    assert_eq!(parts, 0);
    server.faults.torn_uploads.store(1, Ordering::SeqCst);
    let patient = server.store("torn");
    put(patient.as_ref(), "job/shared/large", &large).unwrap();
    assert!(get(patient.as_ref(), "job/shared/large") == large);
}

#[test]
fn a_commit_whose_answer_is_lost_is_found_to_be_ours() {
    let server = Server::start();
    let store = server.store("lost");
    let create = |bytes: &[u8]| {
        let staged = store.stage("job", &mut Bytes::unnamed(bytes)).unwrap();
        store.put_exclusive(staged, "job/chk-1/manifest.json")
    };
    server.faults.lost_answers.store(1, Ordering::SeqCst);
    assert_eq!(create(b"ours").unwrap(), Creation::Created);
    assert_eq!(create(b"another's").unwrap(), Creation::Exists);
    assert_eq!(get(store.as_ref(), "job/chk-1/manifest.json"), b"ours");
    server.faults.lost_answers.store(1, Ordering::SeqCst);
    let storage = over(server.store("lost"));
    let committed = checkpoint(&storage, &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    assert_eq!(storage.latest_verified().unwrap().unwrap().manifest, committed);
}

#[test]
fn an_upload_nobody_wants_any_more_ends() {
    let server = Server::start();
    let storage = over(server.store("cancelled"));
    let me = attempt("a");
    storage.own(&me).unwrap();
    let pending = storage.begin(storage.next_id().unwrap(), &me, None, true).unwrap();
    let sink = pending.sink();
    server.faults.delay_ms.store(500, Ordering::SeqCst);
    let ended = thread::scope(|scope| {
        let large = vec![5; 12 << 20];
        let upload = scope.spawn(move || sink.put_stream("large", &mut large.as_slice()));
        thread::sleep(Duration::from_millis(300));
        pending.cancel();
        upload.join().unwrap()
    });
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Closed);
    server.faults.delay_ms.store(0, Ordering::SeqCst);
    checkpoint(&storage, &me, None, &files(&[("1.sst", "one")])).unwrap();
}
