//! Side outputs: rows of an operator that only those see who ask for them.

mod support;

use arrow_array::Int64Array;
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress};
use headpond_runtime::*;
use headpond_state::OperatorId;
use std::sync::Arc;
use support::*;

/// Gives every row to the port of its number modulo 3. It yields after each batch, as one with a full output would.
#[derive(Debug, Clone)]
struct ByThree;

impl KeyedOperatorFactory for ByThree {
    fn open(&self, _: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        Ok(Box::new(ByThree))
    }
}

impl KeyedOperator for ByThree {
    fn process(&mut self, _: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        for port in 0..3_usize {
            let keep = int(batch.changes.rows(), 1).iter().map(|v| v.map(|v| v % 3 == port as i64)).collect();
            cx.output.give_to(port, batch.changes.filter(&keep)?);
        }
        Ok(Progress::More)
    }
    fn resume(&mut self, _: &mut OperatorContext<'_>) -> Result<Progress> {
        Ok(Progress::Done)
    }
    fn advance(&mut self, _: &mut OperatorContext<'_>) -> Result<Progress> {
        Ok(Progress::Done)
    }
}

const COLUMNS: [&str; 3] = ["k", "v", "ts"];

fn numbers(sink: &Collected) -> Vec<i64> {
    let mut numbers: Vec<i64> = sink.changes().into_iter().map(|(_, row)| row[1]).collect();
    numbers.sort_unstable();
    numbers
}

fn modulo(rest: i64, rows: i64) -> Vec<i64> {
    (0..rows).filter(|v| v % 3 == rest).collect()
}

#[test]
fn each_port_reaches_its_readers_and_no_one_else() {
    for (parallelism, serialized_channels) in [(1, false), (3, false), (3, true)] {
        let dir = tempfile::tempdir().expect("a directory");
        let [main, first, again] = [(); 3].map(|()| Collected::default());
        let mut graph = JobGraph::new();
        let input = add_numbers(&mut graph, "out/source/0", Numbers::new(1, 30_000, 100));
        let by_three = add_keyed(&mut graph, "out/by three/0", &COLUMNS, input, ByThree);
        // No one reads port 1.
        let side = NodeKind::SideOutput { input: by_three, port: 2 };
        let (one, two) = (add(&mut graph, "side/0", &COLUMNS, side.clone()), add(&mut graph, "side/1", &COLUMNS, side));
        add_sink(&mut graph, "out/sink/0", by_three, &main);
        add_sink(&mut graph, "out/sink/1", one, &first);
        add_sink(&mut graph, "out/sink/2", two, &again);
        let options = JobOptions { serialized_channels, ..options(dir.path(), parallelism) };
        assert_eq!(run(graph, options).expect("the job runs"), Ending::Finished);
        let how = format!("{parallelism} workers, serialized {serialized_channels}");
        assert_eq!(numbers(&main), modulo(0, 30_000), "{how}");
        assert_eq!(numbers(&first), modulo(2, 30_000), "{how}");
        assert_eq!(numbers(&again), modulo(2, 30_000), "{how}");
    }
}

#[test]
fn watermarks_reach_the_readers_of_a_side_output() {
    let dir = tempfile::tempdir().expect("a directory");
    let [main, side] = [(); 2].map(|()| Collected::default());
    let mut graph = JobGraph::new();
    let endless = Numbers { unbounded: true, ..Numbers::new(1, 10_000, 1) };
    let input = add_numbers(&mut graph, "out/source/0", endless);
    let by_three = add_keyed(&mut graph, "out/by three/0", &COLUMNS, input, ByThree);
    let one = add(&mut graph, "side/0", &COLUMNS, NodeKind::SideOutput { input: by_three, port: 1 });
    let window = || Totals { window: Some(3000) };
    let totals = ["k", "count", "sum"];
    let of_main = add_keyed(&mut graph, "out/totals/0", &totals, by_three, window());
    let of_side = add_keyed(&mut graph, "out/totals/1", &totals, one, window());
    add_sink(&mut graph, "out/sink/0", of_main, &main);
    add_sink(&mut graph, "out/sink/1", of_side, &side);
    let ending = run_until(graph, checkpointed(dir.path(), 2), |metrics| metrics.rows_read() == 10_000);
    assert_eq!(ending.expect("the job stops"), Ending::Stopped);
    let closed = |rest: i64, ends: [i64; 3]| {
        ends.map(|end| (0, vec![0, 1000, (end - 3000..end).filter(|v| v % 3 == rest).sum()]))
    };
    assert_eq!(main.changes(), closed(0, [3000, 6000, 9000]));
    assert_eq!(side.changes(), closed(1, [3000, 6000, 9000]));
}

#[test]
fn rows_held_in_a_side_output_survive_a_failure_once_each() {
    for (before, after) in [(1, 3), (3, 2)] {
        let dir = tempfile::tempdir().expect("a directory");
        let [main, side] = [(); 2].map(|()| Collected::default());
        let graph = |source| {
            let mut graph = JobGraph::new();
            let input = add_numbers(&mut graph, "out/source/0", source);
            let by_three = add_keyed(&mut graph, "out/by three/0", &COLUMNS, input, ByThree);
            let one = add(&mut graph, "side/0", &COLUMNS, NodeKind::SideOutput { input: by_three, port: 1 });
            add_sink(&mut graph, "out/sink/0", by_three, &main);
            add_sink(&mut graph, "out/sink/1", one, &side);
            graph
        };
        let fails_after = side.commits.clone();
        let failing = Numbers { fails_at: 60_000, fails_after, ..Numbers::new(1, 90_000, 50) };
        run(graph(failing), checkpointed(dir.path(), before)).expect_err("a failure is planted");
        run(graph(Numbers::new(1, 90_000, 50)), checkpointed(dir.path(), after)).expect("the job runs");
        assert_eq!(numbers(&main), modulo(0, 90_000), "{before} then {after} workers");
        assert_eq!(numbers(&side), modulo(1, 90_000), "{before} then {after} workers");
    }
}

#[test]
#[should_panic(expected = "side outputs are those of keyed nodes")]
fn a_side_output_of_a_source_is_no_graph() {
    let mut graph = JobGraph::new();
    let input = add_numbers(&mut graph, "out/source/0", Numbers::new(1, 1, 1));
    let kind = NodeKind::SideOutput { input, port: 1 };
    graph.add(Node { id: OperatorId::new("side/0"), description: String::new(), schema: schema(&COLUMNS), kind });
}

#[test]
fn an_output_gives_each_batch_with_its_port() {
    let batch = |v: i64| {
        let columns = [0, v, v].map(|v| Arc::new(Int64Array::from(vec![v])) as _);
        ChangeBatch::inserts(arrow_array::RecordBatch::try_new(schema(&COLUMNS), columns.into()).expect("columns fit"))
    };
    let mut output = Output::default();
    output.give(batch(1));
    output.give_to(2, batch(2));
    let ports: Vec<_> = output.drain_ports().map(|(port, batch)| (port, int(batch.rows(), 1).value(0))).collect();
    assert_eq!(ports, [(0, 1), (2, 2)]);
    output.give_to(2, batch(3));
    output.give(batch(4));
    let main: Vec<_> = output.drain().map(|batch| int(batch.rows(), 1).value(0)).collect();
    assert_eq!(main, [4]);
    assert_eq!(output.drain_ports().count(), 0);
}
