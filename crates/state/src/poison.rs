//! After a failed write nobody knows what is in a store, so nothing is read from it or written to it any more.

use crate::error::{Error, Result};
use crate::write_batch::WriteBatch;

/// Whether a keyed state backend may still be used.
#[derive(Debug, Default)]
pub struct PoisonGuard {
    poisoned: bool,
}

impl PoisonGuard {
    /// Checks that no write has failed. Every call of a keyed state backend that can fail begins with it.
    ///
    /// # Errors
    /// [`Closed`](crate::ErrorKind::Closed) after a failed write.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.poisoned { Err(closed()) } else { Ok(()) }
    }

    /// Ends a write: clears the batch, whether it was applied or not, and poisons the backend if it was not.
    ///
    /// # Errors
    /// As `applied`.
    pub fn written(&mut self, batch: &mut WriteBatch, applied: Result<()>) -> Result<()> {
        batch.clear();
        self.poisoned = applied.is_err();
        applied
    }
}

#[cold]
fn closed() -> Error {
    Error::closed("the state is closed because a write to it failed").hint("restore the last checkpoint")
}
