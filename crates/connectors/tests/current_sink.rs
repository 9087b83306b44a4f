//! A table with a primary key has its current rows in files.

mod support;

use arrow_schema::DataType::{Int64, Utf8};
use headpond_connectors::{SinkInput, TableDescription};
use headpond_runtime::Result;
use headpond_runtime::sink::{Sink, SinkSetup};
use headpond_state::MaxParallelism;
use std::path::Path;
use std::sync::Arc;
use support::files;
use support::sink;
use support::sinks::{Run, changes, input, job, new_state, published, staged, visible};
use tempfile::tempdir;

fn current(path: &Path) -> (TableDescription, Arc<dyn Sink>) {
    let table = files(path, "csv", &[("k", Utf8), ("n", Int64)]).with_primary_key([0]);
    let sink = sink(&table, &input(true)).expect("a good table");
    (table, sink)
}

#[test]
fn a_newer_snapshot_replaces_the_older() -> Result<()> {
    let directory = tempdir().unwrap();
    let (table, sink) = current(directory.path());
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1", "+I b 2", "+I c 3"]))?;
    run.checkpoint(1)?;
    run.write(&changes(&["-U a 1", "+U a 5", "-D c 3"]))?;
    assert_eq!(published(directory.path()), ["a,1", "b,2", "c,3"]);
    run.checkpoint(2)?;
    assert_eq!(published(directory.path()), ["a,5", "b,2"]);
    assert_eq!(visible(directory.path()), ["current-0-2.csv"]);
    Ok(())
}

#[test]
fn rows_that_are_only_inserted_replace_those_of_their_key_too() -> Result<()> {
    let directory = tempdir().unwrap();
    let (table, _) = current(directory.path());
    let sink = sink(&table, &input(false))?;
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1", "+I a 2"]))?;
    run.checkpoint(1)?;
    assert_eq!(published(directory.path()), ["a,2"]);
    Ok(())
}

#[test]
fn rows_of_a_key_come_and_go_in_any_order() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = files(directory.path(), "csv", &[("k", Utf8), ("n", Int64)]).with_primary_key([0]);
    let sink = sink(&table, &SinkInput { upsert: false, ..input(true) })?;
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1", "+I b 1", "+I c 1"]))?;
    // The new row comes before the old one goes; a row goes that was never current; one comes back.
    run.write(&changes(&["+I a 2", "-D a 1", "+I b 2", "-D b 2", "+I c 2"]))?;
    run.checkpoint(1)?;
    assert_eq!(published(directory.path()), ["a,2", "b,1", "c,2"]);
    run.write(&changes(&["-D c 2", "-U a 2", "+U a 3", "-D b 1"]))?;
    run.checkpoint(2)?;
    assert_eq!(published(directory.path()), ["a,3", "c,1"]);
    Ok(())
}

#[test]
fn no_order_of_changes_loses_a_row() -> Result<()> {
    let mut random = 7u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for round in 0..20 {
        let directory = tempdir().unwrap();
        let table = files(directory.path(), "csv", &[("k", Utf8), ("n", Int64)]).with_primary_key([0]);
        let sink = sink(&table, &SinkInput { upsert: false, ..input(true) })?;
        let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
        // Each row of `lives` comes and goes in order; which row is next is random.
        let mut lives: Vec<(String, bool)> =
            (0..30).map(|_| (format!("{} {}", ["a", "b", "c"][next(3) as usize], next(6)), next(4) > 0)).collect();
        let mut coming: Vec<usize> = (0..lives.len()).collect();
        let mut going = Vec::new();
        let mut alive: Vec<String> = Vec::new();
        while !coming.is_empty() || !going.is_empty() {
            let comes = going.is_empty() || !coming.is_empty() && next(2) == 0;
            let from = if comes { &mut coming } else { &mut going };
            let life = from.swap_remove(next(from.len() as u64) as usize);
            let (row, goes) = lives[life].clone();
            run.write(&changes(&[&format!("{} {row}", if comes { "+I" } else { "-D" })]))?;
            if comes {
                alive.push(row);
                if goes {
                    going.push(life);
                }
            } else {
                let index = alive.iter().position(|known| *known == row).expect("a row that has come");
                alive.remove(index);
                lives[life].1 = false;
            }
        }
        run.checkpoint(1)?;
        let keys =
            |rows: &[String]| rows.iter().map(|row| row[..1].to_owned()).collect::<std::collections::BTreeSet<_>>();
        let given = published(directory.path());
        assert_eq!(keys(&given), keys(&alive), "round {round}");
        for row in &given {
            assert!(alive.contains(&row.replace(',', " ")), "round {round}: {row} is not one of {alive:?}");
        }
    }
    Ok(())
}

#[test]
fn nothing_is_written_when_nothing_changed() -> Result<()> {
    let directory = tempdir().unwrap();
    let (table, sink) = current(directory.path());
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1"]))?;
    run.checkpoint(1)?;
    assert!(run.checkpoint(2)?.iter().all(|committable| committable.data.get("files").is_none()));
    assert_eq!(visible(directory.path()), ["current-0-1.csv"]);
    Ok(())
}

#[test]
fn a_crash_between_manifest_and_commit_is_made_good_by_the_next_run() -> Result<()> {
    let directory = tempdir().unwrap();
    let (table, sink) = current(directory.path());
    let history = ["+I a 1", "+I b 2", "+I c 3", "+I d 4", "+I e 5"];
    let mut run = Run::start("a1", &table, &sink, 2, None, &[])?;
    run.write(&changes(&history[..3]))?;
    run.checkpoint(1)?;
    run.write(&changes(&history[3..]))?;
    let second = run.prepare(2, false)?;
    drop(run);

    Run::start("a2", &table, &sink, 2, Some((2, &second)), &history)?;
    assert_eq!(published(directory.path()), ["a,1", "b,2", "c,3", "d,4", "e,5"]);
    assert_eq!(staged(directory.path()), 0);
    Ok(())
}

#[test]
fn another_parallelism_replaces_all_files() -> Result<()> {
    let directory = tempdir().unwrap();
    let (table, sink) = current(directory.path());
    let history = ["+I a 1", "+I b 2", "+I c 3", "+I d 4"];
    let mut run = Run::start("a1", &table, &sink, 4, None, &[])?;
    run.write(&changes(&history))?;
    let first = run.checkpoint(1)?;
    drop(run);

    for (attempt, parallelism, checkpoint) in [("a2", 1, 2), ("a3", 3, 3)] {
        let mut run = Run::start(attempt, &table, &sink, parallelism, Some((1, &first)), &history)?;
        run.write(&changes(&["+U a 9"]))?;
        run.checkpoint(checkpoint)?;
        assert_eq!(published(directory.path()), ["a,9", "b,2", "c,3", "d,4"]);
        assert_eq!(visible(directory.path()).len(), parallelism);
    }
    Ok(())
}

#[test]
fn after_falling_back_the_next_commit_is_exact() -> Result<()> {
    let directory = tempdir().unwrap();
    let (table, sink) = current(directory.path());
    let mut run = Run::start("a1", &table, &sink, 2, None, &[])?;
    run.write(&changes(&["+I a 1", "+I b 2"]))?;
    let first = run.checkpoint(1)?;
    run.write(&changes(&["+I z 26", "+U a 7"]))?;
    run.checkpoint(2)?;
    drop(run);

    let mut run = Run::start("a2", &table, &sink, 2, Some((1, &first)), &["+I a 1", "+I b 2"])?;
    run.checkpoint(3)?;
    assert_eq!(published(directory.path()), ["a,1", "b,2"]);
    Ok(())
}

#[test]
fn falling_back_while_both_snapshots_are_there_takes_the_later_back() -> Result<()> {
    let directory = tempdir().unwrap();
    let (table, sink) = current(directory.path());
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1"]))?;
    let first = run.checkpoint(1)?;
    let kept = std::fs::read(directory.path().join("current-0-1.csv")).unwrap();
    run.write(&changes(&["+U a 7"]))?;
    run.checkpoint(2)?;
    drop(run);
    // As if the crash had come before the commit removed the older file.
    std::fs::write(directory.path().join("current-0-1.csv"), kept).unwrap();

    Run::start("a2", &table, &sink, 1, Some((1, &first)), &["+I a 1"])?;
    assert_eq!(published(directory.path()), ["a,1"]);
    Ok(())
}

#[test]
fn a_job_that_starts_anew_has_no_rows_yet() -> Result<()> {
    let directory = tempdir().unwrap();
    let (table, sink) = current(directory.path());
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1"]))?;
    run.checkpoint(1)?;
    drop(run);
    Run::start("a2", &table, &sink, 1, None, &[])?;
    assert_eq!(visible(directory.path()), Vec::<String>::new());
    Ok(())
}

#[test]
fn of_what_aborted_checkpoints_prepared_only_the_newest_counts() -> Result<()> {
    let directory = tempdir().unwrap();
    let (table, sink) = current(directory.path());
    let mut run = Run::start("a1", &table, &sink, 2, None, &[])?;
    run.write(&changes(&["+I a 1", "+I b 2", "+I c 3"]))?;
    let mut committables = run.prepare(1, false)?;
    run.write(&changes(&["+U a 7"]))?;
    committables.extend(run.prepare(2, false)?);
    run.commit(2, &committables)?;
    assert_eq!(published(directory.path()), ["a,7", "b,2", "c,3"]);
    assert_eq!(visible(directory.path()).len(), 2);
    assert_eq!(staged(directory.path()), 0);
    Ok(())
}

#[test]
fn lines_of_another_format_are_not_mixed_in() -> Result<()> {
    let directory = tempdir().unwrap();
    let (csv, _) = current(directory.path());
    let mut state = new_state(0, 1)?;
    let mut open = |table: &TableDescription| {
        let setup = SinkSetup {
            job: &job("a1"),
            subtask: 0,
            parallelism: 1,
            max_parallelism: MaxParallelism::DEFAULT,
            schema: table.schema.clone(),
            state: Some(&mut *state),
        };
        sink(table, &input(true))?.open(setup).map(drop)
    };
    open(&csv)?;
    open(&csv.clone().with_option("csv.header", "true"))?;
    open(&csv.with_option("csv.field-delimiter", "|")).unwrap_err();
    Ok(())
}
