//! Operators that wait for processing time: ticks for them when nothing arrives, at the end of the input, and after a
//! restart.

mod support;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress};
use headpond_runtime::*;
use headpond_state::{CodecId, KeyedStateBackend, ScanRange, StateDescriptor, StateId, StateKind, WriteBatch};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use support::*;

/// Holds every row back for some time. A held row is an entry `key | due | v`.
#[derive(Debug)]
struct Held {
    for_ms: i64,
}

impl KeyedOperatorFactory for Held {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let held = setup.state.register(&StateDescriptor::new("held", StateKind::Map, CodecId::new("row", 1)))?;
        let mut operator = HeldOperator { for_ms: self.for_ms, held, next_ms: None };
        operator.give_due(setup.state, i64::MIN, &mut Vec::new())?;
        Ok(Box::new(operator))
    }
}

#[derive(Debug)]
struct HeldOperator {
    for_ms: i64,
    held: StateId,
    next_ms: Option<i64>,
}

impl HeldOperator {
    fn give_due(&mut self, state: &mut dyn KeyedStateBackend, now_ms: i64, due: &mut Vec<[i64; 3]>) -> Result<()> {
        let (mut gone, mut next_ms) = (WriteBatch::new(), None);
        state.scan(self.held, &ScanRange::all(), &mut |entry| {
            let due_ms = integer(&entry.key[9..17]);
            if due_ms <= now_ms {
                due.push([integer(&entry.value[..8]), integer(&entry.value[8..16]), integer(&entry.value[16..])]);
                gone.delete(self.held, entry.key);
            } else {
                next_ms = Some(next_ms.map_or(due_ms, |next: i64| next.min(due_ms)));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        self.next_ms = next_ms;
        state.write(&mut gone)
    }
}

fn integer(bytes: &[u8]) -> i64 {
    i64::from_be_bytes(bytes.try_into().expect("eight bytes"))
}

impl KeyedOperator for HeldOperator {
    fn process(&mut self, _: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        assert!(!cx.end_of_input || cx.cut);
        let rows = batch.changes.rows();
        let due_ms = cx.processing_time_ms.saturating_add(self.for_ms);
        let mut writes = WriteBatch::new();
        for row in 0..rows.num_rows() {
            let columns = [0, 1, 2].map(|column| int(rows, column).value(row).to_be_bytes());
            let key = [batch.keys.get(row), &due_ms.to_be_bytes(), &columns[1]].concat();
            writes.put(self.held, &key, &columns.concat());
        }
        cx.state.write(&mut writes)?;
        self.next_ms = Some(self.next_ms.map_or(due_ms, |next| next.min(due_ms)));
        Ok(Progress::Done)
    }

    fn resume(&mut self, _: &mut OperatorContext<'_>) -> Result<Progress> {
        Ok(Progress::Done)
    }

    fn advance(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        assert!(!cx.end_of_input || cx.event_time_ms == i64::MAX);
        let now_ms = if cx.end_of_input { i64::MAX } else { cx.processing_time_ms };
        let mut due = Vec::new();
        self.give_due(cx.state, now_ms, &mut due)?;
        let column =
            |column: usize| -> ArrayRef { Arc::new(Int64Array::from_iter_values(due.iter().map(|row| row[column]))) };
        let rows = RecordBatch::try_new(schema(&["k", "v", "ts"]), vec![column(0), column(1), column(2)]);
        cx.output.give(ChangeBatch::inserts(rows.expect("columns fit")));
        Ok(Progress::Done)
    }

    fn wake_at_ms(&self) -> Option<i64> {
        self.next_ms
    }
}

const HOUR_MS: i64 = 3_600_000;

fn held(source: Numbers, for_ms: i64, sink: &Collected) -> JobGraph {
    let mut graph = JobGraph::new();
    let input = add_numbers(&mut graph, "out/source/0", source);
    let held = add_keyed(&mut graph, "out/held/0", &["k", "v", "ts"], input, Held { for_ms });
    add_sink(&mut graph, "out/sink/0", held, sink);
    graph
}

fn endless(rows: i64) -> Numbers {
    Numbers { unbounded: true, ..Numbers::new(1, rows, 7) }
}

#[test]
fn an_operator_is_woken_when_its_time_has_come_though_nothing_arrives() {
    for (parallelism, serialized_channels) in [(1, false), (3, false), (3, true)] {
        let dir = tempfile::tempdir().expect("a directory");
        let sink = Collected::default();
        // Without checkpoints there is no other reason for a tick.
        let options = JobOptions { serialized_channels, ..options(dir.path(), parallelism) };
        let given = sink.written.clone();
        let ending = run_until(held(endless(100), 40, &sink), options, |_| given.load(Ordering::SeqCst) == 100);
        assert_eq!(ending.expect("the job stops"), Ending::Stopped);
        assert_eq!(sink.changes().len(), 100, "{parallelism} workers, serialized {serialized_channels}");
    }
}

#[test]
fn what_waits_for_processing_time_is_given_at_the_end_of_the_input() {
    for parallelism in [1, 3] {
        let dir = tempfile::tempdir().expect("a directory");
        let sink = Collected::default();
        let ending = run(held(Numbers::new(1, 10_000, 7), HOUR_MS, &sink), checkpointed(dir.path(), parallelism));
        assert_eq!(ending.expect("the job runs"), Ending::Finished);
        assert_eq!(sink.changes().len(), 10_000, "{parallelism} workers");
    }
}

#[test]
fn a_request_to_stop_gives_nothing_that_waits_and_a_restored_operator_is_woken_for_it() {
    for (before, after) in [(1, 3), (3, 1)] {
        let dir = tempfile::tempdir().expect("a directory");
        let sink = Collected::default();
        let graph = held(endless(100), HOUR_MS, &sink);
        let ending = run_until(graph, checkpointed(dir.path(), before), |metrics| metrics.rows_read() == 100);
        assert_eq!(ending.expect("the job stops"), Ending::Stopped);
        assert_eq!(sink.changes(), []);
        let graph = held(Numbers::new(1, 100, 7), 0, &sink);
        assert_eq!(run(graph, checkpointed(dir.path(), after)).expect("the job runs"), Ending::Finished);
        assert_eq!(sink.changes().len(), 100, "{before} then {after} workers");
    }
}

#[test]
fn what_a_restored_operator_waits_for_opens_a_tick_before_any_row_comes() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = Collected::default();
    let graph = held(endless(100), 500, &sink);
    let ending = run_until(graph, checkpointed(dir.path(), 2), |metrics| metrics.rows_read() == 100);
    assert_eq!(ending.expect("the job stops"), Ending::Stopped);
    let (before, given) = (sink.changes().len(), sink.written.clone());
    let mut options = checkpointed(dir.path(), 1);
    // No checkpoint falls due while the job waits.
    if let Some(checkpointing) = &mut options.checkpointing {
        checkpointing.interval = None;
    }
    given.store(before as u64, Ordering::SeqCst);
    let ending = run_until(held(endless(100), 500, &sink), options, |_| given.load(Ordering::SeqCst) == 100);
    assert_eq!(ending.expect("the job stops"), Ending::Stopped);
    assert_eq!(sink.changes().len(), 100);
}
