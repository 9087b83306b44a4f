//! What a window gives.

use serde::{Deserialize, Serialize};

/// The result of a window.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Windowed<K, R> {
    /// The key.
    pub key: K,
    /// The window's first millisecond, since the epoch.
    pub start_ms: i64,
    /// The first millisecond behind it.
    pub end_ms: i64,
    /// What its records make.
    pub value: R,
}
