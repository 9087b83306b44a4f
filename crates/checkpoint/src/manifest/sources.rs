//! Where a source was at the cut.

use headpond_state::OperatorId;
use serde::{Deserialize, Serialize};

/// The positions of a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceState {
    /// The source.
    pub operator: OperatorId,
    /// Its splits: files, partitions.
    pub splits: Vec<SplitState>,
}

/// The position in one split. Everything before it is in the checkpoint, nothing after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitState {
    /// The split's name, unique within its source.
    pub id: String,
    /// The position, in the connector's own terms.
    pub position: serde_json::Value,
    /// The greatest event time read, in milliseconds since 1970.
    pub max_event_time_ms: Option<i64>,
    /// The split's watermark, in milliseconds since 1970.
    pub watermark_ms: Option<i64>,
    /// Rows read, those skipped not counted.
    pub rows: u64,
    /// Malformed rows skipped.
    pub skipped: u64,
    /// Whether the split has been read to its end.
    pub finished: bool,
}
