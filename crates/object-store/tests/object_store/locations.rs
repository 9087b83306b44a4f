//! Locations as users write them.

use crate::server::{Server, open};
use headpond_checkpoint::verify::verify;
use headpond_checkpoint::{DirectoryStore, Recovered, find_checkpoints, open_checkpoint};
use headpond_object_store::{ObjectStoreOptions, ObjectStores, S3Options, Secret};
use headpond_state::ErrorKind;
use headpond_store_conformance::jobs::{attempt, checkpoint, files, over, restore};
use std::sync::Arc;

#[test]
fn a_checkpoint_is_found_by_its_url_as_flink_users_write_it() {
    let server = Server::start();
    let state = files(&[("1.sst", "one"), ("2.sst", "two")]);
    let committed = checkpoint(&over(server.store("production/jobs")), &attempt("a"), None, &state).unwrap();
    let stores = ObjectStores::new(server.options());
    for url in [
        "s3://checkpoints/production/jobs/totals/chk-1",
        "s3a://checkpoints/production/jobs/totals/chk-1/",
        "s3p://checkpoints/production/jobs/totals/chk-1/manifest.json",
        "s3://checkpoints/production/jobs/totals",
    ] {
        let (storage, Recovered { manifest, .. }) =
            open_checkpoint(&stores, url).unwrap_or_else(|e| panic!("{url}: {e:?}"));
        assert_eq!(manifest, committed, "{url}");
        assert_eq!(restore(&storage, &manifest).unwrap(), state, "{url}");
    }
    for url in ["s3://checkpoints/production/jobs", "s3://checkpoints/production/jobs/totals"] {
        let found = find_checkpoints(&stores, url).unwrap();
        assert_eq!(found.jobs.len(), 1, "{url}");
        assert!(verify(&stores, url).unwrap().is_sound(), "{url}");
    }
    let nothing = verify(&stores, "s3://checkpoints/elsewhere").unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::Invalid);
    let no_such = open_checkpoint(&stores, "s3://checkpoints/production/jobs/totals/chk-7").unwrap_err();
    assert_eq!(no_such.way_out(), Some("there are chk-1"));
}

#[test]
fn a_bucket_itself_may_be_the_checkpoint_directory() {
    let server = Server::start();
    let store = open(server.options(), "s3://checkpoints").unwrap();
    checkpoint(&over(store), &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    let found = find_checkpoints(&ObjectStores::new(server.options()), "s3://checkpoints/").unwrap();
    assert_eq!(found.jobs.iter().map(|job| job.job()).collect::<Vec<_>>(), ["totals"]);
}

#[test]
fn local_directories_are_opened_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let local = over(Arc::new(DirectoryStore::new(directory.path())));
    checkpoint(&local, &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    let stores = ObjectStores::default();
    assert!(verify(&stores, directory.path().to_str().unwrap()).unwrap().is_sound());
}

#[test]
fn hdfs_and_unknown_schemes_are_refused_by_name() {
    for (location, named) in [("hdfs://namenode/checkpoints", "HDFS"), ("ftp://host/checkpoints", "`ftp:`")] {
        let error = open(ObjectStoreOptions::default(), location).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{location}");
        assert!(error.to_string().contains(named), "{error}");
        assert!(error.way_out().unwrap().contains("s3://"), "{error:?}");
    }
}

#[test]
fn bad_settings_are_refused_before_any_request() {
    let with = |s3| open(ObjectStoreOptions { s3, ..ObjectStoreOptions::default() }, "s3://bucket/x").unwrap_err();
    let error = with(S3Options { access_key: Some(Secret::new("hushhush")), ..S3Options::default() });
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("s3.secret-key") && !format!("{error:?}").contains("hushhush"), "{error:?}");
    for endpoint in ["ftp://host", "http://", "http://user:hushhush@host"] {
        let error = with(S3Options { endpoint: Some(endpoint.to_owned()), ..S3Options::default() });
        assert_eq!(error.kind(), ErrorKind::Invalid, "{endpoint}");
        assert!(error.to_string().contains("s3.endpoint") && !format!("{error:?}").contains("hushhush"), "{error:?}");
    }
}

#[test]
fn google_and_azure_locations_are_understood() {
    for location in ["gs://bucket/x", "az://container/x", "abfss://container@account.dfs.core.windows.net/x"] {
        // Without credentials some clients cannot be made; that they are known is all that is checked.
        if let Err(error) = open(ObjectStoreOptions::default(), location) {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{location}: {error}");
        }
    }
}
