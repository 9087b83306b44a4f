//! Dates and times from texts, without a pattern, as Flink reads them.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

/// A date: `2024-02-29`, with parts of one digit, too, and whatever comes behind a space. `None` if it is none.
pub fn parse_date(text: &str) -> Option<NaiveDate> {
    let text = text.trim();
    let day = text.split([' ', 'T']).next()?;
    date_parts(day, true)
}

/// `strict`: the day must be in its month; otherwise days up to 31 beyond its end are its last.
fn date_parts(text: &str, strict: bool) -> Option<NaiveDate> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut parts = text.splitn(3, '-');
    let year: i32 = digits(parts.next()?, 1, 6)?;
    let mut part = |default: u32| match parts.next() {
        Some(part) => digits::<u32>(part, 1, 2),
        None => Some(default),
    };
    let (month, day) = (part(1)?, part(1)?);
    if year == 0 && month == 0 || !text.contains('-') {
        return None;
    }
    let year = if negative { -year } else { year };
    match NaiveDate::from_ymd_opt(year, month, day) {
        None if !strict && (1..=31).contains(&day) => last_of_month(year, month),
        date => date,
    }
}

fn last_of_month(year: i32, month: u32) -> Option<NaiveDate> {
    (28..=31).rev().find_map(|day| NaiveDate::from_ymd_opt(year, month, day))
}

/// A number of so many digits and nothing else.
fn digits<T: std::str::FromStr>(text: &str, least: usize, most: usize) -> Option<T> {
    let all = (least..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok())?
}

/// A time of day: `13:14:15.678`, whose seconds, and minutes, may be missing. `None` if it is none.
pub fn parse_time(text: &str) -> Option<NaiveTime> {
    let mut parts = text.trim().splitn(3, ':');
    let hour = digits::<u32>(parts.next()?, 1, 2)?;
    let minute = parts.next().map_or(Some(0), |part| digits(part, 1, 2))?;
    let (second, nanos) = parts.next().map_or(Some((0, 0)), seconds)?;
    NaiveTime::from_hms_nano_opt(hour, minute, second, nanos)
}

/// Seconds with up to nine digits behind the point.
fn seconds(text: &str) -> Option<(u32, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = digits::<u32>(whole, 1, 2)?;
    if text.contains('.') && fraction.is_empty() {
        return None;
    }
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    Some((whole, nanos.parse().ok()?))
}

/// A date and a time behind a space, `2024-02-29 13:14:15.678`, or a date alone. `strict`: as a cast reads it, which
/// takes no day that its month has not. `None` if it is none.
pub fn parse_timestamp(text: &str, strict: bool) -> Option<NaiveDateTime> {
    let text = text.trim();
    let separator = if strict { text.find([' ', 'T']) } else { text.find(' ') };
    let Some(at) = separator else {
        let date = date_parts(text, strict)?;
        return (text.matches('-').count() >= 2).then(|| date.and_time(NaiveTime::MIN));
    };
    let (date, time) = (&text[..at], &text[at + 1..]);
    if date.matches('-').count() < 2 || time.matches(':').count() != 2 {
        return None;
    }
    Some(date_parts(date, strict)?.and_time(parse_time(time)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        for (text, expected) in [
            ("2024-02-29", Some("2024-02-29")),
            ("2024-2-3", Some("2024-02-03")),
            ("2024-02-29 10:00:00", Some("2024-02-29")),
            ("2024-02-30", None),
            ("20240229", None),
            ("nope", None),
            ("", None),
        ] {
            assert_eq!(parse_date(text).map(|date| date.to_string()), expected.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn timestamps_are_read() {
        for (text, strict, expected) in [
            ("2024-02-29 13:14:15", true, Some("2024-02-29 13:14:15")),
            ("2024-02-29 13:14:15.5", true, Some("2024-02-29 13:14:15.500")),
            ("2024-02-29", true, Some("2024-02-29 00:00:00")),
            ("2024-02-29 13:14:15Z", true, None),
            ("2024-02-29 13:14", true, None),
            ("2024-02-30 00:00:00", true, None),
            ("2024-02-30 00:00:00", false, Some("2024-02-29 00:00:00")),
            ("2024-02-29T13:14:15", false, None),
            ("nope", false, None),
        ] {
            assert_eq!(
                parse_timestamp(text, strict).map(|time| time.to_string()),
                expected.map(str::to_owned),
                "{text}"
            );
        }
    }
}
