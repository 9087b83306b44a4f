//! What the handles of this backend say besides their files.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The details of a handle. Earlier releases wrote fewer members.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct RocksDbDetails {
    /// The number of key groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_parallelism: Option<u64>,
    /// When the memtables were sealed, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sealed_ms: Option<u64>,
    /// Where the files belong: [`PlacementDetails`]. What is none is as good as missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) placement: Option<Value>,
    /// What a merge of everything took, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compaction: Option<CompactionDetails>,
}

/// Where the files of a handle belong.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlacementDetails {
    /// By name: state, level, first and last key group, smallest and largest sequence number.
    pub(crate) files: BTreeMap<String, (usize, i32, u16, u16, u64, u64)>,
    /// States whose files depend on one another.
    pub(crate) entangled: Vec<usize>,
}

/// What a merge took.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct CompactionDetails {
    pub(crate) ms: u64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
}
