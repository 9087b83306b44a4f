//! The dataflow every worker builds from the job graph.
//!
//! The leader's control messages come in on worker 0 and go to every source, keyed operator and sink, which report to
//! the leader; see [`crate::control`]. A node of the graph is one Timely operator here, plus one that encodes keys
//! before each exchange.

mod control_input;
mod event_time;
mod key_group_parts;
mod keyed;
mod read_ahead;
mod sink;
mod source;
mod split_times;
mod stateless;
mod task;
mod ticks;

use super::environment::Environment;
use super::in_flight::Exchanges;
use super::message::Messages;
use super::restore;
use super::uploads::Outcomes;
use crate::control::TaskDetails;
use crate::graph::{NodeId, NodeKind};
use crate::key::KeyEncoder;
use crate::operator::{Counters, KeyedOperatorFactory, OperatorSetup};
use crate::plan::RestoredState;
use crate::sink::{Sink, SinkSetup};
use control_input::ControlInput;
use headpond_checkpoint::manifest::SubtaskState;
use headpond_state::{self as state, Context, Error, KeyedBackendParams, OperatorClock, Remedy, Result};
use keyed::{KeyedTask, Opened, TaskState};
use sink::SinkTask;
use std::collections::BTreeMap;
use std::sync::Arc;
use task::{Task, TaskInput, build_task};
use timely::dataflow::operators::Concatenate;
use timely::dataflow::{Scope, Stream};
use timely::scheduling::activate::SyncActivator;

/// Builds the dataflow on one worker.
pub(crate) fn build(scope: Scope<'_, u64>, environment: &Arc<Environment>) {
    let worker = scope.index();
    let graph = &environment.graph;
    let exchanges = Exchanges::new(graph, environment.plan.parallelism);
    let shared = &environment.shared;
    let control_input = ControlInput::new(scope, environment);
    let control = control_input.control.clone();
    let mut streams: BTreeMap<usize, Stream<'_, u64, Messages>> = BTreeMap::new();
    let mut sides: BTreeMap<(NodeId, usize), Stream<'_, u64, Messages>> = BTreeMap::new();
    let mut finished: Vec<Stream<'_, u64, Messages>> = Vec::new();
    for (NodeId(index), node) in graph.nodes() {
        let name = node.id.as_str();
        let input = |id: &NodeId| streams[&id.0].clone();
        let stream = match &node.kind {
            NodeKind::Source(source) => source::build_source(scope, environment, index, source, control.clone()),
            NodeKind::Map { input: from, function } => {
                let stream = stateless::map(input(from), name, function.clone(), shared.clone());
                streams.insert(index, stream);
                continue;
            }
            NodeKind::Union { inputs } => {
                let inputs = inputs.iter().map(input).collect();
                let peers = environment.plan.parallelism;
                streams.insert(index, stateless::union(scope, name, inputs, worker, peers, shared.clone()));
                continue;
            }
            NodeKind::Keyed { inputs, operator } => {
                let inputs: Vec<_> = inputs
                    .iter()
                    .enumerate()
                    .map(|(at, from)| match from.broadcast {
                        true => broadcast_input(environment, &exchanges, input(&from.node), (index, at), worker),
                        false => {
                            keyed_input(environment, &exchanges, input(&from.node), from.node, &from.key, (index, at))
                        }
                    })
                    .collect();
                let count = inputs.len();
                let ports = graph.side_ports(NodeId(index));
                let open =
                    |activator| open_keyed(environment, &exchanges, index, worker, count, operator.as_ref(), activator);
                let task =
                    build_task(scope, environment, &exchanges, index, control.clone(), inputs, ports.len(), open);
                sides.extend(ports.into_iter().map(|port| (NodeId(index), port)).zip(task.sides));
                task.main
            }
            NodeKind::SideOutput { input: of, port } => {
                streams.insert(index, sides[&(*of, *port)].clone());
                continue;
            }
            NodeKind::Sink { input: from, key, sink } => {
                let inputs = vec![match key {
                    Some(key) => keyed_input(environment, &exchanges, input(from), *from, key, (index, 0)),
                    None => TaskInput { stream: input(from), by_key: false, in_flight: None },
                }];
                let open = |activator| open_sink(environment, index, worker, sink.as_ref(), activator);
                let task = build_task(scope, environment, &exchanges, index, control.clone(), inputs, 0, open);
                task.main
            }
        };
        if matches!(node.kind, NodeKind::Sink { .. }) {
            finished.push(stream);
        } else {
            streams.insert(index, stream);
        }
    }
    control_input.close(scope.concatenate(finished));
}

/// Rows of a node with their keys, ready to be exchanged.
fn keyed_input<'scope>(
    environment: &Environment,
    exchanges: &Exchanges,
    stream: Stream<'scope, u64, Messages>,
    from: NodeId,
    key: &[usize],
    (to, at): (usize, usize),
) -> TaskInput<'scope> {
    let schema = &environment.graph.node(from).schema;
    let in_flight = exchanges.of_input(to, at).cloned();
    match KeyEncoder::new(schema, key, environment.plan.max_parallelism) {
        Ok(encoder) => {
            let stream = stateless::with_keys(stream, encoder, environment.shared.clone());
            TaskInput { stream, by_key: true, in_flight }
        }
        Err(error) => {
            environment.shared.fail(error.with(Context::Operator, &environment.graph.node(from).id));
            TaskInput { stream, by_key: true, in_flight }
        }
    }
}

/// Rows of a node, ready to be sent to every worker.
fn broadcast_input<'scope>(
    environment: &Environment,
    exchanges: &Exchanges,
    stream: Stream<'scope, u64, Messages>,
    (to, at): (usize, usize),
    worker: usize,
) -> TaskInput<'scope> {
    let (peers, max_parallelism) = (environment.plan.parallelism, environment.plan.max_parallelism);
    let stream = stateless::broadcast(stream, max_parallelism, worker, peers, environment.shared.clone());
    TaskInput { stream, by_key: true, in_flight: exchanges.of_input(to, at).cloned() }
}

fn open_keyed(
    environment: &Arc<Environment>,
    exchanges: &Exchanges,
    node: usize,
    worker: usize,
    inputs: usize,
    factory: &dyn KeyedOperatorFactory,
    activator: SyncActivator,
) -> Result<Box<dyn Task>> {
    let id = &environment.graph.node(NodeId(node)).id;
    let located = |error: Error| error.with(Context::Operator, id);
    let mut state = open_state(environment, node, worker, activator).map_err(located)?;
    let restored = environment.plan.states.get(&node).map(|restored| &restored.state);
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
            capabilities: environment.backend.capabilities(),
            subtask: worker,
            parallelism: environment.plan.parallelism,
            max_parallelism: environment.plan.max_parallelism,
            restored: &of_operator,
            event_time_ms,
            clock: &state.clock,
        })
        .map_err(located)?;
    check_registered(&state).map_err(located)?;
    let opened = Opened { operator, state, inputs, event_time_ms, counters };
    Ok(Box::new(KeyedTask::new(environment.clone(), exchanges, node, worker, opened)))
}

fn open_sink(
    environment: &Arc<Environment>,
    node: usize,
    worker: usize,
    sink: &dyn Sink,
    activator: SyncActivator,
) -> Result<Box<dyn Task>> {
    let of_graph = environment.graph.node(NodeId(node));
    let located = |error: Error| error.with(Context::Operator, &of_graph.id);
    let mut state = match sink.is_stateful() {
        true => Some(open_state(environment, node, worker, activator).map_err(located)?),
        false => None,
    };
    let writer = sink
        .open(SinkSetup {
            job: &environment.plan.sink_job,
            subtask: worker,
            parallelism: environment.plan.parallelism,
            max_parallelism: environment.plan.max_parallelism,
            schema: of_graph.schema.clone(),
            state: state.as_mut().map(|state| state.backend.as_mut() as _),
        })
        .map_err(located)?;
    if let Some(state) = &state {
        check_registered(state).map_err(located)?;
    }
    Ok(Box::new(SinkTask::new(environment.clone(), node, worker, writer, state)))
}

/// Opens a node's keyed state on one worker with what the checkpoint has of its key groups.
fn open_state(environment: &Environment, node: usize, worker: usize, activator: SyncActivator) -> Result<TaskState> {
    let Environment { graph, plan, backend, .. } = environment;
    let clock = Arc::new(OperatorClock::default());
    let of_graph = graph.node(NodeId(node));
    let params = KeyedBackendParams {
        operator: of_graph.id.clone(),
        subtask: worker,
        key_groups: plan.max_parallelism.range_of(worker, plan.parallelism),
        max_parallelism: plan.max_parallelism,
        clock: clock.clone(),
        local_dir: environment.local_dir.join(format!("op-{node}-{worker}")),
    };
    let backend = match (plan.states.get(&node), &environment.restored) {
        (Some(RestoredState { state, restore: how }), Some(source)) => {
            let handles = state.subtasks.iter().filter_map(|subtask| subtask.state.as_ref());
            let mine = handles.filter(|handle| !handle.key_groups.intersection(params.key_groups).is_empty());
            let mine = mine.map(|handle| state::RestoredState { handle, source: source.as_ref() });
            let mine: Vec<state::RestoredState<'_>> = mine.collect();
            restore::open(backend.as_ref(), params, &mine, how, &of_graph.kind)?
        }
        _ => backend.open_keyed(params, &[])?,
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
