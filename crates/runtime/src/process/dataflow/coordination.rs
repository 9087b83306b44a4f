//! The coordinator's operator on worker 0: reports and finished ticks in by loops, control out.
//!
//! The loops are closed in the dataflow, not in time: the coordinator's inputs promise nothing about its output, whose capability it
//! holds itself, at the oldest tick it has not decided.

use super::Plan;
use super::task::Addressed;
use crate::control::{Control, Cut, NewSplit, Report, failure};
use crate::graph::{NodeId, NodeKind};
use crate::leader::commit::{Committer, Outcome};
use crate::leader::coordinator::{Coordinator, Pace, Step};
use crate::leader::enumerator::Enumerator;
use crate::leader::job_control::CheckpointRequest;
use crate::process::message::Messages;
use crate::process::uploads::Outcomes;
use headpond_state::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::core::feedback::Handle;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::operators::{ConnectLoop, Feedback};
use timely::dataflow::{Scope, Stream};
use timely::progress::Antichain;
use timely::progress::operate::FrontierInterest;

/// How often a job that was asked to stop tries to take its last checkpoint.
const ATTEMPTS_TO_STOP: u32 = 3;
/// How often a job whose input has ended tries to take its last checkpoint: about a minute of pauses. It has nothing else to do, and
/// whoever waits for its end learns of the reason.
const ATTEMPTS_TO_END: u32 = 12;

/// The ways back to the coordinator.
pub(super) struct Loops<'scope> {
    report_loop: Handle<'scope, u64, Vec<Report>>,
    reports: Stream<'scope, u64, Vec<Report>>,
    finished_loop: Handle<'scope, u64, Messages>,
    finished: Stream<'scope, u64, Messages>,
}

impl<'scope> Loops<'scope> {
    pub(super) fn new(scope: Scope<'scope, u64>) -> Self {
        let (report_loop, reports) = scope.feedback(1);
        let (finished_loop, finished) = scope.feedback(1);
        Loops { report_loop, reports, finished_loop, finished }
    }

    /// Connects what comes back.
    pub(super) fn close(self, reports: Stream<'scope, u64, Vec<Report>>, finished: Stream<'scope, u64, Messages>) {
        reports.connect_loop(self.report_loop);
        finished.connect_loop(self.finished_loop);
    }

    /// Builds the coordinator's operator; on workers other than 0 it does nothing.
    pub(super) fn coordinator(&self, scope: Scope<'scope, u64>, plan: &Arc<Plan>) -> Stream<'scope, u64, Addressed> {
        let mut builder = OperatorBuilder::new("coordinator".to_owned(), scope);
        let (mut output, control) = builder.new_output::<Addressed>();
        let unconnected: [(usize, Antichain<u64>); 0] = [];
        let to_first = Exchange::new(|_: &Report| 0);
        let mut reports = builder.new_input_connection(self.reports.clone(), to_first, unconnected.clone());
        builder.set_notify_for(0, FrontierInterest::Never);
        let mut finished = builder.new_input_connection(self.finished.clone(), Pipeline, unconnected);
        let info = builder.operator_info();
        let activator = scope.activator_for(info.address.clone());
        let wakers = || scope.worker().sync_activator_for(info.address.to_vec());
        let mut decider =
            (scope.index() == 0).then(|| Decider::new(plan.clone(), Outcomes::new(wakers()), Outcomes::new(wakers())));
        if decider.is_some() {
            plan.shared.control.wake_by(wakers());
        }
        let peers = scope.peers();
        builder.build(move |mut capabilities| {
            let mut capability = capabilities.pop().filter(|_| decider.is_some());
            move |frontiers| {
                let mut arrived = Vec::new();
                reports.for_each(|_, batch| arrived.append(batch));
                finished.for_each(|_, _| {});
                let Some(decider) = decider.as_mut().filter(|decider| !decider.plan.shared.has_failed()) else {
                    return;
                };
                // The loop adds one to every time.
                let unfinished = frontiers[1].frontier().first().map(|time| time.saturating_sub(1));
                if let Some(unfinished) = unfinished {
                    decider.coordinator.finished_before(unfinished);
                }
                let mut output = output.activate();
                let result = decider.decide(arrived, |tick, control| {
                    if let Some(capability) = &mut capability {
                        let mut addressed: Addressed = (0..peers).map(|to| (to, control.clone())).collect();
                        output.give(&*capability, &mut addressed);
                        capability.downgrade(&(tick + 1));
                    }
                });
                if let Err(error) = result {
                    decider.plan.shared.fail(error);
                    return;
                }
                if decider.coordinator.is_over() {
                    capability = None;
                } else if let Some(at) = decider.wake_at() {
                    activator.activate_after(at.saturating_duration_since(Instant::now()));
                }
            }
        });
        control
    }
}

/// The coordinator with its hands: storage, commits, clocks.
struct Decider {
    plan: Arc<Plan>,
    coordinator: Coordinator,
    committer: Committer,
    outcomes: Outcomes<Outcome>,
    /// Looks for new splits, which arrive at `found`.
    _enumerator: Enumerator,
    found: Outcomes<Vec<NewSplit>>,
    /// Who waits for the checkpoint under way.
    waiting: Vec<CheckpointRequest>,
    /// Checkpoints that failed since the job was asked to stop.
    failed_stops: u32,
    /// Processing time, in milliseconds: the machine's clock, but never back.
    now_ms: i64,
}

impl Decider {
    fn new(plan: Arc<Plan>, outcomes: Outcomes<Outcome>, found: Outcomes<Vec<NewSplit>>) -> Self {
        let options = &plan.options;
        let peers = options.parallelism;
        let nodes = || plan.graph.nodes().map(|(NodeId(index), node)| (index, &node.kind));
        let on_all = |index: usize| (0..peers).map(move |worker| (index, worker));
        let participants = nodes().filter(|(_, kind)| kind.is_participant()).flat_map(|(index, _)| on_all(index));
        let sources =
            nodes().filter(|(_, kind)| matches!(kind, NodeKind::Source(_))).flat_map(|(index, _)| on_all(index));
        let checkpointing = options.checkpointing.as_ref();
        let pace = Pace {
            ticks_in_flight: options.ticks_in_flight.max(1),
            tick_interval: options.tick_interval,
            checkpoint_interval: checkpointing.and_then(|checkpointing| checkpointing.interval),
            checkpoint_min_pause: checkpointing.map(|checkpointing| checkpointing.min_pause).unwrap_or_default(),
            checkpoint_timeout: checkpointing
                .map_or(std::time::Duration::MAX / 4, |checkpointing| checkpointing.timeout),
            persist: checkpointing.is_some(),
        };
        let coordinator = Coordinator::new(
            pace,
            participants.collect(),
            sources.collect::<Vec<_>>(),
            plan.first_checkpoint,
            Instant::now(),
        );
        let mut enumerator = Enumerator::default();
        for watched in plan.watched() {
            if let Err(error) = enumerator.watch(watched, peers, found.inlet()) {
                plan.shared.fail(error);
            }
        }
        Decider {
            committer: Committer::new(plan.clone()),
            plan,
            coordinator,
            outcomes,
            _enumerator: enumerator,
            found,
            waiting: Vec::new(),
            failed_stops: 0,
            now_ms: i64::MIN,
        }
    }

    fn decide(&mut self, arrived: Vec<Report>, mut send: impl FnMut(u64, Control)) -> Result<()> {
        let now = Instant::now();
        for report in arrived {
            match self.coordinator.report(report.node, report.worker, report.body) {
                Step::None => {}
                Step::Commit { cut, begun, parts } => self.committer.commit(cut, begun, parts, self.outcomes.inlet()),
                Step::Abort { cut, kind, message } => {
                    self.give_up(cut, failure(cut.checkpoint, kind, &message), now)?
                }
            }
        }
        if let Some(cut) = self.coordinator.overdue(now) {
            let late = Error::unavailable("the checkpoint took longer than its time-out")
                .with(headpond_state::Context::Checkpoint, cut.checkpoint)
                .hint("raise `execution.checkpointing.timeout`, or look at what slows the checkpoint directory");
            self.give_up(cut, late, now)?;
        }
        let outcomes: Vec<Outcome> = self.outcomes.take().collect();
        for outcome in outcomes {
            match outcome {
                Outcome::Committed(id) => {
                    // Before the next one begins, whose collection would delete what is not held.
                    let storage = self.plan.options.checkpointing.as_ref().map(|checkpointing| &checkpointing.storage);
                    self.waiting.drain(..).for_each(|request| request.answer(id, storage));
                    if self.coordinator.pending_end_of_input() {
                        self.plan.shared.finish();
                    }
                    self.coordinator.committed(now);
                }
                Outcome::Failed(error) => {
                    self.coordinator.gave_up(now);
                    self.plan.shared.metrics.checkpoint_failed(&error);
                    self.tolerate(error)?;
                }
                Outcome::Unpublished(error) => return Err(error),
            }
        }
        for splits in self.found.take() {
            self.coordinator.found(splits);
        }
        let wish = self.plan.shared.control.wish();
        let tick = self.coordinator.next_tick();
        let now_ms = self.now_ms();
        if let Some(control) = self.coordinator.poll(now, now_ms, wish) {
            self.plan.shared.metrics.add_tick();
            if let Some(cut) = control.cut {
                self.waiting.append(&mut self.plan.shared.control.take_requests(cut.last));
                self.committer.begin(cut)?;
            }
            send(tick, control);
        }
        Ok(())
    }

    fn wake_at(&mut self) -> Option<Instant> {
        let now_ms = self.now_ms();
        self.coordinator.wake_at(Instant::now(), now_ms)
    }

    fn now_ms(&mut self) -> i64 {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
        self.now_ms = self.now_ms.max(now_ms);
        self.now_ms
    }

    fn give_up(&mut self, cut: Cut, error: Error, now: Instant) -> Result<()> {
        self.committer.abort(cut);
        self.coordinator.gave_up(now);
        self.plan.shared.metrics.checkpoint_failed(&error);
        self.tolerate(error)
    }

    /// Goes on after a failed checkpoint, if the job may: it keeps its state, its sinks keep what they have prepared, and the next
    /// checkpoint takes both.
    fn tolerate(&mut self, error: Error) -> Result<()> {
        let failures = self.coordinator.failures();
        let tolerable = self.plan.options.checkpointing.as_ref().map_or(Some(0), |it| it.tolerable_failures);
        let is_stopping = self.plan.shared.control.is_stopping();
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
