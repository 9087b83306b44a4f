//! Patterns of dates and times in Java's letters.
//!
//! Two kinds: those of `DateTimeFormatter` (DATE_FORMAT, TO_TIMESTAMP), whose digits must be as many as letters say,
//! and those of `SimpleDateFormat` (TO_DATE, UNIX_TIMESTAMP, FROM_UNIXTIME, CONVERT_TZ), which take what they can get:
//! month 13 is January of the next year, and text behind what they need does not matter.

mod item;
mod names;
mod read;
mod week;

use super::Zone;
use chrono::{Datelike, NaiveDateTime, Timelike};
use item::Item;
use names::{DAYS, MONTHS, ORDINALS};
use std::fmt::Write;
use week::Week;

/// Which of Java's classes a pattern is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    DateTimeFormatter,
    SimpleDateFormat,
}

/// A pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    kind: Kind,
    items: Vec<Item>,
}

const LETTERS: &str = "yuYMLdDHkKhmsSAnNaEecwWQqGzZXxVO";
const SIMPLE_LETTERS: &str = "yuYMLdDHkKhmsSaEwWFGzZX";

impl Pattern {
    /// A pattern of `DateTimeFormatter`.
    ///
    /// # Errors
    /// What of it is not understood.
    pub fn parse(pattern: &str) -> Result<Pattern, String> {
        Self::of_kind(pattern, Kind::DateTimeFormatter)
    }

    /// A pattern of `SimpleDateFormat`.
    ///
    /// # Errors
    /// What of it is not understood.
    pub fn parse_lenient(pattern: &str) -> Result<Pattern, String> {
        Self::of_kind(pattern, Kind::SimpleDateFormat)
    }

    fn of_kind(pattern: &str, kind: Kind) -> Result<Pattern, String> {
        let letters = if kind == Kind::SimpleDateFormat { SIMPLE_LETTERS } else { LETTERS };
        let mut open: Vec<Vec<Item>> = vec![Vec::new()];
        let mut rest = pattern.chars().peekable();
        while let Some(c) = rest.next() {
            let Some(items) = open.last_mut() else { return Err("`]` without `[`".to_owned()) };
            match c {
                '\'' => {
                    let mut text = String::new();
                    if rest.next_if_eq(&'\'').is_some() {
                        text.push('\'');
                    } else {
                        loop {
                            match rest.next() {
                                Some('\'') if rest.next_if_eq(&'\'').is_some() => text.push('\''),
                                Some('\'') => break,
                                Some(inside) => text.push(inside),
                                None => return Err("a quote is not closed".to_owned()),
                            }
                        }
                    }
                    push_literal(items, &text);
                }
                '[' if kind == Kind::DateTimeFormatter => open.push(Vec::new()),
                ']' if kind == Kind::DateTimeFormatter => {
                    let inner = open.pop().unwrap_or_default();
                    match open.last_mut() {
                        Some(outer) => outer.push(Item::Optional(inner)),
                        None => return Err("`]` without `[`".to_owned()),
                    }
                }
                c if c.is_ascii_alphabetic() => {
                    if !letters.contains(c) {
                        return Err(format!("the letter {c} has no meaning"));
                    }
                    let mut count = 1;
                    while rest.next_if_eq(&c).is_some() {
                        count += 1;
                    }
                    if count > 19 {
                        return Err(format!("there are too many letters {c}"));
                    }
                    items.push(Item::Field { letter: c, count });
                }
                '{' | '}' | '#' if kind == Kind::DateTimeFormatter => return Err(format!("`{c}` has no meaning")),
                other => push_literal(items, other.encode_utf8(&mut [0; 4])),
            }
        }
        match (open.pop(), open.is_empty()) {
            (Some(items), true) => Ok(Pattern { kind, items }),
            _ => Err("`[` is not closed".to_owned()),
        }
    }

    /// Appends a local time in a zone.
    ///
    /// # Errors
    /// Never for a pattern that was understood; the text says what a letter cannot show.
    pub fn format_into(&self, time: &NaiveDateTime, zone: Zone, text: &mut String) -> Result<(), String> {
        self.items.iter().try_for_each(|item| self.write(item, time, zone, text))
    }

    fn write(&self, item: &Item, time: &NaiveDateTime, zone: Zone, text: &mut String) -> Result<(), String> {
        match item {
            Item::Literal(literal) => text.push_str(literal),
            Item::Optional(items) => items.iter().try_for_each(|item| self.write(item, time, zone, text))?,
            Item::Field { letter, count } => self.write_field(*letter, *count, time, zone, text)?,
        }
        Ok(())
    }

    fn write_field(
        &self,
        letter: char,
        count: usize,
        time: &NaiveDateTime,
        zone: Zone,
        text: &mut String,
    ) -> Result<(), String> {
        let simple = self.kind == Kind::SimpleDateFormat;
        let year = i64::from(time.year());
        let nanos = time.nanosecond() % 1_000_000_000;
        let number = |value: i64, text: &mut String| {
            let _ = write!(text, "{value:0count$}");
        };
        let (month, day) = (time.month0() as usize, time.weekday().num_days_from_sunday() as usize);
        match letter {
            'u' if simple => number(i64::from(time.weekday().number_from_monday()), text),
            'y' | 'u' | 'Y' => {
                let year = match letter {
                    'Y' => Week::of(time.date()).year,
                    'y' if year <= 0 => 1 - year,
                    _ => year,
                };
                match count {
                    2 => {
                        let _ = write!(text, "{:02}", year.rem_euclid(100));
                    }
                    _ if !simple && count >= 4 && year >= 10i64.pow(count.min(18) as u32) => {
                        let _ = write!(text, "+{year}");
                    }
                    _ if year < 0 => {
                        let _ = write!(text, "-{:0count$}", -year);
                    }
                    _ => number(year, text),
                }
            }
            'M' | 'L' => match count {
                1 | 2 => number(i64::from(time.month()), text),
                3 => text.push_str(MONTHS[month].get(..3).unwrap_or_default()),
                5 if !simple => text.push_str(MONTHS[month].get(..1).unwrap_or_default()),
                _ => text.push_str(MONTHS[month]),
            },
            'd' => number(i64::from(time.day()), text),
            'D' => number(i64::from(time.ordinal()), text),
            'H' => number(i64::from(time.hour()), text),
            'k' => number(i64::from(if time.hour() == 0 { 24 } else { time.hour() }), text),
            'K' => number(i64::from(time.hour() % 12), text),
            'h' => number(i64::from(time.hour12().1), text),
            'm' => number(i64::from(time.minute()), text),
            's' => number(i64::from(time.second()), text),
            'S' if simple => number(i64::from(nanos / 1_000_000), text),
            'S' => {
                let digits = format!("{nanos:09}");
                text.push_str(digits.get(..count.min(9)).unwrap_or(&digits));
                text.extend(std::iter::repeat_n('0', count.saturating_sub(9)));
            }
            'n' => number(i64::from(nanos), text),
            'A' => number(i64::from(time.num_seconds_from_midnight()) * 1000 + i64::from(nanos / 1_000_000), text),
            'N' => number(i64::from(time.num_seconds_from_midnight()) * 1_000_000_000 + i64::from(nanos), text),
            'a' => text.push_str(if time.hour() < 12 { "AM" } else { "PM" }),
            'e' | 'c' if count <= 2 => number(day as i64 + 1, text),
            'E' | 'e' | 'c' => match count {
                ..=3 => text.push_str(DAYS[day].get(..3).unwrap_or_default()),
                5 if !simple => text.push_str(DAYS[day].get(..1).unwrap_or_default()),
                _ => text.push_str(DAYS[day]),
            },
            'F' => number(i64::from((time.day() - 1) / 7 + 1), text),
            'w' => number(Week::of(time.date()).number, text),
            'W' => number(Week::in_month(time.date()), text),
            'Q' | 'q' => {
                let quarter = month / 3;
                match count {
                    1 | 2 => number(quarter as i64 + 1, text),
                    3 => {
                        let _ = write!(text, "Q{}", quarter + 1);
                    }
                    _ => {
                        let _ = write!(text, "{} quarter", ORDINALS[quarter]);
                    }
                }
            }
            'G' => text.push_str(match (count, year > 0) {
                (4, true) => "Anno Domini",
                (4, false) => "Before Christ",
                (_, true) => "AD",
                (_, false) => "BC",
            }),
            'X' | 'x' | 'Z' | 'O' | 'z' | 'V' => write_zone(letter, count, time, zone, text),
            other => return Err(format!("the letter {other} has no meaning")),
        }
        Ok(())
    }

    /// The local time that a text says; `None` if it is not of the pattern's form. What the pattern does not say is
    /// that of 1970-01-01 00:00:00.
    pub fn parse_text(&self, text: &str) -> Option<NaiveDateTime> {
        let mut fields = read::Fields::default();
        let rest = read::items(&self.items, text, self.kind == Kind::SimpleDateFormat, &mut fields)?;
        if !rest.is_empty() && self.kind == Kind::DateTimeFormatter {
            return None;
        }
        fields.resolve(self.kind == Kind::SimpleDateFormat)
    }
}

fn push_literal(items: &mut Vec<Item>, text: &str) {
    match items.last_mut() {
        Some(Item::Literal(literal)) => literal.push_str(text),
        _ => items.push(Item::Literal(text.to_owned())),
    }
}

fn write_zone(letter: char, count: usize, time: &NaiveDateTime, zone: Zone, text: &mut String) {
    // The instant is needed for the offset only: that of the local time read back.
    let instant = super::of_millis(zone.instant(time)).unwrap_or(*time);
    let seconds = zone.offset_seconds(&instant);
    let (sign, all) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs());
    let (hours, minutes) = (all / 3600, all / 60 % 60);
    let _ = match (letter, count) {
        ('X', _) if seconds == 0 => {
            text.push('Z');
            Ok(())
        }
        ('X' | 'x', 1) if minutes == 0 => write!(text, "{sign}{hours:02}"),
        ('X' | 'x', 1 | 2 | 4) | ('Z', ..=3) => write!(text, "{sign}{hours:02}{minutes:02}"),
        ('X' | 'x', _) | ('Z', 5) => write!(text, "{sign}{hours:02}:{minutes:02}"),
        ('O', 1) if seconds == 0 => write!(text, "GMT"),
        ('O', 1) if minutes == 0 => write!(text, "GMT{sign}{hours}"),
        ('O', 1) => write!(text, "GMT{sign}{hours}:{minutes:02}"),
        ('O' | 'Z', _) if seconds == 0 => write!(text, "GMT"),
        ('O' | 'Z', _) => write!(text, "GMT{sign}{hours:02}:{minutes:02}"),
        _ => match zone {
            Zone::Region(region) => write!(text, "{region}"),
            Zone::Fixed(offset) => write!(text, "{offset}"),
        },
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> NaiveDateTime {
        text.parse().unwrap()
    }

    #[test]
    fn times_are_written_as_java_writes_them() {
        let leap = time("2024-02-29T13:14:15.678");
        for (pattern, expected) in [
            ("yyyy-MM-dd HH:mm:ss.SSS", "2024-02-29 13:14:15.678"),
            ("yy/M/d H:m:s", "24/2/29 13:14:15"),
            ("MMM d, yyyy", "Feb 29, 2024"),
            ("MMMM EEEE", "February Thursday"),
            ("E hh:mm a", "Thu 01:14 PM"),
            ("yyyy'y'MM", "2024y02"),
            ("S", "6"),
            ("D w W e Q QQQ", "60 9 5 5 1 Q1"),
            ("yyyy-MM-dd'T'HH:mm:ss'Z'", "2024-02-29T13:14:15Z"),
            ("h 'o''clock'", "1 o'clock"),
            ("[yyyy]", "2024"),
        ] {
            let mut text = String::new();
            Pattern::parse(pattern).unwrap().format_into(&leap, Zone::UTC, &mut text).unwrap();
            assert_eq!(text, expected, "{pattern}");
        }
        for wrong in ["yyyy-MM-dd b", "'open", "[yyyy", "yyyy]"] {
            assert!(Pattern::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn texts_are_read_as_java_reads_them() {
        for (pattern, text, expected) in [
            ("dd.MM.yyyy", "29.02.2024", Some("2024-02-29 00:00:00")),
            ("MMM dd, yyyy h:mm a", "Feb 29, 2024 1:14 PM", Some("2024-02-29 13:14:00")),
            ("yyyyMMddHHmmss", "20240229131415", Some("2024-02-29 13:14:15")),
            ("yyyy-MM-dd", "2024-02-30", Some("2024-02-29 00:00:00")),
            ("yyyy-MM-dd", "2024-02-32", None),
            ("yyyy-MM-dd", "2024-2-3", None),
            ("yyyy-M-d", "2024-2-3", Some("2024-02-03 00:00:00")),
            ("yyyy-MM-dd", "2024-02-29x", None),
            ("HH:mm", "13:14", Some("1970-01-01 13:14:00")),
            ("yyyy-MM-dd HH:mm:ss.SSS", "2024-02-29 13:14:15.678", Some("2024-02-29 13:14:15.678")),
            ("yy", "24", Some("2024-01-01 00:00:00")),
            ("yyyy-DDD", "2024-060", Some("2024-02-29 00:00:00")),
        ] {
            let found = Pattern::parse(pattern).unwrap().parse_text(text);
            assert_eq!(found.map(|time| time.to_string()), expected.map(str::to_owned), "{pattern} {text}");
        }
        for (pattern, text, expected) in [
            ("yyyy-MM-dd", "2024-13-45", Some("2025-02-14 00:00:00")),
            ("yyyy-MM-dd", "2024-2-3 and more", Some("2024-02-03 00:00:00")),
            ("dd/MM/yyyy", "29/02/2024", Some("2024-02-29 00:00:00")),
            ("yyyy-MM-dd", "nope", None),
        ] {
            let found = Pattern::parse_lenient(pattern).unwrap().parse_text(text);
            assert_eq!(found.map(|time| time.to_string()), expected.map(str::to_owned), "{pattern} {text}");
        }
    }
}
