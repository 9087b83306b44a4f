//! Which checkpoint to restore.

use super::Observed;
use super::lineage::lineage;
use headpond_state::{CheckpointId, Error, ErrorKind, Remedy, Result};

/// The outcome of a search for a checkpoint to restore.
#[derive(Debug)]
pub struct Choice<T> {
    /// What the check of the chosen one gave; `None` when no checkpoint stood the check.
    pub chosen: Option<T>,
    /// The newer ones that did not, newest first, each with the reason.
    pub skipped: Vec<(CheckpointId, Error)>,
}

/// Takes the newest checkpoint that verifies, within the history of the newest one.
///
/// `verify` checks one checkpoint. Only [`Corrupt`](ErrorKind::Corrupt) is a reason to fall back: a store that does not
/// answer, or a manifest of a newer Headpond, says nothing against the checkpoint, and to go back because of it would
/// undo output for nothing.
///
/// # Errors
/// Any other error of `verify`.
pub fn choose<T>(observed: &[Observed], mut verify: impl FnMut(CheckpointId) -> Result<T>) -> Result<Choice<T>> {
    let newest = observed.iter().map(|found| found.id).max();
    let candidates = newest.map_or_else(Vec::new, |newest| lineage(observed, newest));
    let mut skipped = Vec::new();
    for id in candidates {
        match verify(id) {
            Ok(verified) => return Ok(Choice { chosen: Some(verified), skipped }),
            Err(error) if error.kind() == ErrorKind::Corrupt => skipped.push((id, error)),
            Err(error) => return Err(error),
        }
    }
    Ok(Choice { chosen: None, skipped })
}

/// The error when checkpoints exist and none verifies.
pub fn all_damaged(skipped: &[(CheckpointId, String)]) -> Error {
    let reasons: Vec<String> = skipped.iter().map(|(id, reason)| format!("checkpoint {id}: {reason}")).collect();
    Error::corrupt(format!("no checkpoint of this job can be restored; {}", reasons.join("; ")))
        .hint("bring the files back")
        .remedy(Remedy::RestoreAnother)
        .remedy(Remedy::StartAnew)
}
