//! Which checkpoints belong to one history of the job.
//!
//! After a fall back, or a restore of a chosen older checkpoint, the job goes on from there, and its next checkpoint
//! has a number beyond all. The ones in between describe a history that did not happen: sinks have gone back, so
//! restoring one of them later would lose output. They are never restored and are the first to be deleted.

use super::Observed;
use headpond_state::CheckpointId;
use std::cmp::Reverse;

/// The checkpoints of `newest`'s history, newest first, `newest` included.
///
/// A history is walked backwards: all checkpoints of one attempt belong to it; the first of an attempt continues at its
/// base. An unreadable checkpoint belongs to it unless the walk jumps over it from a first checkpoint to its base; it
/// says nothing about what is before it.
pub fn lineage(observed: &[Observed], newest: CheckpointId) -> Vec<CheckpointId> {
    let mut sorted: Vec<&Observed> = observed.iter().filter(|found| found.id <= newest).collect();
    sorted.sort_by_key(|found| Reverse(found.id));
    let mut history = Vec::new();
    // The next one to walk over, or the nearest before it that exists.
    let mut wanted = Some(newest);
    while let Some(found) = wanted.and_then(|id| sorted.iter().find(|found| found.id <= id)) {
        let Some(record) = &found.record else {
            history.push(found.id);
            wanted = found.id.0.checked_sub(1).map(CheckpointId);
            continue;
        };
        let is_of_attempt = |other: &Observed| other.record.as_ref().is_some_and(|it| it.attempt == record.attempt);
        let first = sorted.iter().rfind(|other| other.id <= found.id && is_of_attempt(other)).unwrap_or(found);
        let walked = sorted.iter().filter(|other| first.id <= other.id && other.id <= found.id);
        history.extend(walked.filter(|other| other.record.is_none() || is_of_attempt(other)).map(|other| other.id));
        let base = first.record.as_ref().and_then(|record| record.base);
        // A base is always older; a manifest that says otherwise must not send us round in circles.
        wanted = base.filter(|base| *base < first.id);
    }
    history
}
