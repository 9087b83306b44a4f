//! What leader and process tell each other, over a [`Link`](crate::link::Link).

use crate::control::{Control, Report};
use crate::failure::Failure;
use headpond_checkpoint::layout::SharedName;
use headpond_checkpoint::storage::TakenFiles;
use serde::{Deserialize, Serialize};

/// What the leader tells a process.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToProcess(pub(crate) Order);

/// What a process tells the leader.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToLeader(pub(crate) Notice);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Opens a tick. Only for the process of worker 0, which passes control on to all workers.
    Tick { tick: u64, control: Control },
    /// No tick follows. Only for the process of worker 0.
    NoMoreTicks,
    /// The name that was asked for is claimed.
    Claimed { request: u64 },
    /// The checkpoint is over, one way or the other: what is still uploaded for it is of no use.
    CheckpointOver { checkpoint: u64 },
    /// The job has failed: end now.
    End,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Notice {
    /// The process runs this plan.
    Started { plan: String },
    /// What its operators say.
    Reports(Vec<Report>),
    /// All ticks before this one are finished, on all workers of all processes. From the process of worker 0.
    FinishedBefore { tick: u64 },
    /// An upload has stored and reused these files of a checkpoint. Its part of the checkpoint follows.
    Taken { checkpoint: u64, files: TakenFiles },
    /// A file of the checkpoint is about to get this name.
    Claim { request: u64, checkpoint: u64, name: SharedName },
    /// The job cannot go on.
    Failed(Failure),
    /// All threads of the process have ended. Nothing follows.
    Ended,
}
