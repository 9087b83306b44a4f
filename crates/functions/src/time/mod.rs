//! Dates, times and zones, without Arrow: calendars, texts and Java's rules for local times.

mod fields;
mod interval;
mod pattern;
mod text_to_time;
mod time_to_text;
mod zone;

pub use fields::{Unit, add_months_to_days, add_months_to_millis, ceil, difference, extract, floor, shifted};
pub use interval::{Interval, parse_interval};
pub use pattern::Pattern;
pub use text_to_time::{parse_date, parse_time, parse_timestamp};
pub use time_to_text::{write_date, write_time, write_timestamp};
pub use zone::Zone;

use chrono::{DateTime, NaiveDate, NaiveDateTime};

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;

/// The local time of these milliseconds since 1970; `None` beyond all dates.
pub fn of_millis(millis: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_millis(millis).map(|time| time.naive_utc())
}

/// The milliseconds since 1970.
pub fn to_millis(time: &NaiveDateTime) -> i64 {
    time.and_utc().timestamp_millis()
}

/// The date so many days after 1970-01-01; `None` beyond all dates.
pub fn of_days(days: i32) -> Option<NaiveDate> {
    NaiveDate::from_ymd_opt(1970, 1, 1)?.checked_add_signed(chrono::TimeDelta::try_days(i64::from(days))?)
}

/// The days since 1970-01-01.
pub fn to_days(date: NaiveDate) -> i32 {
    i32::try_from(to_millis(&date.and_time(chrono::NaiveTime::MIN)).div_euclid(DAY_MS)).unwrap_or(i32::MAX)
}
