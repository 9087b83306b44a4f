//! What to do with checkpoints, decided by pure functions over observed facts.
//!
//! Nothing here reads a clock, a file or a lock: [`storage`](crate::storage) observes, asks, and carries out. So each
//! rule can be read in one place and tested without I/O, races included: a race is a sequence of facts.
//!
//! - [`ids`]: the next checkpoint's number.
//! - [`lineage`]: which checkpoints belong to one history of the job.
//! - [`references`]: which files are named by something that matters; what may be reused and what deleted.
//! - [`retention`]: which checkpoints to keep.
//! - [`recovery`]: which checkpoint to restore.
//! - [`rewind`]: which checkpoints a restore left behind.
//! - [`output`]: whether an output has a checkpoint's rows.
//! - [`fencing`]: whether somebody else has taken the job over.

pub mod fencing;
pub mod ids;
pub mod lineage;
pub mod output;
pub mod recovery;
pub mod references;
pub mod retention;
pub mod rewind;

#[cfg(test)]
mod tests;

use headpond_state::{AttemptId, CheckpointId};

/// A checkpoint as it was found on the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Its number.
    pub id: CheckpointId,
    /// Who took it and what it continues; `None` when its manifest cannot be read.
    pub record: Option<Record>,
}

/// What a readable manifest says about its place in the job's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The run that took the checkpoint.
    pub attempt: AttemptId,
    /// The checkpoint that it continues.
    pub base: Option<CheckpointId>,
}
