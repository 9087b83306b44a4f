//! The Timely side of a task: inputs into ticks, frontiers into completeness, errors into the job's failure.

use super::ticks::{Tick, Ticks};
use crate::control::{Control, Report};
use crate::graph::NodeId;
use crate::process::environment::Environment;
use crate::process::in_flight::{Exchanges, InFlight, Taken, Untold};
use crate::process::message::{Messages, by_key_group};
use headpond_state::Result;
use std::time::Duration;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::channels::pushers::OutputSession;
use timely::dataflow::operators::InputCapability;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::{Scope, Stream};
use timely::progress::operate::FrontierInterest;
use timely::scheduling::activate::{Activator, SyncActivator};

/// How long an operator waits for a congested exchange.
const CATCH_UP: Duration = Duration::from_millis(1);

/// A control message with the worker it is for.
pub(super) type Addressed = Vec<(usize, Control)>;

/// What runs at a node of the graph on one worker: a keyed operator or a sink.
pub(super) trait Task {
    /// Does what can be done now: the oldest ticks, as far as their rows have come. `frontier` is the oldest tick of
    /// which something may still arrive, `None` when nothing arrives any more.
    fn work(&mut self, ticks: &mut Ticks, frontier: Option<u64>, io: &mut TaskIo<'_>) -> Result<()>;

    /// Whether the task waits for no thread.
    fn is_idle(&self) -> bool;

    /// Releases what the task holds.
    fn close(self: Box<Self>) -> Result<()>;
}

/// What a task works with during one activation.
pub(super) struct TaskIo<'a> {
    /// The main output, then the side outputs.
    data: Vec<OutputSession<'a, u64, Messages>>,
    reports: Vec<Report>,
    activator: &'a Activator,
}

impl TaskIo<'_> {
    /// Sends at a tick, on the main output (0) or a side output.
    pub(super) fn give(&mut self, tick: &Tick, output: usize, mut messages: Messages) {
        if let (Some(data), Some(capability)) = (self.data.get_mut(output), tick.capabilities.get(output)) {
            data.give(capability, &mut messages);
        }
    }

    /// Tells the leader.
    pub(super) fn report(&mut self, report: Report) {
        self.reports.push(report);
    }

    /// Asks for another activation, after others had theirs.
    pub(super) fn activate_again(&self) {
        self.activator.activate();
    }

    /// Asks for another activation in a moment, when those behind have had time to catch up.
    pub(super) fn activate_later(&self) {
        self.activator.activate_after(CATCH_UP);
    }
}

/// An input of a task.
pub(super) struct TaskInput<'scope> {
    pub(super) stream: Stream<'scope, u64, Messages>,
    /// Whether rows go to the owners of their keys; else they stay on their worker.
    pub(super) by_key: bool,
    /// The count of the rows that are under way, where it is watched.
    pub(super) in_flight: Option<InFlight>,
}

type Receive = Box<dyn FnMut(&mut dyn FnMut(InputCapability<u64>, &mut Messages))>;

/// What a worker says to those that have sent it rows.
type TakenRows = Vec<Taken>;

/// What a task gives.
pub(super) struct TaskStreams<'scope> {
    /// Its rows and watermarks (a sink has none, but the output's frontier says which ticks it has finished).
    pub(super) main: Stream<'scope, u64, Messages>,
    /// The same for each side output.
    pub(super) sides: Vec<Stream<'scope, u64, Messages>>,
}

/// Builds the operator for the task of a node that has so many side outputs.
#[allow(clippy::too_many_arguments)]
pub(super) fn build_task<'scope>(
    scope: Scope<'scope, u64>,
    environment: &Environment,
    exchanges: &Exchanges,
    node: usize,
    control: Stream<'scope, u64, Addressed>,
    inputs: Vec<TaskInput<'scope>>,
    side_outputs: usize,
    open: impl FnOnce(SyncActivator) -> Result<Box<dyn Task>>,
) -> TaskStreams<'scope> {
    let (worker, peers) = (scope.index(), scope.peers());
    let shared = environment.shared.clone();
    let max_parallelism = environment.plan.max_parallelism;
    let name = environment.graph.node(NodeId(node)).id.to_string();
    let mut builder = OperatorBuilder::new(name, scope);
    let mut control = builder.new_input(control, Exchange::new(|addressed: &(usize, Control)| addressed.0 as u64));
    let watched = inputs
        .iter()
        .enumerate()
        .map(|(index, input)| input.in_flight.as_ref().map(|_| Untold::new(worker, peers, (node, index))));
    let mut untold: Vec<Option<Untold>> = watched.collect();
    let mut inputs: Vec<Receive> = inputs
        .into_iter()
        .map(|input| -> Receive {
            if input.by_key {
                let pact = by_key_group(max_parallelism, worker, input.in_flight);
                let mut handle = builder.new_input(input.stream, pact);
                Box::new(move |receive| handle.for_each(&mut *receive))
            } else {
                let mut handle = builder.new_input(input.stream, Pipeline);
                Box::new(move |receive| handle.for_each(&mut *receive))
            }
        })
        .collect();
    let (mut data, mut data_streams): (Vec<_>, Vec<_>) =
        (0..=side_outputs).map(|_| builder.new_output::<Messages>()).unzip();
    let (mut taken, taken_stream) = builder.new_output::<TakenRows>();
    let info = builder.operator_info();
    let activator = scope.activator_for(info.address.clone());
    let task = match open(scope.worker().sync_activator_for(info.address.to_vec())) {
        Ok(task) => Some(task),
        Err(error) => {
            shared.fail(error);
            None
        }
    };
    builder.build(move |mut capabilities| {
        // The capability of what is taken, which nobody waits for, keeps the operator alive until its uploads have
        // ended. The others are not needed: rows are sent at ticks, which control messages bring.
        let mut task = task.map(|task| (task, capabilities.pop()));
        drop(capabilities);
        let mut ticks = Ticks::new(data.len());
        move |frontiers| {
            let mut failure = None;
            control.for_each(|capability, messages| {
                for (_, message) in messages.drain(..) {
                    failure = failure.take().or(ticks.control(&capability, message).err());
                }
            });
            let mut taken = taken.activate();
            for (index, input) in inputs.iter_mut().enumerate() {
                input(&mut |capability, messages| {
                    let told = untold[index].as_mut().and_then(|it| it.take(messages.sender(), messages.keyed_rows()));
                    if let Some(told) = told {
                        taken.give(&capability, &mut vec![told]);
                    }
                    for message in messages.drain() {
                        failure = failure.take().or(ticks.message(&capability, index, message).err());
                    }
                });
            }
            if let Some(error) = failure {
                shared.fail(error);
            }
            let Some((running, _)) = task.as_mut() else { return };
            if shared.has_failed() {
                return;
            }
            let frontier = frontiers.iter().filter_map(|frontier| frontier.frontier().first().copied()).min();
            let data = data.iter_mut().map(|data| data.activate()).collect();
            let mut io = TaskIo { data, reports: Vec::new(), activator: &activator };
            let worked = running.work(&mut ticks, frontier, &mut io);
            shared.report(io.reports);
            if let Err(error) = worked {
                shared.fail(error);
                return;
            }
            if frontier.is_none()
                && ticks.is_empty()
                && running.is_idle()
                && let Some(Err(error)) = task.take().map(|(task, _)| task.close())
            {
                shared.fail(error);
            }
        }
    });
    hear_taken(taken_stream, exchanges.clone());
    let sides = data_streams.split_off(1);
    TaskStreams { main: data_streams.remove(0), sides }
}

/// Builds the operator by which a worker hears what others have taken of its rows.
fn hear_taken(stream: Stream<'_, u64, TakenRows>, exchanges: Exchanges) {
    let mut builder = OperatorBuilder::new("taken".to_owned(), stream.scope());
    let mut taken = builder.new_input(stream, Exchange::new(|taken: &Taken| taken.from as u64));
    builder.set_notify_for(0, FrontierInterest::Never);
    builder
        .build(move |_| move |_| taken.for_each(|_, batch| batch.drain(..).for_each(|taken| exchanges.taken(&taken))));
}
