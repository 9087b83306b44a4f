//! Where an operator puts its rows during one activation.

use crate::batch::ChangeBatch;

/// The port of an operator's main output. Others are read by [side outputs](crate::graph::NodeKind::SideOutput).
pub const MAIN_PORT: usize = 0;

/// The rows an operator has given since the runtime last passed its output on.
#[derive(Debug, Default)]
pub struct Output {
    batches: Vec<(usize, ChangeBatch)>,
    bytes: usize,
}

/// The bytes of output after which an operator yields.
pub const OUTPUT_BYTES_PER_ACTIVATION: usize = 1 << 20;

impl Output {
    /// Gives rows.
    pub fn give(&mut self, batch: ChangeBatch) {
        self.give_to(MAIN_PORT, batch);
    }

    /// Gives rows to one of the operator's outputs. Rows for a port that no [side
    /// output](crate::graph::NodeKind::SideOutput) reads are dropped.
    pub fn give_to(&mut self, port: usize, batch: ChangeBatch) {
        if !batch.is_empty() {
            self.bytes += batch.byte_len();
            self.batches.push((port, batch));
        }
    }

    /// Whether the operator should yield now: return [`Progress::More`](crate::operator::Progress::More) at the next
    /// point where it can go on later.
    pub fn is_full(&self) -> bool {
        self.bytes >= OUTPUT_BYTES_PER_ACTIVATION
    }

    /// Takes the rows given so far to the main output; those of other ports are dropped.
    pub fn drain(&mut self) -> impl Iterator<Item = ChangeBatch> + '_ {
        self.drain_ports().filter_map(|(port, batch)| (port == MAIN_PORT).then_some(batch))
    }

    /// Takes the rows given so far, each batch with its port.
    pub fn drain_ports(&mut self) -> impl Iterator<Item = (usize, ChangeBatch)> + '_ {
        self.bytes = 0;
        self.batches.drain(..)
    }
}
