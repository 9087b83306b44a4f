//! When a state's values expire.

use super::{StateVisibility, TimeDomain, TtlConfig, UpdateType};
use std::time::Duration;

/// The expiry of a state, for [`with_ttl`](super::ValueStateDescriptor::with_ttl).
///
/// ```
/// use headpond::stream::state::{StateTtlConfig, StateVisibility, TimeDomain, UpdateType};
/// use std::time::Duration;
///
/// let ttl = StateTtlConfig::new(Duration::from_secs(7 * 24 * 3600))
///     .update_type(UpdateType::OnReadAndWrite)
///     .visibility(StateVisibility::NeverReturnExpired)
///     .time_domain(TimeDomain::EventTime);
/// ```
///
/// By event time, a value's age begins with the timestamp of the record that wrote it, or with the operator's event
/// time if that is later. Time stands still for expiry while a tick's records are processed and its timers fire: what
/// is there when a tick begins is there for its timers. The end of the input lets nothing expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateTtlConfig(TtlConfig);

impl StateTtlConfig {
    /// An expiry this long after the last write, by processing time; expired values are never seen. A fraction of a
    /// millisecond is left out.
    #[doc(alias = "newBuilder")]
    pub fn new(ttl: Duration) -> Self {
        StateTtlConfig(TtlConfig::new(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Sets which accesses prolong a value's life.
    #[doc(alias = "setUpdateType")]
    #[must_use]
    pub fn update_type(mut self, update: UpdateType) -> Self {
        self.0.update = update;
        self
    }

    /// Sets whether an expired value may still be seen.
    #[doc(alias = "setStateVisibility")]
    #[must_use]
    pub fn visibility(mut self, visibility: StateVisibility) -> Self {
        self.0.visibility = visibility;
        self
    }

    /// Sets whose time it is.
    #[doc(alias = "setTtlTimeCharacteristic")]
    #[must_use]
    pub fn time_domain(mut self, domain: TimeDomain) -> Self {
        self.0.domain = domain;
        self
    }
}

impl From<StateTtlConfig> for TtlConfig {
    fn from(config: StateTtlConfig) -> Self {
        config.0
    }
}
