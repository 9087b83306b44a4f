//! The zone of timestamps that are written without one.

use super::timestamp::parse_offset;
use chrono::offset::LocalResult;
use chrono::{DateTime, Duration, Offset, TimeZone};
use chrono_tz::Tz;
use headpond_runtime::{Error, Result};
use headpond_state::Context;

/// A time zone.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Zone {
    /// Always as many seconds ahead of UTC.
    Fixed(i32),
    /// A zone of the time zone database.
    Named(Tz),
}

impl Zone {
    /// A zone from its name (`Europe/Berlin`, `UTC`) or offset (`+02:00`, `GMT+02:00`).
    pub(crate) fn parse(name: &str) -> Result<Self> {
        let offset = name.strip_prefix("GMT").or_else(|| name.strip_prefix("UTC")).unwrap_or(name);
        if offset.is_empty() || offset == "Z" {
            return Ok(Zone::Fixed(0));
        }
        if let Some(seconds) = parse_offset(offset.as_bytes()) {
            return Ok(Zone::Fixed(seconds));
        }
        name.parse::<Tz>().map(Zone::Named).map_err(|_| {
            Error::invalid("this is not a time zone")
                .with(Context::Option, "table.local-time-zone")
                .with(Context::Text, name)
                .hint("name one as in Europe/Berlin, or an offset as in +02:00")
        })
    }

    /// The seconds since the epoch at which clocks in the zone show `local` (seconds since 1970-01-01T00:00:00 there).
    /// Of two such moments the earlier; a time that clocks skip is as much later as they skip.
    pub(crate) fn to_utc(self, local: i64) -> Option<i64> {
        let zone = match self {
            Zone::Fixed(ahead) => return local.checked_sub(i64::from(ahead)),
            Zone::Named(zone) => zone,
        };
        let clock = DateTime::from_timestamp(local, 0)?.naive_utc();
        let ahead = match zone.offset_from_local_datetime(&clock) {
            LocalResult::Single(offset) | LocalResult::Ambiguous(offset, _) => offset.fix(),
            LocalResult::None => zone.offset_from_local_datetime(&(clock - Duration::hours(3))).earliest()?.fix(),
        };
        local.checked_sub(i64::from(ahead.local_minus_utc()))
    }
}
