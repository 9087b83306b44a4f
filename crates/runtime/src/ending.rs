//! How a run ended.

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All input was read and all output published.
    Finished,
    /// The job was asked to stop; with checkpoints it can be resumed.
    Stopped,
}
