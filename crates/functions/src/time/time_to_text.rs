//! Dates and times as texts.

use super::of_days;
use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use std::fmt::Write;

/// Appends `2024-02-29`, of days since 1970.
pub fn write_date(days: i32, text: &mut String) {
    match of_days(days) {
        Some(date) => write_day(date, text),
        None => push(text, format_args!("{days}")),
    }
}

fn write_day(date: NaiveDate, text: &mut String) {
    let year = date.year();
    match year {
        0..=9999 => push(text, format_args!("{year:04}")),
        10_000.. => push(text, format_args!("+{year}")),
        _ => push(text, format_args!("-{:04}", -i64::from(year))),
    }
    push(text, format_args!("-{:02}-{:02}", date.month(), date.day()));
}

fn push(text: &mut String, part: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = text.write_fmt(part);
}

/// Appends `13:14:15.678`, with so many digits behind the second.
pub fn write_time(time: NaiveTime, digits: u8, text: &mut String) {
    push(text, format_args!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second()));
    if digits > 0 {
        let nanos = format!("{:09}", time.nanosecond() % 1_000_000_000);
        text.push('.');
        text.push_str(nanos.get(..usize::from(digits.min(9))).unwrap_or_default());
    }
}

/// Appends `2024-02-29 13:14:15.678`, with so many digits behind the second.
pub fn write_timestamp(time: &NaiveDateTime, digits: u8, text: &mut String) {
    write_day(time.date(), text);
    text.push(' ');
    write_time(time.time(), digits, text);
}
