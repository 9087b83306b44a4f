//! Which checkpoints a restore left behind.
//!
//! A run that goes back to an older checkpoint, to a savepoint of another directory or to the beginning takes its
//! output back before its first own checkpoint tells what it continues. Until then a *rewind* says it.

use super::Observed;
use super::lineage::lineage;
use headpond_state::{AttemptId, CheckpointId};
use serde::{Deserialize, Serialize};

/// Where a run began that left checkpoints behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewind {
    /// The run.
    pub attempt: AttemptId,
    /// What it began with.
    pub start: Start,
    /// The newest checkpoint there was then. It and all before it are left behind, but for what `start` continues.
    pub abandoned_up_to: CheckpointId,
}

/// What a run begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Nothing.
    Anew,
    /// A checkpoint of its own directory.
    Checkpoint(CheckpointId),
    /// A checkpoint or savepoint of another directory.
    Elsewhere {
        /// Where that checkpoint is.
        location: String,
    },
}

/// The checkpoints that a restart may consider, in ascending order.
pub fn considered<'a>(observed: &'a [Observed], rewind: Option<&Rewind>) -> Vec<&'a Observed> {
    let mut considered: Vec<&Observed> = match rewind {
        None => observed.iter().collect(),
        Some(rewind) => {
            let continued = match rewind.start {
                Start::Checkpoint(id) => lineage(observed, id),
                Start::Anew | Start::Elsewhere { .. } => Vec::new(),
            };
            observed.iter().filter(|found| found.id > rewind.abandoned_up_to || continued.contains(&found.id)).collect()
        }
    };
    considered.sort_by_key(|found| found.id);
    considered
}
