//! The source operator: rows from a reader thread into ticks.

use super::event_time::CombinedWatermark;
use super::read_ahead::{Next, ReadAhead, SplitNews};
use super::split_times::SplitTimes;
use super::task::Addressed;
use crate::control::{Control, NewSplit, Report, ReportBody, Standing};
use crate::graph::{NodeId, SourceNode};
use crate::metrics::Progress;
use crate::process::environment::Environment;
use crate::process::message::{Message, Messages};
use crate::process::reader::{Assignment, FromReader, Reader, ReaderSetup, Watermarks};
use crate::source::{ReaderContext, SourceSplit};
use headpond_checkpoint::manifest::SplitState;
use headpond_state::{CheckpointId, Context, Error, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::{Scope, Stream};
use timely::scheduling::activate::SyncActivator;

/// The bytes one worker takes into one tick, give or take a reader's batch: what bounds a tick of wide rows.
const BYTES_PER_TICK: usize = 16 << 20;
/// The least rows that wait on a worker of an aligned source, if there are some to be read.
const ALIGNED_ROWS_MIN: usize = 8192;

/// A source on one worker.
#[derive(Debug)]
pub(super) struct SourceTask {
    environment: Arc<Environment>,
    node: usize,
    worker: usize,
    reader: Reader,
    splits: SplitTimes,
    ahead: ReadAhead,
    /// Whether its splits are released together with those of other workers.
    aligned: bool,
    rows_per_tick: usize,
    /// Why reading has ended too early. What was read before is taken first.
    failed: Option<Error>,
    /// Whether the reader has ended; the source has once all is taken.
    reader_ended: bool,
    /// The positions of checkpoints that are neither committed nor given up.
    cuts: BTreeMap<u64, Vec<(usize, Value)>>,
    /// The watermark last sent, and whether the source was idle then.
    sent_watermark: (i64, bool),
    ended: bool,
    reported: Option<ReportBody>,
    /// What the leader has not heard of.
    progress: Progress,
}

impl SourceTask {
    pub(super) fn open(
        environment: Arc<Environment>,
        node: usize,
        worker: usize,
        source: &SourceNode,
        activator: SyncActivator,
    ) -> Result<Self> {
        let plan = &environment.plan;
        let all = &plan.splits[&node];
        let mine: Vec<_> = all.iter().filter(|split| split.worker == worker).collect();
        let readers: BTreeSet<usize> =
            all.iter().filter(|split| !split.state.finished).map(|split| split.worker).collect();
        let unread = mine.iter().enumerate().filter(|(_, split)| !split.state.finished);
        let assignments = unread.map(|(index, it)| Assignment::new(index, it.split.clone(), &it.state));
        let assignments: Vec<Assignment> = assignments.collect();
        let watched = source.source.monitor_interval().is_some();
        // Known from the first tick on: how soon a thread comes to say so must not hold back event time.
        let ended = assignments.is_empty() && !watched;
        let unread = all.iter().filter(|split| !split.state.finished).count();
        // Rows of a split that does not end may be long in coming, and the others are not to wait for them.
        let has_event_time = source.watermarks.is_some() && source.row_watermark;
        let aligned = has_event_time && source.source.splits_end() && (watched || unread > 1);
        let strategy = source.watermarks.as_ref().map(|make| make()).transpose()?;
        let finished = mine.iter().filter(|split| split.state.finished);
        let setup = ReaderSetup {
            finished: finished.map(|it| (it.split.clone(), it.state.position.clone())).collect(),
            source: source.source.clone(),
            schema: environment.graph.node(NodeId(node)).schema.clone(),
            row_watermark: source.row_watermark,
            watermarks: source.watermarks.clone().map(Watermarks),
            context: ReaderContext {
                subtask: worker,
                readers: if watched { plan.parallelism } else { readers.len().max(1) },
            },
            idle_timeout: strategy.and_then(|strategy| strategy.idle_timeout()).or(plan.source_idle_timeout),
        };
        let reader = Reader::start(setup, activator)?;
        reader.read(assignments);
        if !watched {
            reader.no_more();
        }
        let splits = SplitTimes::new(mine.iter().map(|split| split.state.clone()), watched);
        let rows_per_tick = match aligned {
            // What waits on all workers together is what fits in a tick.
            true => (plan.rows_per_tick / readers.len().max(1)).max(ALIGNED_ROWS_MIN.min(plan.rows_per_tick)),
            false => plan.rows_per_tick,
        };
        Ok(SourceTask {
            environment,
            node,
            worker,
            reader,
            splits,
            ahead: ReadAhead::new(source.row_watermark),
            aligned,
            rows_per_tick,
            failed: None,
            reader_ended: false,
            cuts: BTreeMap::new(),
            sent_watermark: (i64::MIN, false),
            ended,
            reported: None,
            progress: Progress::default(),
        })
    }

    /// Takes what is waiting into the tick of `control`.
    pub(super) fn tick(&mut self, control: &Control, mut give: impl FnMut(Messages)) -> Result<()> {
        self.begin_with(&control.splits);
        self.settle(control);
        if control.read {
            let align_ms = match self.aligned {
                true => control.align_ms.get(&self.node).copied().unwrap_or(i64::MIN),
                false => i64::MAX,
            };
            self.read(align_ms, &mut give)?;
            self.reported = self.reported.take().filter(|_| !self.aligned);
        }
        let CombinedWatermark { time_ms, idle } = self.splits.combined();
        if self.ended || control.cut.is_some_and(|cut| cut.end_of_input) {
            self.send_watermark(self.splits.greatest_ms(), false, &mut give);
            self.send_watermark(i64::MAX, false, &mut give);
        } else {
            self.send_watermark(time_ms, idle, &mut give);
        }
        Ok(())
    }

    /// Takes rows that do not lie beyond `align_ms`, as many as fit in a tick. Those of an aligned source all fit.
    fn read(&mut self, align_ms: i64, give: &mut impl FnMut(Messages)) -> Result<()> {
        let (mut rows, mut bytes) = (0, 0);
        loop {
            if !self.aligned && (rows >= self.rows_per_tick || bytes >= BYTES_PER_TICK) {
                break;
            }
            self.fill(rows, bytes);
            let Some(next) = self.ahead.next(align_ms)? else { break };
            match next {
                Next::News(index, news) => self.heard(index, news),
                Next::Rows(index, released) => {
                    let skipped = released.batch_end.as_ref().map_or(0, |end| end.skipped);
                    let count = released.rows.num_rows();
                    rows += count;
                    self.progress.read += count as u64;
                    self.progress.skipped += skipped;
                    let batch = self.splits.took(index, released);
                    if count > 0 {
                        bytes += batch.byte_len();
                        give(Messages::one(Message::Rows(batch)));
                    }
                }
            }
        }
        if self.ahead.is_empty() {
            self.ended |= self.reader_ended;
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes what the reader has until as much waits as fits in a tick that has these rows already. An aligned source
    /// goes on while it has nothing of the split that is furthest behind: all wait for that.
    fn fill(&mut self, rows: usize, bytes: usize) {
        while !self.reader_ended && self.failed.is_none() {
            let is_full =
                self.ahead.rows() + rows >= self.rows_per_tick || self.ahead.bytes() + bytes >= BYTES_PER_TICK;
            if is_full && !(self.aligned && self.splits.lacks_at(self.splits.read_ms(&self.ahead), &self.ahead)) {
                break;
            }
            match self.reader.try_next() {
                None => break,
                Some(FromReader::Failed(error)) => self.failed = Some(error),
                Some(FromReader::Ended) => self.reader_ended = true,
                Some(FromReader::Backlog(backlog)) => self.progress.backlog = Some(backlog),
                Some(FromReader::NotBefore(bounds)) => self.splits.not_before(&bounds),
                Some(FromReader::Idle(index)) => self.hear(index, SplitNews::Idle),
                Some(FromReader::SplitEnded(index)) => self.hear(index, SplitNews::Ended),
                Some(FromReader::Batch(index, batch)) => self.ahead.push_batch(index, batch),
            }
        }
    }

    /// Takes note of news of a split, once what was read of it before is taken.
    fn hear(&mut self, index: usize, news: SplitNews) {
        match self.ahead.read_ms(index) {
            Some(_) => self.ahead.push_news(index, news),
            None => self.heard(index, news),
        }
    }

    fn heard(&mut self, index: usize, news: SplitNews) {
        match news {
            SplitNews::Idle => self.splits.idle(index),
            SplitNews::Ended => self.splits.ended(index),
        }
    }

    /// Tells the reader of the newest checkpoint that was committed.
    fn settle(&mut self, control: &Control) {
        control.aborted.iter().for_each(|checkpoint| drop(self.cuts.remove(checkpoint)));
        let Some(&newest) = control.completed.iter().max() else { return };
        let later = self.cuts.split_off(&(newest + 1));
        let positions = self.cuts.remove(&newest).unwrap_or_default();
        self.cuts = later;
        if !positions.is_empty() {
            self.reader.committed(CheckpointId(newest), positions);
        }
    }

    /// Takes up those of new splits that are this worker's.
    fn begin_with(&mut self, splits: &[NewSplit]) {
        let mine = splits.iter().filter(|split| (split.node, split.worker) == (self.node, self.worker));
        let assignments = mine.map(|split| {
            let state = SplitState::unread(&split.id);
            let split = SourceSplit { id: split.id.clone() };
            Assignment::new(self.splits.add(state.clone()), split, &state)
        });
        let assignments: Vec<Assignment> = assignments.collect();
        if !assignments.is_empty() {
            self.reader.read(assignments);
        }
    }

    fn send_watermark(&mut self, time_ms: i64, idle: bool, give: &mut impl FnMut(Messages)) {
        let watermark = (time_ms.max(self.sent_watermark.0), idle);
        if watermark != self.sent_watermark {
            self.sent_watermark = watermark;
            // MAX, the end of an input, is no time to show.
            if watermark.0 != i64::MAX && watermark.0 != i64::MIN {
                self.progress.event_time_ms = Some(watermark.0);
            }
            give(Messages::watermark(self.worker, self.environment.plan.parallelism, watermark.0, watermark.1));
        }
    }

    /// What the leader does not know yet: what was read, whether rows wait, whether the source has ended.
    pub(super) fn news(&mut self) -> Vec<Report> {
        let mut news = Vec::new();
        let progress = std::mem::take(&mut self.progress);
        if !progress.is_empty() {
            news.push(self.report(ReportBody::Progress(progress)));
        }
        let body = match self.ended {
            true => ReportBody::Ended,
            false if self.aligned => {
                self.fill(0, 0);
                ReportBody::Aligned(self.standing())
            }
            false => ReportBody::Ready(self.reader.has_next() || !self.ahead.is_empty()),
        };
        if self.reported.as_ref() != Some(&body) {
            self.reported = Some(body.clone());
            news.push(self.report(body));
        }
        news
    }

    /// Where an aligned source stands.
    fn standing(&self) -> Standing {
        // The end, and an error, come with a tick.
        let waits_for_tick = self.ahead.is_empty() && (self.reader_ended || self.failed.is_some());
        let waiting_ms = if waits_for_tick { Some(i64::MIN) } else { self.ahead.waiting_ms() };
        Standing { waiting_ms, read_ms: self.splits.read_ms(&self.ahead) }
    }

    /// The positions, as this source's part of a checkpoint.
    pub(super) fn part(&mut self, checkpoint: u64) -> Report {
        self.cuts.insert(checkpoint, self.splits.positions());
        self.report(ReportBody::part(checkpoint, &self.splits.states()))
    }

    fn report(&self, body: ReportBody) -> Report {
        Report { node: self.node, worker: self.worker, body }
    }
}

/// Builds a source's operator.
pub(super) fn build_source<'scope>(
    scope: Scope<'scope, u64>,
    environment: &Arc<Environment>,
    node: usize,
    source: &SourceNode,
    control: Stream<'scope, u64, Addressed>,
) -> Stream<'scope, u64, Messages> {
    let id = environment.graph.node(NodeId(node)).id.clone();
    let shared = environment.shared.clone();
    let mut builder = OperatorBuilder::new(id.as_str().to_owned(), scope);
    let mut control = builder.new_input(control, Exchange::new(|addressed: &(usize, Control)| addressed.0 as u64));
    let (mut data, data_stream) = builder.new_output::<Messages>();
    let activator = scope.worker().sync_activator_for(builder.operator_info().address.to_vec());
    let located = move |error: Error| error.with(Context::Operator, &id);
    let mut task = match SourceTask::open(environment.clone(), node, scope.index(), source, activator) {
        Ok(task) => Some(task),
        Err(error) => {
            shared.fail(located(error));
            None
        }
    };
    builder.build(move |_| {
        move |frontiers| {
            let mut data = data.activate();
            let mut reports = Vec::new();
            let mut failure = None;
            control.for_each(|capability, messages| {
                for (_, message) in messages.drain(..) {
                    let Some(task) = task.as_mut().filter(|_| !shared.has_failed()) else { continue };
                    let read = task.tick(&message, |mut messages| data.give(&capability, &mut messages));
                    failure = failure.take().or(read.err());
                    if let Some(cut) = message.cut {
                        reports.push(task.part(cut.checkpoint));
                    }
                }
            });
            if let Some(error) = failure {
                shared.fail(located(error));
            }
            if frontiers[0].is_empty() {
                task = None;
            }
            if let Some(task) = &mut task {
                reports.append(&mut task.news());
            }
            shared.report(reports);
        }
    });
    data_stream
}
