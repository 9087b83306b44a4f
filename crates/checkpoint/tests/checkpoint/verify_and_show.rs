//! What people see of checkpoints.

use crate::support::*;
use headpond_checkpoint::open_checkpoint;
use headpond_checkpoint::show::Show;
use headpond_checkpoint::verify::{Damage, verify};
use headpond_state::{CheckpointId, ErrorKind};

#[test]
fn sound_checkpoints_are_reported_as_sound() {
    let dir = scratch();
    let storage = open(dir.path());
    let first = checkpoint(&storage, &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    checkpoint(&storage, &attempt("a"), Some(&first), &files(&[("1.sst", "one"), ("2.sst", "two")])).unwrap();
    let report = verify(&local(), dir.path().to_str().unwrap()).unwrap();
    assert!(report.is_sound());
    assert_eq!(report.to_string(), "totals chk-1: sound (1 files, 3 bytes)\ntotals chk-2: sound (2 files, 6 bytes)\n");
}

#[test]
fn every_damaged_file_is_named_with_what_is_wrong() {
    let dir = scratch();
    let storage = open(dir.path());
    let state = files(&[("1.sst", "content 1"), ("2.sst", "content 2"), ("3.sst", "content 3"), ("4.sst", "fine")]);
    let first = checkpoint(&storage, &attempt("a"), None, &state).unwrap();
    let second = checkpoint(&storage, &attempt("a"), Some(&first), &files(&[("4.sst", "fine")])).unwrap();
    let paths: Vec<_> = first.files().map(|file| shared_file(dir.path(), file)).collect();
    std::fs::remove_file(&paths[0]).unwrap();
    std::fs::write(&paths[1], "cont").unwrap();
    flip_byte(&paths[2]);
    flip_byte(&dir.path().join("totals/chk-2/manifest.json"));

    let report = verify(&local(), dir.path().join("totals").to_str().unwrap()).unwrap();
    assert!(!report.is_sound());
    assert_eq!(report.checkpoints.iter().map(|found| found.id.0).collect::<Vec<_>>(), [1, 2]);
    let problems = &report.checkpoints[0].problems;
    assert!(matches!(&problems[0].damage, Damage::Missing(file) if file.name == "1.sst"));
    assert!(matches!(&problems[1].damage, Damage::Length { expected, actual: 4 } if expected.length == 9));
    assert!(matches!(&problems[2].damage, Damage::Altered { expected, actual } if expected.hash != *actual));
    assert_eq!(problems.len(), 3);
    let text = report.to_string();
    assert!(paths[..3].iter().all(|path| text.contains(path.to_str().unwrap())), "{text}");
    assert!(text.contains("missing") && text.contains("truncated") && text.contains("altered"), "{text}");
    assert!(text.contains("chk-2/manifest.json"), "{text}");

    let one = verify(&local(), dir.path().join(format!("totals/chk-{}", second.checkpoint)).to_str().unwrap()).unwrap();
    assert_eq!(one.checkpoints.len(), 1);
    assert!(matches!(&one.checkpoints[0].problems[..], [only] if matches!(only.damage, Damage::Manifest(_))));
}

#[test]
fn a_checkpoint_without_manifest_is_named_and_does_not_count_as_damaged() {
    let dir = scratch();
    let storage = open(dir.path());
    for _ in 0..2 {
        checkpoint(&storage, &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    }
    std::fs::remove_file(dir.path().join("totals/chk-2/manifest.json")).unwrap();
    let report = verify(&local(), dir.path().to_str().unwrap()).unwrap();
    assert!(report.is_sound());
    assert_eq!(report.incomplete.iter().map(|found| found.id.0).collect::<Vec<_>>(), [2]);
    let line = "totals chk-2: no manifest (never completed, or its manifest was removed)\n";
    assert!(report.to_string().ends_with(line), "{report}");
    let error = verify(&local(), dir.path().join("totals/chk-2").to_str().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("chk-2: no manifest"), "{error}");
}

#[test]
fn a_path_without_checkpoints_is_an_error() {
    let dir = scratch();
    let error = verify(&local(), dir.path().to_str().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.way_out().is_some());
}

#[test]
fn show_tells_full_from_incremental_and_new_from_reused() {
    let dir = scratch();
    let storage = open(dir.path());
    let me = attempt("a");
    let first = checkpoint(&storage, &me, None, &files(&[("1.sst", "one")])).unwrap();
    let second = checkpoint(&storage, &me, Some(&first), &files(&[("1.sst", "one"), ("2.sst", "three")])).unwrap();
    let show = Show::new(&second);
    let size = show.size(&second.operators[0]);
    assert_eq!((size.bytes, size.uploaded_bytes, size.files, size.entries), (8, 5, 2, 16));
    let text = show.to_string();
    for line in [
        "job totals, checkpoint 2 (incremental, on checkpoint 1)",
        "uploaded 5 bytes in 1 files",
        "reused 3 bytes in 1 files",
        "operator totals/aggregate/0 (aggregate)",
        "state totals: Aggregating, row version 1",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let pending = storage.begin(CheckpointId(3), &me, Some(&second), false).unwrap();
    let full = storage.commit(pending, manifest(CheckpointId(3), &me, vec![])).unwrap();
    assert!(Show::new(&full).to_string().contains("checkpoint 3 (full)"));
}

#[test]
fn a_checkpoint_that_is_not_there_is_told_with_those_that_are() {
    let dir = scratch();
    let way_out = |path: &str| {
        let error = open_checkpoint(&local(), dir.path().join(path).to_str().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error.way_out().unwrap_or_default().to_owned()
    };
    assert!(way_out("totals/chk-3").contains("correct the path"));
    checkpoint(&open(dir.path()), &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    assert_eq!(way_out("totals/chk-3"), "there are chk-1");
}
