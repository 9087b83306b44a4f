//! Runs a planned job in one thread, without the runtime: what each sink gets is the result.
#![allow(dead_code, unreachable_pub)]

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::Schema;
use headpond_config::Config;
use headpond_runtime::key::KeyEncoder;
use headpond_runtime::operator::{Counters, KeyedOperator, OperatorContext, OperatorSetup, Progress};
use headpond_runtime::source::{ReaderContext, WatermarkStrategy};
use headpond_runtime::{ChangeBatch, JobGraph, KeyedBatch, NodeKind, Output};
use headpond_sql::{PlannedJob, parse, plan};
use headpond_state::backend::{KeyedBackendParams, StateBackend};
use headpond_state::{Context, Error, KeyGroupRange, KeyedStateBackend, MaxParallelism, OperatorClock, Result};
use headpond_state_memory::MemoryStateBackend;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Plans a script.
pub fn planned(sql: &str) -> Result<PlannedJob> {
    plan(&parse(sql, "job.sql")?, Config::default())
}

/// The error of a script, with its way out.
pub fn refused(sql: &str) -> String {
    with_way_out(&planned(sql).expect_err("the script is wrong"))
}

/// An error, with its way out.
pub fn with_way_out(error: &Error) -> String {
    match error.way_out() {
        Some(hint) => format!("{error} [{hint}]"),
        None => error.to_string(),
    }
}

/// A temporary file with this content, and its path.
pub fn file(content: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("input.json");
    std::fs::write(&path, content).expect("a temporary file");
    let path = path.to_string_lossy().into_owned();
    (dir, path)
}

/// Rows as text: the change kind, then the columns.
pub type Rows = Vec<String>;

/// Runs a script over JSON lines; `{path}` in it is their file. Gives what the table `out` gets.
pub fn run_json(lines: &str, sql: &str) -> Result<Rows> {
    run_json_in_batches(lines, sql, usize::MAX)
}

/// As [`run_json`], with at most `rows` rows in a batch and a tick after each batch.
pub fn run_json_in_batches(lines: &str, sql: &str, rows: usize) -> Result<Rows> {
    let (_dir, path) = file(lines);
    let job = planned(&sql.replace("{path}", &path))?;
    let mut run = Run::new(&job.graph)?;
    run.all(rows, 0)?;
    Ok(run.output)
}

/// A job's operators, open.
pub struct Run<'g> {
    graph: &'g JobGraph,
    operators: BTreeMap<usize, Open>,
    /// What the sinks got.
    pub output: Rows,
    /// The sums of all operators' counters.
    pub counters: Counters,
    /// After how many batches the job is cut and its operators begin anew with their state.
    pub reopened_every: Option<usize>,
    cut: bool,
}

struct Open {
    encoder: KeyEncoder,
    operator: Box<dyn KeyedOperator>,
    state: Box<dyn KeyedStateBackend>,
    clock: Arc<OperatorClock>,
}

impl<'g> Run<'g> {
    pub fn new(graph: &'g JobGraph) -> Result<Self> {
        let mut operators = BTreeMap::new();
        let max = MaxParallelism::DEFAULT;
        for (index, (_, node)) in graph.nodes().enumerate() {
            let NodeKind::Keyed { inputs, operator } = &node.kind else { continue };
            let backend = MemoryStateBackend::new();
            let clock = Arc::new(OperatorClock::default());
            let params = KeyedBackendParams {
                operator: node.id.clone(),
                subtask: 0,
                key_groups: KeyGroupRange { start: 0, end: max.get() },
                max_parallelism: max,
                clock: Arc::clone(&clock),
                local_dir: std::env::temp_dir(),
            };
            let mut state = backend.open_keyed(params, &[])?;
            let schema = &graph.node(inputs[0].node).schema;
            let encoder = KeyEncoder::new(schema, &inputs[0].key, max)?;
            let operator = operator.open(OperatorSetup {
                state: state.as_mut(),
                capabilities: backend.capabilities(),
                subtask: 0,
                parallelism: 1,
                max_parallelism: max,
                restored: &[],
                event_time_ms: i64::MIN,
                clock: &clock,
            })?;
            operators.insert(index, Open { encoder, operator, state, clock });
        }
        let counters = Counters::default();
        Ok(Run { graph, operators, output: Vec::new(), counters, reopened_every: None, cut: false })
    }

    /// Reads all sources in batches of at most `rows` rows, at a processing time.
    pub fn all(&mut self, rows: usize, processing_time_ms: i64) -> Result<()> {
        for (index, (_, node)) in self.graph.nodes().enumerate() {
            let NodeKind::Source(source) = &node.kind else { continue };
            let mut strategy = source.watermarks.as_ref().map(|factory| factory()).transpose()?;
            let mut watermark = i64::MIN;
            let mut batches = 0;
            for split in source.source.splits()? {
                let mut reader = source.source.open(&split, None, &ReaderContext { subtask: 0, readers: 1 })?;
                while let Some(read) = reader.next(rows.min(8192))? {
                    let before = watermark;
                    let batch = with_row_watermarks(
                        read.rows,
                        strategy.as_deref_mut(),
                        &mut watermark,
                        source.row_watermark,
                        node.schema.as_ref(),
                    )?;
                    self.give(index, ChangeBatch::inserts(batch), before, processing_time_ms)?;
                    batches += 1;
                    self.cut = self.reopened_every.is_some_and(|every| batches % every == 0);
                    self.advance(index, watermark, processing_time_ms)?;
                    if std::mem::take(&mut self.cut) {
                        self.reopen(watermark)?;
                    }
                }
            }
            self.advance(index, i64::MAX, processing_time_ms)?;
        }
        Ok(())
    }

    /// Opens all operators anew over the state they have: nothing else survives.
    fn reopen(&mut self, event_time_ms: i64) -> Result<()> {
        for (index, (_, node)) in self.graph.nodes().enumerate() {
            let NodeKind::Keyed { operator, .. } = &node.kind else { continue };
            let open = self.operators.get_mut(&index).expect("an open operator");
            let details = [open.operator.details()];
            open.operator = operator.open(OperatorSetup {
                state: open.state.as_mut(),
                capabilities: MemoryStateBackend::new().capabilities(),
                subtask: 0,
                parallelism: 1,
                max_parallelism: MaxParallelism::DEFAULT,
                restored: &details,
                event_time_ms,
                clock: &open.clock,
            })?;
        }
        Ok(())
    }

    fn give(&mut self, from: usize, batch: ChangeBatch, event_time_ms: i64, now_ms: i64) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let graph = self.graph;
        for (index, (_, node)) in graph.nodes().enumerate() {
            let reads = node
                .kind
                .inputs()
                .iter()
                .any(|input| graph.node(*input).id == graph.nodes().nth(from).expect("a node").1.id);
            if !reads {
                continue;
            }
            match &node.kind {
                NodeKind::Map { function, .. } => {
                    let located = |error: Error| error.with(Context::Operator, &node.id);
                    if let Some(mapped) = function()?.process(batch.clone()).map_err(located)? {
                        self.give(index, mapped, event_time_ms, now_ms)?;
                    }
                }
                NodeKind::Keyed { .. } => {
                    let open = self.operators.get_mut(&index).expect("an open operator");
                    let keyed = KeyedBatch { keys: open.encoder.encode(&batch)?, changes: batch.clone() };
                    self.call(index, event_time_ms, now_ms, |operator, cx| operator.process(0, &keyed, cx))?;
                }
                NodeKind::Sink { .. } => self.output.extend(shown(&batch)),
                NodeKind::Union { .. } => self.give(index, batch.clone(), event_time_ms, now_ms)?,
                other => return Err(Error::internal(format!("{other:?} reads nothing"))),
            }
        }
        Ok(())
    }

    fn advance(&mut self, from: usize, event_time_ms: i64, now_ms: i64) -> Result<()> {
        let indices: Vec<usize> = self.operators.keys().copied().filter(|index| *index > from).collect();
        for index in indices {
            self.call(index, event_time_ms, now_ms, |operator, cx| operator.advance(cx))?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        index: usize,
        event_time_ms: i64,
        processing_time_ms: i64,
        f: impl FnOnce(&mut dyn KeyedOperator, &mut OperatorContext<'_>) -> Result<Progress>,
    ) -> Result<()> {
        let mut f = Some(f);
        loop {
            let mut output = Output::default();
            let open = self.operators.get_mut(&index).expect("an open operator");
            open.clock.advance_to(processing_time_ms);
            open.clock.advance_event_time_to(event_time_ms);
            let mut cx = OperatorContext {
                state: open.state.as_mut(),
                output: &mut output,
                event_time_ms,
                processing_time_ms,
                cut: self.cut,
                end_of_input: event_time_ms == i64::MAX,
                counters: &mut self.counters,
            };
            let progress = match f.take() {
                Some(f) => f(open.operator.as_mut(), &mut cx),
                None => open.operator.resume(&mut cx),
            };
            let (_, node) = self.graph.nodes().nth(index).expect("a node");
            let progress = progress.map_err(|error| error.with(Context::Operator, &node.id))?;
            let batches: Vec<ChangeBatch> = output.drain().collect();
            for batch in batches {
                self.give(index, batch, event_time_ms, processing_time_ms)?;
            }
            if progress == Progress::Done {
                return Ok(());
            }
        }
    }
}

fn with_row_watermarks(
    rows: RecordBatch,
    strategy: Option<&mut (dyn WatermarkStrategy + 'static)>,
    watermark: &mut i64,
    wanted: bool,
    schema: &Schema,
) -> Result<RecordBatch> {
    let Some(strategy) = strategy else { return Ok(rows) };
    let mut before = Vec::with_capacity(rows.num_rows());
    for row in strategy.watermarks(&rows)?.iter() {
        before.push(*watermark);
        *watermark = row.unwrap_or(i64::MIN).max(*watermark);
    }
    if !wanted {
        return Ok(rows);
    }
    let mut columns = rows.columns().to_vec();
    columns.push(Arc::new(Int64Array::from(before)));
    RecordBatch::try_new(Arc::new(schema.clone()), columns).map_err(|error| Error::internal(error.to_string()))
}

/// A batch's rows as text.
pub fn shown(batch: &ChangeBatch) -> Rows {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<&ArrayRef> = batch.rows().columns().iter().collect();
    let format = |column: &ArrayRef, row: usize| {
        ArrayFormatter::try_new(column.as_ref(), &options).expect("a column that can be shown").value(row).to_string()
    };
    (0..batch.num_rows())
        .map(|row| {
            let cells = columns.iter().map(|column| format(column, row)).collect::<Vec<_>>().join(" | ");
            format!("{} {cells}", batch.kind(row).short())
        })
        .collect()
}

/// What is left when all changes are applied: rows in order.
pub fn materialized(rows: &[String]) -> Rows {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for row in rows {
        let (kind, row) = row.split_once(' ').expect("a kind before the row");
        *counts.entry(row).or_default() += if matches!(kind, "+I" | "+U") { 1 } else { -1 };
    }
    let mut left = Vec::new();
    for (row, count) in counts {
        assert!(count >= 0, "row `{row}` was taken back more often than given");
        left.extend(std::iter::repeat_n(row.to_owned(), count as usize));
    }
    left
}

/// Rows of a batch in another order.
pub fn reordered(batch: &ChangeBatch, order: &[u32]) -> ChangeBatch {
    batch.take(&UInt32Array::from(order.to_vec())).expect("rows within the batch")
}

/// A table `t` with these columns over the input file, and a table `out` with these.
pub fn tables(input: &str, output: &str) -> String {
    format!(
        "CREATE TABLE t ({input}) WITH ('connector' = 'filesystem', 'path' = '{{path}}', 'format' = 'json');
         CREATE TABLE out ({output}) WITH ('connector' = 'blackhole');"
    )
}
