//! What a server refuses, said so that the right person does the right thing.

use crate::server::{ACCESS_KEY, SECRET_KEY, Server, open};
use headpond_checkpoint::CheckpointStore;
use headpond_object_store::{ObjectStoreOptions, S3Options, Secret};
use headpond_state::{Error, ErrorKind};
use headpond_store_conformance::Bytes;
use headpond_store_conformance::jobs::{attempt, over};
use std::sync::Arc;

fn put(store: &Arc<dyn CheckpointStore>, bytes: &[u8]) -> Error {
    let staged = store.stage("job", &mut Bytes::new("job/shared/1", bytes));
    staged.and_then(|staged| store.sync(&[&staged])).unwrap_err()
}

#[test]
fn wrong_credentials_are_an_error_that_names_the_options_and_shows_no_secret() {
    let server = Server::start();
    for (access_key, secret_key) in [(ACCESS_KEY, "notthisone"), ("AKNOBODY", SECRET_KEY)] {
        let s3 = S3Options {
            access_key: Some(Secret::new(access_key)),
            secret_key: Some(Secret::new(secret_key)),
            ..server.options().s3
        };
        let store = open(ObjectStoreOptions { s3, ..server.options() }, "s3://checkpoints/refused").unwrap();
        let owned = over(Arc::clone(&store)).own(&attempt("a")).unwrap_err();
        let large = put(&store, &vec![1; 6 << 20]);
        for error in [owned, put(&store, b"small"), large, store.list("job").unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
            assert!(error.way_out().unwrap().contains("s3.access-key"), "{error:?}");
            let shown = format!("{error:?} {error}");
            assert!(!shown.contains(access_key) && !shown.contains(secret_key), "{shown}");
        }
        let shown = format!("{store:?}");
        assert!(!shown.contains(access_key) && !shown.contains(secret_key), "{shown}");
    }
}

#[test]
fn a_bucket_that_is_not_there_is_an_error_that_says_so() {
    let server = Server::start();
    let store = open(server.options(), "s3://no-such-bucket/x").unwrap();
    let owned = over(Arc::clone(&store)).own(&attempt("a")).unwrap_err();
    for error in [owned, put(&store, b"small"), store.list("job").unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
        assert!(error.message().contains("no such bucket"), "{error:?}");
        assert!(error.way_out().unwrap().contains("execution.checkpointing.dir"), "{error:?}");
    }
}

#[test]
fn a_store_that_ignores_conditions_is_refused() {
    let server = Server::start();
    *server.faults.careless_in.lock().unwrap() = Some(server.directory.path().to_path_buf());
    let error = over(server.store("careless")).own(&attempt("a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
    assert!(error.way_out().unwrap().contains("If-None-Match"), "{error:?}");
}
