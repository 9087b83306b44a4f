//! A source, an operator and a sink small enough to reason about, for tests of the runtime.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt8Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use headpond_checkpoint::storage::{CheckpointStorage, StorageOptions};
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress};
use headpond_runtime::sink::{Committable, Sink, SinkContext, SinkJob, SinkSetup, SinkWriter};
use headpond_runtime::source::{
    ROW_WATERMARK_COLUMN, ReadBatch, ReaderContext, Source, SourceSplit, SplitReader, WatermarkStrategy,
};
use headpond_runtime::*;
use headpond_state::{
    CheckpointId, CodecId, KeyBatch, OperatorId, ScanRange, StateDescriptor, StateId, StateKind, WriteBatch,
};
use headpond_state_memory::MemoryStateBackend;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub fn schema(names: &[&str]) -> SchemaRef {
    Arc::new(Schema::new(names.iter().map(|name| Field::new(*name, DataType::Int64, false)).collect::<Vec<_>>()))
}

/// Rows `(k, v, ts)`: row `i` of split `s` is `(i % keys, i, i)`. A failure can be planted.
#[derive(Debug)]
pub struct Numbers {
    pub splits: usize,
    pub rows: i64,
    pub keys: i64,
    /// Fails for good before this row of every split, unless it is negative.
    pub fails_at: i64,
    /// Fails only once this is above zero.
    pub fails_after: Arc<AtomicU64>,
    /// Never ends: gives empty batches after its rows.
    pub unbounded: bool,
    /// Pauses before each batch, so that checkpoints fall in between.
    pub pause: std::time::Duration,
}

impl Numbers {
    pub fn new(splits: usize, rows: i64, keys: i64) -> Self {
        Numbers {
            splits,
            rows,
            keys,
            fails_at: -1,
            fails_after: Arc::new(AtomicU64::new(1)),
            unbounded: false,
            pause: std::time::Duration::ZERO,
        }
    }
}

impl Source for Numbers {
    fn schema(&self) -> SchemaRef {
        schema(&["k", "v", "ts"])
    }
    fn is_bounded(&self) -> bool {
        !self.unbounded
    }
    fn splits(&self) -> Result<Vec<SourceSplit>> {
        Ok((0..self.splits).map(|split| SourceSplit { id: format!("split-{split}") }).collect())
    }
    fn open(&self, _: &SourceSplit, position: Option<&Value>, _: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        let next = position.and_then(Value::as_i64).unwrap_or(0);
        Ok(Box::new(NumbersReader {
            next,
            rows: self.rows,
            keys: self.keys,
            fails_at: self.fails_at,
            fails_after: self.fails_after.clone(),
            unbounded: self.unbounded,
            pause: self.pause,
        }))
    }
}

#[derive(Debug)]
struct NumbersReader {
    next: i64,
    rows: i64,
    keys: i64,
    fails_at: i64,
    fails_after: Arc<AtomicU64>,
    unbounded: bool,
    pause: std::time::Duration,
}

impl SplitReader for NumbersReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        std::thread::sleep(self.pause);
        let mut end = (self.next + max_rows as i64).min(self.rows);
        if self.fails_at >= 0 {
            if self.next >= self.fails_at && self.fails_after.load(Ordering::SeqCst) > 0 {
                return Err(Error::invalid("a planted failure"));
            }
            end = end.min(self.fails_at);
        }
        if self.next == end && end == self.rows && !self.unbounded {
            return Ok(None);
        }
        let range = self.next..end;
        self.next = end;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(range.clone().map(|i| i % self.keys))),
            Arc::new(Int64Array::from_iter_values(range.clone())),
            Arc::new(Int64Array::from_iter_values(range)),
        ];
        if columns[0].is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let rows = RecordBatch::try_new(schema(&["k", "v", "ts"]), columns).expect("columns fit");
        Ok(Some(ReadBatch::inserts(rows, end.into())))
    }
}

/// Watermarks that trail the `ts` column by `delay`.
#[derive(Debug)]
pub struct Trailing(pub i64);

impl WatermarkStrategy for Trailing {
    fn watermarks(&mut self, rows: &RecordBatch) -> Result<Int64Array> {
        Ok(rows.column(2).as_primitive::<Int64Type>().unary(|ts| ts - self.0))
    }
}

/// Counts and sums `v` by `k`; gives `(k, count, sum)` as changes, or, as windows of `size` over `ts`, once each when
/// they close.
#[derive(Debug)]
pub struct Totals {
    pub window: Option<i64>,
}

impl KeyedOperatorFactory for Totals {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let state = setup.state.register(&StateDescriptor::new("totals", StateKind::Map, CodecId::new("pair", 1)))?;
        Ok(Box::new(TotalsOperator { state, window: self.window, cursor: None }))
    }
}

#[derive(Debug)]
struct TotalsOperator {
    state: StateId,
    window: Option<i64>,
    cursor: Option<Vec<u8>>,
}

impl KeyedOperator for TotalsOperator {
    fn process(&mut self, _: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        let rows = batch.changes.rows();
        let (k, v, ts) = (int(rows, 0), int(rows, 1), int(rows, 2));
        let watermarks = rows.column_by_name(ROW_WATERMARK_COLUMN).map(|column| column.as_primitive::<Int64Type>());
        let mut changed: BTreeMap<Vec<u8>, (i64, i64, i64)> = BTreeMap::new();
        for row in 0..rows.num_rows() {
            let mut key = batch.keys.get(row).to_vec();
            if let Some(size) = self.window {
                let end = (ts.value(row).div_euclid(size) + 1) * size;
                let watermark = watermarks.map_or(i64::MIN, |watermarks| watermarks.value(row));
                if end - 1 <= watermark.max(cx.event_time_ms) {
                    cx.counters.add("late rows", 1);
                    continue;
                }
                key.extend_from_slice(&end.to_be_bytes());
            }
            let entry = changed.entry(key).or_insert((k.value(row), 0, 0));
            entry.1 += 1;
            entry.2 += v.value(row);
        }
        let mut keys = KeyBatch::new();
        changed.keys().for_each(|key| keys.push(key));
        let mut stored = Vec::new();
        cx.state.read_many(self.state, &keys, &mut |_, value| {
            stored.push(value.map(pair));
            Ok(())
        })?;
        let mut writes = WriteBatch::new();
        let mut out = Vec::new();
        for ((key, (k, count, sum)), stored) in changed.iter().zip(stored) {
            let before = stored.unwrap_or((0, 0));
            let after = (before.0 + count, before.1 + sum);
            writes.put(self.state, key, &bytes(after));
            if before.0 > 0 {
                out.push((ChangeKind::UpdateBefore, *k, before));
            }
            out.push((if before.0 > 0 { ChangeKind::UpdateAfter } else { ChangeKind::Insert }, *k, after));
        }
        cx.state.write(&mut writes)?;
        if self.window.is_none() {
            cx.output.give(changes(&out)?);
        }
        Ok(Progress::Done)
    }

    fn resume(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        self.close_windows(cx)
    }

    fn advance(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        match self.window {
            None => Ok(Progress::Done),
            Some(_) => self.close_windows(cx),
        }
    }
}

impl TotalsOperator {
    fn close_windows(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        loop {
            let cursor = self.cursor.take();
            let mut range = ScanRange::all().limit(4096);
            if let Some(cursor) = &cursor {
                range = range.after(cursor);
            }
            let (mut closed, mut last) = (Vec::new(), None);
            let mut writes = WriteBatch::new();
            let state = self.state;
            let now = cx.event_time_ms;
            cx.state.scan(state, &range, &mut |entry| {
                let (rest, end) = entry.key.split_at(entry.key.len() - 8);
                let end = i64::from_be_bytes(end.try_into().expect("eight bytes"));
                if end - 1 <= now {
                    let k = i64::from_be_bytes(rest[1..9].try_into().expect("an i64 key")) ^ i64::MIN;
                    closed.push((ChangeKind::Insert, k, pair(entry.value)));
                    writes.delete(state, entry.key);
                }
                last = Some(entry.key.to_vec());
                Ok(ControlFlow::Continue(()))
            })?;
            cx.state.write(&mut writes)?;
            cx.output.give(changes(&closed)?);
            let Some(last) = last else { return Ok(Progress::Done) };
            self.cursor = Some(last);
            if cx.output.is_full() {
                return Ok(Progress::More);
            }
        }
    }
}

pub fn int(rows: &RecordBatch, column: usize) -> &Int64Array {
    rows.column(column).as_primitive::<Int64Type>()
}

fn pair(value: &[u8]) -> (i64, i64) {
    let at = |range: std::ops::Range<usize>| i64::from_le_bytes(value[range].try_into().expect("eight bytes"));
    (at(0..8), at(8..16))
}

fn bytes(pair: (i64, i64)) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&pair.0.to_le_bytes());
    bytes[8..].copy_from_slice(&pair.1.to_le_bytes());
    bytes
}

fn changes(out: &[(ChangeKind, i64, (i64, i64))]) -> Result<ChangeBatch> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(out.iter().map(|row| row.1))),
        Arc::new(Int64Array::from_iter_values(out.iter().map(|row| row.2.0))),
        Arc::new(Int64Array::from_iter_values(out.iter().map(|row| row.2.1))),
    ];
    let rows = RecordBatch::try_new(schema(&["k", "count", "sum"]), columns).expect("columns fit");
    ChangeBatch::with_kinds(rows, UInt8Array::from_iter_values(out.iter().map(|row| row.0 as u8)))
}

/// A change as a sink saw it.
pub type Change = (u8, Vec<i64>);

/// Changes by checkpoint and worker.
type Published = BTreeMap<(u64, usize), Vec<Change>>;

/// Publishes changes checkpoint by checkpoint, exactly once, in memory that outlives a job.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    published: Arc<Mutex<Published>>,
    pub commits: Arc<AtomicU64>,
    /// The greatest number of rows a writer got in one call.
    pub largest_call: Arc<AtomicU64>,
    /// The rows that writers got, published or not.
    pub written: Arc<AtomicU64>,
}

impl Collected {
    pub fn changes(&self) -> Vec<Change> {
        self.published.lock().expect("no panic").values().flatten().cloned().collect()
    }

    /// The rows that remain when all changes are applied, by their first column.
    pub fn current(&self) -> BTreeMap<i64, Vec<i64>> {
        let mut rows = BTreeMap::new();
        for (kind, row) in self.changes() {
            match ChangeKind::from_u8(kind).expect("a kind") {
                ChangeKind::Insert | ChangeKind::UpdateAfter => {
                    rows.insert(row[0], row);
                }
                ChangeKind::UpdateBefore | ChangeKind::Delete => {
                    assert_eq!(rows.remove(&row[0]), Some(row), "a retraction takes back what was there");
                }
            }
        }
        rows
    }
}

impl Sink for Collected {
    fn can_rewind(&self) -> bool {
        true
    }
    fn check(&self, _: &SinkJob) -> Result<()> {
        Ok(())
    }
    fn rewind(&self, _: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()> {
        let beyond = checkpoint.map_or(0, |checkpoint| checkpoint.0);
        self.published.lock().expect("no panic").retain(|(of, _), _| *of <= beyond);
        Ok(())
    }
    fn open(&self, _: SinkSetup<'_>) -> Result<Box<dyn SinkWriter>> {
        Ok(Box::new(CollectedWriter { rows: Vec::new(), of: self.clone() }))
    }
    fn commit(&self, _: &SinkJob, _: CheckpointId, committables: &[Committable]) -> Result<()> {
        self.commits.fetch_add(1, Ordering::SeqCst);
        for committable in committables {
            let rows: Vec<Change> = serde_json::from_value(committable.data.clone()).expect("what prepare gave");
            self.published.lock().expect("no panic").insert((committable.checkpoint.0, committable.subtask), rows);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct CollectedWriter {
    rows: Vec<Change>,
    of: Collected,
}

impl SinkWriter for CollectedWriter {
    fn write(&mut self, batch: &ChangeBatch, _: Option<&Keys>, _: &mut SinkContext<'_>) -> Result<()> {
        self.of.largest_call.fetch_max(batch.num_rows() as u64, Ordering::SeqCst);
        self.of.written.fetch_add(batch.num_rows() as u64, Ordering::SeqCst);
        let columns = batch.rows().num_columns();
        for row in 0..batch.num_rows() {
            let values = (0..columns).map(|column| int(batch.rows(), column).value(row)).collect();
            self.rows.push((batch.kind(row) as u8, values));
        }
        Ok(())
    }
    fn prepare(&mut self, _: CheckpointId, _: bool, _: &mut SinkContext<'_>) -> Result<Option<Value>> {
        let rows = std::mem::take(&mut self.rows);
        Ok((!rows.is_empty()).then(|| serde_json::to_value(rows).expect("integers are JSON")))
    }
}

/// Adds the source of [`Numbers`], with watermarks that trail by 1.
pub fn add_numbers(graph: &mut JobGraph, id: &str, source: Numbers) -> NodeId {
    let kind = NodeKind::Source(SourceNode {
        source: Arc::new(source),
        watermarks: Some(Arc::new(|| Ok(Box::new(Trailing(1))))),
        row_watermark: false,
    });
    add(graph, id, &["k", "v", "ts"], kind)
}

/// Adds an operator over `input` by its first column.
pub fn add_keyed(
    graph: &mut JobGraph,
    id: &str,
    columns: &[&str],
    input: NodeId,
    operator: impl KeyedOperatorFactory + 'static,
) -> NodeId {
    let inputs = vec![KeyedInput::by_key(input, vec![0])];
    add(graph, id, columns, NodeKind::Keyed { inputs, operator: Arc::new(operator) })
}

/// Adds a sink of `input`, by its first column.
pub fn add_sink(graph: &mut JobGraph, id: &str, input: NodeId, sink: &Collected) {
    let node = graph.node(input);
    let (schema, description) = (node.schema.clone(), "collected".to_owned());
    let kind = NodeKind::Sink { input, key: Some(vec![0]), sink: Arc::new(sink.clone()) };
    graph.add(Node { id: OperatorId::new(id), description, schema, kind });
}

/// Adds a node with columns of integers.
pub fn add(graph: &mut JobGraph, id: &str, columns: &[&str], kind: NodeKind) -> NodeId {
    graph.add(Node { id: OperatorId::new(id), description: id.to_owned(), schema: schema(columns), kind })
}

/// Source, totals, sink.
pub fn totals(source: Numbers, window: Option<i64>, sink: &Collected) -> JobGraph {
    let mut graph = JobGraph::new();
    let input = add_numbers(&mut graph, "out/source/0", source);
    let result = add_keyed(&mut graph, "out/totals/0", &["k", "count", "sum"], input, Totals { window });
    add_sink(&mut graph, "out/sink/0", result, sink);
    graph
}

/// What [`totals`] must give for splits of [`Numbers`].
pub fn expected(splits: i64, rows: i64, keys: i64) -> BTreeMap<i64, Vec<i64>> {
    let mut totals = BTreeMap::new();
    for i in 0..rows {
        let entry = totals.entry(i % keys).or_insert_with(|| vec![i % keys, 0, 0]);
        entry[1] += splits;
        entry[2] += splits * i;
    }
    totals
}

pub fn options(dir: &Path, parallelism: usize) -> JobOptions {
    JobOptions { parallelism, ..JobOptions::new("numbers", Arc::new(MemoryStateBackend::new()), dir.join("local")) }
}

/// Options with checkpoints every few milliseconds.
pub fn checkpointed(dir: &Path, parallelism: usize) -> JobOptions {
    let location = dir.join("checkpoints");
    let storage = CheckpointStorage::open(location.to_str().expect("utf-8"), "numbers", StorageOptions::default());
    let checkpointing = Checkpointing {
        interval: Some(std::time::Duration::from_millis(10)),
        ..Checkpointing::new(storage.expect("a good location"))
    };
    JobOptions { checkpointing: Some(checkpointing), ..options(dir, parallelism) }
}

pub fn run(graph: JobGraph, options: JobOptions) -> Result<Ending> {
    Job::prepare(graph, options)?.run(JobControl::new(), Arc::new(JobMetrics::default()))
}

/// Runs a job until `enough`, then stops it.
pub fn run_until(graph: JobGraph, options: JobOptions, enough: impl Fn(&JobMetrics) -> bool) -> Result<Ending> {
    let job = Job::prepare(graph, options)?;
    let (control, metrics) = (JobControl::new(), Arc::new(JobMetrics::default()));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| job.run(control.clone(), metrics.clone()));
        while !enough(&metrics) && !running.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        control.stop();
        running.join().expect("no panic")
    })
}
