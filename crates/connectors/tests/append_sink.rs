//! Rows of a table without primary key are written once each, whatever happens.

mod support;

use arrow_schema::DataType::{Int64, Utf8};
use headpond_connectors::TableDescription;
use headpond_runtime::sink::Sink;
use headpond_runtime::{ErrorKind, Result};
use headpond_state::{Context, Remedy};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use support::files;
use support::sink;
use support::sinks::{Run, changes, input, job, published, staged, visible};
use tempfile::tempdir;

fn table(path: &Path) -> TableDescription {
    files(path, "json", &[("k", Utf8), ("n", Int64)])
}

fn append_sink(table: &TableDescription) -> Arc<dyn Sink> {
    sink(table, &input(false)).expect("a good table")
}

#[test]
fn files_appear_at_the_commit_and_stay() -> Result<()> {
    let directory = tempdir().unwrap();
    let path = directory.path().join("out");
    let table = table(&path);
    let sink = append_sink(&table);
    let mut run = Run::start("a1", &table, &sink, 2, None, &[])?;
    run.write(&changes(&["+I a 1", "+I b 2", "+I c 3"]))?;
    let committables = run.prepare(1, false)?;
    assert_eq!(visible(&path), Vec::<String>::new());
    run.commit(1, &committables)?;
    assert_eq!(visible(&path), ["part-0-1.json", "part-1-1.json"]);
    assert!(run.checkpoint(2)?.iter().all(|committable| committable.data.get("files").is_none()));
    run.write(&changes(&["+I NULL x"]))?;
    run.checkpoint(3)?;
    assert_eq!(
        published(&path),
        [r#"{"k":"a","n":1}"#, r#"{"k":"b","n":2}"#, r#"{"k":"c","n":3}"#, r#"{"k":null,"n":null}"#]
    );
    Ok(())
}

#[test]
fn a_crash_before_the_manifest_leaves_nothing() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let sink = append_sink(&table);
    let mut run = Run::start("a1", &table, &sink, 2, None, &[])?;
    run.write(&changes(&["+I a 1"]))?;
    let first = run.checkpoint(1)?;
    run.write(&changes(&["+I b 2", "+I c 3"]))?;
    run.prepare(2, false)?;
    run.write(&changes(&["+I d 4"]))?;
    drop(run);

    let mut run = Run::start("a2", &table, &sink, 1, Some((1, &first)), &[])?;
    assert_eq!(staged(directory.path()), 0);
    run.write(&changes(&["+I b 2", "+I c 3"]))?;
    run.checkpoint(2)?;
    assert_eq!(published(directory.path()), [r#"{"k":"a","n":1}"#, r#"{"k":"b","n":2}"#, r#"{"k":"c","n":3}"#]);
    Ok(())
}

#[test]
fn a_crash_between_manifest_and_commit_is_made_good_by_the_next_run() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let sink = append_sink(&table);
    let mut run = Run::start("a1", &table, &sink, 2, None, &[])?;
    run.write(&changes(&["+I a 1", "+I b 2"]))?;
    let committables = run.prepare(1, false)?;
    // Half of the commit had happened.
    run.commit(1, &committables[..1])?;
    drop(run);

    for attempt in ["a2", "a3"] {
        Run::start(attempt, &table, &sink, 1, Some((1, &committables)), &[])?;
        assert_eq!(published(directory.path()), [r#"{"k":"a","n":1}"#, r#"{"k":"b","n":2}"#]);
        assert_eq!(staged(directory.path()), 0);
    }
    Ok(())
}

#[test]
fn what_an_aborted_checkpoint_prepared_comes_with_the_next() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let sink = append_sink(&table);
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1"]))?;
    let mut committables = run.prepare(1, false)?;
    run.write(&changes(&["+I b 2"]))?;
    committables.extend(run.prepare(2, false)?);
    run.commit(2, &committables)?;
    assert_eq!(visible(directory.path()), ["part-0-1.json", "part-0-2.json"]);
    Ok(())
}

#[test]
fn falling_back_takes_later_files_back_and_nothing_else() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let sink = append_sink(&table);
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1"]))?;
    let first = run.checkpoint(1)?;
    run.write(&changes(&["+I b 2"]))?;
    run.checkpoint(2)?;
    drop(run);
    for foreign in ["notes.txt", "part-0-2.csv", "part-0-02.json", "apart-0-2.json"] {
        fs::write(directory.path().join(foreign), "").unwrap();
    }

    Run::start("a2", &table, &sink, 1, Some((1, &first)), &[])?;
    assert_eq!(
        visible(directory.path()),
        ["apart-0-2.json", "notes.txt", "part-0-02.json", "part-0-1.json", "part-0-2.csv"]
    );
    Run::start("a3", &table, &sink, 1, None, &[])?;
    assert_eq!(visible(directory.path()), ["apart-0-2.json", "notes.txt", "part-0-02.json", "part-0-2.csv"]);
    Ok(())
}

#[test]
fn a_file_that_a_reader_took_away_is_not_missed() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let sink = append_sink(&table);
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1"]))?;
    let first = run.checkpoint(1)?;
    fs::remove_file(directory.path().join("part-0-1.json")).unwrap();
    Run::start("a2", &table, &sink, 1, Some((1, &first)), &[])?;
    Ok(())
}

#[test]
fn prepared_rows_that_another_run_took_back_are_missed() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let sink = append_sink(&table);
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1"]))?;
    let committables = run.prepare(1, false)?;
    // It began before the first run's manifest was there.
    Run::start("a2", &table, &sink, 1, None, &[])?;
    assert_eq!(run.commit(1, &committables).unwrap_err().kind(), ErrorKind::Fenced);
    let restored = Run::start("a3", &table, &sink, 1, Some((1, &committables)), &[]);
    assert_eq!(restored.unwrap_err().kind(), ErrorKind::Corrupt);
    Ok(())
}

#[test]
fn rows_of_a_checkpoint_are_not_published_into_another_directory() -> Result<()> {
    let directory = tempdir().unwrap();
    let before = table(&directory.path().join("before"));
    let mut run = Run::start("a1", &before, &append_sink(&before), 1, None, &[])?;
    run.write(&changes(&["+I a 1"]))?;
    let first = run.checkpoint(1)?;
    let without_rows = run.checkpoint(2)?;
    drop(run);

    let after = table(&directory.path().join("after"));
    for (attempt, checkpoint, committables) in [("a2", 1, &first), ("a3", 1, &first), ("a3", 2, &without_rows)] {
        let restored = Some((checkpoint, &committables[..]));
        let error = Run::start(attempt, &after, &append_sink(&after), 1, restored, &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Incompatible, "{error}");
        assert!(error.message().contains("before"), "{error}");
        assert!(error.place(Context::Path).unwrap().ends_with("after"), "{error}");
    }

    // The directory itself may be given another name.
    fs::rename(directory.path().join("before"), directory.path().join("renamed")).unwrap();
    let renamed = table(&directory.path().join("renamed"));
    Run::start("a4", &renamed, &append_sink(&renamed), 1, Some((2, &without_rows)), &[])?;
    assert_eq!(visible(&directory.path().join("renamed")), ["part-0-1.json"]);
    Ok(())
}

#[test]
fn a_directory_that_is_removed_while_the_job_runs_is_missed() -> Result<()> {
    let directory = tempdir().unwrap();
    let path = directory.path().join("out");
    let table = table(&path);
    let sink = append_sink(&table);
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1"]))?;
    let first = run.checkpoint(1)?;
    fs::remove_dir_all(&path).unwrap();
    run.write(&changes(&["+I b 2"]))?;
    let removed = run.checkpoint(2).unwrap_err();
    drop(run);
    let still_removed = Run::start("a2", &table, &sink, 1, Some((1, &first)), &[]).unwrap_err();
    for error in [removed, still_removed] {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains("removed"), "{error}");
        assert_eq!(error.remedies(), [Remedy::StartAnew], "{error:?}");
    }
    Run::start("a3", &table, &sink, 1, None, &[])?;
    Ok(())
}

#[test]
fn a_changing_result_says_how() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = files(directory.path(), "csv", &[("k", Utf8), ("n", Int64)]).with_option("csv.header", "true");
    let sink = sink(&table, &input(true))?;
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1", "-U a 1", "+U a 2", "-D a 2"]))?;
    run.checkpoint(1)?;
    let text = fs::read_to_string(directory.path().join("part-0-1.csv")).unwrap();
    assert_eq!(text, "op,k,n\n+I,a,1\n-U,a,1\n+U,a,2\n-D,a,2\n");
    Ok(())
}

#[test]
fn a_changing_result_needs_the_name_op_for_itself() {
    let directory = tempdir().unwrap();
    let table = files(directory.path(), "json", &[("op", Utf8)]);
    assert_eq!(sink(&table, &input(true)).unwrap_err().place(Context::Column), Some("op"));
    assert!(sink(&table, &input(false)).is_ok());
}

#[test]
fn another_job_or_insert_may_not_write_here() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    Run::start("a1", &table, &append_sink(&table), 1, None, &[])?;
    let mut other = job("a2");
    other.job = "other".to_owned();
    let error = append_sink(&table).check(&other).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.message().contains("'test'"), "{error}");
    let mut second = input(false);
    second.insert = "u".to_owned();
    let error = sink(&table, &second)?.check(&job("a2")).unwrap_err();
    assert!(error.way_out().unwrap().contains("UNION ALL"), "{error:?}");
    Ok(())
}

#[test]
fn files_of_our_names_that_are_not_ours_stop_the_job() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("part-0-1.json"), "precious").unwrap();
    let error = append_sink(&table(directory.path())).check(&job("a1")).unwrap_err();
    assert!(error.place(Context::Path).unwrap().ends_with("part-0-1.json"), "{error}");
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = append_sink(&table(&file)).check(&job("a1")).unwrap_err();
    assert_eq!((error.kind(), error.place(Context::Path)), (ErrorKind::Invalid, file.to_str()), "{error}");

    let locked = directory.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::create_dir(locked.join("probe")).is_ok() {
        eprintln!("skipped: this user may write anywhere");
        return;
    }
    let error = append_sink(&table(&locked)).check(&job("a1")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}
