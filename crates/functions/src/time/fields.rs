//! Fields of times, and times moved by units: EXTRACT, FLOOR, CEIL, TIMESTAMPADD, TIMESTAMPDIFF.

use super::{DAY_MS, of_days, of_millis, to_days, to_millis};
use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Thousand years.
    Millennium,
    /// Hundred years.
    Century,
    /// Ten years.
    Decade,
    /// A year.
    Year,
    /// The year of ISO weeks.
    IsoYear,
    /// Three months.
    Quarter,
    /// A month.
    Month,
    /// A week: of ISO for a field, one that begins on Sunday for FLOOR and CEIL.
    Week,
    /// A day.
    Day,
    /// The day of the week; Sunday is 1.
    DayOfWeek,
    /// The day of the week; Monday is 1.
    IsoDayOfWeek,
    /// The day of the year.
    DayOfYear,
    /// An hour.
    Hour,
    /// A minute.
    Minute,
    /// A second.
    Second,
    /// A thousandth of a second.
    Millisecond,
    /// A millionth of a second.
    Microsecond,
    /// A billionth of a second.
    Nanosecond,
    /// Seconds since 1970.
    Epoch,
}

impl Unit {
    /// The unit of this name, in any case.
    pub fn parse(name: &str) -> Option<Unit> {
        let upper = name.to_uppercase();
        let bare = upper.strip_prefix("SQL_TSI_").unwrap_or(&upper);
        Some(match bare {
            "MILLENNIUM" => Unit::Millennium,
            "CENTURY" => Unit::Century,
            "DECADE" => Unit::Decade,
            "YEAR" | "YEARS" => Unit::Year,
            "ISOYEAR" => Unit::IsoYear,
            "QUARTER" | "QUARTERS" => Unit::Quarter,
            "MONTH" | "MONTHS" => Unit::Month,
            "WEEK" | "WEEKS" => Unit::Week,
            "DAY" | "DAYS" => Unit::Day,
            "DOW" => Unit::DayOfWeek,
            "ISODOW" => Unit::IsoDayOfWeek,
            "DOY" => Unit::DayOfYear,
            "HOUR" | "HOURS" => Unit::Hour,
            "MINUTE" | "MINUTES" => Unit::Minute,
            "SECOND" | "SECONDS" => Unit::Second,
            "MILLISECOND" | "MILLISECONDS" => Unit::Millisecond,
            "MICROSECOND" | "MICROSECONDS" => Unit::Microsecond,
            "NANOSECOND" | "NANOSECONDS" => Unit::Nanosecond,
            "EPOCH" => Unit::Epoch,
            _ => return None,
        })
    }

    /// Its milliseconds, where all of its kind have as many.
    fn millis(self) -> Option<i64> {
        Some(match self {
            Unit::Week => 7 * DAY_MS,
            Unit::Day => DAY_MS,
            Unit::Hour => 3_600_000,
            Unit::Minute => 60_000,
            Unit::Second => 1000,
            Unit::Millisecond => 1,
            _ => return None,
        })
    }

    /// Its months, where it has whole ones.
    fn months(self) -> Option<i64> {
        Some(match self {
            Unit::Millennium => 12_000,
            Unit::Century => 1200,
            Unit::Decade => 120,
            Unit::Year => 12,
            Unit::Quarter => 3,
            Unit::Month => 1,
            _ => return None,
        })
    }
}

/// A field of a time.
pub fn extract(unit: Unit, time: &NaiveDateTime) -> i64 {
    let year = i64::from(time.year());
    let nanos = i64::from(time.nanosecond() % 1_000_000_000);
    match unit {
        Unit::Millennium => {
            if year > 0 {
                (year + 999) / 1000
            } else {
                (year - 999) / 1000
            }
        }
        Unit::Century => {
            if year > 0 {
                (year + 99) / 100
            } else {
                (year - 99) / 100
            }
        }
        Unit::Decade => year.div_euclid(10),
        Unit::Year => year,
        Unit::IsoYear => i64::from(time.iso_week().year()),
        Unit::Quarter => i64::from(time.month0() / 3 + 1),
        Unit::Month => i64::from(time.month()),
        Unit::Week => i64::from(time.iso_week().week()),
        Unit::Day => i64::from(time.day()),
        Unit::DayOfWeek => i64::from(time.weekday().number_from_sunday()),
        Unit::IsoDayOfWeek => i64::from(time.weekday().number_from_monday()),
        Unit::DayOfYear => i64::from(time.ordinal()),
        Unit::Hour => i64::from(time.hour()),
        Unit::Minute => i64::from(time.minute()),
        Unit::Second => i64::from(time.second()),
        Unit::Millisecond => nanos / 1_000_000,
        Unit::Microsecond => nanos / 1000,
        Unit::Nanosecond => nanos,
        Unit::Epoch => to_millis(time).div_euclid(1000),
    }
}

/// The beginning of the unit that a local time, in milliseconds, is in; `None` for units that do not divide time.
pub fn floor(unit: Unit, millis: i64) -> Option<i64> {
    if unit == Unit::Week {
        // 1970-01-01 was a Thursday; weeks begin on Sunday.
        let days = millis.div_euclid(DAY_MS);
        return (days - (days + 4).rem_euclid(7)).checked_mul(DAY_MS);
    }
    if let Some(length) = unit.millis() {
        return millis.checked_sub(millis.rem_euclid(length));
    }
    let time = of_millis(millis)?;
    let (year, month) = (time.year(), time.month0());
    let (year, month) = match unit {
        Unit::Millennium => (beginning(year, 1000), 0),
        Unit::Century => (beginning(year, 100), 0),
        Unit::Decade => (year - year.rem_euclid(10), 0),
        Unit::Year => (year, 0),
        Unit::Quarter => (year, month - month % 3),
        Unit::Month => (year, month),
        _ => return None,
    };
    Some(to_millis(&NaiveDate::from_ymd_opt(year, month + 1, 1)?.and_time(chrono::NaiveTime::MIN)))
}

/// The first year of a century or a millennium, which ends with a year that its length divides.
fn beginning(year: i32, length: i32) -> i32 {
    (year - 1).div_euclid(length) * length + 1
}

/// The next beginning of a unit, or the time itself where it is one.
pub fn ceil(unit: Unit, millis: i64) -> Option<i64> {
    let floor = floor(unit, millis)?;
    if floor == millis {
        return Some(millis);
    }
    match (unit.millis(), unit.months()) {
        (Some(length), _) => floor.checked_add(length),
        (None, Some(months)) => add_months_to_millis(floor, months),
        _ => None,
    }
}

/// A local time, in milliseconds, so many months later; the day is the month's last where it has not as many.
pub fn add_months_to_millis(millis: i64, months: i64) -> Option<i64> {
    if months == 0 {
        return Some(millis);
    }
    let days = i32::try_from(millis.div_euclid(DAY_MS)).ok()?;
    let moved = add_months_to_days(days, months)?;
    i64::from(moved).checked_mul(DAY_MS)?.checked_add(millis.rem_euclid(DAY_MS))
}

/// A date, in days since 1970, so many months later.
pub fn add_months_to_days(days: i32, months: i64) -> Option<i32> {
    if months == 0 {
        return Some(days);
    }
    let date = of_days(days)?;
    let count = chrono::Months::new(u32::try_from(months.unsigned_abs()).ok()?);
    let moved = if months > 0 { date.checked_add_months(count) } else { date.checked_sub_months(count) };
    moved.map(to_days)
}

/// A local time so many units later; `None` beyond all dates, and for units that are no length.
pub fn shifted(unit: Unit, count: i64, millis: i64) -> Option<i64> {
    match (unit.months(), unit.millis()) {
        (Some(months), _) => add_months_to_millis(millis, months.checked_mul(count)?),
        (None, Some(length)) => millis.checked_add(length.checked_mul(count)?),
        (None, None) => match unit {
            Unit::Microsecond => millis.checked_add(count.div_euclid(1000)),
            Unit::Nanosecond => millis.checked_add(count.div_euclid(1_000_000)),
            _ => None,
        },
    }
}

/// How many whole units there are from one local time to another; `None` for units that are no length.
pub fn difference(unit: Unit, from: i64, to: i64) -> Option<i64> {
    if let Some(length) = unit.millis() {
        return to.checked_sub(from).map(|millis| millis / length);
    }
    let Some(months) = unit.months() else {
        return match unit {
            Unit::Microsecond => to.checked_sub(from)?.checked_mul(1000),
            Unit::Nanosecond => to.checked_sub(from)?.checked_mul(1_000_000),
            _ => None,
        };
    };
    let (first, last) = (of_millis(from)?, of_millis(to)?);
    let of = |time: &NaiveDateTime| i64::from(time.year()) * 12 + i64::from(time.month0());
    let mut between = of(&last) - of(&first);
    // A month is whole when the same day and time have come.
    let in_month = |time: &NaiveDateTime| (time.day(), time.time());
    if between > 0 && in_month(&last) < in_month(&first) {
        between -= 1;
    } else if between < 0 && in_month(&last) > in_month(&first) {
        between += 1;
    }
    Some(between / months)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> NaiveDateTime {
        text.parse().unwrap()
    }

    #[test]
    fn fields_are_those_of_sql() {
        let leap = time("2024-02-29T13:14:15.678");
        for (unit, value) in [
            (Unit::Millennium, 3),
            (Unit::Century, 21),
            (Unit::Decade, 202),
            (Unit::IsoYear, 2024),
            (Unit::Week, 9),
            (Unit::DayOfWeek, 5),
            (Unit::IsoDayOfWeek, 4),
            (Unit::DayOfYear, 60),
            (Unit::Microsecond, 678_000),
            (Unit::Quarter, 1),
        ] {
            assert_eq!(extract(unit, &leap), value, "{unit:?}");
        }
        assert_eq!(extract(Unit::IsoYear, &time("2024-12-31T00:00:00")), 2025);
    }

    #[test]
    fn times_are_cut_to_units() {
        let of = |text: &str| to_millis(&time(text));
        let leap = of("2024-02-29T13:14:15.678");
        for (unit, down, up) in [
            (Unit::Year, "2024-01-01T00:00:00", "2025-01-01T00:00:00"),
            (Unit::Quarter, "2024-01-01T00:00:00", "2024-04-01T00:00:00"),
            (Unit::Month, "2024-02-01T00:00:00", "2024-03-01T00:00:00"),
            (Unit::Week, "2024-02-25T00:00:00", "2024-03-03T00:00:00"),
            (Unit::Day, "2024-02-29T00:00:00", "2024-03-01T00:00:00"),
            (Unit::Minute, "2024-02-29T13:14:00", "2024-02-29T13:15:00"),
        ] {
            assert_eq!(floor(unit, leap), Some(of(down)), "{unit:?}");
            assert_eq!(ceil(unit, leap), Some(of(up)), "{unit:?}");
            assert_eq!(ceil(unit, of(down)), Some(of(down)), "{unit:?}");
        }
        assert_eq!(floor(Unit::Hour, -999), Some(-3_600_000));
    }

    #[test]
    fn months_end_where_they_end() {
        let of = |text: &str| to_millis(&time(text));
        assert_eq!(add_months_to_millis(of("2024-03-31T00:00:00"), -1), Some(of("2024-02-29T00:00:00")));
        assert_eq!(add_months_to_millis(of("1970-01-31T12:30:00"), 1), Some(of("1970-02-28T12:30:00")));
        assert_eq!(difference(Unit::Month, of("2024-01-31T00:00:00"), of("2024-02-29T00:00:00")), Some(0));
        assert_eq!(difference(Unit::Week, of("2024-02-29T13:14:15"), of("2024-03-31T00:00:00")), Some(4));
    }
}
