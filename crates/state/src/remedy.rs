//! Ways out of an error that a user asks for when he starts the job again.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A way out that is asked for where a job is started. The place where a user does that words it: the command line by
/// its flags; [`Display`](fmt::Display) by the names that Rust programs know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Remedy {
    /// Start without a checkpoint: the output is made again from the beginning.
    StartAnew,
    /// Restore another checkpoint.
    RestoreAnother,
    /// Restore the checkpoint although output that was published after it stays.
    AllowDuplicates,
    /// Leave behind the state that does not fit.
    AllowDroppedState,
    /// Let the operator start without state.
    AllowEmptyState,
    /// Act on the checkpoints of a job that may be running.
    TakeOver,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Remedy::StartAnew => "start anew with `Restore::None`",
            Remedy::RestoreAnother => "restore another checkpoint with `Restore::From`",
            Remedy::AllowDuplicates => "accept with `allow_duplicates` that rows are published again",
            Remedy::AllowDroppedState => "leave it behind with `allow_dropped_state`",
            Remedy::AllowEmptyState => "let it start empty with `allow_empty_state`",
            Remedy::TakeOver => "see that it does not run, and take over",
        })
    }
}
