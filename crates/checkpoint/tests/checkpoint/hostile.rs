//! Nothing is written, locked or deleted outside a checkpoint directory, and nothing is waited for, whatever lies in it
//! and whatever a manifest says.

use crate::support::*;
use headpond_checkpoint::manifest::{Manifest, SplitState};
use headpond_checkpoint::show::Show;
use headpond_checkpoint::verify::{Damage, verify};
use headpond_checkpoint::{SourceState, open_checkpoint};
use headpond_state::{CheckpointId, Error, ErrorKind, OperatorId, Result};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Writes a manifest that nobody of ours wrote, with a right hash.
fn write_manifest(dir: &Path, number: u64, manifest: &Manifest) {
    let directory = dir.join(JOB).join(format!("chk-{number}"));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("manifest.json"), manifest.encode().unwrap()).unwrap();
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn split(id: &str, rows: u64) -> SplitState {
    SplitState { rows, ..SplitState::unread(id) }
}

#[test]
fn a_manifest_with_a_right_hash_and_wrong_names_or_numbers_is_damaged() {
    let dir = scratch();
    let sound = checkpoint(&open(dir.path()), &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    let altered = |alter: &dyn Fn(&mut Manifest)| {
        let mut manifest = sound.clone();
        alter(&mut manifest);
        manifest
    };
    let file = |manifest: &mut Manifest, with: &dyn Fn(&mut headpond_state::StateFile)| {
        with(&mut manifest.operators[0].subtasks[0].state.as_mut().unwrap().files[0]);
    };
    let named = |name: &str| altered(&|manifest| file(manifest, &|file| file.name = name.to_owned()));
    let source = |splits: Vec<SplitState>| {
        altered(&|manifest| {
            manifest.sources = vec![SourceState { operator: OperatorId::new("t/source/0"), splits: splits.clone() }];
        })
    };
    let mut wrong: Vec<Manifest> =
        ["", "/etc/passwd", "../1.sst", "a/../../1.sst", "..\\1.sst", "1\0.sst", "a//b"].map(named).into();
    wrong.push(altered(&|manifest| file(manifest, &|file| file.length = u64::MAX)));
    wrong.push(altered(&|manifest| manifest.operators.push(manifest.operators[0].clone())));
    wrong.push(source(vec![split("a", 1), split("a", 2)]));
    wrong.push(source(vec![split("", 1)]));
    wrong.push(source(vec![split("a", u64::MAX), split("b", u64::MAX)]));
    for manifest in wrong {
        write_manifest(dir.path(), 1, &manifest);
        assert_eq!(Manifest::decode(&manifest.encode().unwrap()).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(open(dir.path()).load(CheckpointId(1)).unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(!verify(&local(), dir.path().to_str().unwrap()).unwrap().is_sound());
        assert_eq!(open(dir.path()).latest_verified().unwrap_err().kind(), ErrorKind::Corrupt);
    }
    write_manifest(dir.path(), 1, &source(vec![split("a", 1), split("b", 2)]));
    assert!(verify(&local(), dir.path().to_str().unwrap()).unwrap().is_sound());
}

#[test]
fn a_manifest_in_another_checkpoints_directory_is_damaged() {
    let dir = scratch();
    let storage = open(dir.path());
    let first = checkpoint(&storage, &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    let second = checkpoint(&storage, &attempt("a"), Some(&first), &files(&[("2.sst", "two")])).unwrap();
    drop(storage);
    write_manifest(dir.path(), 11, &first);
    let storage = open(dir.path());
    let listed = storage.list().unwrap();
    assert_eq!(listed.iter().map(|found| found.manifest.is_ok()).collect::<Vec<_>>(), [true, true, false]);
    let error = storage.load(CheckpointId(11)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("checkpoint 1") && error.to_string().contains("chk-11"), "{error}");
    let copy = dir.path().join(JOB).join("chk-11");
    assert_eq!(open_checkpoint(&local(), copy.to_str().unwrap()).unwrap_err().kind(), ErrorKind::Corrupt);
    let report = verify(&local(), dir.path().to_str().unwrap()).unwrap();
    assert!(matches!(&report.checkpoints[2].problems[..], [only] if matches!(only.damage, Damage::Manifest(_))));
    let recovered = storage.latest_verified().unwrap().unwrap();
    assert_eq!(recovered.manifest.checkpoint, second.checkpoint);
    assert_eq!(recovered.skipped.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [11]);
    // A whole directory under another name is that job's copy, as people make them.
    fs::rename(dir.path().join(JOB), dir.path().join("copy")).unwrap();
    fs::remove_dir_all(dir.path().join("copy/chk-11")).unwrap();
    assert!(verify(&local(), dir.path().join("copy").to_str().unwrap()).unwrap().is_sound());
}

#[test]
fn links_in_a_checkpoint_directory_are_not_followed() {
    for place in ["staging", "shared", "chk-1", "chk-7", "owner.lock", ""] {
        let dir = scratch();
        let root = dir.path().join("checkpoints");
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::write(elsewhere.join("precious"), "precious").unwrap();
        checkpoint(&open(&root), &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
        let place: std::path::PathBuf = root.join(JOB).join(place).components().collect();
        match place.is_dir() {
            true => fs::remove_dir_all(&place).unwrap(),
            false => fs::remove_file(&place).unwrap_or_default(),
        }
        let to_file = place.ends_with("owner.lock");
        symlink(if to_file { elsewhere.join("precious") } else { elsewhere.clone() }, &place).unwrap();
        let storage = open(&root);
        let error = storage.own(&attempt("b")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{place:?}: {error}");
        assert!(error.to_string().contains("symbolic link") && error.way_out().is_some(), "{error:?}");
        assert_eq!(storage.prune(Some(1), false).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(fs::read(elsewhere.join("precious")).unwrap(), b"precious");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
    }
}

#[test]
fn links_that_appear_while_a_job_runs_are_not_followed() {
    let dir = scratch();
    let root = dir.path().join("checkpoints");
    let elsewhere = dir.path().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    let storage = open(&root);
    let me = attempt("a");
    let first = checkpoint(&storage, &me, None, &files(&[("1.sst", "one")])).unwrap();
    // State files as links: deleted themselves, or replaced.
    let precious = elsewhere.join("precious");
    let file = shared_file(&root, first.files().next().unwrap());
    fs::rename(&file, &precious).unwrap();
    symlink(&precious, &file).unwrap();
    assert!(verify(&local(), root.to_str().unwrap()).unwrap().is_sound(), "what is read may be a link");
    let second = checkpoint(&storage, &me, None, &files(&[("2.sst", "two")])).unwrap();
    storage.collect(1).unwrap();
    assert!(!file.exists() && fs::read(&precious).unwrap() == b"one");
    for directory in ["shared", "staging"] {
        let directory = root.join(JOB).join(directory);
        fs::rename(&directory, dir.path().join("moved")).unwrap();
        symlink(&elsewhere, &directory).unwrap();
        let error = checkpoint(&storage, &me, Some(&second), &files(&[("3.sst", "three")])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1, "{directory:?}");
        fs::remove_file(&directory).unwrap();
        fs::rename(dir.path().join("moved"), &directory).unwrap();
    }
    checkpoint(&storage, &me, Some(&second), &files(&[("3.sst", "three")])).unwrap();
}

#[test]
fn the_checkpoint_directory_itself_may_be_a_link() {
    let dir = scratch();
    fs::create_dir(dir.path().join("large-disk")).unwrap();
    symlink(dir.path().join("large-disk"), dir.path().join("checkpoints")).unwrap();
    checkpoint(&open(&dir.path().join("checkpoints")), &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    assert!(dir.path().join("large-disk").join(JOB).join("chk-1/manifest.json").exists());
}

#[test]
fn what_is_no_file_is_damage_and_not_waited_for() {
    let dir = scratch();
    let storage = open(dir.path());
    let me = attempt("a");
    let first = checkpoint(&storage, &me, None, &files(&[("1.sst", "one")])).unwrap();
    checkpoint(&storage, &me, Some(&first), &files(&[("1.sst", "one"), ("2.sst", "two")])).unwrap();
    let third = checkpoint(&storage, &me, None, &files(&[("3.sst", "three")])).unwrap();
    drop(storage);
    let manifest = dir.path().join(JOB).join("chk-2/manifest.json");
    fs::remove_file(&manifest).unwrap();
    pipe(&manifest);
    let file = shared_file(dir.path(), third.files().next().unwrap());
    fs::remove_file(&file).unwrap();
    symlink("/dev/zero", &file).unwrap();
    let report = verify(&local(), dir.path().to_str().unwrap()).unwrap();
    let sound: Vec<bool> = report.checkpoints.iter().map(|found| found.problems.is_empty()).collect();
    assert_eq!(sound, [true, false, false]);
    assert!(report.to_string().contains("not a regular file"), "{report}");
    let recovered = open(dir.path()).latest_verified().unwrap().unwrap();
    assert_eq!(recovered.manifest.checkpoint, first.checkpoint);
    let lock = dir.path().join(JOB).join("owner.lock");
    fs::remove_file(&lock).unwrap();
    pipe(&lock);
    assert!(open(dir.path()).own(&me).unwrap_err().to_string().contains("not a regular file"));
}

#[test]
fn whoever_lost_the_lock_on_disk_commits_and_deletes_nothing() {
    type Steal = fn(&Path);
    let steals: [Steal; 4] = [
        |lock| fs::remove_file(lock).unwrap(),
        |lock| {
            fs::remove_file(lock).unwrap();
            fs::write(lock, "other (process 1)\n").unwrap();
        },
        // The same file, taken over where locks mean nothing.
        |lock| fs::write(lock, "other (process 1)\n").unwrap(),
        |lock| {
            fs::rename(lock, lock.with_extension("old")).unwrap();
            fs::copy(lock.with_extension("old"), lock).unwrap();
        },
    ];
    for (index, steal) in steals.into_iter().enumerate() {
        let dir = scratch();
        let storage = open(dir.path());
        let me = attempt("a");
        let first = checkpoint(&storage, &me, None, &files(&[("1.sst", "one")])).unwrap();
        checkpoint(&storage, &me, Some(&first), &files(&[("2.sst", "two")])).unwrap();
        steal(&dir.path().join(JOB).join("owner.lock"));
        let fenced = |result: Result<()>| {
            let error: Error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Fenced, "{index}: {error}");
        };
        fenced(checkpoint(&storage, &me, None, &files(&[("3.sst", "three")])).map(drop));
        fenced(storage.collect(1).map(drop));
        assert!(dir.path().join(JOB).join("chk-1/manifest.json").exists());
        assert!(!dir.path().join(JOB).join("chk-3/manifest.json").exists());
    }
}

#[test]
fn a_stopped_holder_whose_lock_was_removed_does_not_harm_who_took_over() {
    let dir = scratch();
    let (first, second) = (open(dir.path()), open(dir.path()));
    let (a, b) = (attempt("a"), attempt("b"));
    let base = checkpoint(&first, &a, None, &files(&[("1.sst", "one")])).unwrap();
    // The first is stopped in the middle of a checkpoint; somebody removes the lock, and the second goes on.
    let pending = first.begin(first.next_id().unwrap(), &a, Some(&base), true).unwrap();
    fs::remove_file(dir.path().join(JOB).join("owner.lock")).unwrap();
    second.own(&b).unwrap();
    let restored = second.latest_verified().unwrap().unwrap().manifest;
    let next = checkpoint(&second, &b, Some(&restored), &files(&[("1.sst", "one"), ("2.sst", "two")])).unwrap();
    let late = manifest(pending.id(), &a, vec![]);
    assert_eq!(first.commit(pending, late).unwrap_err().kind(), ErrorKind::Fenced);
    assert_eq!(first.collect(1).unwrap_err().kind(), ErrorKind::Fenced);
    assert_eq!(second.latest_verified().unwrap().unwrap().manifest, next);
    checkpoint(&second, &b, Some(&next), &files(&[("3.sst", "three")])).unwrap();
    assert!(verify(&local(), dir.path().to_str().unwrap()).unwrap().is_sound());
}

#[test]
fn what_people_see_of_a_manifest_is_printable() {
    let dir = scratch();
    let mut manifest = checkpoint(&open(dir.path()), &attempt("a"), None, &files(&[("1.sst", "one")])).unwrap();
    let hostile = "x\x1b[2J\r\n\u{9b}31m\u{202e}";
    manifest.job = hostile.into();
    manifest.headpond_version = hostile.into();
    manifest.key_group_hash = hostile.into();
    manifest.sources = vec![SourceState { operator: OperatorId::new(hostile), splits: vec![split(hostile, 1)] }];
    let operator = &mut manifest.operators[0];
    (operator.operator, operator.kind, operator.description) =
        (OperatorId::new(hostile), hostile.into(), hostile.into());
    let state = operator.subtasks[0].state.as_mut().unwrap();
    state.format = hostile.into();
    state.states[0].name = hostile.into();
    state.files[0].name = hostile.into();
    let shown = Show::new(&manifest).to_string();
    assert!(!shown.contains(['\x1b', '\r', '\u{9b}', '\u{202e}']) && shown.contains(r"x\u001b[2J\r\n"), "{shown}");
    assert_eq!(shown.matches('\n').count(), Show::new(&manifest).to_string().lines().count());
    fs::remove_file(shared(dir.path()).remove(0)).unwrap();
    write_manifest(dir.path(), 1, &manifest);
    let report = verify(&local(), dir.path().to_str().unwrap()).unwrap().to_string();
    assert!(report.contains("missing file") && !report.contains(['\x1b', '\r', '\u{9b}', '\u{202e}']), "{report:?}");
}
