//! Event time of several inputs: unions, inputs that have ended, inputs that are idle.

mod support;

use headpond_runtime::*;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::*;

const WINDOW: i64 = 4000;

/// Windows over the union of sources, one after another.
fn windows(sources: Vec<Numbers>, sink: &Collected) -> JobGraph {
    let mut graph = JobGraph::new();
    let numbered = sources.into_iter().enumerate();
    let inputs = numbered.map(|(n, source)| add_numbers(&mut graph, &format!("out/source/{n}"), source)).collect();
    let union = add(&mut graph, "union/0", &["k", "v", "ts"], NodeKind::Union { inputs });
    let totals = Totals { window: Some(WINDOW) };
    let totals = add_keyed(&mut graph, "out/totals/0", &["k", "count", "sum"], union, totals);
    add_sink(&mut graph, "out/sink/0", totals, sink);
    graph
}

fn endless(rows: i64) -> Numbers {
    Numbers { unbounded: true, ..Numbers::new(1, rows, 1) }
}

fn with_idleness(dir: &Path, parallelism: usize) -> JobOptions {
    JobOptions { source_idle_timeout: Some(Duration::from_millis(30)), ..options(dir, parallelism) }
}

/// The windows that have closed: how many rows each had.
fn counts(sink: &Collected) -> Vec<i64> {
    sink.changes().into_iter().map(|(_, row)| row[1]).collect()
}

fn all_combinations(with: impl Fn(&Path, JobOptions)) {
    for (parallelism, serialized_channels) in [(1, false), (3, false), (3, true)] {
        let dir = tempfile::tempdir().expect("a directory");
        with(dir.path(), JobOptions { serialized_channels, ..with_idleness(dir.path(), parallelism) });
    }
}

#[test]
fn a_union_closes_what_all_its_inputs_have_passed() {
    all_combinations(|_, options| {
        let sink = Collected::default();
        let rows = [10_000, 10_000, 6000];
        let graph = windows(rows.map(|rows| Numbers::new(1, rows, 1)).into(), &sink);
        run(graph, JobOptions { source_idle_timeout: None, ..options }).expect("the job runs");
        assert_eq!(counts(&sink), [12_000, 10_000, 4000]);
    });
}

#[test]
fn an_input_that_has_ended_does_not_hold_back_the_others_nor_drag_them_along() {
    all_combinations(|dir, options| {
        let sink = Collected::default();
        let graph = windows(vec![Numbers::new(1, 100, 1), endless(10_000)], &sink);
        // Idleness would let the last window close if an end were taken for a watermark.
        let ending = run_until(graph, options, |metrics| {
            std::thread::sleep(Duration::from_millis(50));
            metrics.rows_read() == 10_100 && sink.written.load(Ordering::SeqCst) >= 2
        });
        assert_eq!(ending.expect("the job stops"), Ending::Stopped);
        assert_eq!(counts(&sink), [4100, 4000], "{}", dir.display());
    });
}

#[test]
fn an_idle_input_holds_event_time_back_unless_there_is_a_time_out() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = Collected::default();
    let graph = windows(vec![endless(0), endless(10_000)], &sink);
    let options = JobOptions { source_idle_timeout: None, ..options(dir.path(), 2) };
    let ending = run_until(graph, options, |metrics| {
        std::thread::sleep(Duration::from_millis(50));
        metrics.rows_read() == 10_000
    });
    assert_eq!(ending.expect("the job stops"), Ending::Stopped);
    assert!(sink.changes().is_empty());
    all_combinations(|_, options| {
        let sink = Collected::default();
        let written = sink.written.clone();
        let graph = windows(vec![endless(0), endless(10_000)], &sink);
        let ending = run_until(graph, options, |_| written.load(Ordering::SeqCst) == 2);
        assert_eq!(ending.expect("the job stops"), Ending::Stopped);
        assert_eq!(counts(&sink), [4000, 4000]);
    });
}

#[test]
fn of_an_input_that_has_ended_and_one_that_is_idle_what_the_first_reached_counts() {
    all_combinations(|_, options| {
        let sink = Collected::default();
        let written = sink.written.clone();
        let graph = windows(vec![Numbers::new(1, 10_000, 1), endless(0)], &sink);
        let ending = run_until(graph, options, |_| written.load(Ordering::SeqCst) == 2);
        assert_eq!(ending.expect("the job stops"), Ending::Stopped);
        assert_eq!(counts(&sink), [4000, 4000], "the last window waits: the idle input may have rows for it");
    });
}

#[test]
fn a_source_that_reads_what_it_has_behind_it_is_not_idle_however_slow_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = Collected::default();
    let slow = Numbers { pause: Duration::from_millis(60), ..Numbers::new(1, 10_000, 1) };
    let graph = windows(vec![slow, Numbers::new(1, 10_000, 1)], &sink);
    let options = JobOptions { source_idle_timeout: Some(Duration::from_millis(1)), ..options(dir.path(), 2) };
    run(graph, options).expect("the job runs");
    assert_eq!(counts(&sink), [8000, 8000, 4000], "no row came too late");
}
