//! The checkpoint that a job goes on from.

use crate::manifest::Manifest;
use headpond_state::CheckpointId;

/// The checkpoint to restore.
#[derive(Debug)]
pub struct Recovered {
    /// Its manifest. All its files are there and are what was written.
    pub manifest: Manifest,
    /// Newer checkpoints that are damaged, newest first, each with what is wrong with it.
    pub skipped: Vec<(CheckpointId, String)>,
}
