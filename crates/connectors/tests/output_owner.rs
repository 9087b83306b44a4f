//! An output has one owner, knows who published to it, and misses no row.

mod support;

use arrow_schema::DataType::{Int64, Utf8};
use headpond_connectors::TableDescription;
use headpond_runtime::sink::{CheckpointRef, Committable, Sink, SinkJob};
use headpond_runtime::{ErrorKind, Result};
use headpond_state::{AttemptId, CheckpointId, Context, Remedy};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::files;
use support::sink;
use support::sinks::{Run, changes, input, job, published, visible};
use tempfile::tempdir;

fn table(directory: &Path) -> TableDescription {
    files(directory, "json", &[("k", Utf8), ("n", Int64)])
}

fn append_sink(table: &TableDescription) -> Arc<dyn Sink> {
    sink(table, &input(false)).expect("the table can be written")
}

/// A run that goes on from a checkpoint of another.
fn restored(attempt: &str, of: &str, checkpoint: u64) -> SinkJob {
    let of = AttemptId(of.to_owned());
    job(attempt).restored_from(CheckpointRef { attempt: of, checkpoint: CheckpointId(checkpoint) })
}

/// Takes an output over, as a run does at its start.
fn take_over(sink: &Arc<dyn Sink>, job: &SinkJob) -> Result<()> {
    sink.claim(job)?.take()?;
    sink.rewind(job, job.restored.as_ref().map(|restored| restored.checkpoint))
}

#[test]
fn a_second_run_is_refused_while_the_first_one_holds_the_output() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let mut first = append_sink(&table).claim(&job("a1"))?;
    first.take()?;
    // Another process has a sink of its own.
    let error = append_sink(&table).claim(&job("a2")).unwrap_err();
    assert_eq!((error.kind(), error.place(Context::Path)), (ErrorKind::Fenced, directory.path().to_str()));
    let process = format!("process {}", std::process::id());
    for told in ["job 'test'", "attempt a1", &process, "since", "without checkpoints"] {
        assert!(error.message().contains(told), "{told}: {error}");
    }
    drop(first);
    append_sink(&table).claim(&job("a2"))?.take()?;
    append_sink(&table).claim(&job("a3"))?.take()
}

#[test]
fn of_two_runs_that_begin_at_once_one_is_refused() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let (one, other) = (append_sink(&table), append_sink(&table));
    let (mut first, mut second) = (one.claim(&job("a1"))?, other.claim(&job("a2"))?);
    second.take()?;
    other.rewind(&job("a2"), None)?;
    assert_eq!(first.take().unwrap_err().kind(), ErrorKind::Fenced);
    // Nor does it take the output over once the other is done: it began when that one was there.
    drop(second);
    let error = first.take().unwrap_err();
    assert!(error.kind() == ErrorKind::Fenced && error.message().contains("attempt a2"), "{error}");
    Ok(())
}

#[test]
fn a_run_that_was_overtaken_where_there_are_no_locks_publishes_nothing() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let sink = append_sink(&table);
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1"]))?;
    let first = run.prepare(1, false)?;
    let mut other = Run::start("a2", &table, &append_sink(&table), 1, None, &[])?;
    other.write(&changes(&["+I b 2"]))?;
    other.checkpoint(1)?;
    let before = published(directory.path());
    let error = run.commit(1, &first).unwrap_err();
    assert!(error.kind() == ErrorKind::Fenced && error.message().contains("attempt a2"), "{error}");
    assert_eq!(published(directory.path()), before);
    Ok(())
}

#[test]
fn a_run_whose_staged_files_another_run_took_away_says_that_it_was_overtaken() -> Result<()> {
    let row = changes(&["+I a 1"]);
    for primary_key in [vec![], vec![0]] {
        // Held before its first file, while it writes one, and while that waits for its commit.
        for held in ["before", "writing", "prepared"] {
            let directory = tempdir().unwrap();
            let table = table(directory.path()).with_primary_key(primary_key.clone());
            let mut run = Run::start("a1", &table, &append_sink(&table), 1, None, &[])?;
            run.write(&row)?;
            run.checkpoint(1)?;
            if held != "before" {
                // More than is written at once.
                (0..if held == "writing" { 100_000 } else { 1 }).try_for_each(|_| run.write(&row))?;
            }
            let prepared = if held == "prepared" { Some(run.prepare(2, false)?) } else { None };
            Run::start("a2", &table, &append_sink(&table), 1, None, &[])?;
            let failed = match prepared {
                Some(prepared) => run.commit(2, &prepared),
                None => run.write(&row).and_then(|()| run.prepare(2, false)).map(drop),
            };
            // What is written after that is no rows of anybody's, and its commit finds out.
            let error = failed.and_then(|()| run.checkpoint(3).map(drop)).unwrap_err();
            assert!(error.kind() == ErrorKind::Fenced && error.message().contains("attempt a2"), "{held}: {error}");
            assert_eq!(published(directory.path()), Vec::<String>::new());
        }
    }
    Ok(())
}

/// Runs a job that publishes a row for each of its checkpoints.
fn publish(
    table: &TableDescription,
    job: &SinkJob,
    checkpoints: std::ops::RangeInclusive<u64>,
) -> Result<Vec<Vec<Committable>>> {
    let sink = append_sink(table);
    take_over(&sink, job)?;
    let restored = job.restored.as_ref().map_or(0, |restored| restored.checkpoint.0);
    let mut run = Run::resume(job, table, &sink, 1)?;
    checkpoints
        .map(|checkpoint| {
            assert!(checkpoint > restored);
            run.write(&changes(&[&format!("+I {} {checkpoint}", job.attempt)]))?;
            run.checkpoint(checkpoint)
        })
        .collect()
}

#[test]
fn a_checkpoint_is_refused_whose_rows_another_line_of_checkpoints_replaced() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let sink = append_sink(&table);
    let first = publish(&table, &job("a1"), 1..=3)?;
    publish(&table, &restored("a2", "a1", 3), 4..=6)?;
    // Any checkpoint of either is one of this output's.
    for (of, checkpoint) in [("a1", 1), ("a1", 3), ("a2", 4), ("a2", 6)] {
        sink.check_restored(&restored("a3", of, checkpoint), &first[0])?;
    }
    // Another directory's run goes on from checkpoint 2: what came behind it is gone.
    publish(&table, &restored("b1", "a1", 2), 4..=5)?;
    assert_eq!(visible(directory.path()), ["part-0-1.json", "part-0-2.json", "part-0-4.json", "part-0-5.json"]);
    for (of, checkpoint) in [("a1", 3), ("a2", 4), ("a2", 6)] {
        let job = restored("a4", of, checkpoint);
        for error in [sink.check_restored(&job, &[]), sink.check_staged(&job, CheckpointId(checkpoint), &[])] {
            let error = error.unwrap_err();
            assert_eq!(
                (error.kind(), error.place(Context::Path)),
                (ErrorKind::Incompatible, directory.path().to_str())
            );
            assert!(error.message().contains("attempt b1"), "{error}");
            assert!(error.remedies().contains(&Remedy::StartAnew), "{error:?}");
        }
    }
    for (of, checkpoint) in [("a1", 2), ("b1", 4), ("b1", 5)] {
        sink.check_restored(&restored("a4", of, checkpoint), &[])?;
    }
    // A run that starts anew takes back everything, and everyone's checkpoints.
    publish(&table, &job("c1"), 1..=1)?;
    assert_eq!(visible(directory.path()), ["part-0-1.json"]);
    let refused = sink.check_restored(&restored("a5", "a1", 1), &[]);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Incompatible);
    Ok(())
}

#[test]
fn an_output_of_an_earlier_release_is_gone_on_with() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let sink = append_sink(&table);
    let committables = publish(&table, &job("a1"), 1..=3)?;
    fs::remove_file(directory.path().join(".staging/owner.json")).unwrap();
    fs::remove_file(directory.path().join(".staging/owner.lock")).unwrap();
    let next = restored("a2", "a1", 3);
    sink.check_restored(&next, &committables[2])?;
    publish(&table, &next, 4..=4)?;
    // Who published up to 3 is not known for certain.
    sink.check_restored(&restored("a3", "a0", 2), &[])?;
    let refused = sink.check_restored(&restored("a3", "a0", 4), &[]);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Incompatible);
    Ok(())
}

/// The staged file of a run that was killed between commit and publication.
fn staged(directory: &Path, table: &TableDescription) -> Result<(Vec<Committable>, PathBuf)> {
    let sink = append_sink(table);
    let mut run = Run::start("a1", table, &sink, 1, None, &[])?;
    run.write(&changes(&["+I a 1", "+I b 2"]))?;
    let committables = run.prepare(1, false)?;
    Ok((committables, directory.join(".staging/a1/part-0-1.json")))
}

#[test]
fn a_staged_file_that_was_damaged_is_named_and_not_published() -> Result<()> {
    let flip = |bytes: &mut Vec<u8>| bytes[7] ^= 1;
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 1);
    let empty = |bytes: &mut Vec<u8>| bytes.clear();
    let longer = |bytes: &mut Vec<u8>| bytes.push(b'1');
    type Damage<'a> = &'a dyn Fn(&mut Vec<u8>);
    let damages: [Damage<'_>; 4] = [&flip, &cut, &empty, &longer];
    for damage in damages {
        let directory = tempdir().unwrap();
        let table = table(directory.path());
        let (committables, file) = staged(directory.path(), &table)?;
        let (sink, next) = (append_sink(&table), restored("a2", "a1", 1));
        sink.check_staged(&next, CheckpointId(1), &committables)?;
        let mut bytes = fs::read(&file).unwrap();
        damage(&mut bytes);
        fs::write(&file, bytes).unwrap();
        let error = sink.check_staged(&next, CheckpointId(1), &committables).unwrap_err();
        assert_eq!((error.kind(), error.place(Context::Path)), (ErrorKind::Corrupt, file.to_str()), "{error}");
    }
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let (committables, file) = staged(directory.path(), &table)?;
    fs::remove_file(&file).unwrap();
    let (sink, next) = (append_sink(&table), restored("a2", "a1", 1));
    let error = sink.check_staged(&next, CheckpointId(1), &committables).unwrap_err();
    assert_eq!((error.kind(), error.place(Context::Path)), (ErrorKind::Corrupt, file.to_str()), "{error}");
    Ok(())
}

#[test]
fn what_was_published_need_not_be_staged_and_old_committables_have_no_hash() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path());
    let (mut committables, _) = staged(directory.path(), &table)?;
    for committable in &mut committables {
        // Earlier releases named one file beside the directory.
        let data = committable.data.as_object_mut().unwrap();
        let files = data.remove("files").unwrap();
        data.insert("staged".to_owned(), files[0]["staged"].clone());
    }
    let (sink, next) = (append_sink(&table), restored("a2", "a1", 1));
    sink.check_staged(&next, CheckpointId(1), &committables)?;
    take_over(&sink, &next)?;
    for _ in 0..2 {
        sink.commit(&next, CheckpointId(1), &committables)?;
        assert_eq!(published(directory.path()).len(), 2);
    }
    // Whoever reads the results may take them away.
    fs::remove_file(directory.path().join("part-0-1.json")).unwrap();
    sink.check_staged(&restored("a3", "a1", 1), CheckpointId(1), &committables)
}
