//! Times from texts and numbers, and times as texts.

use super::text_error::failed;
use crate::bind::{Bind, Bound, Parameter};
use crate::bound::{Arguments, Kernel};
use crate::cast::write::{local_time, timestamps};
use crate::columns::{Texts, build_longs, build_numbers, build_texts};
use crate::common_type::{is_integer, is_number, is_text, is_timestamp};
use crate::settings::TIMESTAMP;
use crate::text::TextError;
use crate::time::{Pattern, Zone, parse_date, parse_timestamp, to_days, to_millis};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type, TimestampMillisecondType};
use arrow_schema::DataType;
use chrono::NaiveDateTime;
use headpond_state::Error;
use std::sync::Arc;

/// A local time's form without a pattern.
const DEFAULT: &str = "yyyy-MM-dd HH:mm:ss";

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

pub(super) fn date_format(call: &Bind<'_>) -> Result<Bound, Error> {
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

pub(super) fn to_date(call: &Bind<'_>) -> Result<Bound, Error> {
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

pub(super) fn to_timestamp(call: &Bind<'_>) -> Result<Bound, Error> {
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

pub(super) fn to_timestamp_ltz(call: &Bind<'_>) -> Result<Bound, Error> {
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
    let whole = is_integer(first) || first.is_null();
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

pub(super) fn from_unixtime(call: &Bind<'_>) -> Result<Bound, Error> {
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

pub(super) fn unix_timestamp(call: &Bind<'_>) -> Result<Bound, Error> {
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

pub(super) fn convert_tz(call: &Bind<'_>) -> Result<Bound, Error> {
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
