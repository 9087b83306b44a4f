//! The checkpoint a job starts from.

use crate::sink::{CheckpointRef, Committable};
use headpond_checkpoint::manifest::{Manifest, SinkState};
use headpond_state::{CheckpointId, CheckpointSource, Context, Error, Result};
use std::sync::Arc;

/// The checkpoint a job starts from.
#[derive(Debug, Clone)]
pub struct Restoration {
    /// Its manifest.
    pub manifest: Manifest,
    /// Newer checkpoints that are damaged, newest first, with what is wrong with them.
    pub skipped: Vec<(CheckpointId, String)>,
    /// Where it is.
    pub location: String,
    /// Where its files are.
    pub source: Arc<dyn CheckpointSource>,
}

impl Restoration {
    /// The rows that sources had read at the checkpoint.
    pub fn rows_read(&self) -> u64 {
        self.manifest.sources.iter().flat_map(|source| &source.splits).map(|split| split.rows).sum()
    }
}

impl Restoration {
    /// The checkpoint, as outputs know it.
    pub(crate) fn checkpoint(&self) -> CheckpointRef {
        checkpoint_of(&self.manifest)
    }
}

pub(super) fn checkpoint_of(manifest: &Manifest) -> CheckpointRef {
    CheckpointRef { attempt: manifest.attempt.clone(), checkpoint: manifest.checkpoint }
}

/// What a sink has to commit.
pub(super) fn committables_of(sink: &SinkState) -> Result<Vec<Committable>> {
    let parsed = sink.committables.iter().map(|value| serde_json::from_value(value.clone()));
    parsed.collect::<Result<_, _>>().map_err(|error| {
        Error::corrupt("a committable is not readable").with(Context::Operator, &sink.operator).because(error)
    })
}
