//! Texts read by a pattern.

use super::item::Item;
use super::names::{DAYS, MONTHS};
use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};

/// What a text has said.
#[derive(Debug, Default)]
pub(super) struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: Option<i64>,
    hour_of_half: Option<i64>,
    afternoon: Option<bool>,
    minute: Option<i64>,
    second: Option<i64>,
    nanos: Option<i64>,
    before_christ: bool,
}

/// Reads the items from the beginning of a text and gives what is left.
pub(super) fn items<'t>(items: &[Item], mut text: &'t str, lenient: bool, fields: &mut Fields) -> Option<&'t str> {
    for (index, item) in items.iter().enumerate() {
        text = match item {
            Item::Literal(literal) => text.strip_prefix(literal.as_str())?,
            Item::Optional(inner) => self::items(inner, text, lenient, fields).unwrap_or(text),
            Item::Field { letter, count } => {
                // Digits that stand next to each other are told apart by their counts.
                let next = items.get(index + 1);
                let adjacent = matches!(next, Some(Item::Field { letter, count }) if is_number(*letter, *count));
                field(*letter, *count, text, lenient, adjacent, fields)?
            }
        };
    }
    Some(text)
}

fn is_number(letter: char, count: usize) -> bool {
    match letter {
        'M' | 'L' => count <= 2,
        'E' | 'a' | 'G' | 'z' | 'Z' | 'X' | 'x' | 'V' | 'O' | 'e' | 'c' => false,
        _ => true,
    }
}

fn field<'t>(
    letter: char,
    count: usize,
    text: &'t str,
    lenient: bool,
    adjacent: bool,
    fields: &mut Fields,
) -> Option<&'t str> {
    let (least, most) = match letter {
        _ if adjacent => (count, count),
        _ if lenient => (1, 18),
        'y' | 'u' if count >= 3 => (count, count.max(4)),
        'S' => (count, count),
        'D' if count == 2 => (2, 3),
        _ if count == 1 => (1, 18),
        _ => (count, count),
    };
    let number = |text: &'t str| -> Option<(i64, &'t str)> {
        let text = if lenient { text.trim_start() } else { text };
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) if lenient || matches!(letter, 'y' | 'u') => (-1, digits),
            _ => (1, text),
        };
        let (digits, most) = match digits.strip_prefix('+') {
            Some(digits) if matches!(letter, 'y' | 'u') && !adjacent => (digits, 18),
            _ => (digits, most),
        };
        let end = digits.bytes().take(most).position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len().min(most));
        if end < least {
            return None;
        }
        Some((sign * digits.get(..end)?.parse::<i64>().ok()?, digits.get(end..)?))
    };
    match letter {
        'M' | 'L' if count >= 3 => {
            let (index, rest) = name(&MONTHS, count, text, lenient)?;
            fields.month = Some(index as i64 + 1);
            Some(rest)
        }
        'E' | 'e' | 'c' => name(&DAYS, count, text, lenient).map(|(_, rest)| rest),
        'a' => {
            let half = text.get(..2)?;
            let is = |name: &str| if lenient { half.eq_ignore_ascii_case(name) } else { half == name };
            fields.afternoon = Some(if is("PM") {
                true
            } else if is("AM") {
                false
            } else {
                return None;
            });
            text.get(2..)
        }
        'G' => {
            fields.before_christ = text.starts_with("BC");
            (text.starts_with("AD") || text.starts_with("BC")).then(|| text.get(2..))?
        }
        'z' | 'Z' | 'X' | 'x' | 'V' | 'O' => {
            let end = text.find(|c: char| !(c.is_alphanumeric() || "+-:/_".contains(c))).unwrap_or(text.len());
            (end > 0).then(|| text.get(end..))?
        }
        _ => {
            let (value, rest) = number(text)?;
            let digits = text.len() - rest.len();
            match letter {
                'u' if lenient => {}
                'y' | 'u' | 'Y' => {
                    // Two digits are of this century, or of the last where they would be far ahead.
                    let short = count == 2 && digits == 2 || lenient && count <= 2 && digits == 2;
                    fields.year = Some(match short {
                        true if lenient => {
                            let now = i64::from(chrono::DateTime::UNIX_EPOCH.year()) + 54;
                            let year = now - now % 100 + value;
                            if year > now + 20 { year - 100 } else { year }
                        }
                        true => 2000 + value,
                        false => value,
                    });
                }
                'M' | 'L' => fields.month = Some(value),
                'd' => fields.day = Some(value),
                'D' => fields.day_of_year = Some(value),
                'H' => fields.hour = Some(value),
                'k' => fields.hour = Some(if value == 24 { 0 } else { value }),
                'K' => fields.hour_of_half = Some(value),
                'h' => fields.hour_of_half = Some(if value == 12 { 0 } else { value }),
                'm' => fields.minute = Some(value),
                's' => fields.second = Some(value),
                'S' if lenient => fields.nanos = Some(value.checked_mul(1_000_000)?),
                'S' => {
                    let scale = 10i64.checked_pow(9u32.checked_sub(u32::try_from(count).ok()?)?)?;
                    fields.nanos = Some(value * scale);
                }
                'n' => fields.nanos = Some(value),
                _ => {}
            }
            Some(rest)
        }
    }
}

/// A name, or its first three letters, at the beginning of a text.
fn name<'t>(names: &[&str], count: usize, text: &'t str, lenient: bool) -> Option<(usize, &'t str)> {
    let begins = |name: &str| {
        let part = text.get(..name.len())?;
        let same = if lenient { part.eq_ignore_ascii_case(name) } else { part == name };
        same.then(|| text.get(name.len()..))?
    };
    let full = || names.iter().enumerate().find_map(|(index, name)| Some((index, begins(name)?)));
    let short = || names.iter().enumerate().find_map(|(index, name)| Some((index, begins(name.get(..3)?)?)));
    match (count, lenient) {
        (_, true) => full().or_else(short),
        (4, false) => full(),
        _ => short(),
    }
}

impl Fields {
    /// The time that the fields say; `None` where there is none.
    pub(super) fn resolve(&self, lenient: bool) -> Option<NaiveDateTime> {
        let year = self.year.unwrap_or(1970);
        let year = i32::try_from(if self.before_christ { 1 - year } else { year }).ok()?;
        let hour = match (self.hour, self.hour_of_half, self.afternoon) {
            (Some(hour), ..) => hour,
            (None, Some(hour), afternoon) if lenient || afternoon.is_some() => {
                hour + if afternoon == Some(true) { 12 } else { 0 }
            }
            _ => 0,
        };
        let (minute, second, nanos) = (self.minute.unwrap_or(0), self.second.unwrap_or(0), self.nanos.unwrap_or(0));
        if lenient {
            let months = i64::from(year) * 12 + self.month.unwrap_or(1) - 1;
            let first = NaiveDate::from_ymd_opt(i32::try_from(months.div_euclid(12)).ok()?, 1, 1)?;
            let first = match self.day_of_year {
                Some(_) => first,
                None => first.with_month0(u32::try_from(months.rem_euclid(12)).ok()?)?,
            };
            let days = self.day_of_year.or(self.day).unwrap_or(1) - 1;
            let date = first.checked_add_signed(TimeDelta::try_days(days)?)?;
            let seconds = hour.checked_mul(3600)?.checked_add(minute.checked_mul(60)?)?.checked_add(second)?;
            return date
                .and_time(NaiveTime::MIN)
                .checked_add_signed(TimeDelta::try_seconds(seconds)?)?
                .checked_add_signed(TimeDelta::nanoseconds(nanos));
        }
        let part = |value: i64| u32::try_from(value).ok();
        let date = match (self.day_of_year, self.day) {
            (Some(day), None) => NaiveDate::from_yo_opt(year, part(day)?)?,
            _ => {
                let (month, day) = (part(self.month.unwrap_or(1))?, part(self.day.unwrap_or(1))?);
                // A day that the month has not, up to 31, is its last.
                (1..=31)
                    .contains(&day)
                    .then(|| (28.min(day)..=day).rev().find_map(|day| NaiveDate::from_ymd_opt(year, month, day)))??
            }
        };
        let time = NaiveTime::from_hms_nano_opt(part(hour)?, part(minute)?, part(second)?, part(nanos)?)?;
        Some(date.and_time(time))
    }
}
