//! Casts between dates, times, timestamps and instants, and of intervals to the milliseconds that they are compared by.

use super::mode::{Converter, Mode};
use super::target::{Fit, Target};
use super::write::{millis_and_nanos, per_millisecond, timestamps};
use crate::columns::build_numbers;
use crate::time::{DAY_MS, Zone, of_millis};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, DurationMillisecondType, DurationNanosecondType, IntervalMonthDayNanoType, Time32MillisecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use headpond_state::Error;
use std::sync::Arc;

/// A point of local time: its milliseconds, and nanoseconds beyond.
type Point = (i64, i64);

pub(super) fn converter(from: &DataType, target: &Target, mode: &Mode) -> Option<Converter> {
    let to = target.data_type.clone();
    if let DataType::Duration(_) = to {
        return matches!(from, DataType::Interval(_) | DataType::Duration(_)).then(|| duration(to));
    }
    let castable = matches!(
        (from, &to),
        (DataType::Date32, DataType::Timestamp(_, _))
            | (DataType::Timestamp(_, _), DataType::Timestamp(_, _) | DataType::Date32 | DataType::Time32(_))
            | (DataType::Time32(_), DataType::Time32(_))
    );
    if !castable {
        return None;
    }
    let (zone, fit, mode) = (mode.settings.zone, target.fit, mode.clone());
    Some(Arc::new(move |column| {
        let points = points(column, zone, &to)?;
        let becomes_instant = matches!(
            (column.data_type(), &to),
            (DataType::Date32 | DataType::Timestamp(_, None), DataType::Timestamp(_, Some(_)))
        );
        write(column.len(), &to, fit, &mode, |row| {
            let point = points(row);
            Ok(if becomes_instant { point.and_then(|point| instant(point, zone)) } else { point })
        })
    }))
}

/// A column's points: in local time, unless both it and the target are instants.
fn points<'a>(
    column: &'a ArrayRef,
    zone: Zone,
    to: &DataType,
) -> Result<Box<dyn Fn(usize) -> Option<Point> + 'a>, Error> {
    Ok(match column.data_type() {
        DataType::Date32 => {
            let days = column.as_primitive::<Date32Type>();
            Box::new(move |row| days.is_valid(row).then(|| (i64::from(days.value(row)) * DAY_MS, 0)))
        }
        DataType::Time32(_) => {
            let times = column.as_primitive::<Time32MillisecondType>();
            Box::new(move |row| times.is_valid(row).then(|| (i64::from(times.value(row)), 0)))
        }
        DataType::Timestamp(unit, from_zone) => {
            let unit = *unit;
            let is_local = from_zone.is_some() && !matches!(to, DataType::Timestamp(_, Some(_)));
            let values = timestamps(column)?;
            Box::new(move |row| {
                let (ms, nanos) = millis_and_nanos(values(row)?, unit)?;
                let ms = if is_local { zone.local_millis(ms)? } else { ms };
                Some((ms, nanos))
            })
        }
        other => return Err(Error::internal(format!("a {other} is read as a time"))),
    })
}

/// A column of the target's type of points: instants for an instant's type, else of local time.
pub(super) fn write(
    rows: usize,
    to: &DataType,
    fit: Option<Fit>,
    mode: &Mode,
    point: impl Fn(usize) -> Result<Option<Point>, Error>,
) -> Result<ArrayRef, Error> {
    fn beyond<T>(mode: &Mode) -> Result<Option<T>, Error> {
        mode.failed(|| Error::invalid("CAST: a time is beyond all dates of its type"))
    }
    match to {
        DataType::Date32 => build_numbers::<Date32Type>(rows, to, |row| match point(row)? {
            None => Ok(None),
            Some((ms, _)) => match i32::try_from(ms.div_euclid(DAY_MS)) {
                Ok(days) => Ok(Some(days)),
                Err(_) => beyond(mode),
            },
        }),
        DataType::Time32(_) => {
            let unit = match fit {
                Some(Fit::Digits(0)) => 1000,
                Some(Fit::Digits(1)) => 100,
                Some(Fit::Digits(2)) => 10,
                _ => 1,
            };
            build_numbers::<Time32MillisecondType>(rows, to, |row| {
                Ok(point(row)?.map(|(ms, _)| {
                    let ms = ms.rem_euclid(DAY_MS);
                    (ms - ms % unit) as i32
                }))
            })
        }
        DataType::Timestamp(unit, _) => {
            // Digits of the second that the type does not keep are cut off.
            let keeps = match fit {
                Some(Fit::Digits(digits)) => 10i64.pow(9 - u32::from(digits.min(9))),
                _ => 1,
            };
            let per = per_millisecond(*unit);
            let value = |row: usize| -> Result<Option<i64>, Error> {
                let Some((ms, nanos)) = point(row)? else { return Ok(None) };
                let value = if per == 0 {
                    Some(ms.div_euclid(1000))
                } else {
                    let of_second = ms.rem_euclid(1000) * 1_000_000 + nanos;
                    let kept = of_second - of_second % keeps;
                    let (ms, nanos) = (ms.div_euclid(1000) * 1000 + kept / 1_000_000, kept % 1_000_000);
                    ms.checked_mul(per).and_then(|ms| ms.checked_add(nanos * per / 1_000_000))
                };
                match value {
                    Some(value) => Ok(Some(value)),
                    None => beyond(mode),
                }
            };
            match unit {
                TimeUnit::Second => build_numbers::<TimestampSecondType>(rows, to, value),
                TimeUnit::Millisecond => build_numbers::<TimestampMillisecondType>(rows, to, value),
                TimeUnit::Microsecond => build_numbers::<TimestampMicrosecondType>(rows, to, value),
                TimeUnit::Nanosecond => build_numbers::<TimestampNanosecondType>(rows, to, value),
            }
        }
        other => Err(Error::internal(format!("a time is written as {other}"))),
    }
}

/// The instant of a local time.
pub(super) fn instant((ms, nanos): Point, zone: Zone) -> Option<Point> {
    if zone == Zone::UTC {
        return Some((ms, nanos));
    }
    of_millis(ms).map(|local| (zone.instant(&local), nanos))
}

fn duration(to: DataType) -> Converter {
    Arc::new(move |column| match column.data_type() {
        DataType::Interval(_) => {
            let spans = column.as_primitive::<IntervalMonthDayNanoType>();
            build_numbers::<DurationMillisecondType>(column.len(), &to, |row| {
                Ok(spans.is_valid(row).then(|| {
                    let span = spans.value(row);
                    // A month counts as 30 days where it is compared with days.
                    let days = i64::from(span.months) * 30 + i64::from(span.days);
                    days * DAY_MS + span.nanoseconds / 1_000_000
                }))
            })
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            let spans = column.as_primitive::<DurationNanosecondType>();
            build_numbers::<DurationMillisecondType>(column.len(), &to, |row| {
                Ok(spans.is_valid(row).then(|| spans.value(row) / 1_000_000))
            })
        }
        other => Err(Error::internal(format!("a {other} is read as an interval"))),
    })
}
