//! What the attempt that owns a job knows.

use crate::store::Ownership;
use headpond_state::{AttemptId, CheckpointId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the owning attempt knows.
#[derive(Debug)]
pub(super) struct Owned {
    pub(super) attempt: AttemptId,
    /// Checkpoints found when the job was taken over, and this attempt's own.
    pub(super) known: BTreeSet<CheckpointId>,
    /// Numbers that this attempt has begun since its last commit, and not committed.
    pub(super) given_up: BTreeSet<CheckpointId>,
    /// The checkpoint of which nobody knows whether it was committed, if there is one.
    pub(super) uncertain: Option<CheckpointId>,
    pub(super) lock: Arc<dyn Ownership>,
}
