//! Where an operator puts its rows during one activation.

use crate::batch::ChangeBatch;

/// The rows an operator has given since the runtime last passed its output on.
#[derive(Debug, Default)]
pub struct Output {
    batches: Vec<ChangeBatch>,
    bytes: usize,
}

/// The bytes of output after which an operator yields.
pub const OUTPUT_BYTES_PER_ACTIVATION: usize = 1 << 20;

impl Output {
    /// Gives rows.
    pub fn give(&mut self, batch: ChangeBatch) {
        if !batch.is_empty() {
            self.bytes += batch.byte_len();
            self.batches.push(batch);
        }
    }

    /// Whether the operator should yield now: return [`Progress::More`](crate::operator::Progress::More) at the next point where it can
    /// go on later.
    pub fn is_full(&self) -> bool {
        self.bytes >= OUTPUT_BYTES_PER_ACTIVATION
    }

    /// Takes the rows given so far.
    pub fn drain(&mut self) -> impl Iterator<Item = ChangeBatch> + '_ {
        self.bytes = 0;
        self.batches.drain(..)
    }
}
