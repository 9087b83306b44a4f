//! The manifest: all that a reader needs to know about a checkpoint.
//!
//! It is a JSON file that people can read and that says what it covers (see [`encoding`]). Its existence commits the
//! checkpoint, so it is written once, last, and never changed.

pub mod encoding;
mod operators;
mod sanity;
mod sources;

pub use encoding::FORMAT_VERSION;
pub use operators::{OperatorState, SinkState, SubtaskState};
pub use sources::{SourceState, SplitState};

use headpond_state::key_group::KEY_GROUP_HASH;
use headpond_state::{AttemptId, CheckpointId, ContentHash, MaxParallelism, OperatorId, StateFile};
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// A checkpoint's description.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the manifest's format; kept in the file's first line.
    #[serde(skip, default = "current_version")]
    pub format_version: u32,
    /// The Headpond that wrote it.
    pub headpond_version: String,
    /// The job's name.
    pub job: String,
    /// The run that took the checkpoint.
    pub attempt: AttemptId,
    /// The checkpoint's number.
    pub checkpoint: CheckpointId,
    /// When it was begun, in milliseconds since 1970 by the clock of the machine.
    pub created_ms: u64,
    /// Whether all input had ended: the job is done and running it again has nothing to do.
    pub finished: bool,
    /// The number of workers.
    pub parallelism: usize,
    /// The number of key groups.
    pub max_parallelism: MaxParallelism,
    /// The name of the hash that assigns keys to key groups.
    pub key_group_hash: String,
    /// The checkpoint this one continues, of the same directory: the last committed one when it was begun, or the
    /// restored one.
    pub base: Option<CheckpointId>,
    /// What it is a copy of, if it is a savepoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub savepoint: Option<SavepointOrigin>,
    /// Whether files of the base were allowed to be reused. `false`: a full checkpoint.
    pub incremental: bool,
    /// What the checkpoint took.
    pub stats: Stats,
    /// Where each source was at the cut.
    pub sources: Vec<SourceState>,
    /// The state of each operator, of keyed sinks too.
    pub operators: Vec<OperatorState>,
    /// What each sink has to commit.
    pub sinks: Vec<SinkState>,
    /// The files this checkpoint stored itself, in ascending order. Its other files were reused from the base.
    pub uploaded: Vec<ContentHash>,
}

impl Manifest {
    /// A manifest of this version, made now, that names nothing yet.
    ///
    /// [`commit`](crate::CheckpointStorage::commit) fills in what the storage knows: `base`, `incremental`, `uploaded`
    /// and the counts in `stats`.
    pub fn new(
        job: impl Into<String>,
        attempt: AttemptId,
        checkpoint: CheckpointId,
        parallelism: usize,
        max_parallelism: MaxParallelism,
    ) -> Self {
        Manifest {
            format_version: FORMAT_VERSION,
            headpond_version: env!("CARGO_PKG_VERSION").to_owned(),
            job: job.into(),
            attempt,
            checkpoint,
            // A clock before 1970 is the machine's mistake; the time is for people only.
            created_ms: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64),
            finished: false,
            parallelism,
            max_parallelism,
            key_group_hash: KEY_GROUP_HASH.to_owned(),
            base: None,
            savepoint: None,
            incremental: false,
            stats: Stats::default(),
            sources: Vec::new(),
            operators: Vec::new(),
            sinks: Vec::new(),
            uploaded: Vec::new(),
        }
    }

    /// All files it names, in the order of operators and subtasks; a file that several of them name comes several
    /// times.
    pub fn files(&self) -> impl Iterator<Item = &StateFile> {
        self.operators.iter().flat_map(OperatorState::files)
    }

    /// The bytes of all files it names.
    pub fn state_bytes(&self) -> u64 {
        self.files().map(|file| file.length).sum()
    }

    /// The state of an operator, if there is any.
    pub fn operator(&self, operator: &OperatorId) -> Option<&OperatorState> {
        self.operators.iter().find(|state| state.operator == *operator)
    }

    /// The positions of a source, if there are any.
    pub fn source(&self, operator: &OperatorId) -> Option<&SourceState> {
        self.sources.iter().find(|state| state.operator == *operator)
    }

    /// What a sink has to commit, if there is anything.
    pub fn sink(&self, operator: &OperatorId) -> Option<&SinkState> {
        self.sinks.iter().find(|state| state.operator == *operator)
    }
}

fn current_version() -> u32 {
    FORMAT_VERSION
}

/// The checkpoint that a savepoint is a copy of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavepointOrigin {
    /// The job's name.
    pub job: String,
    /// The run that took the checkpoint.
    pub attempt: AttemptId,
    /// When the checkpoint was begun, in milliseconds since 1970.
    pub created_ms: u64,
}

impl SavepointOrigin {
    /// The origin of a copy of this checkpoint; a copy of a savepoint has the same.
    pub fn of(manifest: &Manifest) -> Self {
        manifest.savepoint.clone().unwrap_or_else(|| SavepointOrigin {
            job: manifest.job.clone(),
            attempt: manifest.attempt.clone(),
            created_ms: manifest.created_ms,
        })
    }
}

/// What a checkpoint took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Bytes of files stored by this checkpoint.
    pub uploaded_bytes: u64,
    /// Files stored by this checkpoint.
    pub uploaded_files: u64,
    /// Bytes of files reused from the base.
    pub reused_bytes: u64,
    /// Files reused from the base.
    pub reused_files: u64,
    /// The longest synchronous part of a worker, in milliseconds.
    pub sync_ms: u64,
    /// From the cut to the last upload, in milliseconds.
    pub async_ms: u64,
    /// Calls to the store, the manifest's not counted.
    pub requests: u64,
}
