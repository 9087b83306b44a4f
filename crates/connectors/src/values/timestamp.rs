//! Dates and timestamps as text.
//!
//! Read: `2013-01-01`, `2013-01-01 10:00`, `2013-01-01 10:00:00.123456789`, with a `T` for the space, alone or with
//! `Z`, `+02:00`, `+0200` or `+02`. Years have four digits. The calendar is the proleptic Gregorian one.

use super::number::write_i64;
use chrono::{Datelike, NaiveDate};

/// A date and time as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    /// The seconds of the date and time since 1970-01-01T00:00:00, zone left aside.
    pub(crate) seconds: i64,
    /// The nanoseconds beyond.
    pub(crate) nanos: u32,
    /// How many seconds the zone is ahead of UTC, if one is written.
    pub(crate) offset: Option<i32>,
}

/// How timestamps are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standard {
    /// With a space between date and time.
    Sql,
    /// With a `T`.
    Iso,
}

/// Reads a date as days since 1970-01-01.
pub(crate) fn parse_date(text: &[u8]) -> Option<i32> {
    let date: &[u8; 10] = text.try_into().ok()?;
    days(date).and_then(|days| i32::try_from(days).ok())
}

/// Reads a timestamp; a date alone is its midnight.
pub(crate) fn parse_timestamp(text: &[u8]) -> Option<Written> {
    let (date, rest) = text.split_first_chunk::<10>()?;
    let days = days(date)?;
    if rest.is_empty() {
        return Some(Written { seconds: days * 86_400, nanos: 0, offset: None });
    }
    let (b' ' | b'T' | b't', rest) = rest.split_first()? else { return None };
    let (clock, rest) = rest.split_first_chunk::<5>()?;
    let [h1, h2, b':', m1, m2] = *clock else { return None };
    let (hour, minute) = (two(h1, h2)?, two(m1, m2)?);
    let (second, rest) = match rest {
        [b':', s1, s2, rest @ ..] => (two(*s1, *s2)?, rest),
        rest => (0, rest),
    };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (nanos, rest) = fraction(rest)?;
    let offset = offset(rest)?;
    Some(Written { seconds: days * 86_400 + hour * 3_600 + minute * 60 + second, nanos, offset })
}

/// Reads what follows the seconds: nothing, or a point and digits, of which nine count.
fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let [b'.' | b',', rest @ ..] = text else { return Some((0, text)) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let mut nanos = 0;
    for position in 0..9 {
        let digit = rest[..digits].get(position).map_or(0, |byte| u32::from(byte - b'0'));
        nanos = nanos * 10 + digit;
    }
    Some((nanos, &rest[digits..]))
}

/// Reads a zone: nothing, `Z`, or an offset.
fn offset(text: &[u8]) -> Option<Option<i32>> {
    match text {
        [] => Some(None),
        [b'Z' | b'z'] => Some(Some(0)),
        text => parse_offset(text).map(Some),
    }
}

/// Reads an offset from UTC: `+02`, `+0200`, `+02:00`; in seconds.
pub(crate) fn parse_offset(text: &[u8]) -> Option<i32> {
    let (sign, rest) = match text {
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match rest {
        [h1, h2] => (two(*h1, *h2)?, 0),
        [h1, h2, m1, m2] | [h1, h2, b':', m1, m2] => (two(*h1, *h2)?, two(*m1, *m2)?),
        _ => return None,
    };
    if hours > 18 || minutes > 59 {
        return None;
    }
    i32::try_from(sign * (hours * 3_600 + minutes * 60)).ok()
}

fn two(tens: u8, ones: u8) -> Option<i64> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| i64::from(tens) * 10 + i64::from(ones))
}

fn days(date: &[u8; 10]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *date else { return None };
    let (year, month, day) = (two(y1, y2)? * 100 + two(y3, y4)?, two(m1, m2)?, two(d1, d2)?);
    let date = NaiveDate::from_ymd_opt(year as i32, month as u32, day as u32)?;
    Some(date.to_epoch_days().into())
}

/// The days after which the calendar repeats itself, and the years.
const CYCLE_DAYS: i64 = 146_097;
const CYCLE_YEARS: i64 = 400;

/// Year, month and day of a day since 1970-01-01. Timestamps reach further than the years that `chrono` knows, so the
/// date is looked up in the cycle that begins in 1970.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let day_of_cycle = i32::try_from(days.rem_euclid(CYCLE_DAYS)).ok();
    let date = day_of_cycle.and_then(NaiveDate::from_epoch_days).expect("chrono knows the years from 1970 to 2369");
    let year = i64::from(date.year()) + days.div_euclid(CYCLE_DAYS) * CYCLE_YEARS;
    (year, date.month().into(), date.day().into())
}

/// Writes a date.
pub(crate) fn write_date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil_from_days(days);
    if (0..=9_999).contains(&year) {
        write_two(year / 100, out);
        write_two(year % 100, out);
    } else {
        write_i64(year, out);
    }
    out.push(b'-');
    write_two(month, out);
    out.push(b'-');
    write_two(day, out);
}

/// Writes a date and time of `ticks`, of which a second has `per_second`, with as many digits behind the point as it
/// needs.
pub(crate) fn write_timestamp(ticks: i64, per_second: i64, standard: Standard, utc: bool, out: &mut Vec<u8>) {
    let (seconds, fraction) = (ticks.div_euclid(per_second), ticks.rem_euclid(per_second));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    write_date(days, out);
    out.push(if standard == Standard::Sql { b' ' } else { b'T' });
    write_two(second / 3_600, out);
    out.push(b':');
    write_two(second / 60 % 60, out);
    out.push(b':');
    write_two(second % 60, out);
    if fraction != 0 {
        out.push(b'.');
        let (mut rest, mut unit) = (fraction, per_second / 10);
        while rest != 0 && unit != 0 {
            out.push(b'0' + u8::try_from(rest / unit).unwrap_or(0));
            rest %= unit;
            unit /= 10;
        }
    }
    if utc {
        out.push(b'Z');
    }
}

fn write_two(number: i64, out: &mut Vec<u8>) {
    out.extend([number / 10 % 10, number % 10].map(|digit| b'0' + u8::try_from(digit).unwrap_or(0)));
}
