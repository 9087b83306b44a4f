//! The dataflow every worker builds from the job graph.
//!
//! Worker 0's coordinator sends control messages to every source, keyed operator and sink, and hears their reports; see
//! [`crate::control`]. A node of the graph is one Timely operator here, plus one that encodes keys before each exchange.

mod coordination;
mod event_time;
mod key_group_parts;
mod keyed;
mod sink;
mod source;
mod split_times;
mod stateless;
mod task;
mod ticks;

pub(crate) use keyed::KeyedPart;
pub(crate) use sink::SinkPart;

use crate::control::Report;
use crate::graph::{JobGraph, NodeId, NodeKind};
use crate::key::KeyEncoder;
use crate::leader::enumerator::Watched;
use crate::leader::restore::{Assessment, Restoration};
use crate::operator::{Counters, KeyedOperatorFactory, OperatorSetup};
use crate::options::JobOptions;
use crate::process::in_flight::Exchanges;
use crate::process::message::Messages;
use crate::process::restore::{self, StateRestore};
use crate::process::shared::Shared;
use crate::process::uploads::{IoThreads, Outcomes};
use crate::sink::{Sink, SinkJob, SinkSetup};
use crate::source::SourceSplit;
use headpond_checkpoint::manifest::{OperatorState, SplitState, SubtaskState};
use headpond_state::{Context, Error, KeyedBackendParams, OperatorClock, Remedy, RestoredState, Result};
use keyed::{KeyedTask, Opened, TaskDetails, TaskState};
use sink::SinkTask;
use std::collections::BTreeMap;
use std::sync::Arc;
use task::{Task, TaskInput, build_task};
use timely::dataflow::operators::Concatenate;
use timely::dataflow::{Scope, Stream};
use timely::scheduling::activate::SyncActivator;

/// The splits of every source node with their positions.
pub(crate) type Splits = BTreeMap<usize, Vec<(SourceSplit, SplitState)>>;

/// Everything the workers of a process need to build and run the dataflow.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) graph: JobGraph,
    pub(crate) options: JobOptions,
    pub(crate) sink_job: SinkJob,
    pub(crate) restored: Option<Restoration>,
    pub(crate) assessment: Option<Assessment>,
    pub(crate) splits: Splits,
    pub(crate) exchanges: Exchanges,
    /// The number of the first checkpoint of this run.
    pub(crate) first_checkpoint: u64,
    pub(crate) shared: Arc<Shared>,
    pub(crate) io: Arc<IoThreads>,
}

impl Plan {
    /// The restored state of a node, if the checkpoint has any, and how it is restored.
    fn operator_state(&self, node: usize) -> Option<(&OperatorState, &StateRestore)> {
        let restore = self.assessment.as_ref()?.states.get(&node)?;
        let state = self.restored.as_ref()?.manifest.operator(&self.graph.node(NodeId(node)).id)?;
        Some((state, restore))
    }
}

impl Plan {
    /// The sources in which new splits are looked for.
    fn watched(&self) -> impl Iterator<Item = Watched> + '_ {
        self.graph.nodes().filter_map(|(NodeId(node), of_graph)| {
            let NodeKind::Source(source) = &of_graph.kind else { return None };
            let (operator, source) = (of_graph.id.clone(), source.source.clone());
            let interval = source.monitor_interval()?;
            let known = self.splits[&node].iter().map(|(split, _)| split.id.clone()).collect();
            Some(Watched { node, operator, source, known, interval })
        })
    }
}

/// Builds the dataflow on one worker.
pub(crate) fn build(scope: Scope<'_, u64>, plan: &Arc<Plan>) {
    let worker = scope.index();
    let loops = coordination::Loops::new(scope);
    let control = loops.coordinator(scope, plan);
    let mut streams: BTreeMap<usize, Stream<'_, u64, Messages>> = BTreeMap::new();
    let mut sides: BTreeMap<(NodeId, usize), Stream<'_, u64, Messages>> = BTreeMap::new();
    let mut reports: Vec<Stream<'_, u64, Vec<Report>>> = Vec::new();
    let mut finished: Vec<Stream<'_, u64, Messages>> = Vec::new();
    for (NodeId(index), node) in plan.graph.nodes() {
        let name = node.id.as_str();
        let input = |id: &NodeId| streams[&id.0].clone();
        let (stream, report) = match &node.kind {
            NodeKind::Source(source) => source::build_source(scope, plan, index, source, control.clone()),
            NodeKind::Map { input: from, function } => {
                let stream = stateless::map(input(from), name, function.clone(), plan.shared.clone());
                streams.insert(index, stream);
                continue;
            }
            NodeKind::Union { inputs } => {
                let inputs = inputs.iter().map(input).collect();
                let peers = plan.options.parallelism;
                streams.insert(index, stateless::union(scope, name, inputs, worker, peers, plan.shared.clone()));
                continue;
            }
            NodeKind::Keyed { inputs, operator } => {
                let inputs: Vec<_> = inputs
                    .iter()
                    .enumerate()
                    .map(|(at, from)| match from.broadcast {
                        true => broadcast_input(plan, input(&from.node), (index, at), worker),
                        false => keyed_input(plan, input(&from.node), from.node, &from.key, (index, at)),
                    })
                    .collect();
                let count = inputs.len();
                let ports = plan.graph.side_ports(NodeId(index));
                let open = |activator| open_keyed(plan, index, worker, count, operator.as_ref(), activator);
                let task = build_task(scope, plan, name, control.clone(), inputs, ports.len(), open);
                sides.extend(ports.into_iter().map(|port| (NodeId(index), port)).zip(task.sides));
                (task.main, task.reports)
            }
            NodeKind::SideOutput { input: of, port } => {
                streams.insert(index, sides[&(*of, *port)].clone());
                continue;
            }
            NodeKind::Sink { input: from, key, sink } => {
                let inputs = vec![match key {
                    Some(key) => keyed_input(plan, input(from), *from, key, (index, 0)),
                    None => TaskInput { stream: input(from), by_key: false, in_flight: None },
                }];
                let open = |activator| open_sink(plan, index, worker, sink.as_ref(), activator);
                let task = build_task(scope, plan, name, control.clone(), inputs, 0, open);
                (task.main, task.reports)
            }
        };
        reports.push(report);
        if matches!(node.kind, NodeKind::Sink { .. }) {
            finished.push(stream);
        } else {
            streams.insert(index, stream);
        }
    }
    loops.close(scope.concatenate(reports), scope.concatenate(finished));
}

/// Rows of a node with their keys, ready to be exchanged.
fn keyed_input<'scope>(
    plan: &Plan,
    stream: Stream<'scope, u64, Messages>,
    from: NodeId,
    key: &[usize],
    (to, at): (usize, usize),
) -> TaskInput<'scope> {
    let schema = &plan.graph.node(from).schema;
    let in_flight = plan.exchanges.of_input(to, at).cloned();
    match KeyEncoder::new(schema, key, plan.options.max_parallelism) {
        Ok(encoder) => {
            let stream = stateless::with_keys(stream, encoder, plan.shared.clone());
            TaskInput { stream, by_key: true, in_flight }
        }
        Err(error) => {
            plan.shared.fail(error.with(Context::Operator, &plan.graph.node(from).id));
            TaskInput { stream, by_key: true, in_flight }
        }
    }
}

/// Rows of a node, ready to be sent to every worker.
fn broadcast_input<'scope>(
    plan: &Plan,
    stream: Stream<'scope, u64, Messages>,
    (to, at): (usize, usize),
    worker: usize,
) -> TaskInput<'scope> {
    let (peers, max_parallelism) = (plan.options.parallelism, plan.options.max_parallelism);
    let stream = stateless::broadcast(stream, max_parallelism, worker, peers, plan.shared.clone());
    TaskInput { stream, by_key: true, in_flight: plan.exchanges.of_input(to, at).cloned() }
}

fn open_keyed(
    plan: &Arc<Plan>,
    node: usize,
    worker: usize,
    inputs: usize,
    factory: &dyn KeyedOperatorFactory,
    activator: SyncActivator,
) -> Result<Box<dyn Task>> {
    let id = &plan.graph.node(NodeId(node)).id;
    let located = |error: Error| error.with(Context::Operator, id);
    let mut state = open_state(plan, node, worker, activator).map_err(located)?;
    let restored = plan.operator_state(node).map(|(state, _)| state);
    let details = restored.map(|state| details(&state.subtasks)).transpose().map_err(located)?.unwrap_or_default();
    let event_time_ms = restored.and_then(|state| state.event_time_ms).unwrap_or(i64::MIN);
    let mut counters = Counters::default();
    if worker == 0 {
        // Sums over workers are what counts; the first carries what was counted before.
        details.iter().flat_map(|details| &details.counters).for_each(|(name, count)| counters.add(name, *count));
    }
    let of_operator: Vec<_> = details.into_iter().map(|details| details.operator).collect();
    state.advance_event_time_to(event_time_ms);
    let operator = factory
        .open(OperatorSetup {
            state: state.backend.as_mut(),
            capabilities: plan.options.backend.capabilities(),
            subtask: worker,
            parallelism: plan.options.parallelism,
            max_parallelism: plan.options.max_parallelism,
            restored: &of_operator,
            event_time_ms,
            clock: &state.clock,
        })
        .map_err(located)?;
    check_registered(&state).map_err(located)?;
    let opened = Opened { operator, state, inputs, event_time_ms, counters };
    Ok(Box::new(KeyedTask::new(plan.clone(), node, worker, opened)))
}

fn open_sink(
    plan: &Arc<Plan>,
    node: usize,
    worker: usize,
    sink: &dyn Sink,
    activator: SyncActivator,
) -> Result<Box<dyn Task>> {
    let of_graph = plan.graph.node(NodeId(node));
    let located = |error: Error| error.with(Context::Operator, &of_graph.id);
    let mut state = match sink.is_stateful() {
        true => Some(open_state(plan, node, worker, activator).map_err(located)?),
        false => None,
    };
    let writer = sink
        .open(SinkSetup {
            job: &plan.sink_job,
            subtask: worker,
            parallelism: plan.options.parallelism,
            max_parallelism: plan.options.max_parallelism,
            schema: of_graph.schema.clone(),
            state: state.as_mut().map(|state| state.backend.as_mut() as _),
        })
        .map_err(located)?;
    if let Some(state) = &state {
        check_registered(state).map_err(located)?;
    }
    Ok(Box::new(SinkTask::new(plan.clone(), node, worker, writer, state)))
}

/// Opens a node's keyed state on one worker with what the checkpoint has of its key groups.
fn open_state(plan: &Plan, node: usize, worker: usize, activator: SyncActivator) -> Result<TaskState> {
    let options = &plan.options;
    let clock = Arc::new(OperatorClock::default());
    let params = KeyedBackendParams {
        operator: plan.graph.node(NodeId(node)).id.clone(),
        subtask: worker,
        key_groups: options.max_parallelism.range_of(worker, options.parallelism),
        max_parallelism: options.max_parallelism,
        clock: clock.clone(),
        local_dir: options.local_dir.join(format!("op-{node}-{worker}")),
    };
    let backend = match (plan.operator_state(node), &plan.restored) {
        (Some((state, restore)), Some(restoration)) => {
            let handles = state.subtasks.iter().filter_map(|subtask| subtask.state.as_ref());
            let mine = handles.filter(|handle| !handle.key_groups.intersection(params.key_groups).is_empty());
            let mine = mine.map(|handle| RestoredState { handle, source: restoration.source.as_ref() });
            let mine: Vec<RestoredState<'_>> = mine.collect();
            restore::open(options.backend.as_ref(), params, &mine, restore)?
        }
        _ => options.backend.open_keyed(params, &[])?,
    };
    Ok(TaskState::new(backend, clock, Outcomes::new(activator)))
}

fn details(subtasks: &[SubtaskState]) -> Result<Vec<TaskDetails>> {
    let parsed = subtasks.iter().filter(|subtask| !subtask.details.is_null());
    let parsed = parsed.map(|subtask| serde_json::from_value(subtask.details.clone()));
    parsed
        .collect::<Result<_, _>>()
        .map_err(|error| Error::corrupt("the details of an operator are not readable").because(error))
}

/// A state that the checkpoint has and the operator does not know would be carried along unseen for ever.
fn check_registered(state: &TaskState) -> Result<()> {
    match state.backend.unregistered().first() {
        None => Ok(()),
        Some(descriptor) => Err(Error::incompatible("the checkpoint has a state that the operator no longer has")
            .with(Context::State, &descriptor.name)
            .hint("run the query the checkpoint was taken with")
            .remedy(Remedy::StartAnew)),
    }
}
