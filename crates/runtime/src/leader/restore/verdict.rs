//! What a job's parts make of a checkpoint.

use crate::plan::StateRestore;
use headpond_state::{CheckpointId, Context, Error, Result};
use std::collections::BTreeMap;

/// What becomes of everything in a checkpoint, and of everything in the job, when the job is restored from it.
///
/// [`check`](super::check) tells it, and a run follows it: both have it from the same decision.
#[derive(Debug)]
pub struct Assessment {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// The job that took it.
    pub job: String,
    /// Newer checkpoints of that job that are damaged, newest first, with what is wrong with them.
    pub skipped: Vec<(CheckpointId, String)>,
    /// What the checkpoint has and the job has not, then the job's nodes in order. Stateless steps are not among them.
    pub parts: Vec<AssessedPart>,
    /// How each node's keyed state is restored, by the node's number.
    pub(crate) states: BTreeMap<usize, StateRestore>,
}

/// A part of a job or of a checkpoint.
#[derive(Debug)]
pub struct AssessedPart {
    /// Its id, or `job` for what concerns all of it.
    pub id: String,
    /// What it is.
    pub kind: PartKind,
    /// What it does, for people.
    pub description: String,
    /// What becomes of it.
    pub verdict: Verdict,
    /// What else there is to know, such as where a source goes on.
    pub notes: Vec<String>,
}

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// The job as a whole.
    Job,
    /// A source with its positions.
    Source,
    /// An operator with its state.
    Operator,
    /// A sink with its output, and its state if it has some.
    Sink,
}

/// What becomes of a part.
#[derive(Debug)]
pub enum Verdict {
    /// It goes on as it was.
    AsIs,
    /// It goes on with its state converted, or in part: what changes.
    Migrates(Vec<String>),
    /// It begins without what came before: why.
    StartsEmpty(String),
    /// The job does not have it any more, and what the checkpoint has of it is left behind.
    Dropped,
    /// It cannot be restored: why, and the way out.
    Cannot(Error),
}

impl Assessment {
    /// Whether the job can be restored.
    pub fn is_restorable(&self) -> bool {
        !self.parts.iter().any(|part| matches!(part.verdict, Verdict::Cannot(_)))
    }

    /// This assessment, if the job can be restored.
    ///
    /// # Errors
    /// The first reason why it cannot.
    pub(crate) fn restorable(mut self) -> Result<Self> {
        let cannot = self.parts.iter().position(|part| matches!(part.verdict, Verdict::Cannot(_)));
        match cannot.map(|index| self.parts.swap_remove(index).verdict) {
            Some(Verdict::Cannot(error)) => Err(error.with(Context::Checkpoint, self.checkpoint)),
            _ => Ok(self),
        }
    }

    /// What the owner of a running job should be told, a sentence each: what begins empty, what changes, what is
    /// dropped.
    pub fn warnings(&self) -> Vec<String> {
        let warning = |part: &AssessedPart| {
            let what = match &part.verdict {
                Verdict::AsIs | Verdict::Cannot(_) => return None,
                Verdict::Migrates(changes) => format!("is restored with changes: {}", changes.join("; ")),
                Verdict::StartsEmpty(why) => format!("starts empty: {why}"),
                Verdict::Dropped => "is not in the job any more: what the checkpoint has of it is dropped".to_owned(),
            };
            Some(format!("{} {what}", part.id))
        };
        self.parts.iter().filter_map(warning).collect()
    }
}
