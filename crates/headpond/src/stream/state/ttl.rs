//! When a state's values expire, in Flink's words.

use super::{StateVisibility, TimeDomain, TtlConfig, UpdateType};
use std::time::Duration;

/// The expiry of a state, for [`enable_time_to_live`](super::ValueStateDescriptor::enable_time_to_live).
///
/// ```
/// use headpond::stream::state::{StateTtlConfig, StateVisibility, TimeDomain, UpdateType};
/// use std::time::Duration;
///
/// let ttl = StateTtlConfig::new_builder(Duration::from_secs(7 * 24 * 3600))
///     .set_update_type(UpdateType::OnReadAndWrite)
///     .set_state_visibility(StateVisibility::NeverReturnExpired)
///     .set_ttl_time_characteristic(TimeDomain::EventTime)
///     .build();
/// ```
///
/// By event time, a value's age begins with the timestamp of the record that wrote it, or with the operator's event time if
/// that is later. Time stands still for expiry while a tick's records are processed and its timers fire: what is there when a
/// tick begins is there for its timers. The end of the input lets nothing expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateTtlConfig(TtlConfig);

/// Builds a [`StateTtlConfig`].
#[derive(Debug, Clone, Copy)]
pub struct StateTtlConfigBuilder(TtlConfig);

impl StateTtlConfig {
    /// An expiry this long after the last write, by processing time; expired values are never seen. A fraction of a
    /// millisecond is left out.
    pub fn new_builder(ttl: Duration) -> StateTtlConfigBuilder {
        StateTtlConfigBuilder(TtlConfig::new(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl StateTtlConfigBuilder {
    /// Sets which accesses prolong a value's life.
    #[must_use]
    pub fn set_update_type(mut self, update: UpdateType) -> Self {
        self.0.update = update;
        self
    }

    /// Sets whether an expired value may still be seen.
    #[must_use]
    pub fn set_state_visibility(mut self, visibility: StateVisibility) -> Self {
        self.0.visibility = visibility;
        self
    }

    /// Sets whose time it is.
    #[must_use]
    pub fn set_ttl_time_characteristic(mut self, domain: TimeDomain) -> Self {
        self.0.domain = domain;
        self
    }

    /// The expiry.
    pub fn build(self) -> StateTtlConfig {
        StateTtlConfig(self.0)
    }
}

impl From<StateTtlConfig> for TtlConfig {
    fn from(config: StateTtlConfig) -> Self {
        config.0
    }
}
