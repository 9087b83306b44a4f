//! What a process needs to know to run its part of a job: data, the same in every process.

use crate::graph::{JobGraph, NodeId, NodeKind};
use crate::sink::SinkJob;
use crate::source::SourceSplit;
use headpond_checkpoint::manifest::{OperatorState, SplitState};
use headpond_state::{CheckpointId, ContentHash, Error, MaxParallelism, Result, StateDescriptor, StateFile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A job's plan, made by the leader. Every process builds the graph from the same program, and the plan says what else
/// it is to do; both are compared before a row is read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The run, as sinks know it.
    pub(crate) sink_job: SinkJob,
    /// The nodes of the graph, described.
    pub(crate) graph: Vec<String>,
    /// The number of processes; each has as many workers as the others.
    pub(crate) processes: usize,
    /// The number of workers of all processes.
    pub(crate) parallelism: usize,
    pub(crate) max_parallelism: MaxParallelism,
    pub(crate) rows_per_tick: usize,
    pub(crate) source_idle_timeout: Option<Duration>,
    /// Whether backends compact their files at each checkpoint.
    pub(crate) compact: bool,
    /// Whether files of the last checkpoint are reused.
    pub(crate) incremental: bool,
    /// The splits of every source node, in the order in which they are kept in checkpoints.
    pub(crate) splits: Splits,
    /// The restored state of every node that has some.
    pub(crate) states: BTreeMap<usize, RestoredState>,
    /// What was restored, if anything was.
    pub(crate) restored: Option<RestoredFrom>,
}

/// The splits of every source node.
pub(crate) type Splits = BTreeMap<usize, Vec<AssignedSplit>>;

/// A split, where it stands, and who reads it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AssignedSplit {
    pub(crate) split: SourceSplit,
    pub(crate) state: SplitState,
    pub(crate) worker: usize,
}

/// The state of a node in the restored checkpoint, and how it is restored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RestoredState {
    pub(crate) state: OperatorState,
    pub(crate) restore: StateRestore,
}

/// What of the checkpoint's state of a node is restored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum StateRestore {
    /// All of it, as it is, but the states of these names.
    AsItIs {
        /// States that are dropped.
        dropped: Vec<String>,
    },
    /// Entry by entry, into empty states.
    Migrated {
        /// What the operator declares. States of the checkpoint that are not among them are dropped.
        declared: Vec<StateDescriptor>,
        /// The states that are converted, as the checkpoint has them; the entries of others are taken as they are.
        converted: Vec<StateDescriptor>,
    },
}

/// The checkpoint a job is restored from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RestoredFrom {
    pub(crate) checkpoint: CheckpointId,
    /// Where it is, if it is not one of the job's own directory.
    pub(crate) path: Option<String>,
}

impl Plan {
    /// The plan as bytes, for a process elsewhere.
    ///
    /// # Errors
    /// [`Internal`](headpond_state::ErrorKind::Internal) when it cannot be written.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::internal("the plan cannot be written").because(error))
    }

    /// A plan from its bytes.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) when they are no plan of this version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes)
            .map_err(|error| Error::incompatible("the plan is not one of this version").because(error))
    }

    /// The hash of the plan.
    pub(crate) fn hash(&self) -> Result<String> {
        Ok(ContentHash(*blake3::hash(&self.encode()?).as_bytes()).to_string())
    }

    /// Checks that a process has the graph that the plan was made for.
    pub(crate) fn check_graph(&self, graph: &JobGraph) -> Result<()> {
        let mine = describe(graph);
        let differs = (0..mine.len().max(self.graph.len())).find(|&index| mine.get(index) != self.graph.get(index));
        let Some(index) = differs else { return Ok(()) };
        let nothing = || "no step".to_owned();
        let (mine, theirs) = (mine.get(index).cloned(), self.graph.get(index).cloned());
        Err(Error::incompatible(format!(
            "a process of the job runs another program: its step {index} is {}, the leader's is {}",
            mine.unwrap_or_else(nothing),
            theirs.unwrap_or_else(nothing)
        ))
        .hint("run the same program, with the same settings, in every process"))
    }

    /// The files of the restored checkpoint that operators of the job have restored.
    pub(crate) fn restored_files(&self) -> impl Iterator<Item = &StateFile> {
        self.states.values().flat_map(|restored| restored.state.files())
    }
}

/// The steps of a graph, each with all that a plan relies on.
pub(crate) fn describe(graph: &JobGraph) -> Vec<String> {
    let node = |(NodeId(_), node): (NodeId, &crate::graph::Node)| {
        let kind = match &node.kind {
            NodeKind::Source(_) => "source".to_owned(),
            NodeKind::Map { .. } => "map".to_owned(),
            NodeKind::Union { .. } => "union".to_owned(),
            NodeKind::Keyed { inputs, .. } => {
                format!("keyed by {:?}", inputs.iter().map(|input| (&input.key, input.broadcast)).collect::<Vec<_>>())
            }
            NodeKind::SideOutput { port, .. } => format!("side output {port}"),
            NodeKind::Sink { key, .. } => format!("sink by {key:?}"),
        };
        let inputs: Vec<usize> = node.kind.inputs().iter().map(|input| input.0).collect();
        let columns = node.schema.fields().iter().map(|field| format!("{} {}", field.name(), field.data_type()));
        let columns: Vec<String> = columns.collect();
        format!("`{}` ({kind}, {}, of {inputs:?}, columns {})", node.id, node.description, columns.join(", "))
    };
    graph.nodes().map(node).collect()
}
