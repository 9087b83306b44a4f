//! Who reads the handles of a checkpoint.

use headpond_state::{MaxParallelism, RestoredState, Result, StateReader};
use std::fmt::Debug;

/// Opens what snapshots of backends left, for reading.
///
/// Which backend reads a handle follows from the handle's format; who knows concrete backends says it here.
pub trait StateReaders: Debug + Send + Sync {
    /// A reader of a handle of a job with this many key groups.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) for a format that nobody reads, and as the reader's.
    fn open<'a>(&self, state: RestoredState<'a>, max_parallelism: MaxParallelism) -> Result<Box<dyn StateReader + 'a>>;
}
