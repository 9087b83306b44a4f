//! A sink touches nothing outside its directory, whatever a checkpoint's manifest says and whatever lies in the
//! directory.

mod support;

use arrow_schema::DataType::{Int64, Utf8};
use headpond_connectors::TableDescription;
use headpond_runtime::sink::{Committable, Sink};
use headpond_runtime::{ErrorKind, Result};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::files;
use support::sink;
use support::sinks::{Run, changes, input, job, published, visible};
use tempfile::{TempDir, tempdir};

/// A directory to write to, beside a file and a directory that nobody may touch.
struct Output {
    dir: TempDir,
    table: TableDescription,
    sink: Arc<dyn Sink>,
}

impl Output {
    /// `keyed`: a table with a primary key, whose files replace each other.
    fn new(keyed: bool) -> Self {
        let dir = tempdir().expect("the test can use its files");
        fs::create_dir_all(dir.path().join("elsewhere/a1")).expect("the test can use its files");
        fs::write(dir.path().join("elsewhere/precious"), "precious").expect("the test can use its files");
        fs::write(dir.path().join("elsewhere/a1/part-0-1.json"), "precious").expect("the test can use its files");
        fs::create_dir(dir.path().join("out")).expect("the test can use its files");
        let mut table = files(&dir.path().join("out"), "json", &[("k", Utf8), ("n", Int64)]);
        if keyed {
            table.primary_key = vec![0];
        }
        let sink = sink(&table, &input(false)).expect("a good table");
        Output { dir, table, sink }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn elsewhere(&self) -> PathBuf {
        self.dir.path().join("elsewhere")
    }

    /// A committed checkpoint 1 with a row, and what it has to commit.
    fn committed(&self) -> Vec<Committable> {
        let mut run = self.run("a1", None).expect("the test can use its files");
        run.write(&changes(&["+I a 1"])).expect("the test can use its files");
        run.checkpoint(1).expect("the test can use its files")
    }

    fn run(&self, attempt: &str, restored: Option<(u64, &[Committable])>) -> Result<Run> {
        Run::start(attempt, &self.table, &self.sink, 1, restored, &[])
    }

    #[track_caller]
    fn assert_untouched(&self) {
        assert_eq!(fs::read(self.elsewhere().join("precious")).expect("the test can use its files"), b"precious");
        assert_eq!(
            fs::read(self.elsewhere().join("a1/part-0-1.json")).expect("the test can use its files"),
            b"precious"
        );
        assert_eq!(fs::read_dir(self.elsewhere()).expect("the test can use its files").count(), 2);
    }
}

#[test]
fn a_committable_names_its_own_staged_file_or_is_refused() {
    for keyed in [false, true] {
        let output = Output::new(keyed);
        let sound = output.committed();
        let before = visible(&output.path());
        let own = sound[0].data["files"][0]["staged"]
            .as_str()
            .expect("the test can use its files")
            .rsplit_once('/')
            .expect("the test can use its files")
            .1
            .to_owned();
        let elsewhere = output.elsewhere();
        let absolute = elsewhere.join("precious");
        let names = [
            absolute.to_str().expect("the test can use its files").to_owned(),
            elsewhere.join("a1").join(&own).to_str().expect("the test can use its files").to_owned(),
            "../../elsewhere/precious".to_owned(),
            format!("../../elsewhere/a1/{own}"),
            format!("../{own}"),
            format!("./{own}"),
            format!("a1/../a1/{own}"),
            format!("a1//{own}"),
            format!("/{own}"),
            "a1/open-0-0".to_owned(),
            format!("a1/{}", own.replace("-0-", "-1-")),
            format!("a1\\..\\..\\{own}"),
            format!("a1\0/{own}"),
            own.clone(),
            "../_headpond.json".to_owned(),
            String::new(),
        ];
        for name in names {
            let mut altered = sound.clone();
            altered[0].data["files"][0]["staged"] = name.clone().into();
            for error in [
                output.sink.check_restored(&job("a2"), &altered).unwrap_err(),
                output.run("a2", Some((1, &altered))).unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{name:?}: {error}");
                assert!(error.way_out().is_some(), "{error}");
                assert!(!error.to_string().contains('\0'), "{error}");
            }
            output.assert_untouched();
            assert_eq!(visible(&output.path()), before);
        }
        output.run("a3", Some((1, &sound))).expect("the test can use its files");
    }
}

#[test]
fn two_files_of_a_worker_for_one_checkpoint_are_refused() {
    for keyed in [false, true] {
        let output = Output::new(keyed);
        let mut committables = output.committed();
        committables.push(committables[0].clone());
        let error = output.run("a2", Some((1, &committables))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(published(&output.path()), [r#"{"k":"a","n":1}"#]);
    }
}

/// Puts a link in a place and sees that a run is refused or does without, but leaves what it leads to alone.
fn with_link(place: &str, target: &str, refused: bool) {
    for keyed in [false, true] {
        let output = Output::new(keyed);
        let sound = output.committed();
        let place = output.path().join(place);
        if place.is_dir() {
            fs::remove_dir_all(&place).expect("the test can use its files");
        } else {
            fs::remove_file(&place).ok();
        }
        symlink(output.dir.path().join(target), &place).expect("the test can use its files");
        let run = output.run("a2", Some((1, &sound)));
        output.assert_untouched();
        match run {
            Err(error) => {
                assert!(refused, "{place:?}: {error}");
                assert!(error.to_string().contains("symbolic link"), "{error}");
                assert!(error.way_out().is_some(), "{error}");
            }
            Ok(mut run) => {
                assert!(!refused, "{place:?}");
                run.write(&changes(&["+I a 1", "+I b 2"])).expect("the test can use its files");
                run.checkpoint(2).expect("the test can use its files");
                assert!(published(&output.path()).contains(&r#"{"k":"b","n":2}"#.to_owned()));
            }
        }
        output.assert_untouched();
    }
}

#[test]
fn links_in_the_directory_are_not_followed() {
    with_link(".staging", "elsewhere", true);
    with_link("_headpond.json", "elsewhere/precious", true);
    with_link(".staging/committed", "elsewhere/precious", true);
    with_link(".staging/draft", "elsewhere/precious", false);
    with_link(".staging/probe-a2", "elsewhere/precious", false);
    with_link(".staging/a1", "elsewhere/a1", true);
    with_link("part-0-2.json", "elsewhere/precious", false);
}

#[test]
fn a_link_that_appears_while_the_job_runs_is_not_followed() {
    let output = Output::new(false);
    let mut run = output.run("a1", None).expect("the test can use its files");
    run.write(&changes(&["+I a 1"])).expect("the test can use its files");
    run.checkpoint(1).expect("the test can use its files");
    fs::remove_dir_all(output.path().join(".staging")).expect("the test can use its files");
    symlink(output.elsewhere(), output.path().join(".staging")).expect("the test can use its files");
    run.write(&changes(&["+I b 2"])).expect("the test can use its files");
    assert_eq!(run.checkpoint(2).unwrap_err().kind(), ErrorKind::Invalid);
    output.assert_untouched();
}

#[test]
fn the_directory_itself_may_be_a_link() {
    let output = Output::new(false);
    let link = output.dir.path().join("link");
    symlink(output.path(), &link).expect("the test can use its files");
    let table = files(&link, "json", &[("k", Utf8), ("n", Int64)]);
    let sink = sink(&table, &input(false)).expect("the test can use its files");
    let mut run = Run::start("a1", &table, &sink, 1, None, &[]).expect("the test can use its files");
    run.write(&changes(&["+I a 1"])).expect("the test can use its files");
    run.checkpoint(1).expect("the test can use its files");
    assert_eq!(published(&output.path()), [r#"{"k":"a","n":1}"#]);
}

#[test]
fn a_marker_that_is_no_file_is_not_waited_for() {
    for marker in ["_headpond.json", ".staging/committed"] {
        let output = Output::new(false);
        let sound = output.committed();
        fs::remove_file(output.path().join(marker)).expect("the test can use its files");
        mkfifo(&output.path().join(marker));
        let error = output.run("a2", Some((1, &sound))).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
}

fn mkfifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("the test can use its files");
    assert!(made.success());
}
