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
    /// Rows past the position that were taken already. A split that is opened at the position leaves them out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rows_past_position: u64,
    /// The greatest event time read, in milliseconds since 1970.
    pub max_event_time_ms: Option<i64>,
    /// The split's watermark, in milliseconds since 1970.
    pub watermark_ms: Option<i64>,
    /// What the first row says of a split of which nothing was read yet: no row has a watermark of this time or less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before_ms: Option<i64>,
    /// Whether the split had had nothing to read for so long that event time went on without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// Rows read, those skipped not counted.
    pub rows: u64,
    /// Malformed rows skipped.
    pub skipped: u64,
    /// Whether the split has been read to its end.
    pub finished: bool,
}

impl SplitState {
    /// A split of which nothing was read.
    pub fn unread(id: impl Into<String>) -> Self {
        SplitState {
            id: id.into(),
            position: serde_json::Value::Null,
            rows_past_position: 0,
            max_event_time_ms: None,
            watermark_ms: None,
            not_before_ms: None,
            idle: false,
            rows: 0,
            skipped: 0,
            finished: false,
        }
    }
}

fn is_zero(rows: &u64) -> bool {
    *rows == 0
}
