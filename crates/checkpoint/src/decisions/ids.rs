//! The next checkpoint's number.

use headpond_state::{CheckpointId, Error, Result};

/// A number beyond every existing one. Unfinished and damaged checkpoints count: a number is never used twice.
///
/// # Errors
/// [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted) when there is none left.
pub fn next_id(existing: impl IntoIterator<Item = CheckpointId>) -> Result<CheckpointId> {
    let last = existing.into_iter().max().map_or(0, |id| id.0);
    last.checked_add(1).map(CheckpointId).ok_or_else(|| {
        Error::exhausted(format!("checkpoint {last} exists, the last number there is"))
            .hint("move the job's checkpoint directory away, or set another `pipeline.name`")
    })
}
