//! The source operator: rows from a reader thread into ticks.

use super::Plan;
use super::task::Addressed;
use crate::batch::ChangeBatch;
use crate::control::{Control, Report, ReportBody};
use crate::graph::{NodeId, SourceNode};
use crate::process::message::{Message, Messages};
use crate::process::reader::{Assignment, FromReader, Reader};
use crate::source::{ReadBatch, ReaderContext, WatermarkStrategy};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::SchemaRef;
use headpond_checkpoint::manifest::SplitState;
use headpond_state::{Context, Error, Result};
use std::sync::Arc;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::{Scope, Stream};
use timely::scheduling::activate::SyncActivator;

/// The bytes one worker takes into one tick, give or take a reader's batch: what bounds a tick of wide rows.
const BYTES_PER_TICK: usize = 16 << 20;

/// A source on one worker.
#[derive(Debug)]
pub(super) struct SourceTask {
    plan: Arc<Plan>,
    node: usize,
    worker: usize,
    schema: SchemaRef,
    reader: Reader,
    strategy: Option<Box<dyn WatermarkStrategy>>,
    row_watermark: bool,
    splits: Vec<SplitState>,
    watermark_ms: i64,
    /// Whether the reader has had no rows for longer than the time-out.
    idle: bool,
    /// The watermark last sent, and whether the source was idle then.
    sent_watermark: (i64, bool),
    ended: bool,
    reported: Option<ReportBody>,
}

impl SourceTask {
    pub(super) fn open(
        plan: Arc<Plan>,
        node: usize,
        worker: usize,
        source: &SourceNode,
        activator: SyncActivator,
    ) -> Result<Self> {
        let peers = plan.options.parallelism;
        let all = &plan.splits[&node];
        let mine = all.iter().enumerate().filter(|(index, _)| index % peers == worker).map(|(_, split)| split);
        let mine: Vec<_> = mine.collect();
        let readers = (0..peers)
            .filter(|&reader| all.iter().enumerate().any(|(i, split)| i % peers == reader && !split.1.finished))
            .count();
        let unread = mine.iter().enumerate().filter(|(_, (_, state))| !state.finished);
        let assignments = unread.map(|(index, (split, state))| Assignment {
            index,
            split: split.clone(),
            position: (!state.position.is_null()).then(|| state.position.clone()),
        });
        let context = ReaderContext { subtask: worker, readers: readers.max(1) };
        let strategy = source.watermarks.as_ref().map(|make| make()).transpose()?;
        let of_strategy = strategy.as_ref().and_then(|strategy| strategy.idle_timeout());
        let idle_timeout = of_strategy.or(plan.options.source_idle_timeout);
        let assignments: Vec<Assignment> = assignments.collect();
        // Known from the first tick on: how soon a thread comes to say so must not hold back event time.
        let ended = assignments.is_empty();
        let reader = Reader::start(source.source.clone(), assignments, context, idle_timeout, activator)?;
        let splits: Vec<SplitState> = mine.iter().map(|(_, state)| state.clone()).collect();
        let watermark_ms = resumed_watermark_ms(&splits);
        let schema = plan.graph.node(NodeId(node)).schema.clone();
        let row_watermark = source.row_watermark;
        Ok(SourceTask {
            plan,
            node,
            worker,
            schema,
            reader,
            strategy,
            row_watermark,
            splits,
            watermark_ms,
            idle: false,
            sent_watermark: (i64::MIN, false),
            ended,
            reported: None,
        })
    }

    /// Takes what is waiting into the tick of `control`.
    pub(super) fn tick(&mut self, control: &Control, mut give: impl FnMut(Messages)) -> Result<()> {
        let (mut rows, mut bytes) = (0, 0);
        while control.read && rows < self.plan.options.rows_per_tick && bytes < BYTES_PER_TICK {
            match self.reader.try_next() {
                None => break,
                Some(FromReader::Failed(error)) => return Err(error),
                Some(FromReader::Ended) => self.ended = true,
                Some(FromReader::Idle) => self.idle = true,
                Some(FromReader::SplitEnded(index)) => self.splits[index].finished = true,
                Some(FromReader::Batch(index, batch)) => {
                    self.idle = false;
                    rows += batch.rows.num_rows();
                    if let Some(batch) = self.take(index, batch)? {
                        let batch = ChangeBatch::inserts(batch);
                        bytes += batch.byte_len();
                        give(Messages::one(Message::Rows(batch)));
                    }
                }
            }
        }
        self.send_watermark(self.watermark_ms, self.idle && !self.ended, &mut give);
        if self.ended || control.cut.is_some_and(|cut| cut.end_of_input) {
            self.send_watermark(i64::MAX, false, &mut give);
        }
        Ok(())
    }

    fn send_watermark(&mut self, time_ms: i64, idle: bool, give: &mut impl FnMut(Messages)) {
        let watermark = (time_ms.max(self.sent_watermark.0), idle);
        if watermark != self.sent_watermark {
            self.sent_watermark = watermark;
            give(Messages::watermark(self.worker, self.plan.options.parallelism, watermark.0, watermark.1));
        }
    }

    /// Accounts for a batch and gives it its hidden column.
    fn take(&mut self, index: usize, batch: ReadBatch) -> Result<Option<RecordBatch>> {
        let rows = batch.rows.num_rows();
        self.plan.shared.metrics.add_read(rows as u64, batch.skipped);
        let mut before = Vec::new();
        if let Some(strategy) = &mut self.strategy {
            let watermarks = strategy.watermarks(&batch.rows)?;
            // Where another reader has left the split.
            self.watermark_ms = self.watermark_ms.max(self.splits[index].watermark_ms.unwrap_or(i64::MIN));
            self.watermark_ms = follow(self.watermark_ms, &watermarks, self.row_watermark.then_some(&mut before));
        } else if self.row_watermark {
            before.resize(rows, i64::MIN);
        }
        let split = &mut self.splits[index];
        split.position = batch.position;
        split.rows += rows as u64;
        split.skipped += batch.skipped;
        if self.watermark_ms != i64::MIN {
            split.watermark_ms = Some(self.watermark_ms);
            self.plan.shared.metrics.event_time_reached(self.watermark_ms);
        }
        if rows == 0 {
            return Ok(None);
        }
        let mut columns: Vec<ArrayRef> = batch.rows.columns().to_vec();
        if self.row_watermark {
            columns.push(Arc::new(Int64Array::from(before)));
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options);
        batch.map(Some).map_err(|error| Error::internal("a source's rows are not of its schema").because(error))
    }

    /// What worker 0 does not know yet: whether rows wait, whether the source has ended.
    pub(super) fn news(&mut self) -> Option<Report> {
        let body = if self.ended { ReportBody::Ended } else { ReportBody::Ready(self.reader.has_next()) };
        if self.reported.as_ref() == Some(&body) {
            return None;
        }
        self.reported = Some(body.clone());
        Some(self.report(body))
    }

    /// The positions, as this source's part of a checkpoint.
    pub(super) fn part(&self, checkpoint: u64) -> Report {
        self.report(ReportBody::part(checkpoint, &self.splits))
    }

    fn report(&self, body: ReportBody) -> Report {
        Report { node: self.node, worker: self.worker, body }
    }
}

/// Builds a source's operator.
pub(super) fn build_source<'scope>(
    scope: Scope<'scope, u64>,
    plan: &Arc<Plan>,
    node: usize,
    source: &SourceNode,
    control: Stream<'scope, u64, Addressed>,
) -> (Stream<'scope, u64, Messages>, Stream<'scope, u64, Vec<Report>>) {
    let id = plan.graph.node(NodeId(node)).id.clone();
    let shared = plan.shared.clone();
    let mut builder = OperatorBuilder::new(id.as_str().to_owned(), scope);
    let mut control = builder.new_input(control, Exchange::new(|addressed: &(usize, Control)| addressed.0 as u64));
    let (mut data, data_stream) = builder.new_output::<Messages>();
    let (mut reports, report_stream) = builder.new_output::<Vec<Report>>();
    let activator = scope.worker().sync_activator_for(builder.operator_info().address.to_vec());
    let located = move |error: Error| error.with(Context::Operator, &id);
    let mut task = match SourceTask::open(plan.clone(), node, scope.index(), source, activator) {
        Ok(task) => Some(task),
        Err(error) => {
            shared.fail(located(error));
            None
        }
    };
    builder.build(move |mut capabilities| {
        let mut report_at = capabilities.pop();
        drop(capabilities);
        move |frontiers| {
            let mut data = data.activate();
            let mut reports = reports.activate();
            let mut failure = None;
            control.for_each(|capability, messages| {
                for (_, message) in messages.drain(..) {
                    let Some(task) = task.as_mut().filter(|_| !shared.has_failed()) else { continue };
                    let read = task.tick(&message, |mut messages| data.give(&capability, &mut messages));
                    failure = failure.take().or(read.err());
                    if let (Some(cut), Some(report_at)) = (message.cut, &report_at) {
                        reports.give(report_at, &mut vec![task.part(cut.checkpoint)]);
                    }
                }
            });
            if let Some(error) = failure {
                shared.fail(located(error));
            }
            match frontiers[0].frontier().first() {
                None => {
                    report_at = None;
                    task = None;
                }
                Some(time) => {
                    if let Some(capability) = report_at.as_mut().filter(|capability| time > capability.time()) {
                        capability.downgrade(time);
                    }
                }
            }
            if let (Some(task), Some(report_at)) = (&mut task, &report_at)
                && let Some(news) = task.news()
            {
                reports.give(report_at, &mut vec![news]);
            }
        }
    });
    (data_stream, report_stream)
}

/// The watermark with which a reader goes on with its splits: that of the split it begins with, or of the last one before.
/// Later splits may have been read further, by other readers: their rows are as far ahead as their watermarks, and this
/// split's rows are not late for it.
fn resumed_watermark_ms(splits: &[SplitState]) -> i64 {
    let begun = splits.iter().position(|split| !split.finished).map_or(splits.len(), |first| first + 1);
    splits[..begun].iter().rev().find_map(|split| split.watermark_ms).unwrap_or(i64::MIN)
}

/// The watermark after a batch, given the one before it; `before` collects the one each row meets.
fn follow(mut watermark_ms: i64, watermarks: &Int64Array, before: Option<&mut Vec<i64>>) -> i64 {
    match before {
        None => watermark_ms.max(watermarks.iter().flatten().max().unwrap_or(i64::MIN)),
        Some(before) => {
            before.reserve(watermarks.len());
            for row in 0..watermarks.len() {
                before.push(watermark_ms);
                if watermarks.is_valid(row) {
                    watermark_ms = watermark_ms.max(watermarks.value(row));
                }
            }
            watermark_ms
        }
    }
}
