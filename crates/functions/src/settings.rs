//! What a session decides about functions: its time zone, and what an overflow is.

use crate::time::Zone;
use arrow_schema::{DataType, TimeUnit};
use std::sync::Arc;

/// The settings that functions follow.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The session's time zone (`table.local-time-zone`).
    pub zone: Zone,
    /// Its name, which the Arrow type of a `TIMESTAMP_LTZ` carries.
    pub zone_name: Arc<str>,
    /// Whether whole numbers wrap around, as in Flink, where they grow beyond their type.
    pub wraps: bool,
}

impl Settings {
    /// The settings of a session in this zone; `None` if there is no such zone.
    pub fn new(zone_name: &str, wraps: bool) -> Option<Self> {
        Some(Settings { zone: Zone::parse(zone_name)?, zone_name: zone_name.into(), wraps })
    }

    /// The type `TIMESTAMP_LTZ(3)` in this session.
    pub fn instant(&self) -> DataType {
        DataType::Timestamp(TimeUnit::Millisecond, Some(Arc::clone(&self.zone_name)))
    }
}

/// The type `TIMESTAMP(3)`.
pub(crate) const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Millisecond, None);
