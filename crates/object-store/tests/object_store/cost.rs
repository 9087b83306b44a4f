//! What a checkpoint costs: requests, and how many at once.

use crate::server::Server;
use headpond_checkpoint::store::Staged;
use headpond_store_conformance::Bytes;
use headpond_store_conformance::jobs::{attempt, checkpoint, files, over};
use std::sync::atomic::Ordering;

/// How many requests there are of each kind.
fn kinds(requests: &[String]) -> Vec<(&'static str, usize)> {
    let kind = |request: &String| match request {
        r if r.starts_with("PUT") && r.ends_with("if-none-match") => "create",
        r if r.starts_with("PUT") && r.contains("partNumber") => "part",
        r if r.starts_with("PUT") => "put",
        r if r.starts_with("POST") && r.contains("delete") => "delete",
        r if r.starts_with("POST") => "begin or end parts",
        r if r.starts_with("GET") && r.contains("list-type") => "list",
        r if r.starts_with("GET") => "get",
        _ => "other",
    };
    let all = ["create", "part", "put", "delete", "begin or end parts", "list", "get", "other"];
    let count = |wanted: &str| requests.iter().filter(|request| kind(request) == wanted).count();
    all.into_iter().map(|kind| (kind, count(kind))).filter(|(_, count)| *count > 0).collect()
}

#[test]
fn a_checkpoint_costs_a_request_for_each_new_file_and_seven_more() {
    let server = Server::start();
    let storage = over(server.store("cost"));
    let me = attempt("a");
    let state = files(&[("1.sst", "one"), ("2.sst", "two")]);
    let first = checkpoint(&storage, &me, None, &state).unwrap();
    server.requests();
    let state = files(&[("1.sst", "one"), ("3.sst", "three"), ("4.sst", "four")]);
    checkpoint(&storage, &me, Some(&first), &state).unwrap();
    let committed = server.requests();
    assert_eq!(kinds(&committed), [("create", 1), ("put", 2), ("list", 1), ("get", 1)], "{committed:#?}");
    storage.collect(1).unwrap();
    let collected = server.requests();
    assert_eq!(kinds(&collected), [("delete", 2), ("list", 1), ("get", 1)], "{collected:#?}");
}

#[test]
fn a_large_file_goes_up_in_parts() {
    let server = Server::start();
    let store = server.store("parts");
    let bytes = vec![7; (13 << 20) + 1];
    let staged = store.stage("job", &mut Bytes::new("job/shared/large", &bytes)).unwrap();
    assert_eq!(staged.length, bytes.len() as u64);
    store.sync(&[&staged]).unwrap();
    let requests = server.requests();
    assert_eq!(kinds(&requests), [("part", 3), ("begin or end parts", 2)], "{requests:#?}");
}

#[test]
fn small_files_go_up_at_once_and_not_more_than_allowed() {
    let server = Server::start();
    server.faults.delay_ms.store(30, Ordering::SeqCst);
    let options = headpond_object_store::ObjectStoreOptions { transfers_max: 5, ..server.options() };
    let store = crate::server::open(options, "s3://checkpoints/parallel").unwrap();
    let staged: Vec<Staged> = (0..20)
        .map(|file| store.stage("job", &mut Bytes::new(&format!("job/shared/{file}"), b"bytes")).unwrap())
        .collect();
    store.sync(&staged.iter().collect::<Vec<_>>()).unwrap();
    let most = server.faults.most_at_once.load(Ordering::SeqCst);
    assert!((2..=5).contains(&most), "{most} at once");
}

#[test]
fn a_verification_and_a_restore_read_several_files_at_once() {
    let server = Server::start();
    let storage = over(server.store("verified"));
    let state: Vec<(String, String)> = (0..12).map(|file| (format!("{file}.sst"), format!("file {file}"))).collect();
    let state: Vec<(&str, &str)> = state.iter().map(|(name, bytes)| (name.as_str(), bytes.as_str())).collect();
    let committed = checkpoint(&storage, &attempt("a"), None, &files(&state)).unwrap();
    server.faults.delay_ms.store(30, Ordering::SeqCst);
    server.faults.most_at_once.store(0, Ordering::SeqCst);
    let most = || server.faults.most_at_once.swap(0, Ordering::SeqCst);
    assert!(storage.latest_verified().unwrap().is_some());
    let verifying = most();
    assert!((3..=8).contains(&verifying), "{verifying} at once");
    let directory = tempfile::tempdir().unwrap();
    let wanted: Vec<_> = committed.files().map(|file| (file, directory.path().join(&file.name))).collect();
    storage.source().fetch_all(&wanted).unwrap();
    let restoring = most();
    assert!((3..=8).contains(&restoring), "{restoring} at once");
    assert_eq!(std::fs::read(directory.path().join("7.sst")).unwrap(), b"file 7");
}
