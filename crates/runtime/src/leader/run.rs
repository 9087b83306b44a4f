//! Leading a job: events in, control and commits out, until all processes have ended.

use super::commit::{Committer, Outcome};
use super::coordinator::{Coordinator, Pace, Step};
use super::enumerator::{Enumerator, Watched};
use super::events::{Event, Events};
use super::job_control::{CheckpointRequest, JobControl};
use super::led_job::LedJob;
use crate::control::{Control, Cut, Report, ReportBody, failure};
use crate::ending::Ending;
use crate::failure::Failure;
use crate::graph::{NodeId, NodeKind};
use crate::io_threads::IoThreads;
use crate::link::Link;
use crate::message::{Notice, Order, ToProcess};
use crate::panics;
use crate::plan::Plan;
use headpond_checkpoint::manifest::Manifest;
use headpond_state::{Context, Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often a job that was asked to stop tries to take its last checkpoint.
const ATTEMPTS_TO_STOP: u32 = 3;
/// How often a job whose input has ended tries to take its last checkpoint: about a minute of pauses. It has nothing
/// else to do, and whoever waits for its end learns of the reason.
const ATTEMPTS_TO_END: u32 = 12;
/// Threads for commits, what is given up, and claims.
const IO_THREADS: usize = 3;

type Processes = Vec<Arc<dyn Link<ToProcess>>>;

/// What a run begins with.
pub(super) struct Start {
    pub(super) plan: Plan,
    /// The restored checkpoint.
    pub(super) base: Option<Manifest>,
    /// The number of the first checkpoint of this run.
    pub(super) first_checkpoint: u64,
}

/// Leads a job to its end.
pub(super) fn lead(
    job: LedJob,
    start: Start,
    events: &Events,
    control: &JobControl,
    processes: Processes,
) -> Result<Ending> {
    let job = Arc::new(job);
    let end = processes.clone();
    let mut running = processes.len();
    let (tell, wake) = (events.sender(), events.sender());
    control.wake_by(move || wake(Event::Woken));
    let led = panics::caught("the leader", || {
        let io = Arc::new(IoThreads::start("leader-io", IO_THREADS, move |panic| tell(Event::Failed(panic)))?);
        let mut lead = Lead {
            committer: Committer::new(job.clone(), io.clone(), start.base),
            coordinator: coordinator(&job, start.first_checkpoint),
            job: job.clone(),
            plan: start.plan.hash()?,
            control: control.clone(),
            processes,
            waiting: Vec::new(),
            failed_stops: 0,
            now_ms: i64::MIN,
            finished: false,
            over: false,
        };
        let _enumerator = enumerator(&job, &start.plan, events)?;
        let led = lead.run(events, &mut running);
        end_all(&end, events, &mut running);
        drop(lead);
        io.finish();
        led
    });
    end_all(&end, events, &mut running);
    control.close();
    led.and_then(|led| led)
}

/// Ends the processes that have not ended by themselves.
fn end_all(processes: &[Arc<dyn Link<ToProcess>>], events: &Events, running: &mut usize) {
    if *running > 0 {
        processes.iter().for_each(|process| process.send(ToProcess(Order::End)));
    }
    await_ends(events, running);
}

/// Waits until all processes have ended.
fn await_ends(events: &Events, running: &mut usize) {
    while *running > 0 {
        let ends = events.wait(None).into_iter().filter(|event| matches!(event, Event::Notice(_, Notice::Ended)));
        *running -= ends.count();
    }
}

/// Looks for new splits of the sources that are watched.
fn enumerator(job: &LedJob, plan: &Plan, events: &Events) -> Result<Enumerator> {
    let mut enumerator = Enumerator::default();
    for (NodeId(node), of_graph) in job.graph.nodes() {
        let NodeKind::Source(source) = &of_graph.kind else { continue };
        let (operator, source) = (of_graph.id.clone(), source.source.clone());
        let Some(interval) = source.monitor_interval() else { continue };
        let known = plan.splits.get(&node).into_iter().flatten().map(|split| split.split.id.clone()).collect();
        let tell = events.sender();
        let watched = Watched { node, operator, source, known, interval };
        enumerator.watch(watched, plan.parallelism, move |found| match found {
            Ok(splits) => tell(Event::Found(splits)),
            Err(error) => tell(Event::Failed(error)),
        })?;
    }
    Ok(enumerator)
}

fn coordinator(job: &LedJob, first_checkpoint: u64) -> Coordinator {
    let options = &job.options;
    let nodes = || job.graph.nodes().map(|(NodeId(index), node)| (index, &node.kind));
    let on_all = |index: usize| (0..options.parallelism).map(move |worker| (index, worker));
    let participants = nodes().filter(|(_, kind)| kind.is_participant()).flat_map(|(index, _)| on_all(index));
    let sources = nodes().filter(|(_, kind)| matches!(kind, NodeKind::Source(_))).flat_map(|(index, _)| on_all(index));
    let checkpointing = options.checkpointing.as_ref();
    let pace = Pace {
        ticks_in_flight: options.ticks_in_flight.max(1),
        tick_interval: options.tick_interval,
        checkpoint_interval: checkpointing.and_then(|checkpointing| checkpointing.interval),
        checkpoint_min_pause: checkpointing.map(|checkpointing| checkpointing.min_pause).unwrap_or_default(),
        checkpoint_timeout: checkpointing.map_or(Duration::MAX / 4, |checkpointing| checkpointing.timeout),
        persist: checkpointing.is_some(),
    };
    Coordinator::new(pace, participants.collect(), sources.collect::<Vec<_>>(), first_checkpoint, Instant::now())
}

/// The coordinator with its hands: processes, storage, commits, clocks.
struct Lead {
    job: Arc<LedJob>,
    /// The hash of the plan.
    plan: String,
    coordinator: Coordinator,
    committer: Committer,
    control: JobControl,
    processes: Processes,
    /// Who waits for the checkpoint under way.
    waiting: Vec<CheckpointRequest>,
    /// Checkpoints that failed since the job was asked to stop.
    failed_stops: u32,
    /// Processing time, in milliseconds: the machine's clock, but never back.
    now_ms: i64,
    /// All input was read and all output published.
    finished: bool,
    /// The processes know that no tick follows.
    over: bool,
}

impl Lead {
    /// Runs until all processes have ended by themselves.
    fn run(&mut self, events: &Events, running: &mut usize) -> Result<Ending> {
        while *running > 0 {
            let now = Instant::now();
            let wake_at = self.decide(now)?;
            let mut failed = None;
            for event in events.wait(wake_at) {
                if matches!(event, Event::Notice(_, Notice::Ended)) {
                    *running -= 1;
                } else if failed.is_none() {
                    // Who has ended is counted in any case.
                    failed = self.take(event, events).err();
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
        }
        match (self.over, self.finished) {
            (true, true) => Ok(Ending::Finished),
            (true, false) => Ok(Ending::Stopped),
            (false, _) => Err(Error::internal("the processes of the job have ended before it")),
        }
    }

    fn take(&mut self, event: Event, events: &Events) -> Result<()> {
        match event {
            Event::Woken => Ok(()),
            Event::Found(splits) => {
                self.coordinator.found(splits);
                Ok(())
            }
            Event::Failed(error) => Err(error),
            Event::Ended(outcome) => self.committed(outcome),
            Event::Notice(from, notice) => self.hear(from, notice, events),
        }
    }

    fn hear(&mut self, from: usize, notice: Notice, events: &Events) -> Result<()> {
        match notice {
            Notice::Started { plan } if plan != self.plan => Err(Error::incompatible(format!(
                "process {from} of the job runs another plan than its leader has made"
            ))
            .hint("start all processes of the job anew")),
            Notice::Started { .. } | Notice::Ended => Ok(()),
            Notice::Failed(Failure(error)) => Err(error),
            Notice::FinishedBefore { tick } => {
                self.coordinator.finished_before(tick);
                Ok(())
            }
            Notice::Reports(reports) => reports.into_iter().try_for_each(|report| self.report(report, events)),
            Notice::Taken { checkpoint, files } => {
                match (self.committer.taken(checkpoint, files), self.coordinator.collecting(checkpoint)) {
                    (Err(error), Some(cut)) => self.give_up(cut, error),
                    _ => Ok(()),
                }
            }
            Notice::Claim { request, checkpoint, name } => {
                if let Some(process) = self.processes.get(from).cloned() {
                    let claimed = move || process.send(ToProcess(Order::Claimed { request }));
                    self.committer.claim(checkpoint, name, claimed);
                }
                Ok(())
            }
        }
    }

    fn report(&mut self, report: Report, events: &Events) -> Result<()> {
        let Report { node, worker, body } = report;
        let metrics = &self.job.metrics;
        match &body {
            ReportBody::Progress(progress) => {
                metrics.add(progress);
                if let Some(backlog) = progress.backlog {
                    metrics.set_backlog(node, worker, backlog);
                }
            }
            ReportBody::Synchronous { us } => metrics.sync_phase(Duration::from_micros(*us)),
            ReportBody::Figures(figures) => {
                if let Some((_, of_graph)) = self.job.graph.nodes().nth(node) {
                    metrics.set_operator(&of_graph.id, worker, figures.clone());
                }
            }
            _ => {}
        }
        match self.coordinator.report(node, worker, body) {
            Step::None => Ok(()),
            Step::Commit { cut, begun, parts } => {
                let ended = events.sender();
                self.committer.commit(cut, begun, parts, move |outcome| ended(Event::Ended(outcome)));
                Ok(())
            }
            Step::Abort { cut, kind, message } => self.give_up(cut, failure(cut.checkpoint, kind, &message)),
        }
    }

    fn committed(&mut self, outcome: Outcome) -> Result<()> {
        let now = Instant::now();
        if let Some(checkpoint) = self.coordinator.pending_checkpoint() {
            self.tell_all(|| Order::CheckpointOver { checkpoint });
        }
        match outcome {
            Outcome::Committed(id) => {
                // Before the next one begins, whose collection would delete what is not held.
                let storage = self.job.options.checkpointing.as_ref().map(|checkpointing| &checkpointing.storage);
                self.waiting.drain(..).for_each(|request| request.answer(id, storage));
                self.finished |= self.coordinator.pending_end_of_input();
                self.coordinator.committed(now);
                Ok(())
            }
            Outcome::Failed(error) => {
                self.coordinator.gave_up(now);
                self.job.metrics.checkpoint_failed(&error);
                self.tolerate(error)
            }
            Outcome::Unpublished(error) => Err(error),
        }
    }

    /// Opens the next tick, if there is a reason for one, and says when to ask again.
    fn decide(&mut self, now: Instant) -> Result<Option<Instant>> {
        if let Some(cut) = self.coordinator.overdue(now) {
            let late = Error::unavailable("the checkpoint took longer than its time-out")
                .with(Context::Checkpoint, cut.checkpoint)
                .hint("raise `execution.checkpointing.timeout`, or look at what slows the checkpoint directory");
            self.give_up(cut, late)?;
        }
        let request = self.control.pending();
        let tick = self.coordinator.next_tick();
        let now_ms = self.now_ms();
        if let Some(mut control) = self.coordinator.poll(now, now_ms, request) {
            self.job.metrics.add_tick();
            if let Some(cut) = &mut control.cut {
                self.waiting.append(&mut self.control.take_requests(cut.last));
                cut.base = self.committer.begin(*cut)?;
            }
            self.open(tick, control);
        }
        if self.coordinator.is_over() && !self.over {
            self.over = true;
            self.tell_first(Order::NoMoreTicks);
        }
        Ok(self.coordinator.wake_at(now, now_ms))
    }

    fn open(&self, tick: u64, control: Control) {
        self.tell_first(Order::Tick { tick, control });
    }

    /// Tells the process of worker 0.
    fn tell_first(&self, order: Order) {
        if let Some(process) = self.processes.first() {
            process.send(ToProcess(order));
        }
    }

    fn tell_all(&self, order: impl Fn() -> Order) {
        self.processes.iter().for_each(|process| process.send(ToProcess(order())));
    }

    fn now_ms(&mut self) -> i64 {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
        self.now_ms = self.now_ms.max(now_ms);
        self.now_ms
    }

    fn give_up(&mut self, cut: Cut, error: Error) -> Result<()> {
        self.tell_all(|| Order::CheckpointOver { checkpoint: cut.checkpoint });
        self.committer.abort();
        self.coordinator.gave_up(Instant::now());
        self.job.metrics.checkpoint_failed(&error);
        self.tolerate(error)
    }

    /// Goes on after a failed checkpoint, if the job may: it keeps its state, its sinks keep what they have prepared,
    /// and the next checkpoint takes both.
    fn tolerate(&mut self, error: Error) -> Result<()> {
        let failures = self.coordinator.failures();
        let tolerable = self.job.options.checkpointing.as_ref().map_or(Some(0), |it| it.tolerable_failures);
        let is_stopping = self.control.is_stopping();
        self.failed_stops += u32::from(is_stopping);
        // Somebody else runs the job: it must not go on here.
        let is_over = error.kind() == ErrorKind::Fenced
            || tolerable.is_some_and(|tolerable| failures > tolerable)
            || self.failed_stops >= ATTEMPTS_TO_STOP
            || self.coordinator.failed_ends() >= ATTEMPTS_TO_END;
        // Who waits for the last checkpoint waits for all attempts at it.
        if is_over || !is_stopping {
            self.waiting.drain(..).for_each(|request| request.fail(&error));
        }
        if is_over {
            return Err(error);
        }
        let next_in = self.coordinator.pause(Instant::now());
        tracing::warn!(%error, failures, ?next_in, "a checkpoint failed; the job goes on");
        Ok(())
    }
}
