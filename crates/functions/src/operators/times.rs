//! Points and spans of time: `ts + INTERVAL '1' DAY`, `INTERVAL '1' DAY * n`.
//!
//! A day of an interval has 24 hours, in every zone; months are those of the calendar of UTC for a `TIMESTAMP_LTZ`, as
//! in Flink.

use super::operation::{Arithmetic, INTERVAL, operator};
use crate::bind::Bound;
use crate::bound::Kernel;
use crate::columns::build_numbers;
use crate::common_type::{is_integer, is_timestamp};
use crate::time::{add_months_to_days, add_months_to_millis};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, DurationMillisecondType, IntervalMonthDayNano, IntervalMonthDayNanoType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use headpond_state::Error;
use std::sync::Arc;

const DAY_MS: i64 = 86_400_000;
const MS_NS: i64 = 1_000_000;

/// An operation one of whose sides is a point or a span of time.
pub(super) fn bind(operation: Arithmetic, left: &DataType, right: &DataType) -> Option<Bound> {
    let is_interval = |data_type: &DataType| matches!(data_type, DataType::Interval(_));
    let symbol = operation.symbol();
    let shift = |point: &DataType, flipped: bool, sign: i64| {
        let arguments = if flipped { vec![INTERVAL, point.clone()] } else { vec![point.clone(), INTERVAL] };
        operator(symbol, arguments, point.clone(), shifted(point.clone(), flipped, sign))
    };
    let is_point = |data_type: &DataType| is_timestamp(data_type) || *data_type == DataType::Date32;
    Some(match operation {
        Arithmetic::Plus if is_point(left) && is_interval(right) => shift(left, false, 1),
        Arithmetic::Plus if is_interval(left) && is_point(right) => shift(right, true, 1),
        Arithmetic::Minus if is_point(left) && is_interval(right) => shift(left, false, -1),
        Arithmetic::Plus | Arithmetic::Minus if is_interval(left) && is_interval(right) => {
            let sign = if operation == Arithmetic::Plus { 1 } else { -1 };
            operator(symbol, vec![INTERVAL, INTERVAL], INTERVAL, sum(sign))
        }
        Arithmetic::Times if is_interval(left) && is_integer(right) => {
            operator(symbol, vec![INTERVAL, DataType::Int64], INTERVAL, multiplied(false))
        }
        Arithmetic::Times if is_integer(left) && is_interval(right) => {
            operator(symbol, vec![DataType::Int64, INTERVAL], INTERVAL, multiplied(true))
        }
        Arithmetic::Minus if is_timestamp(left) && is_timestamp(right) => {
            let ms = |data_type: &DataType| match data_type {
                DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
                other => other.clone(),
            };
            let (left, right) = (ms(left), ms(right));
            if left != right {
                return None;
            }
            operator(symbol, vec![left, right], DataType::Duration(TimeUnit::Millisecond), difference())
        }
        _ => return None,
    })
}

#[cold]
fn beyond() -> Error {
    Error::invalid("a time is beyond all dates")
}

fn span_ms(span: IntervalMonthDayNano) -> i64 {
    i64::from(span.days) * DAY_MS + span.nanoseconds / MS_NS
}

fn shifted(point: DataType, flipped: bool, sign: i64) -> Kernel {
    let (point_index, span_index) = if flipped { (1, 0) } else { (0, 1) };
    Arc::new(move |arguments| {
        let points = arguments.column(point_index)?;
        let constant = arguments.scalar(span_index).is_some();
        let spans = arguments.column(span_index)?;
        let spans = spans.as_primitive::<IntervalMonthDayNanoType>();
        let months = |span: IntervalMonthDayNano| i64::from(span.months) * sign;
        if let DataType::Date32 = point {
            let points = points.as_primitive::<Date32Type>();
            return build_numbers::<Date32Type>(arguments.rows, &point, |row| {
                if points.is_null(row) || spans.is_null(row) {
                    return Ok(None);
                }
                let span = spans.value(row);
                let days = i64::from(add_months_to_days(points.value(row), months(span)).ok_or_else(beyond)?);
                let days = days + (span_ms(span) * sign).div_euclid(DAY_MS);
                i32::try_from(days).map(Some).map_err(|_| beyond())
            });
        }
        let DataType::Timestamp(unit, _) = &point else { return Err(beyond()) };
        // In the unit of the column: one span for all rows is worked out once.
        let per_ms_up = match unit {
            TimeUnit::Second => 0,
            TimeUnit::Millisecond => 1,
            TimeUnit::Microsecond => 1_000,
            TimeUnit::Nanosecond => MS_NS,
        };
        let add = |value: i64, span: IntervalMonthDayNano| -> Result<i64, Error> {
            let ms = span_ms(span).checked_mul(sign).ok_or_else(beyond)?;
            let months = months(span);
            let in_unit =
                if per_ms_up == 0 { ms.div_euclid(1000) } else { ms.checked_mul(per_ms_up).ok_or_else(beyond)? };
            let moved = if months == 0 {
                value
            } else {
                let per_ms = per_ms_up.max(1);
                let (whole, rest) = if per_ms_up == 0 {
                    (value.checked_mul(1000).ok_or_else(beyond)?, 0)
                } else {
                    (value.div_euclid(per_ms), value.rem_euclid(per_ms))
                };
                let whole = add_months_to_millis(whole, months).ok_or_else(beyond)?;
                if per_ms_up == 0 { whole / 1000 } else { whole.checked_mul(per_ms).ok_or_else(beyond)? + rest }
            };
            moved.checked_add(in_unit).ok_or_else(beyond)
        };
        let values: PrimitiveArray<TimestampMillisecondType> = as_millis(&points)?;
        let result = if constant {
            if spans.is_empty() || spans.is_null(0) {
                PrimitiveArray::<TimestampMillisecondType>::new_null(arguments.rows)
            } else {
                let span = spans.value(0);
                values.try_unary::<_, TimestampMillisecondType, Error>(|value| add(value, span))?
            }
        } else {
            let nulls = NullBuffer::union(values.nulls(), spans.nulls());
            let valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let sums = (0..arguments.rows)
                .map(|row| if valid(row) { add(values.value(row), spans.value(row)) } else { Ok(0) })
                .collect::<Result<Vec<i64>, Error>>()?;
            PrimitiveArray::<TimestampMillisecondType>::new(sums.into(), nulls)
        };
        of_unit(result, &point)
    })
}

/// A timestamp column's numbers, whatever their unit.
fn as_millis(array: &ArrayRef) -> Result<PrimitiveArray<TimestampMillisecondType>, Error> {
    Ok(match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => array.as_primitive::<TimestampSecondType>().reinterpret_cast(),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().reinterpret_cast()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().reinterpret_cast()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            array.as_primitive::<TimestampNanosecondType>().reinterpret_cast()
        }
        other => return Err(Error::internal(format!("a {other} is read as a timestamp"))),
    })
}

/// The numbers as a column of a timestamp's type.
fn of_unit(numbers: PrimitiveArray<TimestampMillisecondType>, wanted: &DataType) -> Result<ArrayRef, Error> {
    Ok(match wanted {
        DataType::Timestamp(TimeUnit::Second, zone) => {
            Arc::new(numbers.reinterpret_cast::<TimestampSecondType>().with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Millisecond, zone) => Arc::new(numbers.with_timezone_opt(zone.clone())),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            Arc::new(numbers.reinterpret_cast::<TimestampMicrosecondType>().with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            Arc::new(numbers.reinterpret_cast::<TimestampNanosecondType>().with_timezone_opt(zone.clone()))
        }
        other => return Err(Error::internal(format!("a timestamp becomes {other}"))),
    })
}

fn spans(
    rows: usize,
    value: impl FnMut(usize) -> Result<Option<IntervalMonthDayNano>, Error>,
) -> Result<ArrayRef, Error> {
    build_numbers::<IntervalMonthDayNanoType>(rows, &INTERVAL, value)
}

#[cold]
fn span_beyond() -> Error {
    Error::invalid("an interval is longer than all intervals")
}

fn sum(sign: i32) -> Kernel {
    Arc::new(move |arguments| {
        let left = arguments.numbers::<IntervalMonthDayNanoType>(0)?;
        let right = arguments.numbers::<IntervalMonthDayNanoType>(1)?;
        spans(arguments.rows, |row| {
            let (Some(left), Some(right)) = (left.get(row), right.get(row)) else { return Ok(None) };
            let part = |left: i32, right: i32| left.checked_add(right.checked_mul(sign)?);
            let sum = || {
                let nanoseconds = left.nanoseconds.checked_add(right.nanoseconds.checked_mul(i64::from(sign))?)?;
                let (months, days) = (part(left.months, right.months)?, part(left.days, right.days)?);
                Some(IntervalMonthDayNano { months, days, nanoseconds })
            };
            sum().map(Some).ok_or_else(span_beyond)
        })
    })
}

fn multiplied(flipped: bool) -> Kernel {
    let (span, factor) = if flipped { (1, 0) } else { (0, 1) };
    Arc::new(move |arguments| {
        let spans_of = arguments.numbers::<IntervalMonthDayNanoType>(span)?;
        let factors = arguments.longs(factor)?;
        spans(arguments.rows, |row| {
            let (Some(span), Some(factor)) = (spans_of.get(row), factors.get(row)) else { return Ok(None) };
            let product = || {
                let narrow = |part: i32| i32::try_from(i64::from(part).checked_mul(factor)?).ok();
                Some(IntervalMonthDayNano {
                    months: narrow(span.months)?,
                    days: narrow(span.days)?,
                    nanoseconds: span.nanoseconds.checked_mul(factor)?,
                })
            };
            product().map(Some).ok_or_else(span_beyond)
        })
    })
}

/// What turns the sign of intervals.
pub(super) fn negative() -> Kernel {
    Arc::new(|arguments| {
        let values = arguments.numbers::<IntervalMonthDayNanoType>(0)?;
        spans(arguments.rows, |row| {
            let Some(span) = values.get(row) else { return Ok(None) };
            let negated = || {
                Some(IntervalMonthDayNano {
                    months: span.months.checked_neg()?,
                    days: span.days.checked_neg()?,
                    nanoseconds: span.nanoseconds.checked_neg()?,
                })
            };
            negated().map(Some).ok_or_else(span_beyond)
        })
    })
}

fn difference() -> Kernel {
    Arc::new(|arguments| {
        let left = arguments.numbers::<TimestampMillisecondType>(0)?;
        let right = arguments.numbers::<TimestampMillisecondType>(1)?;
        build_numbers::<DurationMillisecondType>(arguments.rows, &DataType::Duration(TimeUnit::Millisecond), |row| {
            let (Some(left), Some(right)) = (left.get(row), right.get(row)) else { return Ok(None) };
            left.checked_sub(right).map(Some).ok_or_else(beyond)
        })
    })
}
