//! Which checkpoints to keep.

use super::Observed;
use super::lineage::lineage;
use headpond_state::CheckpointId;

/// Which checkpoints go.
///
/// Kept are the newest `retain` readable ones (at least one) of the newest committed one's history, and unreadable ones
/// of that history between them: they may be looked at, and they are not counted. Everything else goes, oldest first:
/// what is older, and what belongs to a history that did not happen. `newest` is the last one this attempt committed;
/// what is newer than it is not judged.
pub fn beyond(observed: &[Observed], newest: CheckpointId, retain: usize) -> Vec<CheckpointId> {
    let readable = |id: &CheckpointId| observed.iter().any(|found| found.id == *id && found.record.is_some());
    let mut kept = Vec::new();
    let mut counted = 0;
    for id in lineage(observed, newest) {
        if counted == retain.max(1) {
            break;
        }
        counted += usize::from(readable(&id));
        kept.push(id);
    }
    let mut beyond: Vec<CheckpointId> =
        observed.iter().map(|found| found.id).filter(|id| *id <= newest && !kept.contains(id)).collect();
    beyond.sort();
    beyond
}
