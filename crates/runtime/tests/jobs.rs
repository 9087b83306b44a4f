//! Jobs from beginning to end: totals, windows, restarts, rescaling, failures.

mod support;

use headpond_runtime::*;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use support::*;

#[test]
fn totals_are_right_with_any_number_of_workers_in_threads_and_over_serialized_channels() {
    for (parallelism, serialized_channels) in [(1, false), (2, false), (4, false), (2, true), (3, true)] {
        let dir = tempfile::tempdir().expect("a directory");
        let sink = Collected::default();
        let options = JobOptions { serialized_channels, ..options(dir.path(), parallelism) };
        let ending = run(totals(Numbers::new(3, 50_000, 1000), None, &sink), options).expect("the job runs");
        assert_eq!(ending, Ending::Finished);
        assert_eq!(
            sink.current(),
            expected(3, 50_000, 1000),
            "{parallelism} workers, serialized {serialized_channels}"
        );
    }
}

#[test]
fn a_job_without_checkpoints_publishes_once_at_its_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = Collected::default();
    run(totals(Numbers::new(1, 1000, 10), None, &sink), options(dir.path(), 2)).expect("the job runs");
    assert_eq!(sink.commits.load(Ordering::SeqCst), 1);
}

#[test]
fn a_finished_job_says_so_and_is_not_run_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = Collected::default();
    run(totals(Numbers::new(1, 1000, 10), None, &sink), checkpointed(dir.path(), 1)).expect("the job runs");
    let before = sink.changes();
    let job = Job::prepare(totals(Numbers::new(1, 1000, 10), None, &sink), checkpointed(dir.path(), 1));
    let job = job.expect("the job can be prepared");
    assert!(job.is_finished());
    assert_eq!(job.run(JobControl::new(), Arc::default()).expect("nothing to do"), Ending::Finished);
    assert_eq!(sink.changes(), before);
}

#[test]
fn a_job_that_failed_goes_on_from_its_last_checkpoint_with_other_workers() {
    for (before, after) in [(1, 1), (2, 3), (4, 2)] {
        let dir = tempfile::tempdir().expect("a directory");
        let sink = Collected::default();
        let fails_after = sink.commits.clone();
        let failing = Numbers { fails_at: 120_000, fails_after, ..Numbers::new(2, 200_000, 777) };
        let error = run(totals(failing, None, &sink), checkpointed(dir.path(), before)).expect_err("planted");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
        let job = Job::prepare(totals(Numbers::new(2, 200_000, 777), None, &sink), checkpointed(dir.path(), after));
        let job = job.expect("the job can be prepared");
        let restored = job.restoration().expect("there is a checkpoint");
        assert!(restored.rows_read() > 0 && restored.rows_read() <= 240_000);
        job.run(JobControl::new(), Arc::default()).expect("the job runs");
        assert_eq!(sink.current(), expected(2, 200_000, 777), "{before} then {after} workers");
    }
}

#[test]
fn a_stopped_job_takes_a_checkpoint_and_closes_no_window() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = Collected::default();
    let endless = Numbers { unbounded: true, ..Numbers::new(1, 10_000, 10) };
    let graph = totals(endless, Some(4000), &sink);
    let ending = run_until(graph, checkpointed(dir.path(), 2), |metrics| metrics.rows_read() == 10_000);
    assert_eq!(ending.expect("the job stops"), Ending::Stopped);
    assert_eq!(sink.changes().len(), 20, "two of three windows have closed");
    run(totals(Numbers::new(1, 10_000, 10), Some(4000), &sink), checkpointed(dir.path(), 1)).expect("the job runs");
    assert_eq!(sink.changes().len(), 30, "the end closes the third");
    assert_eq!(sink.changes().iter().map(|(_, row)| row[1]).sum::<i64>(), 10_000);
}

#[test]
fn one_tick_that_closes_very_many_windows_reaches_the_sink_in_pieces() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = Collected::default();
    let graph = totals(Numbers::new(1, 300_000, 300_000), Some(1_000_000), &sink);
    run(graph, options(dir.path(), 1)).expect("the job runs");
    assert_eq!(sink.changes().len(), 300_000);
    assert!(sink.largest_call.load(Ordering::SeqCst) <= 65_536);
}

#[test]
fn a_changed_graph_that_does_not_match_its_checkpoint_is_refused_by_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = Collected::default();
    let failing = Numbers { fails_at: 50_000, fails_after: sink.commits.clone(), ..Numbers::new(1, 80_000, 7) };
    run(totals(failing, None, &sink), checkpointed(dir.path(), 1)).expect_err("planted");
    let source = Numbers::new(1, 80_000, 7);
    let mut graph = JobGraph::new();
    let input = graph.add(Node {
        id: headpond_state::OperatorId::new("out/source/0"),
        description: "numbers".to_owned(),
        schema: schema(&["k", "v", "ts"]),
        kind: NodeKind::Source(SourceNode { source: Arc::new(source), watermarks: None, row_watermark: false }),
    });
    graph.add(Node {
        id: headpond_state::OperatorId::new("out/sink/0"),
        description: "collected".to_owned(),
        schema: schema(&["k", "v", "ts"]),
        kind: NodeKind::Sink { input, key: None, sink: Arc::new(sink.clone()) },
    });
    let error = Job::prepare(graph, checkpointed(dir.path(), 1)).expect_err("the operator is gone");
    assert_eq!(error.kind(), ErrorKind::Incompatible);
    assert!(error.to_string().contains("out/totals/0"), "{error}");
    assert!(error.way_out().is_some());
}

#[test]
fn too_many_workers_for_the_key_groups_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = Collected::default();
    let error = Job::prepare(totals(Numbers::new(1, 10, 2), None, &sink), options(dir.path(), 129)).expect_err("129");
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn a_checkpoint_that_is_asked_for_is_kept_while_it_is_held_and_the_last_one_is_the_last() {
    for round in 0..5 {
        let dir = tempfile::tempdir().expect("a directory");
        let sink = Collected::default();
        let endless = Numbers { unbounded: true, ..Numbers::new(1, 10_000, 10) };
        let options = checkpointed(dir.path(), 2);
        let storage = options.checkpointing.as_ref().expect("the job takes checkpoints").storage.clone();
        let job = Job::prepare(totals(endless, None, &sink), options).expect("the job can be prepared");
        let control = JobControl::new();
        let asking = control.clone();
        let asked = std::thread::spawn(move || {
            let held = asking.checkpoint().recv().expect("the job answers").expect("it is durable");
            // Later ones come and go.
            let others = (0..6).map(|_| asking.checkpoint().recv().expect("the job answers").expect("it is durable"));
            let newest = others.map(|other| other.id).max().expect("there are others");
            let last = asking.stop_with_checkpoint().recv().expect("the job answers").expect("it is durable");
            (held, newest, last)
        });
        let ending = job.run(control, Arc::default()).expect("the job runs");
        assert_eq!(ending, Ending::Stopped, "round {round}");
        let (held, newest, last) = asked.join().expect("the thread ends");
        assert!(held.id < newest && newest < last.id);
        let kept: Vec<_> = storage.list().expect("they are listed").into_iter().map(|summary| summary.id).collect();
        assert_eq!(kept.first(), Some(&held.id), "{kept:?}");
        assert_eq!(kept.last(), Some(&last.id), "{kept:?}");
        storage.load_verified(held.id).expect("it is whole");
    }
}

/// The store goes away and comes back.
#[test]
fn who_asks_a_job_to_stop_waits_for_all_attempts_at_its_last_checkpoint() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = Collected::default();
    let endless = Numbers { unbounded: true, ..Numbers::new(1, 10_000, 10) };
    let mut options = checkpointed(dir.path(), 1);
    let checkpointing = options.checkpointing.as_mut().expect("the job takes checkpoints");
    checkpointing.interval = None;
    let storage = checkpointing.storage.clone();
    let job = Job::prepare(totals(endless, None, &sink), options).expect("the job can be prepared");
    let (control, metrics) = (JobControl::new(), Arc::new(JobMetrics::default()));
    let (there, away) = (dir.path().join("checkpoints"), dir.path().join("away"));
    let (ending, last) = std::thread::scope(|scope| {
        let running = scope.spawn(|| job.run(control.clone(), metrics.clone()));
        control.checkpoint().recv().expect("the job answers").expect("it is durable");
        std::fs::rename(&there, &away).expect("it moves");
        std::fs::write(&there, "no directory").expect("a file");
        let while_running = control.checkpoint().recv().expect("the job answers");
        assert!(while_running.is_err(), "a job that goes on says at once that a checkpoint failed");
        let asked = control.stop_with_checkpoint();
        while metrics.checkpoints().failed < 3 && !running.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        std::fs::remove_file(&there).expect("it goes");
        std::fs::rename(&away, &there).expect("it comes back");
        (running.join().expect("no panic"), asked.recv().expect("the job answers"))
    });
    assert_eq!(ending.expect("the job runs"), Ending::Stopped);
    storage.load_verified(last.expect("it is durable").id).expect("it is whole");
}
