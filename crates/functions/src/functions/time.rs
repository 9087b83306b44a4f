//! Functions of dates and times.

use super::text_error::failed;
use crate::bind::{Bind, Bound, Category, Function, Parameter};
use crate::bound::{Arguments, Kernel};
use crate::cast::write::{local_time, millis_and_nanos, timestamps};
use crate::columns::{Texts, build_booleans, build_ints, build_longs, build_numbers, build_texts};
use crate::common_type::{is_number, is_text, is_timestamp};
use crate::settings::{Settings, TIMESTAMP};
use crate::text::TextError;
use crate::time::{
    DAY_MS, Pattern, Unit, Zone, add_months_to_millis, ceil, difference, extract, floor, of_millis, parse_date,
    parse_timestamp, shifted, to_days, to_millis,
};
use crate::type_name::type_name;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float64Type, Int64Type, IntervalMonthDayNanoType, Time32MillisecondType, TimestampMillisecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use chrono::NaiveDateTime;
use headpond_state::Error;
use std::sync::Arc;

macro_rules! function {
    ($names:expr, $syntax:expr, $doc:expr, $examples:expr, $bind:expr) => {
        Function {
            names: $names,
            category: Category::Time,
            syntax: $syntax,
            doc: $doc,
            examples: $examples,
            bind: $bind,
        }
    };
}

macro_rules! field {
    ($name:expr, $syntax:expr, $doc:expr, $example:expr, $unit:expr) => {
        function!(&[$name], $syntax, $doc, &[$example], |call| {
            let [of] = call.types else { return Err(call.wrong()) };
            field_of(call, 0, $unit, of)
        })
    };
}

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

/// A local time's form without a pattern.
const DEFAULT: &str = "yyyy-MM-dd HH:mm:ss";

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

/// The patterns of rows, read anew only where they change.
struct Patterns {
    read: fn(&str) -> Result<Pattern, String>,
    last: Option<(String, Pattern)>,
}

impl Patterns {
    fn new(lenient: bool) -> Self {
        Patterns { read: if lenient { Pattern::parse_lenient } else { Pattern::parse }, last: None }
    }

    fn of(&mut self, pattern: &str) -> Result<&Pattern, Error> {
        if self.last.as_ref().is_none_or(|(of, _)| of != pattern) {
            let read = (self.read)(pattern).map_err(|reason| {
                Error::invalid(format!("the pattern '{pattern}' is not understood: {reason}"))
                    .hint("its letters are those of Java's DateTimeFormatter, such as yyyy-MM-dd HH:mm:ss; text stands in quotes")
            })?;
            self.last = Some((pattern.to_owned(), read));
        }
        match &self.last {
            Some((_, pattern)) => Ok(pattern),
            None => Err(Error::internal("a pattern was lost")),
        }
    }

    /// Fails for a pattern that is a literal and wrong.
    fn check(lenient: bool, literal: Option<&str>) -> Result<(), Error> {
        literal.map_or(Ok(()), |literal| Patterns::new(lenient).of(literal).map(|_| ()))
    }
}

/// A pattern argument that may be missing: `None` where it is NULL.
fn pattern_of<'a>(patterns: &'a Option<Texts>, row: usize, default: &'a str) -> Option<&'a str> {
    match patterns {
        Some(patterns) => patterns.get(row),
        None => Some(default),
    }
}

fn optional_texts(arguments: &Arguments<'_>, index: usize) -> Result<Option<Texts>, Error> {
    if arguments.values.len() > index { arguments.texts(index).map(Some) } else { Ok(None) }
}

fn date_format(call: &Bind<'_>) -> Result<Bound, Error> {
    let [of, pattern] = call.types else { return Err(call.wrong()) };
    let taken = match of {
        of if is_timestamp(of) => of.clone(),
        of if is_text(of) => DataType::Utf8,
        DataType::Null => TIMESTAMP,
        _ => return Err(call.wrong()),
    };
    if !is_text(pattern) && !pattern.is_null() {
        return Err(call.wrong());
    }
    Patterns::check(false, call.literal_text(1))?;
    let settings = Arc::clone(call.settings);
    let kernel: Kernel = Arc::new(move |arguments| {
        let column = arguments.column(0)?;
        let patterns = arguments.texts(1)?;
        let mut read = Patterns::new(false);
        let (time, zone): (Box<dyn Fn(usize) -> Option<NaiveDateTime>>, Zone) = match column.data_type() {
            DataType::Timestamp(unit, of) => {
                let (unit, zone) = (*unit, of.is_some().then_some(settings.zone));
                let values = timestamps(&column)?;
                (Box::new(move |row| local_time(values(row)?, unit, zone)), zone.unwrap_or(Zone::UTC))
            }
            _ => {
                let texts = column.as_string::<i32>();
                (Box::new(move |row| texts.is_valid(row).then(|| parse_timestamp(texts.value(row), false))?), Zone::UTC)
            }
        };
        build_texts(arguments.rows, |row, text| {
            let (Some(time), Some(pattern)) = (time(row), patterns.get(row)) else { return Ok(false) };
            let written = read.of(pattern)?.format_into(&time, zone, text);
            written.map_err(|reason| failed(TextError::new(format!("DATE_FORMAT: {reason}"))))?;
            Ok(true)
        })
    });
    Ok(call.bound(vec![taken, DataType::Utf8], DataType::Utf8, kernel))
}

fn to_date(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 1)?;
    Patterns::check(true, call.literal_text(1))?;
    let kernel: Kernel = Arc::new(|arguments| {
        let texts = arguments.texts(0)?;
        let patterns = optional_texts(arguments, 1)?;
        let mut read = Patterns::new(true);
        build_numbers::<Date32Type>(arguments.rows, &DataType::Date32, |row| {
            let Some(text) = texts.get(row) else { return Ok(None) };
            Ok(match &patterns {
                None => parse_date(text).map(to_days),
                Some(patterns) => match patterns.get(row) {
                    Some(pattern) => read.of(pattern)?.parse_text(text).map(|time| to_days(time.date())),
                    None => None,
                },
            })
        })
    });
    Ok(call.bound(arguments, DataType::Date32, kernel))
}

fn to_timestamp(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 1)?;
    Patterns::check(false, call.literal_text(1))?;
    let kernel: Kernel = Arc::new(|arguments| {
        let texts = arguments.texts(0)?;
        let patterns = optional_texts(arguments, 1)?;
        let mut read = Patterns::new(false);
        build_numbers::<TimestampMillisecondType>(arguments.rows, &TIMESTAMP, |row| {
            let Some(text) = texts.get(row) else { return Ok(None) };
            Ok(timestamp_of(text, pattern_of(&patterns, row, DEFAULT), &mut read)?.map(|time| to_millis(&time)))
        })
    });
    Ok(call.bound(arguments, TIMESTAMP, kernel))
}

/// The time that a text says; the usual pattern is that of texts without one.
fn timestamp_of(text: &str, pattern: Option<&str>, read: &mut Patterns) -> Result<Option<NaiveDateTime>, Error> {
    Ok(match pattern {
        None => None,
        Some(DEFAULT) => parse_timestamp(text, false),
        Some(pattern) => read.of(pattern)?.parse_text(text),
    })
}

/// The years of instants that Flink makes of numbers: 0001 to 9999, in milliseconds.
const INSTANTS: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

fn to_timestamp_ltz(call: &Bind<'_>) -> Result<Bound, Error> {
    let first = call.types.first().ok_or_else(|| call.wrong())?;
    let result = call.settings.instant();
    let data_type = result.clone();
    if is_text(first) {
        let arguments = call.take(&[Parameter::Text; 3], 2)?;
        Patterns::check(false, call.literal_text(1))?;
        let kernel: Kernel = Arc::new(move |arguments| {
            let texts = arguments.texts(0)?;
            let (patterns, zones) = (optional_texts(arguments, 1)?, optional_texts(arguments, 2)?);
            let mut read = Patterns::new(false);
            build_numbers::<TimestampMillisecondType>(arguments.rows, &data_type, |row| {
                let (Some(text), Some(zone)) = (texts.get(row), pattern_of(&zones, row, "UTC")) else {
                    return Ok(None);
                };
                let Some(zone) = Zone::parse(zone) else { return Ok(None) };
                let time = timestamp_of(text, pattern_of(&patterns, row, DEFAULT), &mut read)?;
                Ok(time.map(|time| zone.instant(&time)))
            })
        });
        return Ok(call.bound(arguments, result, kernel));
    }
    if !(is_number(first) || first.is_null()) || call.types.len() > 2 {
        return Err(call.wrong());
    }
    let precision = match call.types.len() {
        1 => 3,
        _ => call.literal_whole(1).ok_or_else(|| call.wrong())?,
    };
    let per_unit = match precision {
        0 => 1000,
        3 => 1,
        other => {
            return Err(Error::unsupported(format!("TO_TIMESTAMP_LTZ with a precision of {other} is not supported"))
                .hint("it takes 0 for seconds, or 3 for milliseconds"));
        }
    };
    let whole = crate::common_type::is_integer(first) || first.is_null();
    let taken = if whole { DataType::Int64 } else { DataType::Float64 };
    let arguments: Vec<DataType> =
        std::iter::once(taken).chain(call.types.iter().skip(1).map(|_| DataType::Int64)).collect();
    let kernel: Kernel = Arc::new(move |arguments| {
        let column = arguments.column(0)?;
        let within = |ms: i64| INSTANTS.contains(&ms).then_some(ms);
        if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
            return build_numbers::<TimestampMillisecondType>(arguments.rows, &data_type, |row| {
                Ok(numbers.is_valid(row).then(|| numbers.value(row).checked_mul(per_unit).and_then(within)).flatten())
            });
        }
        let numbers = column.as_primitive::<Float64Type>();
        build_numbers::<TimestampMillisecondType>(arguments.rows, &data_type, |row| {
            Ok(numbers.is_valid(row).then(|| within((numbers.value(row) * per_unit as f64).floor() as i64)).flatten())
        })
    });
    let mut bound = call.bound(arguments, result, kernel);
    bound.function = bound.function.variant(format!("{precision} {}", call.settings.zone_name));
    Ok(bound)
}

fn from_unixtime(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Whole, Parameter::Text], 1)?;
    Patterns::check(true, call.literal_text(1))?;
    let zone = call.settings.zone;
    let kernel: Kernel = Arc::new(move |arguments| {
        let seconds = arguments.longs(0)?;
        let patterns = optional_texts(arguments, 1)?;
        let mut read = Patterns::new(true);
        build_texts(arguments.rows, |row, text| {
            let (Some(seconds), Some(pattern)) = (seconds.get(row), pattern_of(&patterns, row, DEFAULT)) else {
                return Ok(false);
            };
            let pattern = read.of(pattern)?;
            let Some(time) = seconds.checked_mul(1000).and_then(|ms| zone.local(ms)) else { return Ok(false) };
            let written = pattern.format_into(&time, zone, text);
            written.map_err(|reason| failed(TextError::new(format!("FROM_UNIXTIME: {reason}"))))?;
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn unix_timestamp(call: &Bind<'_>) -> Result<Bound, Error> {
    let zone = call.settings.zone;
    if call.types.is_empty() {
        let kernel: Kernel = Arc::new(|arguments| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            let seconds = i64::try_from(now.as_secs()).ok();
            build_longs(arguments.rows, |_| Ok(seconds))
        });
        let mut bound = call.bound(Vec::new(), DataType::Int64, kernel);
        bound.function = bound.function.volatile();
        return Ok(bound);
    }
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 1)?;
    Patterns::check(true, call.literal_text(1))?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        let patterns = optional_texts(arguments, 1)?;
        let mut read = Patterns::new(true);
        build_longs(arguments.rows, |row| {
            let (Some(text), Some(pattern)) = (texts.get(row), pattern_of(&patterns, row, DEFAULT)) else {
                return Ok(None);
            };
            let time = read.of(pattern)?.parse_text(text);
            // A fraction of a second is cut off, also before 1970: Java divides.
            Ok(Some(time.map_or(i64::MIN, |time| zone.instant(&time) / 1000)))
        })
    });
    Ok(call.bound(arguments, DataType::Int64, kernel))
}

fn convert_tz(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, froms, tos) = (arguments.texts(0)?, arguments.texts(1)?, arguments.texts(2)?);
        let mut read = Patterns::new(true);
        build_texts(arguments.rows, |row, out| {
            let (Some(text), Some(from), Some(to)) = (texts.get(row), froms.get(row), tos.get(row)) else {
                return Ok(false);
            };
            // Java takes an unknown zone for GMT.
            let (from, to) = (Zone::parse(from).unwrap_or(Zone::UTC), Zone::parse(to).unwrap_or(Zone::UTC));
            let pattern = read.of(DEFAULT)?;
            let Some(time) = pattern.parse_text(text) else { return Ok(false) };
            let Some(local) = to.local(from.instant(&time)) else { return Ok(false) };
            let written = pattern.format_into(&local, to, out);
            written.map_err(|reason| failed(TextError::new(format!("CONVERT_TZ: {reason}"))))?;
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
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
