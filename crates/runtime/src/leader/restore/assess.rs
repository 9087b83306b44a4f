//! Whether a job can go on from a checkpoint, part by part.

use super::declared::declared_states;
use super::restoration::{Restoration, committables_of};
use super::verdict::{AssessedPart, Assessment, PartKind, Verdict};
use crate::graph::{JobGraph, Node, NodeId, NodeKind};
use crate::options::JobOptions;
use crate::plan::StateRestore;
use crate::sink::{Sink, SinkJob};
use crate::source::{ReaderContext, SourceSplit};
use headpond_checkpoint::manifest::{Manifest, OperatorState, SourceState};
use headpond_state::key_group::KEY_GROUP_HASH;
use headpond_state::{Context, Error, Migration, OperatorId, Remedy, Result, StateDescriptor};
use std::collections::{BTreeMap, BTreeSet};

const OLD_QUERY: &str = "run the query that the checkpoint was taken with";
const RENAMED: &str = "if the query has it under another name, say so with the hint `STATE_UID`";
const OTHER_NAME: &str = "give the query another sink table or `STATE_UID`";
const RENAMED_OPERATOR: &str =
    "if it is an operator of the checkpoint under another name, say so with the hint `STATE_UID`";

/// Decides what becomes of everything in the checkpoint and in the graph.
///
/// # Errors
/// As the operators' [`open`](crate::operator::KeyedOperatorFactory::open). That something does not match is no error
/// but a verdict.
pub(crate) fn assess(
    graph: &JobGraph,
    options: &JobOptions,
    job: &SinkJob,
    restored: &Restoration,
) -> Result<Assessment> {
    let manifest = &restored.manifest;
    let mut assessor = Assessor { graph, options, manifest, parts: Vec::new(), states: BTreeMap::new() };
    assessor.job();
    assessor.gone();
    for (id, node) in graph.nodes() {
        match &node.kind {
            NodeKind::Source(_) => assessor.source(node),
            NodeKind::Keyed { operator, .. } => {
                let capabilities = options.backend.capabilities();
                let restored = manifest.operator(&node.id).map(states_of).unwrap_or_default();
                let declared = declared_states(operator.as_ref(), restored, capabilities, manifest.max_parallelism)
                    .map_err(|error| error.with(Context::Operator, &node.id))?;
                let migration = |restored: &_, declared: &_| operator.migration(restored, declared);
                let verdict = assessor.state(id, node, &declared, &migration);
                assessor.part(node, PartKind::Operator, verdict, Vec::new());
            }
            NodeKind::Sink { sink, .. } => assessor.sink(id, node, sink.as_ref(), job)?,
            NodeKind::Map { .. } | NodeKind::Union { .. } | NodeKind::SideOutput { .. } => {}
        }
    }
    let Assessor { parts, states, .. } = assessor;
    let skipped = restored.skipped.clone();
    Ok(Assessment { checkpoint: manifest.checkpoint, job: manifest.job.clone(), skipped, parts, states })
}

/// Tries the positions of sources: whether the splits that were being read can be read on.
pub(super) fn positions(graph: &JobGraph, restored: &Restoration, assessment: &mut Assessment) {
    for (_, node) in graph.nodes() {
        let (NodeKind::Source(source), Some(before)) = (&node.kind, restored.manifest.source(&node.id)) else {
            continue;
        };
        let reader = ReaderContext { subtask: 0, readers: 1 };
        let begun = before.splits.iter().filter(|split| !split.finished && !split.position.is_null());
        let opened = source.source.splits().and_then(|_| {
            begun.into_iter().try_for_each(|split| {
                let id = SourceSplit { id: split.id.clone() };
                source.source.open(&id, Some(&split.position), &reader).map(drop)
            })
        });
        let part =
            assessment.parts.iter_mut().find(|part| part.kind == PartKind::Source && part.id == node.id.as_str());
        if let (Err(error), Some(part)) = (opened, part) {
            part.verdict = Verdict::Cannot(error.with(Context::Operator, &node.id));
        }
    }
}

struct Assessor<'a> {
    graph: &'a JobGraph,
    options: &'a JobOptions,
    manifest: &'a Manifest,
    parts: Vec<AssessedPart>,
    states: BTreeMap<usize, StateRestore>,
}

/// Asks the owner of a state for its migration.
type AskMigration<'a> = dyn Fn(&StateDescriptor, &StateDescriptor) -> Result<Migration> + 'a;

impl Assessor<'_> {
    fn part(&mut self, node: &Node, kind: PartKind, verdict: Verdict, notes: Vec<String>) {
        let (id, description) = (node.id.to_string(), node.description.clone());
        self.parts.push(AssessedPart { id, kind, description, verdict, notes });
    }

    /// What concerns the job as a whole.
    fn job(&mut self) {
        let manifest = self.manifest;
        let mut part = |verdict: Verdict, notes: Vec<String>| {
            let (id, description) = ("job".to_owned(), "the job as a whole".to_owned());
            self.parts.push(AssessedPart { id, kind: PartKind::Job, description, verdict, notes });
        };
        if manifest.finished {
            part(Verdict::AsIs, vec!["it has read all its input: a run has nothing left to do".to_owned()]);
        }
        let mut refuse = |message: String, way_out: &str| {
            let error = Error::incompatible(message).hint(way_out).remedy(Remedy::StartAnew);
            part(Verdict::Cannot(error), Vec::new());
        };
        if manifest.key_group_hash != KEY_GROUP_HASH {
            let hash = &manifest.key_group_hash;
            let message = format!(
                "the checkpoint's keys are dealt to key groups by `{hash}`, this version knows `{KEY_GROUP_HASH}`"
            );
            refuse(message, OLD_QUERY);
        }
        let key_groups = manifest.max_parallelism.get();
        if self.options.parallelism > usize::from(key_groups) {
            let workers = self.options.parallelism;
            let message = format!("the checkpoint has {key_groups} key groups, too few for {workers} workers");
            refuse(message, "run it with fewer workers (`parallelism.default`)");
        }
    }

    /// What the checkpoint has and the job has not.
    fn gone(&mut self) {
        let known: BTreeSet<&OperatorId> = self.graph.nodes().map(|(_, node)| &node.id).collect();
        let nodes = self.graph.nodes().filter(|(_, node)| is_stateful(&node.kind));
        let stateful: BTreeSet<&OperatorId> = nodes.map(|(_, node)| &node.id).collect();
        let manifest = self.manifest;
        for gone in manifest.operators.iter().filter(|operator| !stateful.contains(&operator.operator)) {
            let message = match known.contains(&gone.operator) {
                true => "the checkpoint has state of this operator, which keeps none any more".to_owned(),
                false => format!("the checkpoint has the state of a {} that the job no longer has", gone.kind),
            };
            let kind = if gone.kind == "sink" { PartKind::Sink } else { PartKind::Operator };
            self.leave_behind(&gone.operator, kind, &gone.description, message);
        }
        for gone in manifest.sources.iter().filter(|source| !known.contains(&source.operator)) {
            let message = "the checkpoint has the position of a source that the job no longer has".to_owned();
            self.leave_behind(&gone.operator, PartKind::Source, "", message);
        }
        let has_state = |id: &OperatorId| manifest.operator(id).is_some();
        for gone in manifest.sinks.iter().filter(|sink| !known.contains(&sink.operator) && !has_state(&sink.operator)) {
            if !gone.committables.is_empty() {
                let message = "the checkpoint has output of a sink that the job no longer has".to_owned();
                self.leave_behind(&gone.operator, PartKind::Sink, "", message);
            }
        }
    }

    fn leave_behind(&mut self, id: &OperatorId, kind: PartKind, description: &str, message: String) {
        let verdict = match self.options.allow_dropped_state {
            true => Verdict::Dropped,
            false => {
                let message = if description.is_empty() { message } else { format!("{message}: {description}") };
                let error = Error::incompatible(message).with(Context::Operator, id).hint(RENAMED);
                Verdict::Cannot(error.remedy(Remedy::AllowDroppedState).remedy(Remedy::StartAnew))
            }
        };
        let (id, description) = (id.to_string(), description.to_owned());
        self.parts.push(AssessedPart { id, kind, description, verdict, notes: Vec::new() });
    }

    fn source(&mut self, node: &Node) {
        let (verdict, notes) = match self.manifest.source(&node.id) {
            Some(before) => (Verdict::AsIs, vec![position(before)]),
            None => (
                Verdict::StartsEmpty("the checkpoint has not read it: it is read from its beginning".to_owned()),
                Vec::new(),
            ),
        };
        self.part(node, PartKind::Source, verdict, notes);
    }

    fn sink(&mut self, id: NodeId, node: &Node, sink: &dyn Sink, job: &SinkJob) -> Result<()> {
        let before = self.manifest.sink(&node.id);
        let states = sink.states().map_err(|error| error.with(Context::Operator, &node.id))?;
        let mut verdict = match states {
            declared if !declared.is_empty() => {
                let migration = |restored: &_, declared: &_| sink.migration(restored, declared);
                self.state(id, node, &declared, &migration)
            }
            _ if before.is_some() => Verdict::AsIs,
            _ => Verdict::StartsEmpty("the checkpoint has no output of it".to_owned()),
        };
        let mut notes = Vec::new();
        if let Some(before) = before {
            let committables = committables_of(before)?;
            if let (false, Err(error)) =
                (matches!(verdict, Verdict::Cannot(_)), sink.check_restored(job, &committables))
            {
                verdict = Verdict::Cannot(error.with(Context::Operator, &node.id));
            }
            if !sink.can_rewind() {
                notes.push(
                    "cannot take back what it has published since: a restore of a chosen checkpoint must accept duplicates"
                        .to_owned(),
                );
            }
        }
        self.part(node, PartKind::Sink, verdict, notes);
        Ok(())
    }

    /// What becomes of a node's keyed state.
    fn state(
        &mut self,
        id: NodeId,
        node: &Node,
        declared: &[StateDescriptor],
        migration: &AskMigration<'_>,
    ) -> Verdict {
        let located = |error: Error| error.with(Context::Operator, &node.id);
        let Some(state) = self.manifest.operator(&node.id) else { return self.without_state(id, node) };
        let handles = || state.subtasks.iter().filter_map(|subtask| subtask.state.as_ref());
        let backend = &self.options.backend;
        if let Some(error) =
            handles().find_map(|handle| backend.check_handle(handle, self.manifest.max_parallelism).err())
        {
            return Verdict::Cannot(located(error));
        }
        match self.restored_states(state, declared, migration) {
            Ok(Some((restore, changes))) => {
                self.states.insert(id.0, restore);
                if changes.is_empty() { Verdict::AsIs } else { Verdict::Migrates(changes) }
            }
            Ok(None) => Verdict::StartsEmpty(
                "it keeps other state now, and what the checkpoint has of it is dropped".to_owned(),
            ),
            Err(error) if self.options.allow_dropped_state => {
                Verdict::StartsEmpty(format!("its state is dropped: {}", error.message()))
            }
            Err(error) => {
                let error = match error.way_out().map(|way_out| format!("{way_out}; or {OTHER_NAME}")) {
                    _ if error.remedies().contains(&Remedy::AllowDroppedState) => error,
                    Some(way_out) => error.hint(way_out),
                    None => error.hint(OTHER_NAME),
                };
                let error = error.remedy(Remedy::AllowDroppedState).remedy(Remedy::StartAnew);
                Verdict::Cannot(located(error))
            }
        }
    }

    /// How the states of an operator are restored, and what changes; `None`: none of them.
    fn restored_states(
        &self,
        state: &OperatorState,
        declared: &[StateDescriptor],
        migration: &AskMigration<'_>,
    ) -> Result<Option<(StateRestore, Vec<String>)>> {
        let (mut changes, mut dropped, mut converted) = (Vec::new(), Vec::new(), Vec::new());
        let restored = states_of(state);
        for old in &restored {
            let Some(new) = declared.iter().find(|state| state.name == old.name) else {
                if !self.options.allow_dropped_state {
                    return Err(Error::incompatible("the checkpoint has a state that the operator no longer has")
                        .with(Context::State, &old.name)
                        .hint(OLD_QUERY)
                        .remedy(Remedy::AllowDroppedState)
                        .remedy(Remedy::StartAnew));
                }
                changes.push(format!("state `{}` is dropped", old.name));
                dropped.push(old.name.clone());
                continue;
            };
            let describe = |change: &String| format!("state `{}`: {change}", new.name);
            if new.check_restored(old).is_ok() {
                // What the codec bears, values show when they are read.
                if new.value_schema != old.value_schema {
                    let borne = migration(old, new).map(|migration| migration.changes);
                    let borne = borne.unwrap_or_else(|_| vec!["values have more fields".to_owned()]);
                    changes.extend(borne.iter().map(describe));
                }
                continue;
            }
            let Migration { changes: of_state, .. } = migration(old, new)?;
            changes.extend(of_state.iter().map(describe));
            converted.push(old.clone());
        }
        if !restored.is_empty() && dropped.len() == restored.len() {
            return Ok(None);
        }
        let is_new = |state: &&StateDescriptor| !restored.iter().any(|old| old.name == state.name);
        let has_state = !restored.is_empty();
        changes.extend(
            declared
                .iter()
                .filter(|state| has_state && is_new(state))
                .map(|state| format!("state `{}` is new and begins empty", state.name)),
        );
        let restore = match converted.is_empty() {
            true => StateRestore::AsItIs { dropped },
            false => StateRestore::Migrated { declared: declared.to_vec(), converted },
        };
        Ok(Some((restore, changes)))
    }

    /// What becomes of an operator that the checkpoint does not have.
    fn without_state(&self, id: NodeId, node: &Node) -> Verdict {
        if !self.reads_restored(id) {
            return Verdict::StartsEmpty("it is new, and so is all that it reads".to_owned());
        }
        let goes_on = self.manifest.sink(&node.id).is_some() || self.feeds_restored(id);
        if goes_on && !self.options.allow_empty_state {
            let message = format!(
                "the checkpoint has no state for this operator ({}), which would start empty in the middle of its input, \
                 and what it gives to would go on",
                node.description
            );
            let error = Error::incompatible(message).with(Context::Operator, &node.id).hint(RENAMED_OPERATOR);
            return Verdict::Cannot(error.remedy(Remedy::AllowEmptyState).remedy(Remedy::StartAnew));
        }
        Verdict::StartsEmpty("it is new: it sees only the rows that come from now on".to_owned())
    }

    fn reads_restored(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        match &node.kind {
            NodeKind::Source(_) => self.manifest.source(&node.id).is_some(),
            other => other.inputs().into_iter().any(|input| self.reads_restored(input)),
        }
    }

    /// Whether something behind the node goes on from the checkpoint.
    fn feeds_restored(&self, id: NodeId) -> bool {
        let mut behind = BTreeSet::from([id]);
        for (reader, node) in self.graph.nodes() {
            if !node.kind.inputs().iter().any(|input| behind.contains(input)) {
                continue;
            }
            behind.insert(reader);
            if self.manifest.operator(&node.id).is_some() || self.manifest.sink(&node.id).is_some() {
                return true;
            }
        }
        false
    }
}

/// The states that a checkpoint has of an operator, by name.
fn states_of(state: &OperatorState) -> Vec<StateDescriptor> {
    let mut states: Vec<StateDescriptor> = Vec::new();
    for descriptor in state.subtasks.iter().filter_map(|subtask| subtask.state.as_ref()).flat_map(|state| &state.states)
    {
        if !states.iter().any(|known| known.name == descriptor.name) {
            states.push(descriptor.clone());
        }
    }
    states
}

fn is_stateful(kind: &NodeKind) -> bool {
    match kind {
        NodeKind::Keyed { .. } => true,
        NodeKind::Sink { sink, .. } => sink.is_stateful(),
        NodeKind::Source(_) | NodeKind::Map { .. } | NodeKind::Union { .. } | NodeKind::SideOutput { .. } => false,
    }
}

fn position(source: &SourceState) -> String {
    let rows: u64 = source.splits.iter().map(|split| split.rows).sum();
    let finished = source.splits.iter().filter(|split| split.finished).count();
    format!("goes on behind {rows} rows, {finished} of {} splits finished", source.splits.len())
}
