//! Values as texts, as CAST writes them: `TRUE`, `1.0E7`, `2024-02-29 13:14:15.678`, `[1, NULL]`, `{a=1}`, `(1, x)`.

use crate::settings::Settings;
use crate::text::{write_decimal, write_double, write_float};
use crate::time::{Zone, of_millis, write_date, write_time, write_timestamp};
use crate::type_name::digits;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, ListArray, MapArray, StringArray, StructArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::{NaiveDateTime, NaiveTime, TimeDelta};
use headpond_state::Error;
use std::fmt::Write;

/// Appends a row's value; `false` for NULL.
pub(crate) type RowWriter<'a> = Box<dyn Fn(usize, &mut String) -> bool + 'a>;

/// Whether values of a type have a text.
pub(crate) fn is_writable(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) => is_writable(item.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_writable(field.data_type())),
        DataType::Map(entries, _) => is_writable(entries.data_type()),
        DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(_, _)
        | DataType::Utf8
        | DataType::Binary
        | DataType::Date32
        | DataType::Time32(TimeUnit::Millisecond)
        | DataType::Timestamp(_, _)
        | DataType::Interval(arrow_schema::IntervalUnit::MonthDayNano)
        | DataType::Null => true,
        _ => false,
    }
}

macro_rules! whole {
    ($column:expr, $t:ty) => {{
        let values = $column.as_primitive::<$t>();
        Box::new(move |row, text| {
            let valid = values.is_valid(row);
            if valid {
                let _ = write!(text, "{}", values.value(row));
            }
            valid
        })
    }};
}

/// What writes a column's values. `time_digits`: of a `TIME`, how many digits its seconds have.
///
/// # Errors
/// [`Internal`](headpond_state::ErrorKind::Internal) for a type whose values have no text.
pub(crate) fn rows<'a>(column: &'a ArrayRef, settings: &'a Settings) -> Result<RowWriter<'a>, Error> {
    Ok(match column.data_type() {
        DataType::Null => Box::new(|_, _| false),
        DataType::Boolean => {
            let values: &BooleanArray = column.as_boolean();
            Box::new(move |row, text| {
                let valid = values.is_valid(row);
                if valid {
                    text.push_str(if values.value(row) { "TRUE" } else { "FALSE" });
                }
                valid
            })
        }
        DataType::Int8 => whole!(column, Int8Type),
        DataType::Int16 => whole!(column, Int16Type),
        DataType::Int32 => whole!(column, Int32Type),
        DataType::Int64 => whole!(column, Int64Type),
        DataType::Float32 => {
            let values = column.as_primitive::<Float32Type>();
            Box::new(move |row, text| {
                let valid = values.is_valid(row);
                if valid {
                    write_float(text, values.value(row));
                }
                valid
            })
        }
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>();
            Box::new(move |row, text| {
                let valid = values.is_valid(row);
                if valid {
                    write_double(text, values.value(row));
                }
                valid
            })
        }
        DataType::Decimal128(_, scale) => {
            let values = column.as_primitive::<Decimal128Type>();
            let scale = scale.unsigned_abs();
            Box::new(move |row, text| {
                let valid = values.is_valid(row);
                if valid {
                    write_decimal(text, values.value(row), scale);
                }
                valid
            })
        }
        DataType::Utf8 => {
            let values: &StringArray = column.as_string();
            Box::new(move |row, text| {
                let valid = values.is_valid(row);
                if valid {
                    text.push_str(values.value(row));
                }
                valid
            })
        }
        DataType::Binary => {
            let values: &BinaryArray = column.as_binary();
            Box::new(move |row, text| {
                let valid = values.is_valid(row);
                if valid {
                    text.push_str(&String::from_utf8_lossy(values.value(row)));
                }
                valid
            })
        }
        DataType::Date32 => {
            let values = column.as_primitive::<Date32Type>();
            Box::new(move |row, text| {
                let valid = values.is_valid(row);
                if valid {
                    write_date(values.value(row), text);
                }
                valid
            })
        }
        DataType::Time32(TimeUnit::Millisecond) => {
            let values = column.as_primitive::<Time32MillisecondType>();
            Box::new(move |row, text| {
                let valid = values.is_valid(row);
                if valid {
                    let ms = values.value(row).unsigned_abs();
                    let time = NaiveTime::from_num_seconds_from_midnight_opt(ms / 1000, ms % 1000 * 1_000_000);
                    write_time(time.unwrap_or_default(), if ms % 1000 == 0 { 0 } else { 3 }, text);
                }
                valid
            })
        }
        DataType::Timestamp(unit, zone) => {
            let (unit, zone) = (*unit, zone.is_some().then_some(settings.zone));
            let values = timestamps(column)?;
            Box::new(move |row, text| {
                let Some(value) = values(row) else { return false };
                match local_time(value, unit, zone) {
                    Some(time) => write_timestamp(&time, digits(unit), text),
                    None => {
                        let _ = write!(text, "{value}");
                    }
                }
                true
            })
        }
        DataType::Interval(_) => {
            let values = column.as_primitive::<IntervalMonthDayNanoType>();
            Box::new(move |row, text| {
                let valid = values.is_valid(row);
                if valid {
                    let span = values.value(row);
                    let ms = i64::from(span.days) * 86_400_000 + span.nanoseconds / 1_000_000;
                    write_interval(i64::from(span.months), ms, text);
                }
                valid
            })
        }
        DataType::List(_) => {
            let lists: &ListArray = column.as_list();
            let write = rows(lists.values(), settings)?;
            Box::new(move |row, text| {
                let valid = lists.is_valid(row);
                if valid {
                    let offsets = lists.value_offsets();
                    let elements = offsets[row] as usize..offsets[row + 1] as usize;
                    text.push('[');
                    for (number, index) in elements.enumerate() {
                        separate(number, text);
                        or_null(&write, index, text);
                    }
                    text.push(']');
                }
                valid
            })
        }
        DataType::Map(_, _) => {
            let maps: &MapArray = column.as_map();
            let (keys, values) = (rows(maps.keys(), settings)?, rows(maps.values(), settings)?);
            Box::new(move |row, text| {
                let valid = maps.is_valid(row);
                if valid {
                    let offsets = maps.value_offsets();
                    let entries = offsets[row] as usize..offsets[row + 1] as usize;
                    text.push('{');
                    for (number, index) in entries.enumerate() {
                        separate(number, text);
                        or_null(&keys, index, text);
                        text.push('=');
                        or_null(&values, index, text);
                    }
                    text.push('}');
                }
                valid
            })
        }
        DataType::Struct(_) => {
            let records: &StructArray = column.as_struct();
            let fields = records.columns().iter().map(|field| rows(field, settings)).collect::<Result<Vec<_>, _>>()?;
            Box::new(move |row, text| {
                let valid = records.is_valid(row);
                if valid {
                    text.push('(');
                    for (number, field) in fields.iter().enumerate() {
                        separate(number, text);
                        or_null(field, row, text);
                    }
                    text.push(')');
                }
                valid
            })
        }
        other => return Err(Error::internal(format!("a {other} has no text"))),
    })
}

fn separate(number: usize, text: &mut String) {
    if number > 0 {
        text.push_str(", ");
    }
}

fn or_null(write: &RowWriter<'_>, row: usize, text: &mut String) {
    if !write(row, text) {
        text.push_str("NULL");
    }
}

/// Appends `+1-02` or `+1 02:03:04.567`.
fn write_interval(months: i64, ms: i64, text: &mut String) {
    let negative = months < 0 || ms < 0;
    let (months, ms) = (months.unsigned_abs(), ms.unsigned_abs());
    text.push(if negative { '-' } else { '+' });
    let _ = if months > 0 {
        write!(text, "{}-{:02}", months / 12, months % 12)
    } else {
        let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
        let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
        write!(text, "{days} {hours:02}:{minutes:02}:{:02}.{:03}", rest / 1000 % 60, rest % 1000)
    };
}

/// A timestamp column's numbers, in its unit.
pub(crate) fn timestamps(column: &ArrayRef) -> Result<Box<dyn Fn(usize) -> Option<i64> + '_>, Error> {
    macro_rules! values {
        ($t:ty) => {{
            let values = column.as_primitive::<$t>();
            Box::new(move |row| values.is_valid(row).then(|| values.value(row)))
        }};
    }
    Ok(match column.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => values!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => values!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => values!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => values!(TimestampNanosecondType),
        other => return Err(Error::internal(format!("a {other} is read as a timestamp"))),
    })
}

/// How many of a unit a millisecond has; of seconds, none.
pub(crate) fn per_millisecond(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1_000_000,
    }
}

/// A timestamp's milliseconds, and the nanoseconds beyond them; `None` beyond all times.
pub(crate) fn millis_and_nanos(value: i64, unit: TimeUnit) -> Option<(i64, i64)> {
    match per_millisecond(unit) {
        0 => value.checked_mul(1000).map(|ms| (ms, 0)),
        per => Some((value.div_euclid(per), value.rem_euclid(per) * (1_000_000 / per))),
    }
}

/// The local time of a timestamp; `None` beyond all dates.
pub(crate) fn local_time(value: i64, unit: TimeUnit, zone: Option<Zone>) -> Option<NaiveDateTime> {
    let (ms, nanos) = millis_and_nanos(value, unit)?;
    let local = match zone {
        Some(zone) => zone.local(ms)?,
        None => of_millis(ms)?,
    };
    local.checked_add_signed(TimeDelta::nanoseconds(nanos))
}
