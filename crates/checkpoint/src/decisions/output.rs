//! Whether an output has the rows of a checkpoint, and no later ones that are not its own.
//!
//! An output keeps the history of the runs that published to it. A run that goes on from a checkpoint needs an output
//! that the checkpoint's own run, or a run that went on from it, has published to: with two checkpoint directories used
//! in turn, files of one history have the numbers of the other. An attempt belongs to one history only, so its id tells
//! them apart.

use headpond_state::{AttemptId, CheckpointId};
use serde::{Deserialize, Serialize};

/// The most runs that a history remembers.
const RUNS_MAX: usize = 1_000;

/// A checkpoint, by its number and the run that took it: unlike its number alone it means one checkpoint everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointRef {
    /// The run that took it.
    pub attempt: AttemptId,
    /// Its number.
    pub checkpoint: CheckpointId,
}

/// The runs that published what is in an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputHistory {
    /// The run that owns the output now, or was the last to own it.
    pub newest: AttemptId,
    /// The runs before, oldest first, each with the last of its checkpoints whose rows are still there.
    pub before: Vec<CheckpointRef>,
    /// Up to this checkpoint the runs are not known: an earlier release published, or there were too many of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_up_to: Option<CheckpointId>,
}

impl OutputHistory {
    /// The history once `attempt` has taken an output over, to go on behind `restored` or to begin anew.
    pub fn taken_over(before: Option<Self>, attempt: AttemptId, restored: Option<&CheckpointRef>) -> Self {
        let Some(restored) = restored else {
            return OutputHistory { newest: attempt, before: Vec::new(), unknown_up_to: None };
        };
        let unknown = OutputHistory {
            newest: attempt.clone(),
            before: vec![restored.clone()],
            unknown_up_to: Some(restored.checkpoint),
        };
        let Some(mut history) = before else { return unknown };
        if history.newest != restored.attempt {
            match history.before.iter().position(|run| run.attempt == restored.attempt) {
                Some(index) => history.before.truncate(index),
                None => return unknown,
            }
        }
        history.before.push(restored.clone());
        let forgotten = history.before.len().saturating_sub(RUNS_MAX);
        if let Some(last) = history.before.drain(..forgotten).next_back() {
            history.unknown_up_to = Some(last.checkpoint);
        }
        history.newest = attempt;
        history
    }

    /// Whether a run can go on behind `restored`: what was published up to it is there.
    ///
    /// The newest run's own checkpoints are, whether they were published or only staged.
    pub fn has(&self, restored: &CheckpointRef) -> bool {
        if self.newest == restored.attempt {
            return true;
        }
        match self.before.iter().find(|run| run.attempt == restored.attempt) {
            Some(run) => restored.checkpoint <= run.checkpoint,
            None => self.unknown_up_to.is_some_and(|unknown| restored.checkpoint <= unknown),
        }
    }
}
