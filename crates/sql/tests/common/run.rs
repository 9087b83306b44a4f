//! Runs a job graph in one thread: sources are read in turn, a batch of each, and every batch is a tick of its own.

use super::{Rows, shown};
use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::Schema;
use headpond_runtime::key::KeyEncoder;
use headpond_runtime::operator::{
    Counters, KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress,
};
use headpond_runtime::output::MAIN_PORT;
use headpond_runtime::source::{ReaderContext, SplitReader, WatermarkStrategy};
use headpond_runtime::{ChangeBatch, JobGraph, KeyedBatch, KeyedInput, NodeKind, Output, SourceNode};
use headpond_state::backend::{KeyedBackendParams, RestoredState, StateBackend};
use headpond_state::{
    CheckpointId, Context, Error, KeyGroupRange, KeyedStateBackend, KeyedStateHandle, MaxParallelism, OperatorClock,
    OperatorId, Result, SnapshotOptions, StateDescriptor,
};
use headpond_state_conformance::MemoryStore;
use headpond_state_memory::MemoryStateBackend;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A job's operators, open.
pub struct Run<'g> {
    graph: &'g JobGraph,
    operators: BTreeMap<usize, Open>,
    sources: Vec<OpenSource>,
    /// Each node's watermark of its output.
    watermarks_ms: Vec<i64>,
    /// What the sinks got.
    pub output: Rows,
    /// The same, as batches.
    pub changes: Vec<ChangeBatch>,
    /// The sums of all operators' counters.
    pub counters: Counters,
    /// The most rows that a call has given.
    pub rows_per_call_max: usize,
    /// After how many ticks, over and over, the job is cut and its operators begin anew from a checkpoint.
    pub reopened_every: Option<usize>,
    ticks: usize,
    cut: bool,
}

struct Open {
    encoders: Vec<KeyEncoder>,
    operator: Box<dyn KeyedOperator>,
    state: Box<dyn KeyedStateBackend>,
    clock: Arc<OperatorClock>,
    event_time_ms: i64,
}

struct OpenSource {
    node: usize,
    splits: Vec<Box<dyn SplitReader>>,
    strategy: Option<Box<dyn WatermarkStrategy>>,
    watermark_ms: i64,
}

/// What a restart begins with.
struct Restored {
    store: MemoryStore,
    handle: KeyedStateHandle,
    details: Value,
    event_time_ms: i64,
}

impl<'g> Run<'g> {
    pub fn new(graph: &'g JobGraph) -> Result<Self> {
        let mut run = Run {
            graph,
            operators: BTreeMap::new(),
            sources: Vec::new(),
            watermarks_ms: vec![i64::MIN; graph.nodes().count()],
            output: Vec::new(),
            changes: Vec::new(),
            counters: Counters::default(),
            rows_per_call_max: 0,
            reopened_every: None,
            ticks: 0,
            cut: false,
        };
        for (index, (_, node)) in graph.nodes().enumerate() {
            if let NodeKind::Keyed { inputs, operator } = &node.kind {
                let open = open(graph, &node.id, inputs, operator.as_ref(), None)?;
                run.operators.insert(index, open);
            }
        }
        Ok(run)
    }

    /// Reads all sources from the beginning to the end in batches of at most `rows` rows, at a processing time.
    pub fn all(&mut self, rows: usize, processing_time_ms: i64) -> Result<()> {
        self.rewind()?;
        while self.tick(rows, processing_time_ms)? {}
        Ok(())
    }

    /// Opens all sources at their beginning; event time begins anew.
    pub fn rewind(&mut self) -> Result<()> {
        self.watermarks_ms.fill(i64::MIN);
        self.operators.values_mut().for_each(|open| open.event_time_ms = i64::MIN);
        self.sources.clear();
        for (index, (_, node)) in self.graph.nodes().enumerate() {
            let NodeKind::Source(SourceNode { source, watermarks, .. }) = &node.kind else { continue };
            let context = ReaderContext { subtask: 0, readers: 1 };
            let splits = source.splits()?;
            let splits = splits.iter().rev().map(|split| source.open(split, None, &context)).collect::<Result<_>>()?;
            let strategy = watermarks.as_ref().map(|factory| factory()).transpose()?;
            self.sources.push(OpenSource { node: index, splits, strategy, watermark_ms: i64::MIN });
        }
        Ok(())
    }

    /// Reads a batch of each source; `false` once all have ended.
    pub fn tick(&mut self, rows: usize, processing_time_ms: i64) -> Result<bool> {
        let mut any = false;
        self.ticks += 1;
        self.cut = self.reopened_every.is_some_and(|every| self.ticks.is_multiple_of(every));
        for index in 0..self.sources.len() {
            any |= self.read(index, rows, processing_time_ms)?;
        }
        if self.cut {
            self.advance(processing_time_ms)?;
            self.cut = false;
            self.restart()?;
        }
        Ok(any)
    }

    /// Reads a batch of the source that was opened as number `index`; `false` if it had ended.
    pub fn read(&mut self, index: usize, rows: usize, processing_time_ms: i64) -> Result<bool> {
        let source = &mut self.sources[index];
        let (_, node) = self.graph.nodes().nth(source.node).expect("a node");
        let NodeKind::Source(SourceNode { row_watermark, .. }) = &node.kind else { return Ok(false) };
        let from = source.node;
        let Some(split) = source.splits.last_mut() else {
            let goes_on = source.watermark_ms < i64::MAX;
            source.watermark_ms = i64::MAX;
            self.watermarks_ms[from] = i64::MAX;
            self.advance(processing_time_ms)?;
            return Ok(goes_on);
        };
        let Some(read) = split.next(rows.min(8192))? else {
            source.splits.pop();
            return Ok(true);
        };
        let strategy = source.strategy.as_deref_mut();
        let rows = read.rows.rows().clone();
        let rows = with_row_watermarks(rows, strategy, &mut source.watermark_ms, *row_watermark, node.schema.as_ref())?;
        let watermark_ms = source.watermark_ms;
        self.give(from, &read.rows.with_rows(rows)?, processing_time_ms)?;
        self.watermarks_ms[from] = watermark_ms;
        self.advance(processing_time_ms)?;
        Ok(true)
    }

    /// Ends all operators and opens them again from a checkpoint.
    pub fn restart(&mut self) -> Result<()> {
        let store = MemoryStore::new();
        for (index, (_, node)) in self.graph.nodes().enumerate() {
            let NodeKind::Keyed { inputs, operator } = &node.kind else { continue };
            let Some(mut old) = self.operators.remove(&index) else { continue };
            let snapshot = old.state.snapshot(CheckpointId(1), &SnapshotOptions::default())?;
            let restored = Restored {
                store: store.clone(),
                handle: snapshot.upload(&store.sink())?,
                details: old.operator.details(),
                event_time_ms: old.event_time_ms,
            };
            old.state.close()?;
            self.operators.insert(index, open(self.graph, &node.id, inputs, operator.as_ref(), Some(&restored))?);
        }
        Ok(())
    }

    /// The states that each operator has registered.
    pub fn states(&mut self) -> Result<Vec<(OperatorId, Vec<StateDescriptor>)>> {
        let mut states = Vec::new();
        for (index, (_, node)) in self.graph.nodes().enumerate() {
            let Some(open) = self.operators.get_mut(&index) else { continue };
            let snapshot = open.state.snapshot(CheckpointId(1), &SnapshotOptions::default())?;
            let handle = snapshot.upload(&MemoryStore::new().sink())?;
            states.push((node.id.clone(), handle.states));
        }
        Ok(states)
    }

    /// The entries that all operators keep.
    pub fn entries(&self) -> u64 {
        self.operators.values().map(|open| open.state.usage().entries).sum()
    }

    /// Hands rows of a keyed node's port on.
    fn give_from_port(&mut self, from: usize, port: usize, batch: &ChangeBatch, now_ms: i64) -> Result<()> {
        if port == MAIN_PORT {
            return self.give(from, batch, now_ms);
        }
        let graph = self.graph;
        let (from_id, _) = graph.nodes().nth(from).expect("a node");
        for (index, (_, node)) in graph.nodes().enumerate() {
            if matches!(node.kind, NodeKind::SideOutput { input, port: read } if input == from_id && read == port) {
                self.give(index, batch, now_ms)?;
            }
        }
        Ok(())
    }

    /// Hands rows on to all who read them.
    fn give(&mut self, from: usize, batch: &ChangeBatch, now_ms: i64) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let graph = self.graph;
        let (from_id, _) = graph.nodes().nth(from).expect("a node");
        for (index, (_, node)) in graph.nodes().enumerate() {
            for (input, _) in node.kind.inputs().iter().enumerate().filter(|(_, input)| **input == from_id) {
                match &node.kind {
                    NodeKind::Map { function, .. } => {
                        let located = |error: Error| error.with(Context::Operator, &node.id);
                        if let Some(mapped) = function()?.process(batch.clone()).map_err(located)? {
                            self.give(index, &mapped, now_ms)?;
                        }
                    }
                    NodeKind::Union { .. } => self.give(index, batch, now_ms)?,
                    NodeKind::SideOutput { .. } => {}
                    NodeKind::Keyed { .. } => {
                        let open = self.operators.get_mut(&index).expect("an open operator");
                        let keys = open.encoders[input].encode(batch)?;
                        let keyed = KeyedBatch { keys, changes: batch.clone() };
                        self.call(index, now_ms, |operator, cx| operator.process(input, &keyed, cx))?;
                    }
                    NodeKind::Sink { .. } => {
                        self.output.extend(shown(batch));
                        self.changes.push(batch.clone());
                    }
                    other => return Err(Error::internal(format!("{other:?} reads nothing"))),
                }
            }
        }
        Ok(())
    }

    /// Completes the tick: watermarks pass through the nodes in their order, and operators advance.
    fn advance(&mut self, now_ms: i64) -> Result<()> {
        let graph = self.graph;
        let index_of = |id| graph.nodes().position(|(node, _)| node == id).expect("a node of the graph");
        for (index, (_, node)) in graph.nodes().enumerate() {
            let inputs = node.kind.inputs();
            let Some(least_ms) = inputs.iter().map(|input| self.watermarks_ms[index_of(*input)]).min() else {
                continue;
            };
            let mut watermark_ms = least_ms;
            if let Some(open) = self.operators.get_mut(&index) {
                open.event_time_ms = open.event_time_ms.max(least_ms);
                self.call(index, now_ms, |operator, cx| operator.advance(cx))?;
                let open = &self.operators[&index];
                watermark_ms = open.operator.output_watermark_ms(open.event_time_ms);
            }
            self.watermarks_ms[index] = self.watermarks_ms[index].max(watermark_ms);
        }
        Ok(())
    }

    fn call(
        &mut self,
        index: usize,
        processing_time_ms: i64,
        f: impl FnOnce(&mut dyn KeyedOperator, &mut OperatorContext<'_>) -> Result<Progress>,
    ) -> Result<()> {
        let mut f = Some(f);
        loop {
            let mut output = Output::default();
            let open = self.operators.get_mut(&index).expect("an open operator");
            open.clock.advance_to(processing_time_ms);
            open.clock.advance_event_time_to(open.event_time_ms);
            let mut cx = OperatorContext {
                state: open.state.as_mut(),
                output: &mut output,
                event_time_ms: open.event_time_ms,
                processing_time_ms,
                cut: self.cut,
                end_of_input: open.event_time_ms == i64::MAX,
                counters: &mut self.counters,
            };
            let progress = match f.take() {
                Some(f) => f(open.operator.as_mut(), &mut cx),
                None => open.operator.resume(&mut cx),
            };
            let (_, node) = self.graph.nodes().nth(index).expect("a node");
            let progress = progress.map_err(|error| error.with(Context::Operator, &node.id))?;
            let batches: Vec<(usize, ChangeBatch)> = output.drain_ports().collect();
            let rows = batches.iter().map(|(_, batch)| batch.num_rows()).sum();
            self.rows_per_call_max = self.rows_per_call_max.max(rows);
            for (port, batch) in &batches {
                self.give_from_port(index, *port, batch, processing_time_ms)?;
            }
            if progress == Progress::Done {
                return Ok(());
            }
        }
    }
}

fn open(
    graph: &JobGraph,
    id: &OperatorId,
    inputs: &[KeyedInput],
    operator: &dyn KeyedOperatorFactory,
    restored: Option<&Restored>,
) -> Result<Open> {
    let max = MaxParallelism::DEFAULT;
    let backend = MemoryStateBackend::new();
    let clock = Arc::new(OperatorClock::default());
    let params = KeyedBackendParams {
        operator: id.clone(),
        subtask: 0,
        key_groups: KeyGroupRange { start: 0, end: max.get() },
        max_parallelism: max,
        clock: Arc::clone(&clock),
        local_dir: std::env::temp_dir(),
    };
    let handles: Vec<RestoredState<'_>> =
        restored.iter().map(|it| RestoredState { handle: &it.handle, source: &it.store }).collect();
    let mut state = backend.open_keyed(params, &handles)?;
    let encoder = |input: &KeyedInput| KeyEncoder::new(&graph.node(input.node).schema, &input.key, max);
    let encoders = inputs.iter().map(encoder).collect::<Result<_>>()?;
    let details: Vec<Value> = restored.iter().map(|it| it.details.clone()).collect();
    let event_time_ms = restored.map_or(i64::MIN, |it| it.event_time_ms);
    let operator = operator.open(OperatorSetup {
        state: state.as_mut(),
        capabilities: backend.capabilities(),
        subtask: 0,
        parallelism: 1,
        max_parallelism: max,
        restored: &details,
        event_time_ms,
        clock: &clock,
    })?;
    Ok(Open { encoders, operator, state, clock, event_time_ms })
}

fn with_row_watermarks(
    rows: RecordBatch,
    strategy: Option<&mut (dyn WatermarkStrategy + 'static)>,
    watermark_ms: &mut i64,
    wanted: bool,
    schema: &Schema,
) -> Result<RecordBatch> {
    let Some(strategy) = strategy else { return Ok(rows) };
    let mut before = Vec::with_capacity(rows.num_rows());
    for row in strategy.watermarks(&rows)?.iter() {
        before.push(*watermark_ms);
        *watermark_ms = row.unwrap_or(i64::MIN).max(*watermark_ms);
    }
    if !wanted {
        return Ok(rows);
    }
    let mut columns = rows.columns().to_vec();
    columns.push(Arc::new(Int64Array::from(before)));
    RecordBatch::try_new(Arc::new(schema.clone()), columns).map_err(|error| Error::internal(error.to_string()))
}
