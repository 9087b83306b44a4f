//! The manifest's bytes: readable, versioned, and tamper-evident.

use crate::support::*;
use headpond_checkpoint::Manifest;
use headpond_state::{CheckpointId, ErrorKind, StateFile};

fn example() -> Manifest {
    let content = b"one";
    let hash = headpond_state::ContentHash(*blake3::hash(content).as_bytes());
    manifest(CheckpointId(3), &attempt("a"), vec![StateFile { name: "1.sst".into(), hash, length: 3 }])
}

#[test]
fn what_is_written_is_read() {
    let manifest = example();
    let bytes = manifest.encode().unwrap();
    assert_eq!(Manifest::decode(&bytes).unwrap(), manifest);
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(json["format_version"], 1);
    assert_eq!(json["manifest"]["job"], "totals");
}

#[test]
fn any_flipped_bit_and_any_cut_is_found() {
    let bytes = example().encode().unwrap();
    for position in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[position] ^= 1 << (position % 8);
        assert_eq!(Manifest::decode(&altered).unwrap_err().kind(), ErrorKind::Corrupt, "byte {position}");
        assert_eq!(Manifest::decode(&bytes[..position]).unwrap_err().kind(), ErrorKind::Corrupt, "cut at {position}");
    }
    assert_eq!(Manifest::decode(&[&bytes[..], b"\n"].concat()).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_newer_format_is_refused_by_both_versions_names() {
    let text = String::from_utf8(example().encode().unwrap()).unwrap();
    let (line, body) = text.split_once('\n').unwrap();
    let before = line.split_once("\"blake3\":\"").unwrap().0.replace(":1,", ":2,") + "\"blake3\":\"";
    let after = format!("\",\"manifest\":\n{body}");
    let hash = blake3::hash(format!("{before}{after}").as_bytes());
    let error = Manifest::decode(format!("{before}{hash}{after}").as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incompatible);
    assert!(error.message().contains("version 2") && error.message().contains("up to 1"), "{error}");
}

#[test]
fn a_manifest_of_the_first_format_is_read_for_ever() {
    let manifest = Manifest::decode(include_bytes!("../fixtures/manifest-v1.json")).unwrap();
    let mut expected = example();
    expected.created_ms = 1_388_534_400_000;
    expected.headpond_version = "0.1.0".into();
    assert_eq!(manifest, expected);
}
