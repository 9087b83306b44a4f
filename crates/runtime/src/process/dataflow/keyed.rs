//! The keyed operator's life on one worker: rows of the oldest tick, then event time, then the snapshot, then the next
//! tick.

use super::event_time::EventTime;
use super::key_group_parts::KeyGroupParts;
use super::task::{Task, TaskIo};
use super::ticks::{Tick, Ticks};
use crate::batch::{ChangeBatch, arrow_error};
use crate::control::{Control, Cut, KeyedPart, Report, ReportBody, TaskDetails};
use crate::graph::NodeId;
use crate::key::{KeyedBatch, Keys};
use crate::metrics::OperatorFigures;
use crate::operator::{Counters, KeyedOperator, OperatorContext, Progress};
use crate::output::{MAIN_PORT, Output};
use crate::process::environment::Environment;
use crate::process::in_flight::{Exchanges, InFlight};
use crate::process::message::{Message, Messages};
use crate::process::uploads::{Outcomes, Upload};
use arrow_array::UInt8Array;
use headpond_checkpoint::manifest::SubtaskState;
use headpond_state::{
    CheckpointId, Context, Error, KeyedStateBackend, OperatorClock, OperatorId, Result, SnapshotOptions,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often an operator's figures are brought up to date.
const FIGURES_INTERVAL: Duration = Duration::from_millis(100);

/// A keyed state backend with the bookkeeping of its checkpoints: what keyed operators and keyed sinks share.
#[derive(Debug)]
pub(super) struct TaskState {
    pub(super) backend: Box<dyn KeyedStateBackend>,
    pub(super) clock: Arc<OperatorClock>,
    uploads: Outcomes<Upload>,
    /// Parts whose uploads are still under way.
    awaiting: BTreeMap<CheckpointId, KeyedPart>,
}

/// A part whose upload has ended.
#[derive(Debug)]
pub(super) struct UploadedPart {
    pub(super) id: CheckpointId,
    pub(super) result: Result<KeyedPart>,
}

impl TaskState {
    pub(super) fn new(
        backend: Box<dyn KeyedStateBackend>,
        clock: Arc<OperatorClock>,
        uploads: Outcomes<Upload>,
    ) -> Self {
        TaskState { backend, clock, uploads, awaiting: BTreeMap::new() }
    }

    /// Moves on the event time by which state expires: when a tick is done, so that its timers find what was there
    /// before it. The end of all input, at MAX, lets nothing expire.
    pub(super) fn advance_event_time_to(&self, event_time_ms: i64) {
        if event_time_ms != i64::MAX {
            self.clock.advance_event_time_to(event_time_ms);
        }
    }

    pub(super) fn apply_control(&mut self, control: &Control) -> Result<()> {
        self.clock.advance_to(control.now_ms);
        for id in &control.completed {
            self.backend.checkpoint_completed(CheckpointId(*id))?;
        }
        for id in &control.aborted {
            self.awaiting.remove(&CheckpointId(*id));
            self.backend.checkpoint_aborted(CheckpointId(*id))?;
        }
        Ok(())
    }

    /// The synchronous phase: fixes the state and hands it to the I/O threads. Returns what to tell of it.
    pub(super) fn snapshot(
        &mut self,
        environment: &Environment,
        worker: usize,
        cut: Cut,
        event_time_ms: i64,
        details: &TaskDetails,
    ) -> Result<ReportBody> {
        let details = serde_json::to_value(details)
            .map_err(|error| Error::internal("an operator's details are no JSON").because(error))?;
        let id = CheckpointId(cut.checkpoint);
        let begun = Instant::now();
        let options = SnapshotOptions { incremental: environment.plan.incremental, compact: environment.plan.compact };
        let snapshot = self.backend.snapshot(id, &options)?;
        let took = begun.elapsed();
        let subtask = SubtaskState { subtask: worker, key_groups: self.backend.key_groups(), details, state: None };
        self.awaiting.insert(id, KeyedPart { subtask, event_time_ms, sync_us: took.as_micros() as u64 });
        environment.uploads.upload(cut, snapshot, &self.uploads);
        Ok(ReportBody::Synchronous { us: took.as_micros() as u64 })
    }

    /// The parts whose uploads have ended since the last call.
    pub(super) fn uploaded(&mut self) -> Vec<UploadedPart> {
        let ended: Vec<Upload> = self.uploads.take().collect();
        let parts = ended.into_iter().filter_map(|Upload { id, result }| {
            // A part that is no longer awaited belongs to an aborted checkpoint.
            let mut part = self.awaiting.remove(&id)?;
            let result = result.map(|handle| {
                part.subtask.state = Some(handle);
                part
            });
            Some(UploadedPart { id, result })
        });
        parts.collect()
    }

    pub(super) fn has_awaiting(&self) -> bool {
        !self.awaiting.is_empty()
    }
}

/// A keyed operator on one worker.
#[derive(Debug)]
pub(super) struct KeyedTask {
    environment: Arc<Environment>,
    node: usize,
    id: OperatorId,
    worker: usize,
    operator: Box<dyn KeyedOperator>,
    state: TaskState,
    event_time: EventTime,
    counters: Counters,
    output: Output,
    /// The ports that are read, in the order of the outputs.
    ports: Vec<usize>,
    /// The exchanges that take the output.
    behind: Vec<InFlight>,
    phase: Phase,
    /// The watermark last sent, and whether the output was idle then.
    sent_watermark: (i64, bool),
    /// The wake-up that the leader knows of.
    reported_wake_ms: Option<i64>,
    figures_at: Option<Instant>,
    /// Whether the backend likes rows key group by key group, not in the order of their keys.
    by_key_group: bool,
    /// What is left of rows of the tick, in the order of key groups, and their input.
    parts: Option<(usize, KeyGroupParts)>,
}

/// Where the operator is in its oldest tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Taking rows; control has not been applied.
    Fresh,
    /// Taking rows.
    Rows,
    /// A call with rows has more to give.
    MoreOfRows,
    /// Event time has moved and the call has more to give.
    MoreOfTime,
}

/// What all calls of a tick have in common.
#[derive(Debug, Clone, Copy)]
struct TickContext {
    now_ms: i64,
    cut: bool,
    end_of_input: bool,
}

/// An operator that has been opened, with what a restore brought.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) operator: Box<dyn KeyedOperator>,
    pub(super) state: TaskState,
    pub(super) inputs: usize,
    pub(super) event_time_ms: i64,
    pub(super) counters: Counters,
}

impl KeyedTask {
    pub(super) fn new(
        environment: Arc<Environment>,
        exchanges: &Exchanges,
        node: usize,
        worker: usize,
        opened: Opened,
    ) -> Self {
        let Opened { operator, state, inputs, event_time_ms, counters } = opened;
        let graph = &environment.graph;
        let id = graph.node(NodeId(node)).id.clone();
        let peers = environment.plan.parallelism;
        let behind = exchanges.behind(graph, node);
        let ports = std::iter::once(MAIN_PORT).chain(graph.side_ports(NodeId(node))).collect();
        let by_key_group = environment.backend.capabilities().key_groups_are_local;
        KeyedTask {
            environment,
            node,
            id,
            worker,
            operator,
            state,
            event_time: EventTime::new(inputs, peers, event_time_ms),
            counters,
            output: Output::default(),
            ports,
            behind,
            phase: Phase::Fresh,
            sent_watermark: (i64::MIN, false),
            reported_wake_ms: None,
            figures_at: None,
            by_key_group,
            parts: None,
        }
    }

    /// Works on the oldest tick. True when the tick is finished.
    fn advance_tick(&mut self, tick: &mut Tick, complete: bool, io: &mut TaskIo<'_>) -> Result<Progress> {
        if self.phase == Phase::Fresh {
            let Some(control) = &tick.control else { return Ok(Progress::More) };
            self.state.apply_control(control)?;
            self.phase = Phase::Rows;
        }
        let cut = tick.control.as_ref().and_then(|control| control.cut);
        let at = TickContext {
            now_ms: self.state.clock.now_ms(),
            cut: cut.is_some(),
            end_of_input: cut.is_some_and(|cut| cut.end_of_input),
        };
        if self.behind.iter().any(InFlight::is_congested) {
            io.activate_later();
            return Ok(Progress::More);
        }
        let rows_per_call = self.environment.plan.rows_per_tick;
        loop {
            match self.phase {
                Phase::Fresh => unreachable!("left above"),
                Phase::MoreOfRows => {
                    if self.call(at, |operator, cx| operator.resume(cx))? == Progress::Done {
                        self.phase = Phase::Rows;
                    }
                }
                Phase::MoreOfTime => {
                    if self.call(at, |operator, cx| operator.resume(cx))? == Progress::Done {
                        self.send(tick, io);
                        return self.finish(tick, io).map(|()| Progress::Done);
                    }
                }
                Phase::Rows
                    if self.parts.is_some() || tick.row_count >= rows_per_call || (complete && tick.row_count > 0) =>
                {
                    let Some((input, batch)) = self.next_rows(tick, rows_per_call)? else { continue };
                    if self.call(at, |operator, cx| operator.process(input, &batch, cx))? == Progress::More {
                        self.phase = Phase::MoreOfRows;
                    }
                }
                Phase::Rows if complete => {
                    for (input, watermark) in tick.watermarks.drain(..) {
                        self.event_time.observe(input, watermark);
                    }
                    self.event_time.advance();
                    self.phase = Phase::MoreOfTime;
                    if self.call(at, |operator, cx| operator.advance(cx))? == Progress::Done {
                        self.send(tick, io);
                        return self.finish(tick, io).map(|()| Progress::Done);
                    }
                }
                Phase::Rows => return Ok(Progress::More),
            }
            self.send(tick, io);
            if self.phase != Phase::Rows || self.output.is_full() {
                io.activate_again();
                return Ok(Progress::More);
            }
        }
    }

    /// The next rows for a call with their input; `None`: these were the last ones of a batch.
    fn next_rows(&mut self, tick: &mut Tick, rows: usize) -> Result<Option<(usize, KeyedBatch)>> {
        if !self.by_key_group {
            return next_rows(tick, rows).map(Some);
        }
        let (input, mut parts) = match self.parts.take() {
            Some(parts) => parts,
            None => next_rows(tick, rows).map(|(input, batch)| (input, KeyGroupParts::new(batch)))?,
        };
        let part = parts.next()?;
        if part.is_some() {
            self.parts = Some((input, parts));
        }
        Ok(part.map(|part| (input, part)))
    }

    fn call(
        &mut self,
        at: TickContext,
        call: impl FnOnce(&mut dyn KeyedOperator, &mut OperatorContext<'_>) -> Result<Progress>,
    ) -> Result<Progress> {
        let mut cx = OperatorContext {
            state: self.state.backend.as_mut(),
            output: &mut self.output,
            event_time_ms: self.event_time.now_ms(),
            processing_time_ms: at.now_ms,
            cut: at.cut,
            end_of_input: at.end_of_input,
            counters: &mut self.counters,
        };
        call(self.operator.as_mut(), &mut cx)
    }

    fn send(&mut self, tick: &Tick, io: &mut TaskIo<'_>) {
        for (port, batch) in self.output.drain_ports() {
            if let Some(output) = self.ports.iter().position(|read| *read == port) {
                io.give(tick, output, Messages::one(Message::Rows(batch)));
            }
        }
    }

    fn finish(&mut self, tick: &mut Tick, io: &mut TaskIo<'_>) -> Result<()> {
        self.phase = Phase::Fresh;
        self.state.advance_event_time_to(self.event_time.now_ms());
        self.state.backend.time_passed()?;
        self.send_watermark(tick, self.event_time.before_end_ms(), io);
        self.send_watermark(tick, self.event_time.now_ms(), io);
        // The leader has forgotten a wake-up that this tick or one before it was.
        self.reported_wake_ms = self.reported_wake_ms.filter(|at_ms| *at_ms > self.state.clock.now_ms());
        let cut = tick.control.as_ref().and_then(|control| control.cut);
        if let Some(cut) = cut {
            let details = TaskDetails {
                operator: self.operator.details(),
                counters: self.counters.iter().map(|(name, count)| (name.to_owned(), count)).collect(),
            };
            if cut.persist {
                let event_time_ms = self.event_time.now_ms();
                let taken = self.state.snapshot(&self.environment, self.worker, cut, event_time_ms, &details)?;
                io.report(self.report(taken));
            } else {
                io.report(self.report(ReportBody::part(cut.checkpoint, &())));
            }
        }
        self.report_figures(cut.is_some(), io);
        Ok(())
    }

    fn send_watermark(&mut self, tick: &Tick, event_time_ms: i64, io: &mut TaskIo<'_>) {
        let (sent_ms, _) = self.sent_watermark;
        let watermark = (self.operator.output_watermark_ms(event_time_ms).max(sent_ms), self.event_time.is_idle());
        if watermark != self.sent_watermark {
            self.sent_watermark = watermark;
            let peers = self.environment.plan.parallelism;
            for output in 0..self.ports.len() {
                io.give(tick, output, Messages::watermark(self.worker, peers, watermark.0, watermark.1));
            }
        }
    }

    fn report_figures(&mut self, now: bool, io: &mut TaskIo<'_>) {
        if !now && self.figures_at.is_some_and(|at| at.elapsed() < FIGURES_INTERVAL) {
            return;
        }
        self.figures_at = Some(Instant::now());
        let figures = OperatorFigures {
            state: self.state.backend.usage(),
            counters: self.counters.iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        };
        io.report(self.report(ReportBody::Figures(figures)));
    }

    fn report(&self, body: ReportBody) -> Report {
        Report { node: self.node, worker: self.worker, body }
    }
}

impl Task for KeyedTask {
    fn work(&mut self, ticks: &mut Ticks, frontier: Option<u64>, io: &mut TaskIo<'_>) -> Result<()> {
        let in_operator = |error: Error| error.with(Context::Operator, self.id.as_str());
        for UploadedPart { id, result } in self.state.uploaded() {
            let body = match result {
                Ok(part) => ReportBody::part(id.0, &part),
                Err(error) => ReportBody::failed(id.0, &in_operator(error)),
            };
            io.report(self.report(body));
        }
        while let Some((time, tick)) = ticks.oldest() {
            let complete = frontier.is_none_or(|frontier| frontier > time);
            let id = self.id.clone();
            match self.advance_tick(tick, complete, io).map_err(|error| error.with(Context::Operator, id.as_str()))? {
                Progress::Done => ticks.finish_oldest(),
                Progress::More => break,
            }
        }
        let wake_ms = self.operator.wake_at_ms();
        if wake_ms != self.reported_wake_ms {
            self.reported_wake_ms = wake_ms;
            io.report(self.report(ReportBody::WakeAt(wake_ms)));
        }
        Ok(())
    }

    fn is_idle(&self) -> bool {
        !self.state.has_awaiting()
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.state.backend.close()
    }
}

/// Takes the next rows of a tick: as many consecutive batches of one input as make a call worth it, in one.
fn next_rows(tick: &mut Tick, rows_per_call: usize) -> Result<(usize, KeyedBatch)> {
    let input = tick.rows.front().map_or(0, |(input, _)| *input);
    let mut batches = Vec::new();
    let mut rows = 0;
    while rows < rows_per_call
        && let Some((from, Message::Keyed(_))) = tick.rows.front()
        && *from == input
        && let Some((_, Message::Keyed(batch))) = tick.rows.pop_front()
    {
        rows += batch.changes.num_rows();
        batches.push(batch);
    }
    tick.row_count -= rows;
    if batches.is_empty() {
        return Err(Error::internal("rows without keys reached a keyed operator"));
    }
    Ok((input, concat(batches)?))
}

fn concat(mut batches: Vec<KeyedBatch>) -> Result<KeyedBatch> {
    if batches.len() == 1
        && let Some(batch) = batches.pop()
    {
        return Ok(batch);
    }
    let rows = arrow_select::concat::concat_batches(
        &batches[0].changes.schema(),
        batches.iter().map(|batch| batch.changes.rows()),
    )
    .map_err(arrow_error)?;
    let changes = if batches.iter().all(|batch| batch.changes.is_insert_only()) {
        ChangeBatch::inserts(rows)
    } else {
        let kinds =
            batches.iter().flat_map(|batch| (0..batch.changes.num_rows()).map(|row| batch.changes.kind(row) as u8));
        ChangeBatch::with_kinds(rows, UInt8Array::from_iter_values(kinds))?
    };
    let mut keys = Keys::new(batches[0].keys.max_parallelism());
    for batch in &batches {
        keys.extend(&batch.keys);
    }
    Ok(KeyedBatch { changes, keys })
}
