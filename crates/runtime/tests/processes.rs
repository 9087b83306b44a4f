//! Jobs in several processes: each has its own graph, threads and stores, and between them and the leader there are
//! only bytes.

mod support;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use headpond_runtime::operator::BatchFunction;
use headpond_runtime::*;
use std::path::Path;
use std::sync::Arc;
use support::*;

/// A job in processes of this program. Everyone, the leader included, builds the graph anew: `graph` is told for whom.
struct InProcesses<'a> {
    dir: &'a Path,
    processes: usize,
    options: JobOptions,
    graph: &'a dyn Fn(For) -> JobGraph,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    Leader,
    Process(usize),
}

impl InProcesses<'_> {
    fn run(self) -> Result<Ending> {
        self.run_until(|_| false)
    }

    /// Runs the job until `enough`, then stops it.
    fn run_until(self, enough: impl Fn(&JobMetrics) -> bool) -> Result<Ending> {
        let leader = Leader::prepare((self.graph)(For::Leader), self.options, self.processes)?;
        let plan = leader.plan().encode()?;
        let mut links = Vec::new();
        let mut running = Vec::new();
        for (index, connections) in Connections::on_loopback(self.processes)?.into_iter().enumerate() {
            // Nothing of the leader's: a storage of its own, a directory of its own.
            let own = checkpointed(self.dir, 1);
            let options = ProcessOptions {
                files: own.checkpointing.map(|checkpointing| checkpointing.storage.files()),
                connections,
                ..ProcessOptions::new(own.backend, self.dir.join(format!("local-{index}")))
            };
            let graph = (self.graph)(For::Process(index));
            let process = Process::new(graph, Plan::decode(&plan)?, options, link::serialized(leader.inbox(index)));
            links.push(link::serialized(process.inbox()));
            running.push(std::thread::spawn(move || process.run()));
        }
        let (control, metrics) = (JobControl::new(), Arc::new(JobMetrics::default()));
        let ended = std::thread::scope(|scope| {
            let led = scope.spawn(|| leader.run(control.clone(), metrics.clone(), links));
            while !led.is_finished() {
                if enough(&metrics) {
                    control.stop();
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            led.join().expect("no panic")
        });
        running.into_iter().for_each(|process| process.join().expect("no panic"));
        ended
    }
}

/// The leader's sink: what is published is published there. Writers in processes have one of their own.
fn sink_of(whose: For, published: &Collected) -> Collected {
    match whose {
        For::Leader => published.clone(),
        For::Process(_) => Collected::default(),
    }
}

#[test]
fn several_processes_give_the_result_of_one() {
    for (processes, parallelism) in [(2, 2), (2, 4), (3, 3)] {
        let dir = tempfile::tempdir().expect("a directory");
        let published = Collected::default();
        let graph = |whose| totals(Numbers::new(3, 50_000, 1000), None, &sink_of(whose, &published));
        let options = checkpointed(dir.path(), parallelism);
        let ending = InProcesses { dir: dir.path(), processes, options, graph: &graph }.run().expect("the job runs");
        assert_eq!(ending, Ending::Finished);
        assert_eq!(published.current(), expected(3, 50_000, 1000), "{processes} processes, {parallelism} workers");
    }
}

#[test]
fn very_many_windows_that_close_at_once_pass_between_processes() {
    let dir = tempfile::tempdir().expect("a directory");
    let published = Collected::default();
    let graph = |whose| totals(Numbers::new(1, 300_000, 300_000), Some(1_000_000), &sink_of(whose, &published));
    let options = options(dir.path(), 2);
    InProcesses { dir: dir.path(), processes: 2, options, graph: &graph }.run().expect("the job runs");
    assert_eq!(published.changes().len(), 300_000);
}

#[test]
fn a_checkpoint_of_two_processes_is_restored_in_three_and_then_in_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let published = Collected::default();
    let slow = || Numbers { pause: std::time::Duration::from_millis(3), ..Numbers::new(3, 300_000, 777) };
    let graph = |whose| {
        // The second process fails on its way.
        let fails_at = if whose == For::Process(1) { 200_000 } else { -1 };
        totals(Numbers { fails_at, ..slow() }, None, &sink_of(whose, &published))
    };
    let options = checkpointed(dir.path(), 4);
    let failed = InProcesses { dir: dir.path(), processes: 2, options, graph: &graph }.run();
    assert_eq!(failed.expect_err("it was planted").kind(), ErrorKind::Invalid);
    let leader = Leader::prepare(graph(For::Leader), checkpointed(dir.path(), 3), 3).expect("it can be prepared");
    assert!(leader.restoration().is_some(), "the two processes have completed a checkpoint");
    drop(leader);

    let endless = |whose| totals(Numbers { unbounded: true, ..slow() }, None, &sink_of(whose, &published));
    let options = checkpointed(dir.path(), 3);
    let in_three = InProcesses { dir: dir.path(), processes: 3, options, graph: &endless };
    let ending = in_three.run_until(|metrics| metrics.checkpoints().completed >= 2).expect("the job runs");
    assert_eq!(ending, Ending::Stopped);

    let graph = totals(Numbers::new(3, 300_000, 777), None, &published);
    let job = Job::prepare(graph, checkpointed(dir.path(), 1)).expect("the job can be prepared");
    assert!(job.restoration().expect("there is a checkpoint").rows_read() > 0);
    job.run(JobControl::new(), Arc::default()).expect("the job runs");
    assert_eq!(published.current(), expected(3, 300_000, 777));
}

/// Passes rows on, or fails at one.
#[derive(Debug)]
struct FailsAt(Option<i64>);

impl BatchFunction for FailsAt {
    fn process(&mut self, batch: ChangeBatch) -> Result<Option<ChangeBatch>> {
        let values = batch.rows().column(1).as_primitive::<Int64Type>();
        match self.0 {
            Some(at) if values.values().contains(&at) => Err(Error::invalid("a planted failure")),
            _ => Ok(Some(batch)),
        }
    }
}

#[test]
fn an_operators_error_in_the_second_process_ends_both_with_that_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let published = Collected::default();
    let graph = |whose| {
        let mut graph = JobGraph::new();
        let endless = Numbers { unbounded: true, ..Numbers::new(2, 50_000, 10) };
        let input = add_numbers(&mut graph, "out/source/0", endless);
        let fails_at = (whose == For::Process(1)).then_some(30_000);
        let function: operator::BatchFunctionFactory = Arc::new(move || Ok(Box::new(FailsAt(fails_at))));
        let input = add(&mut graph, "out/filter/0", &["k", "v", "ts"], NodeKind::Map { input, function });
        let result = add_keyed(&mut graph, "out/totals/0", &["k", "count", "sum"], input, Totals { window: None });
        add_sink(&mut graph, "out/sink/0", result, &sink_of(whose, &published));
        graph
    };
    let options = checkpointed(dir.path(), 2);
    let failed = InProcesses { dir: dir.path(), processes: 2, options, graph: &graph }.run();
    let error = failed.expect_err("a failure was planted");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("a planted failure") && error.to_string().contains("out/filter/0"), "{error}");
}

#[test]
fn a_process_that_runs_another_program_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let published = Collected::default();
    let graph = |whose| {
        let mut graph = JobGraph::new();
        let input = add_numbers(&mut graph, "out/source/0", Numbers::new(2, 1000, 10));
        let columns = if whose == For::Process(1) { ["k", "n", "sum"] } else { ["k", "count", "sum"] };
        let result = add_keyed(&mut graph, "out/totals/0", &columns, input, Totals { window: None });
        add_sink(&mut graph, "out/sink/0", result, &sink_of(whose, &published));
        graph
    };
    let options = options(dir.path(), 2);
    let refused = InProcesses { dir: dir.path(), processes: 2, options, graph: &graph }.run();
    let error = refused.expect_err("the second process has another column");
    assert_eq!(error.kind(), ErrorKind::Incompatible);
    assert!(error.to_string().contains("out/totals/0"), "{error}");
    assert!(published.changes().is_empty());
}

#[test]
fn workers_that_cannot_be_dealt_evenly_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let graph = totals(Numbers::new(1, 10, 2), None, &Collected::default());
    let error = Leader::prepare(graph, options(dir.path(), 3), 2).expect_err("three workers in two processes");
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
