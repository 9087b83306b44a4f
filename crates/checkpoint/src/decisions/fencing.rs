//! Whether somebody else has taken the job over.

use headpond_state::{CheckpointId, Context, Error, Result};
use std::collections::BTreeSet;

/// Checks, before a commit, that every existing checkpoint is one this attempt knows: found when it took the job over,
/// or its own. A stranger means that another attempt goes on with the job, whatever its number.
///
/// # Errors
/// [`Fenced`](headpond_state::ErrorKind::Fenced).
pub fn check_no_stranger(existing: &[CheckpointId], known: &BTreeSet<CheckpointId>) -> Result<()> {
    existing.iter().find(|id| !known.contains(id)).map_or(Ok(()), |stranger| Err(fenced(*stranger)))
}

/// The error of an attempt that finds a checkpoint of another one.
pub fn fenced(checkpoint: CheckpointId) -> Error {
    Error::fenced("another attempt of this job has taken a checkpoint since this one began")
        .with(Context::Checkpoint, checkpoint)
        .hint("let one of the two run; this one stops, and nothing it has not committed is lost to the other")
}
