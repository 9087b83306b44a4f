//! The state of operators and what sinks have to commit.

use headpond_state::{KeyGroupRange, KeyedStateHandle, OperatorId, StateFile};
use serde::{Deserialize, Serialize};

/// The state of one operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorState {
    /// The operator.
    pub operator: OperatorId,
    /// What it is, such as `aggregate`.
    pub kind: String,
    /// What it does, for people and for messages about a changed query.
    pub description: String,
    /// Its event time at the cut, in milliseconds since 1970.
    pub event_time_ms: Option<i64>,
    /// What each worker holds of it.
    pub subtasks: Vec<SubtaskState>,
}

impl OperatorState {
    /// The files of all subtasks.
    pub fn files(&self) -> impl Iterator<Item = &StateFile> {
        self.subtasks.iter().filter_map(|subtask| subtask.state.as_ref()).flat_map(|state| state.all_files())
    }

    /// The bytes of all files.
    pub fn state_bytes(&self) -> u64 {
        self.files().map(|file| file.length).sum()
    }
}

/// The state of one operator on one worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubtaskState {
    /// The worker's index.
    pub subtask: usize,
    /// The key groups it owns.
    pub key_groups: KeyGroupRange,
    /// What the operator keeps outside keyed state, in its own terms: counters such as late rows.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub details: serde_json::Value,
    /// Its keyed state, if it has any.
    pub state: Option<KeyedStateHandle>,
}

/// What a sink has to commit once the manifest exists, again at every restore.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SinkState {
    /// The sink.
    pub operator: OperatorId,
    /// What its workers prepared, in its own terms.
    pub committables: Vec<serde_json::Value>,
    /// Whether the sink can go back to an older checkpoint.
    pub rewindable: bool,
}
