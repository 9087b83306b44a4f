//! Flow control within a tick: how many rows are on their way over an exchange.
//!
//! Between ticks the leader keeps sources from running ahead. Within one, an operator may give any number of rows (a
//! million windows that close), and the worker that takes them may be slower. So every worker counts the rows it has
//! sent to each other one, hears from them what they have taken, and an operator waits while an exchange behind it is
//! congested. The counts are hints: nothing else is decided by them.

use crate::graph::{JobGraph, NodeId, NodeKind};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Rows on their way to one worker from which on an exchange is congested, all senders together.
const CONGESTED_ROWS: usize = 262_144;
/// The same for one of many senders: less would make it wait for each batch.
const CONGESTED_ROWS_OF_ONE_MIN: usize = 32_768;
/// Rows after which a worker says that it has taken them.
const TAKEN_ROWS: usize = 8192;

/// The rows that this worker has sent over one exchange and that the others have not said they have taken.
#[derive(Debug, Clone)]
pub(crate) struct InFlight {
    rows: Rc<RefCell<Vec<usize>>>,
}

impl InFlight {
    fn new(peers: usize) -> Self {
        InFlight { rows: Rc::new(RefCell::new(vec![0; peers])) }
    }

    pub(crate) fn sent(&self, to: usize, rows: usize) {
        self.rows.borrow_mut()[to] += rows;
    }

    fn taken(&self, by: usize, rows: usize) {
        let of_worker = &mut self.rows.borrow_mut()[by];
        *of_worker = of_worker.saturating_sub(rows);
    }

    pub(crate) fn is_congested(&self) -> bool {
        let rows = self.rows.borrow();
        let congested = (CONGESTED_ROWS / rows.len()).max(CONGESTED_ROWS_OF_ONE_MIN);
        rows.iter().any(|rows| *rows >= congested)
    }
}

/// What a worker says to one that has sent it rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Taken {
    /// The worker that sent them.
    pub(crate) from: usize,
    by: usize,
    /// The exchange: the node that receives, and its input.
    to: (usize, usize),
    rows: usize,
}

/// Rows that a worker has taken from one exchange and has not said so.
#[derive(Debug)]
pub(crate) struct Untold {
    worker: usize,
    to: (usize, usize),
    rows: Vec<usize>,
}

impl Untold {
    /// For an exchange to `worker`.
    pub(crate) fn new(worker: usize, peers: usize, to: (usize, usize)) -> Self {
        Untold { worker, to, rows: vec![0; peers] }
    }

    /// Counts rows in, and says what is to be told by now.
    pub(crate) fn take(&mut self, from: usize, rows: usize) -> Option<Taken> {
        // A damaged message may name anybody.
        let untold = self.rows.get_mut(from)?;
        *untold += rows;
        let tell = *untold >= TAKEN_ROWS;
        tell.then(|| Taken { from, by: self.worker, to: self.to, rows: std::mem::take(untold) })
    }
}

/// The exchanges of a job that are watched, by the node that receives and its input, as one worker knows them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exchanges(BTreeMap<(usize, usize), InFlight>);

impl Exchanges {
    /// The exchanges of `graph` between `peers` workers that an operator with state sends to; none for a single worker,
    /// whose rows go nowhere. What sources send is bounded by the tick.
    pub(crate) fn new(graph: &JobGraph, peers: usize) -> Self {
        let keyed = graph.nodes().filter(|(_, node)| peers > 1 && matches!(node.kind, NodeKind::Keyed { .. }));
        let watched = keyed.flat_map(|(NodeId(index), _)| behind(graph, index));
        Exchanges(watched.map(|input| (input, InFlight::new(peers))).collect())
    }

    pub(crate) fn of_input(&self, node: usize, input: usize) -> Option<&InFlight> {
        self.0.get(&(node, input))
    }

    /// The exchanges that take the rows of a node.
    pub(crate) fn behind(&self, graph: &JobGraph, node: usize) -> Vec<InFlight> {
        behind(graph, node).iter().filter_map(|input| self.0.get(input)).cloned().collect()
    }

    /// Another worker has taken rows.
    pub(crate) fn taken(&self, taken: &Taken) {
        if let Some(exchange) = self.0.get(&taken.to) {
            exchange.taken(taken.by, taken.rows);
        }
    }
}

/// The exchanges that take the rows of a node, however many steps without state are in between.
fn behind(graph: &JobGraph, node: usize) -> Vec<(usize, usize)> {
    let mut exchanges = Vec::new();
    for (NodeId(reader), reading) in graph.nodes() {
        for (input, from) in reading.kind.inputs().into_iter().enumerate() {
            if from != NodeId(node) {
                continue;
            }
            match &reading.kind {
                NodeKind::Keyed { .. } | NodeKind::Sink { key: Some(_), .. } => exchanges.push((reader, input)),
                _ => exchanges.extend(behind(graph, reader)),
            }
        }
    }
    exchanges
}
