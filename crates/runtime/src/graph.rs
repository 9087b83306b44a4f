//! The job graph: what runs, before it runs. Every worker builds the same dataflow from it.

use crate::operator::{BatchFunctionFactory, KeyedOperatorFactory};
use crate::output::MAIN_PORT;
use crate::sink::Sink;
use crate::source::{Source, WatermarkFactory};
use arrow_schema::SchemaRef;
use headpond_state::OperatorId;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A node's place in its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) usize);

/// A job: nodes in topological order.
#[derive(Debug, Clone, Default)]
pub struct JobGraph {
    nodes: Vec<Node>,
}

impl JobGraph {
    /// A graph without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node behind all those it reads from.
    ///
    /// # Panics
    /// If the node reads from a node that is not in the graph (node ids of another graph), or is a side output of a
    /// node that has none.
    pub fn add(&mut self, node: Node) -> NodeId {
        assert!(node.kind.inputs().iter().all(|input| input.0 < self.nodes.len()), "inputs come before their readers");
        if let NodeKind::SideOutput { input, port } = &node.kind {
            let keyed = matches!(self.nodes[input.0].kind, NodeKind::Keyed { .. });
            assert!(keyed && *port != MAIN_PORT, "side outputs are those of keyed nodes, beside the main one");
        }
        self.nodes.push(node);
        NodeId(self.nodes.len() - 1)
    }

    /// The ports of a node that side outputs read.
    pub(crate) fn side_ports(&self, of: NodeId) -> BTreeSet<usize> {
        let ports = self.nodes.iter().filter_map(|node| match node.kind {
            NodeKind::SideOutput { input, port } if input == of => Some(port),
            _ => None,
        });
        ports.collect()
    }

    /// The nodes in topological order.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index), node))
    }

    /// A node of this graph.
    ///
    /// # Panics
    /// For an id of another graph.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    /// A node of this graph, to change what it says of itself. What it reads from must stay as it is.
    ///
    /// # Panics
    /// For an id of another graph.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0]
    }
}

/// One step of a job.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its stable identity: in checkpoints, messages and the summary.
    pub id: OperatorId,
    /// What it does, for people.
    pub description: String,
    /// The columns of its output (of its input, for a sink).
    pub schema: SchemaRef,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Clone)]
pub enum NodeKind {
    /// Reads rows.
    Source(SourceNode),
    /// Changes batches one by one, on the worker where they are.
    Map {
        /// Whose rows.
        input: NodeId,
        /// The step.
        function: BatchFunctionFactory,
    },
    /// All rows of all inputs, which have the same columns.
    Union {
        /// Whose rows.
        inputs: Vec<NodeId>,
    },
    /// Keeps state by key. Rows are exchanged so that equal keys meet on one worker.
    Keyed {
        /// Whose rows, and by which key.
        inputs: Vec<KeyedInput>,
        /// The operator.
        operator: Arc<dyn KeyedOperatorFactory>,
    },
    /// The rows that a keyed node gives [to a port](crate::output::Output::give_to) beside its main output, such as
    /// those that came too late. Whoever reads the keyed node itself sees its main output only; watermarks go to all.
    SideOutput {
        /// Whose rows: a keyed node.
        input: NodeId,
        /// Which of them; not the [main port](crate::output::MAIN_PORT).
        port: usize,
    },
    /// Writes rows.
    Sink {
        /// Whose rows.
        input: NodeId,
        /// The columns by which rows are exchanged before they are written; `None`: written where they are.
        key: Option<Vec<usize>>,
        /// The sink.
        sink: Arc<dyn Sink>,
    },
}

/// A source with what its rows say about event time.
#[derive(Clone)]
pub struct SourceNode {
    /// The source.
    pub source: Arc<dyn Source>,
    /// How watermarks follow from rows; `None`: the source has no event time, its watermark is MAX at its end only.
    pub watermarks: Option<WatermarkFactory>,
    /// Whether rows get the hidden column [`ROW_WATERMARK_COLUMN`](crate::source::ROW_WATERMARK_COLUMN). The node's
    /// schema has it then.
    pub row_watermark: bool,
}

/// An input of a keyed node.
#[derive(Debug, Clone)]
pub struct KeyedInput {
    /// Whose rows.
    pub node: NodeId,
    /// The columns of the key, in order. None of them: all rows have one key.
    pub key: Vec<usize>,
    /// Whether every worker gets all rows. They have no key then: the operator sees those of a batch in the first of
    /// its key groups. Event time goes on without such an input.
    pub broadcast: bool,
}

impl KeyedInput {
    /// Rows that go to the owners of their keys.
    pub fn by_key(node: NodeId, key: Vec<usize>) -> Self {
        KeyedInput { node, key, broadcast: false }
    }

    /// Rows that go to every worker.
    pub fn broadcast(node: NodeId) -> Self {
        KeyedInput { node, key: Vec::new(), broadcast: true }
    }
}

impl Node {
    /// What a manifest calls the node's kind.
    pub(crate) fn kind_in_manifest(&self) -> String {
        let mut parts = self.id.as_str().rsplit('/');
        let last = parts.next().unwrap_or_default();
        match parts.next() {
            // `<sink table>/<operator kind>/<ordinal>`
            Some(kind) if last.chars().all(|digit| digit.is_ascii_digit()) => kind.to_owned(),
            _ => last.to_owned(),
        }
    }
}

impl NodeKind {
    /// Whether a node of this kind has a part in checkpoints.
    pub(crate) fn is_participant(&self) -> bool {
        matches!(self, NodeKind::Source(_) | NodeKind::Keyed { .. } | NodeKind::Sink { .. })
    }

    /// The nodes this one reads from.
    pub fn inputs(&self) -> Vec<NodeId> {
        match self {
            NodeKind::Source(_) => Vec::new(),
            NodeKind::Map { input, .. } | NodeKind::SideOutput { input, .. } | NodeKind::Sink { input, .. } => {
                vec![*input]
            }
            NodeKind::Union { inputs } => inputs.clone(),
            NodeKind::Keyed { inputs, .. } => inputs.iter().map(|input| input.node).collect(),
        }
    }
}

impl fmt::Debug for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeKind::Source(source) => write!(f, "Source({:?})", source.source),
            NodeKind::Map { input, .. } => write!(f, "Map({input:?})"),
            NodeKind::Union { inputs } => write!(f, "Union({inputs:?})"),
            NodeKind::Keyed { inputs, operator } => write!(f, "Keyed({inputs:?}, {operator:?})"),
            NodeKind::SideOutput { input, port } => write!(f, "SideOutput({input:?}, {port})"),
            NodeKind::Sink { input, sink, .. } => write!(f, "Sink({input:?}, {sink:?})"),
        }
    }
}

impl fmt::Debug for SourceNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.source)
    }
}
