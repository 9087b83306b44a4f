//! Functions of dates and times.

use super::time_texts::{
    convert_tz, date_format, from_unixtime, to_date, to_timestamp, to_timestamp_ltz, unix_timestamp,
};
use crate::bind::{Bind, Bound, Category, Function};
use crate::bound::Kernel;
use crate::cast::write::{local_time, millis_and_nanos, timestamps};
use crate::columns::{build_booleans, build_ints, build_longs, build_numbers};
use crate::common_type::is_timestamp;
use crate::settings::{Settings, TIMESTAMP};
use crate::time::{DAY_MS, Unit, Zone, add_months_to_millis, ceil, difference, extract, floor, of_millis, shifted};
use crate::type_name::type_name;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, IntervalMonthDayNanoType, Time32MillisecondType, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use headpond_state::Error;
use std::sync::Arc;

macro_rules! field {
    ($name:expr, $syntax:expr, $doc:expr, $example:expr, $unit:expr) => {
        function!(&[$name], $syntax, $doc, &[$example], |call| {
            let [of] = call.types else { return Err(call.wrong()) };
            field_of(call, 0, $unit, of)
        })
    };
}

const CHAPTER: Category = Category::Time;

pub(super) const FUNCTIONS: &[Function] = &[
    function!(
        &["EXTRACT"],
        "EXTRACT(unit FROM time)",
        "A field of a time: YEAR, QUARTER, MONTH, WEEK (of ISO), DAY, DOW (Sunday is 1), ISODOW, DOY, HOUR, MINUTE, SECOND, \
         MILLISECOND, MICROSECOND, ISOYEAR, DECADE, CENTURY, MILLENNIUM or EPOCH.",
        &[("EXTRACT(DOW FROM DATE '2024-02-29')", "5")],
        |call| {
            let [_, of] = call.types else { return Err(call.wrong()) };
            let unit = call.literal_text(0).and_then(Unit::parse).ok_or_else(|| call.wrong())?;
            field_of(call, 1, unit, of)
        }
    ),
    field!("YEAR", "YEAR(time)", "The year.", ("YEAR(DATE '2024-02-29')", "2024"), Unit::Year),
    field!("QUARTER", "QUARTER(time)", "The quarter, from 1.", ("QUARTER(DATE '2024-02-29')", "1"), Unit::Quarter),
    field!("MONTH", "MONTH(time)", "The month, from 1.", ("MONTH(DATE '2024-02-29')", "2"), Unit::Month),
    field!("WEEK", "WEEK(time)", "The week of ISO.", ("WEEK(DATE '2024-02-29')", "9"), Unit::Week),
    field!(
        "DAYOFYEAR",
        "DAYOFYEAR(time)",
        "The day of the year, from 1.",
        ("DAYOFYEAR(DATE '2024-02-29')", "60"),
        Unit::DayOfYear
    ),
    field!(
        "DAYOFMONTH",
        "DAYOFMONTH(time)",
        "The day of the month.",
        ("DAYOFMONTH(DATE '2024-02-29')", "29"),
        Unit::Day
    ),
    field!(
        "DAYOFWEEK",
        "DAYOFWEEK(time)",
        "The day of the week; Sunday is 1.",
        ("DAYOFWEEK(DATE '2024-02-29')", "5"),
        Unit::DayOfWeek
    ),
    field!("HOUR", "HOUR(time)", "The hour.", ("HOUR(TIMESTAMP '2024-02-29 13:14:15')", "13"), Unit::Hour),
    field!("MINUTE", "MINUTE(time)", "The minute.", ("MINUTE(TIMESTAMP '2024-02-29 13:14:15')", "14"), Unit::Minute),
    field!("SECOND", "SECOND(time)", "The second.", ("SECOND(TIMESTAMP '2024-02-29 13:14:15')", "15"), Unit::Second),
    function!(
        &["TIMESTAMPADD"],
        "TIMESTAMPADD(unit, count, time)",
        "A time so many units later.",
        &[("TIMESTAMPADD(MONTH, 1, DATE '2024-01-31')", "2024-02-29")],
        timestamp_add
    ),
    function!(
        &["TIMESTAMPDIFF"],
        "TIMESTAMPDIFF(unit, from, to)",
        "How many whole units there are between two times.",
        &[("TIMESTAMPDIFF(DAY, DATE '2024-02-28', DATE '2024-03-01')", "2")],
        timestamp_diff
    ),
    function!(
        &["DATE_FORMAT"],
        "DATE_FORMAT(time, pattern)",
        "A time in the letters of Java's DateTimeFormatter.",
        &[("DATE_FORMAT(TIMESTAMP '2024-02-29 13:14:15', 'MMM d, yyyy')", "Feb 29, 2024")],
        date_format
    ),
    function!(
        &["TO_DATE"],
        "TO_DATE(text[, pattern])",
        "The date that a text says, as `yyyy-MM-dd` unless said; NULL if it says none.",
        &[("TO_DATE('29/02/2024', 'dd/MM/yyyy')", "2024-02-29")],
        to_date
    ),
    function!(
        &["TO_TIMESTAMP"],
        "TO_TIMESTAMP(text[, pattern])",
        "The TIMESTAMP(3) that a text says, as `yyyy-MM-dd HH:mm:ss` unless said; NULL if it says none.",
        &[("TO_TIMESTAMP('29.02.2024', 'dd.MM.yyyy')", "2024-02-29 00:00:00.000")],
        to_timestamp
    ),
    function!(
        &["TO_TIMESTAMP_LTZ"],
        "TO_TIMESTAMP_LTZ(number[, precision]), TO_TIMESTAMP_LTZ(text[, pattern[, zone]])",
        "The instant so many seconds (precision 0) or milliseconds (3) after 1970, or the one that a text says, in UTC unless said.",
        &[("TO_TIMESTAMP_LTZ(1709212455, 0)", "2024-02-29 13:14:15.000")],
        to_timestamp_ltz
    ),
    function!(
        &["FROM_UNIXTIME"],
        "FROM_UNIXTIME(seconds[, pattern])",
        "The local time so many seconds after 1970, as a text.",
        &[("FROM_UNIXTIME(44)", "1970-01-01 00:00:44")],
        from_unixtime
    ),
    function!(
        &["UNIX_TIMESTAMP"],
        "UNIX_TIMESTAMP([text[, pattern]])",
        "The seconds since 1970, now or at the local time that a text says.",
        &[("UNIX_TIMESTAMP('29.02.2024', 'dd.MM.yyyy')", "1709164800")],
        unix_timestamp
    ),
    function!(
        &["CONVERT_TZ"],
        "CONVERT_TZ(text, from, to)",
        "The local time of one zone in another, as a text; NULL if the text says none.",
        &[("CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'America/Los_Angeles')", "1969-12-31 16:00:00")],
        convert_tz
    ),
    function!(
        &["OVERLAPS"],
        "(from, to) OVERLAPS (from, to), (from, length) OVERLAPS (from, length)",
        "Whether two periods have a time in common.",
        &[("(DATE '2024-01-01', DATE '2024-02-01') OVERLAPS (DATE '2024-01-15', INTERVAL '1' DAY)", "true")],
        overlaps
    ),
];

#[cold]
fn beyond(name: &str) -> Error {
    Error::invalid(format!("{name}: a time is beyond all dates"))
}

/// A column's local times, in milliseconds.
fn local_millis<'a>(
    column: &'a ArrayRef,
    settings: &Settings,
) -> Result<Box<dyn Fn(usize) -> Option<i64> + 'a>, Error> {
    let zone = settings.zone;
    Ok(match column.data_type() {
        DataType::Date32 => {
            let days = column.as_primitive::<Date32Type>();
            Box::new(move |row| days.is_valid(row).then(|| i64::from(days.value(row)) * DAY_MS))
        }
        DataType::Time32(_) => {
            let times = column.as_primitive::<Time32MillisecondType>();
            Box::new(move |row| times.is_valid(row).then(|| i64::from(times.value(row))))
        }
        DataType::Timestamp(unit, of) => {
            let (unit, is_instant, values) = (*unit, of.is_some(), timestamps(column)?);
            Box::new(move |row| {
                let (ms, _) = millis_and_nanos(values(row)?, unit)?;
                if is_instant { zone.local_millis(ms) } else { Some(ms) }
            })
        }
        other => return Err(Error::internal(format!("a {other} is read as a time"))),
    })
}

fn field_of(call: &Bind<'_>, index: usize, unit: Unit, of: &DataType) -> Result<Bound, Error> {
    let taken = match of {
        DataType::Date32 | DataType::Timestamp(_, _) => of.clone(),
        DataType::Time32(_) if matches!(unit, Unit::Hour | Unit::Minute | Unit::Second | Unit::Millisecond) => {
            of.clone()
        }
        DataType::Null => TIMESTAMP,
        _ => return Err(call.wrong()),
    };
    let mut arguments = call.types.to_vec();
    arguments[index] = taken;
    let settings = Arc::clone(call.settings);
    let kernel: Kernel = Arc::new(move |arguments| {
        let column = arguments.column(index)?;
        if let (Unit::Microsecond | Unit::Nanosecond | Unit::Epoch, DataType::Timestamp(of, zone)) =
            (unit, column.data_type())
        {
            let zone = zone.is_some().then_some(settings.zone);
            let (of, values) = (*of, timestamps(&column)?);
            return build_longs(arguments.rows, |row| {
                Ok(values(row).and_then(|value| match unit {
                    Unit::Epoch => millis_and_nanos(value, of).map(|(ms, _)| ms.div_euclid(1000)),
                    _ => local_time(value, of, zone).map(|time| extract(unit, &time)),
                }))
            });
        }
        let millis = local_millis(&column, &settings)?;
        build_longs(arguments.rows, |row| Ok(millis(row).and_then(of_millis).map(|time| extract(unit, &time))))
    });
    let mut bound = call.bound(arguments, DataType::Int64, kernel);
    bound.function = bound.function.variant(format!("{unit:?} {}", call.settings.zone_name));
    Ok(bound)
}

/// `FLOOR` and `CEIL` of a time to a unit.
pub(super) fn to_unit(call: &Bind<'_>, up: bool) -> Result<Bound, Error> {
    let [of, _] = call.types else { return Err(call.wrong()) };
    let unit = call.literal_text(1).and_then(Unit::parse).ok_or_else(|| call.wrong())?;
    let result = match of {
        DataType::Timestamp(_, Some(_)) => call.settings.instant(),
        DataType::Timestamp(TimeUnit::Second, None) => of.clone(),
        DataType::Timestamp(_, None) => TIMESTAMP,
        DataType::Date32 => of.clone(),
        _ => return Err(call.wrong()),
    };
    floor(unit, 0).ok_or_else(|| call.wrong())?;
    let (settings, to) = (Arc::clone(call.settings), result.clone());
    let taken = if of.is_null() { TIMESTAMP } else { of.clone() };
    let name = if up { "CEIL" } else { "FLOOR" };
    let kernel: Kernel = Arc::new(move |arguments| {
        let column = arguments.column(0)?;
        let millis = local_millis(&column, &settings)?;
        let cut = |row: usize| -> Result<Option<i64>, Error> {
            let Some(ms) = millis(row) else { return Ok(None) };
            let cut = if up { ceil(unit, ms) } else { floor(unit, ms) };
            cut.map(Some).ok_or_else(|| beyond(name))
        };
        local_column(arguments.rows, &to, settings.zone, cut)
    });
    let mut bound = call.bound(vec![taken, DataType::Utf8], result, kernel);
    bound.function = bound.function.variant(format!("{unit:?} {}", call.settings.zone_name));
    Ok(bound)
}

/// A column of a time's type of local times in milliseconds.
fn local_column(
    rows: usize,
    to: &DataType,
    zone: Zone,
    mut local: impl FnMut(usize) -> Result<Option<i64>, Error>,
) -> Result<ArrayRef, Error> {
    match to {
        DataType::Date32 => build_numbers::<Date32Type>(rows, to, |row| {
            Ok(local(row)?.and_then(|ms| i32::try_from(ms.div_euclid(DAY_MS)).ok()))
        }),
        DataType::Timestamp(TimeUnit::Second, _) => {
            build_numbers::<arrow_array::types::TimestampSecondType>(rows, to, |row| {
                Ok(local(row)?.map(|ms| ms.div_euclid(1000)))
            })
        }
        DataType::Timestamp(_, of) => {
            let is_instant = of.is_some();
            build_numbers::<TimestampMillisecondType>(rows, to, |row| {
                Ok(match local(row)? {
                    Some(ms) if is_instant && zone != Zone::UTC => of_millis(ms).map(|local| zone.instant(&local)),
                    other => other,
                })
            })
        }
        other => Err(Error::internal(format!("a time is written as {other}"))),
    }
}

fn timestamp_add(call: &Bind<'_>) -> Result<Bound, Error> {
    let [_, count, of] = call.types else { return Err(call.wrong()) };
    let unit = call.literal_text(0).and_then(Unit::parse).ok_or_else(|| call.wrong())?;
    let count_taken = crate::common_type::is_integer(count) || count.is_null();
    if !count_taken || shifted(unit, 1, 0).is_none() {
        return Err(call.wrong());
    }
    let below_day = !matches!(unit, Unit::Year | Unit::Quarter | Unit::Month | Unit::Week | Unit::Day);
    let result = match of {
        DataType::Date32 if below_day => TIMESTAMP,
        DataType::Date32 => DataType::Date32,
        DataType::Timestamp(_, Some(_)) => call.settings.instant(),
        DataType::Timestamp(TimeUnit::Second, None) => of.clone(),
        DataType::Timestamp(_, None) | DataType::Null => TIMESTAMP,
        _ => return Err(call.wrong()),
    };
    let taken = if of.is_null() { TIMESTAMP } else { of.clone() };
    let to = result.clone();
    let kernel: Kernel = Arc::new(move |arguments| {
        let counts = arguments.longs(1)?;
        let column = arguments.column(2)?;
        // Units are added to an instant in UTC, as intervals are.
        let utc = Settings { zone: Zone::UTC, zone_name: "UTC".into(), wraps: false };
        let millis = local_millis(&column, &utc)?;
        local_column(arguments.rows, &to, Zone::UTC, |row| {
            let (Some(count), Some(ms)) = (counts.get(row), millis(row)) else { return Ok(None) };
            let moved = shifted(unit, count, ms).filter(|moved| of_millis(*moved).is_some());
            moved.map(Some).ok_or_else(|| beyond("TIMESTAMPADD"))
        })
    });
    let mut bound = call.bound(vec![DataType::Utf8, DataType::Int64, taken], result, kernel);
    bound.function = bound.function.variant(format!("{unit:?}"));
    Ok(bound)
}

fn timestamp_diff(call: &Bind<'_>) -> Result<Bound, Error> {
    let [_, from, to] = call.types else { return Err(call.wrong()) };
    let unit = call.literal_text(0).and_then(Unit::parse).ok_or_else(|| call.wrong())?;
    let is_instant = |of: &DataType| matches!(of, DataType::Timestamp(_, Some(_)));
    let is_time = |of: &DataType| is_timestamp(of) || matches!(of, DataType::Date32 | DataType::Null);
    if !is_time(from) || !is_time(to) || (is_instant(from) != is_instant(to) && !from.is_null() && !to.is_null()) {
        return Err(call.wrong());
    }
    difference(unit, 0, 0).ok_or_else(|| call.wrong())?;
    let taken = |of: &DataType| if of.is_null() { TIMESTAMP } else { of.clone() };
    let arguments = vec![DataType::Utf8, taken(from), taken(to)];
    let kernel: Kernel = Arc::new(move |arguments| {
        let utc = Settings { zone: Zone::UTC, zone_name: "UTC".into(), wraps: false };
        let (from, to) = (arguments.column(1)?, arguments.column(2)?);
        let (from, to) = (local_millis(&from, &utc)?, local_millis(&to, &utc)?);
        build_ints(arguments.rows, |row| {
            let (Some(from), Some(to)) = (from(row), to(row)) else { return Ok(None) };
            let units = difference(unit, from, to).ok_or_else(|| beyond("TIMESTAMPDIFF"))?;
            match i32::try_from(units) {
                Ok(units) => Ok(Some(units)),
                Err(_) => Err(Error::invalid(format!("TIMESTAMPDIFF: {units} does not fit INT"))),
            }
        })
    });
    let mut bound = call.bound(arguments, DataType::Int32, kernel);
    bound.function = bound.function.variant(format!("{unit:?}"));
    Ok(bound)
}

/// A row's period, in local milliseconds.
type Periods<'a> = Box<dyn Fn(usize) -> Option<(i64, i64)> + 'a>;

fn overlaps(call: &Bind<'_>) -> Result<Bound, Error> {
    let [a, b, c, d] = call.types else { return Err(call.wrong()) };
    let is_point = |of: &DataType| is_timestamp(of) || matches!(of, DataType::Date32 | DataType::Time32(_));
    let is_end = |of: &DataType| is_point(of) || matches!(of, DataType::Interval(_));
    if !is_point(a) || !is_end(b) || !is_point(c) || !is_end(d) {
        return Err(call.wrong());
    }
    let settings = Arc::clone(call.settings);
    let kernel: Kernel = Arc::new(move |arguments| {
        let columns = (0..4).map(|index| arguments.column(index)).collect::<Result<Vec<_>, _>>()?;
        let period = |start: usize| -> Result<Periods<'_>, Error> {
            let first = local_millis(&columns[start], &settings)?;
            let end = &columns[start + 1];
            Ok(match end.as_primitive_opt::<IntervalMonthDayNanoType>() {
                Some(spans) => Box::new(move |row| {
                    let (first, span) = (first(row)?, spans.is_valid(row).then(|| spans.value(row))?);
                    let moved = add_months_to_millis(first, i64::from(span.months))?;
                    let ms = i64::from(span.days) * DAY_MS + span.nanoseconds / 1_000_000;
                    Some((first, moved.checked_add(ms)?))
                }),
                None => {
                    let last = local_millis(end, &settings)?;
                    Box::new(move |row| Some((first(row)?, last(row)?)))
                }
            })
        };
        let (left, right) = (period(0)?, period(2)?);
        build_booleans(arguments.rows, |row| {
            let (Some(left), Some(right)) = (left(row), right(row)) else { return Ok(None) };
            let ordered = |(a, b): (i64, i64)| (a.min(b), a.max(b));
            let ((a, b), (c, d)) = (ordered(left), ordered(right));
            Ok(Some(b >= c && d >= a))
        })
    });
    Ok(call.bound(call.types.to_vec(), DataType::Boolean, kernel))
}

/// A type's name, for `TYPEOF`.
pub(super) fn name_of(data_type: &DataType) -> String {
    type_name(data_type)
}
