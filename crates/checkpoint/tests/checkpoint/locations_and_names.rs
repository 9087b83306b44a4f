//! Locations as users write them, and names as directories.

use crate::support::*;
use headpond_checkpoint::Location;
use headpond_checkpoint::Stores;
use headpond_checkpoint::layout::{JobLayout, SharedName, parse_checkpoint};
use headpond_checkpoint::target::Target;
use headpond_checkpoint::verify::verify;
use headpond_state::{CheckpointId, ContentHash, ErrorKind, StateFile};
use std::path::PathBuf;

#[test]
fn locations_are_paths_file_uris_or_urls_of_stores() {
    for (location, path) in [
        ("file:///data/check%20points", "/data/check points"),
        ("file:/data", "/data"),
        ("file://localhost/data", "/data"),
        ("FILE:///data", "/data"),
        ("/data", "/data"),
        ("relative/dir", "relative/dir"),
        ("C:\\data", "C:\\data"),
    ] {
        assert_eq!(Location::parse(location).unwrap(), Location::Local(PathBuf::from(path)), "{location}");
    }
    for (location, shown) in [
        ("s3://bucket", "s3://bucket"),
        ("S3A://bucket/", "s3a://bucket"),
        ("s3://bucket//check points/100%/", "s3://bucket/check points/100%"),
        ("abfss://container@account.dfs.core.windows.net/x", "abfss://container@account.dfs.core.windows.net/x"),
    ] {
        assert_eq!(Location::parse(location).unwrap().to_string(), shown);
    }
    for location in ["file://host/x", "file:relative"] {
        let error = Location::parse(location).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{location}");
        assert!(error.way_out().unwrap().contains("file:///"), "{location}");
    }
    for location in ["", "  ", "file:///a%2", "file:///a%zz", "s3:bucket", "s3:///x", "s3://bucket/../x"] {
        assert_eq!(Location::parse(location).unwrap_err().kind(), ErrorKind::Invalid, "{location:?}");
    }
}

#[test]
fn credentials_in_a_url_are_refused_and_not_shown() {
    for url in
        ["s3://AKIA:hushhush@bucket/x", "s3://AKIA:hush/hushhush@bucket", "s3://hushhush@bucket", "gs://:hushhush@b"]
    {
        let error = Location::parse(url).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(!format!("{error:?}").contains("hushhush"), "{error:?}");
        assert!(error.way_out().unwrap().contains("s3.secret-key"));
    }
}

#[test]
fn a_program_without_the_store_says_so() {
    let error = local().open(&Location::parse("s3://bucket/x").unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("`s3:`"), "{error}");
}

#[test]
fn every_job_has_a_directory_of_its_own() {
    let names =
        ["totals", "Totals 2", "../up", ".", "..", ".hidden", "a/b", "a%2Fb", "größe", "shared", "staging", "chk-1"];
    let directories: std::collections::BTreeSet<String> =
        names.iter().map(|name| JobLayout::new(name).unwrap().directory().to_owned()).collect();
    assert_eq!(directories.len(), names.len());
    assert!(directories.contains("totals") && directories.contains("a%2Fb") && directories.contains("a%252Fb"));
    assert!(directories.iter().all(|name| !name.contains('/') && !name.starts_with('.')));
    assert!(!directories.contains("shared") && !directories.contains("chk-1"));
    for name in ["", &"x".repeat(241)] {
        assert_eq!(JobLayout::new(name).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn a_checkpoint_has_one_spelling() {
    assert_eq!(parse_checkpoint("chk-12"), Some(CheckpointId(12)));
    for other in ["chk-", "chk-012", "chk-+1", "chk-1.tmp", "shared", "12"] {
        assert_eq!(parse_checkpoint(other), None, "{other}");
    }
}

#[test]
fn a_state_file_is_named_by_its_hash_and_kind() {
    let file = |name: &str| StateFile { name: name.into(), hash: ContentHash([0xab; 32]), length: 1 };
    for (name, extension) in
        [("000012.sst", "sst"), ("state", "bin"), ("a.b/c", "bin"), ("x.", "bin"), ("x.tar.gz", "gz")]
    {
        let shared = SharedName::of(&file(name));
        assert_eq!(shared.to_string(), format!("{}.{extension}", "ab".repeat(32)), "{name}");
        assert_eq!(SharedName::parse(&shared.to_string()), Some(shared));
    }
    assert_eq!(SharedName::parse("notes.txt"), None);
    assert_eq!(SharedName::parse(&"ab".repeat(32)), None);
    assert_eq!(SharedName::parse(&format!("{}.sst", "AB".repeat(32))), None);
}

#[test]
fn a_path_is_known_for_what_it_is() {
    let dir = scratch();
    let root = dir.path().to_path_buf();
    std::fs::create_dir_all(root.join("totals/chk-3")).unwrap();
    let find = |path: &str| Target::find(&local(), root.join(path).to_str().unwrap()).map(|(_, target)| target);
    let at = || Location::Local(root.clone());
    assert_eq!(find("").unwrap(), Target::Jobs(at()));
    assert_eq!(find("totals/").unwrap(), Target::Job(at(), "totals".into()));
    for path in ["totals/chk-3", "totals/chk-3/", "totals/chk-3/manifest.json"] {
        assert_eq!(find(path).unwrap(), Target::Checkpoint(at(), "totals".into(), CheckpointId(3)));
    }
    assert_eq!(verify(&local(), root.join("nothing").to_str().unwrap()).unwrap_err().kind(), ErrorKind::Invalid);
}
