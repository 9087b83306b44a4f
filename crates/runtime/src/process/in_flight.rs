//! Flow control within a tick: how many rows are on their way over an exchange.
//!
//! Between ticks the coordinator keeps sources from running ahead. Within one, an operator may give any number of rows (a million
//! windows that close), and the worker that takes them may be slower. So every exchange counts its rows in flight, and an
//! operator waits while one of those behind it is congested. The counts are hints about this process: nothing is decided by them.

use crate::graph::{JobGraph, NodeId, NodeKind};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows on their way to one worker from which on an exchange is congested.
const CONGESTED_ROWS: usize = 262_144;

/// The rows on their way to each worker over one exchange.
#[derive(Debug, Clone)]
pub(crate) struct InFlight(Arc<[AtomicUsize]>);

impl InFlight {
    fn new(peers: usize) -> Self {
        InFlight((0..peers).map(|_| AtomicUsize::new(0)).collect())
    }

    pub(crate) fn sent(&self, to: usize, rows: usize) {
        self.0[to].fetch_add(rows, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, at: usize, rows: usize) {
        self.0[at].fetch_sub(rows, Ordering::Relaxed);
    }

    pub(crate) fn is_congested(&self) -> bool {
        self.0.iter().any(|rows| rows.load(Ordering::Relaxed) >= CONGESTED_ROWS)
    }
}

/// The exchanges of a job, by the node that receives and its input.
#[derive(Debug, Default)]
pub(crate) struct Exchanges(BTreeMap<(usize, usize), InFlight>);

impl Exchanges {
    /// The exchanges of `graph` between `peers` workers; none for a single one, where rows go nowhere.
    pub(crate) fn new(graph: &JobGraph, peers: usize) -> Self {
        let nodes = graph.nodes().filter(|_| peers > 1);
        let inputs = nodes.flat_map(|(NodeId(index), node)| {
            let count = match &node.kind {
                NodeKind::Keyed { inputs, .. } => inputs.len(),
                NodeKind::Sink { key: Some(_), .. } => 1,
                _ => 0,
            };
            (0..count).map(move |input| (index, input))
        });
        Exchanges(inputs.map(|input| (input, InFlight::new(peers))).collect())
    }

    pub(crate) fn of_input(&self, node: usize, input: usize) -> Option<&InFlight> {
        self.0.get(&(node, input))
    }

    /// The exchanges that take the rows of a node, however many steps without state are in between.
    pub(crate) fn behind(&self, graph: &JobGraph, node: usize) -> Vec<InFlight> {
        let mut behind = Vec::new();
        for (NodeId(reader), reading) in graph.nodes() {
            for (input, from) in reading.kind.inputs().into_iter().enumerate() {
                if from != NodeId(node) {
                    continue;
                }
                match self.of_input(reader, input) {
                    Some(exchange) => behind.push(exchange.clone()),
                    None => behind.extend(self.behind(graph, reader)),
                }
            }
        }
        behind
    }
}
