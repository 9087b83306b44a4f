//! Texts of intervals: `INTERVAL '1-2' YEAR TO MONTH`.

use super::{DAY_MS, Unit};

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// Of months.
    Months(i64),
    /// Of milliseconds.
    Millis(i64),
}

/// The interval that a text means between two units, the second of which may be missing.
///
/// # Errors
/// Why it is none.
pub fn parse_interval(text: &str, from: &str, to: Option<&str>) -> Result<Interval, String> {
    let unit = |name: &str| Unit::parse(name).ok_or_else(|| format!("{name} is no unit"));
    let (from, to) = (unit(from)?, to.map(unit).transpose()?);
    let trimmed = text.trim();
    let (sign, digits) = match trimmed.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let beyond = || "it is longer than all intervals".to_owned();
    let whole = |part: &str| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { part.parse::<i64>().map_err(|_| beyond()) } else { Err(format!("`{part}` is no number")) }
    };
    let last = to.unwrap_or(from);
    if let Some(months) = months(from) {
        let value = match (from == last, digits.split_once('-')) {
            (true, None) => whole(digits)?.checked_mul(months),
            (false, Some((years, rest))) if (from, last) == (Unit::Year, Unit::Month) => {
                let rest = whole(rest)?;
                if rest > 11 {
                    return Err(format!("a year has no {rest} months"));
                }
                whole(years)?.checked_mul(12).and_then(|years| years.checked_add(rest))
            }
            _ => return Err("its parts are not those of its units".to_owned()),
        };
        return value.map(|months| Interval::Months(months * sign)).ok_or_else(beyond);
    }
    const UNITS: [(Unit, i64, char); 4] = [
        (Unit::Day, DAY_MS, ' '),
        (Unit::Hour, 3_600_000, ':'),
        (Unit::Minute, 60_000, ':'),
        (Unit::Second, 1000, '.'),
    ];
    if let (true, Some(length)) = (from == last, length(from)) {
        return whole(digits)?.checked_mul(length).map(|ms| Interval::Millis(ms * sign)).ok_or_else(beyond);
    }
    let place = |unit: Unit| UNITS.iter().position(|(of, ..)| *of == unit);
    let (Some(first), Some(end)) = (place(from), place(last)) else {
        return Err("its units are none of an interval".to_owned());
    };
    if end < first {
        return Err("its units stand in the wrong order".to_owned());
    }
    let mut rest = digits;
    let mut total: i64 = 0;
    for (index, (unit, length, separator)) in UNITS.iter().enumerate().take(end + 1).skip(first) {
        let is_last = index == end;
        let (part, behind) = match rest.find(*separator) {
            Some(at) if !is_last || *unit == Unit::Second => (&rest[..at], &rest[at + 1..]),
            _ if is_last => (rest, ""),
            _ => return Err("its parts are not those of its units".to_owned()),
        };
        let value = whole(part)?;
        let limit = if *unit == Unit::Hour { 24 } else { 60 };
        if index > first && value >= limit {
            return Err(format!("{value} is too much behind a greater unit"));
        }
        let mut millis = value.checked_mul(*length).ok_or_else(beyond)?;
        if is_last && !behind.is_empty() {
            let digits: String = behind.chars().chain("000".chars()).take(3).collect();
            whole(behind)?;
            millis += whole(&digits)?;
        }
        total = total.checked_add(millis).ok_or_else(beyond)?;
        rest = behind;
    }
    Ok(Interval::Millis(total * sign))
}

fn months(unit: Unit) -> Option<i64> {
    match unit {
        Unit::Year => Some(12),
        Unit::Quarter => Some(3),
        Unit::Month => Some(1),
        _ => None,
    }
}

/// The length of a unit that is not written as part of others.
fn length(unit: Unit) -> Option<i64> {
    match unit {
        Unit::Week => Some(7 * DAY_MS),
        Unit::Millisecond => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read() {
        for (text, from, to, expected) in [
            ("1", "DAY", None, Interval::Millis(DAY_MS)),
            ("400", "DAY", None, Interval::Millis(400 * DAY_MS)),
            ("-1", "DAY", None, Interval::Millis(-DAY_MS)),
            ("1.5", "SECOND", None, Interval::Millis(1500)),
            ("10:30", "MINUTE", Some("SECOND"), Interval::Millis(630_000)),
            ("1 02:03:04.567", "DAY", Some("SECOND"), Interval::Millis(DAY_MS + 7_384_567)),
            ("1 02", "DAY", Some("HOUR"), Interval::Millis(DAY_MS + 7_200_000)),
            ("1-2", "YEAR", Some("MONTH"), Interval::Months(14)),
            ("2", "QUARTER", None, Interval::Months(6)),
            ("2", "WEEKS", None, Interval::Millis(14 * DAY_MS)),
            ("30", "SECONDS", None, Interval::Millis(30_000)),
        ] {
            assert_eq!(parse_interval(text, from, to), Ok(expected), "{text} {from}");
        }
        for (text, from, to) in
            [("", "DAY", None), ("x", "DAY", None), ("1-13", "YEAR", Some("MONTH")), ("1:70", "HOUR", Some("MINUTE"))]
        {
            assert!(parse_interval(text, from, to).is_err(), "{text} {from}");
        }
    }
}
