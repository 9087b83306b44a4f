//! Casts of texts to other types.

use super::mode::{Converter, Mode};
use super::target::Target;
use super::times::{instant, write};
use crate::columns::{build_booleans, build_numbers};
use crate::text::{
    TextError, TextResult, parse_bigint, parse_boolean, parse_decimal, parse_double, parse_float, parse_int,
    parse_smallint, parse_tinyint,
};
use crate::time::{DAY_MS, parse_date, parse_time, parse_timestamp, to_days, to_millis};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, StringArray};
use arrow_schema::DataType;
use chrono::Timelike;
use headpond_state::Error;
use std::sync::Arc;

/// The error for a text that is no value of a type.
#[cold]
fn no_value(text: &str, name: &str, reason: Option<TextError>) -> Error {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    let message = match reason {
        Some(reason) => format!("CAST: '{shown}' is no {name}: {reason}"),
        None => format!("CAST: '{shown}' is no {name}"),
    };
    Error::invalid(message).hint(format!("TRY_CAST(… AS {name}) gives NULL for what is none"))
}

/// What makes a column of texts one of values.
type Parser = Box<dyn Fn(&ArrayRef, &Parse) -> Result<ArrayRef, Error> + Send + Sync>;

/// What parses texts; `None` for types whose values have no text.
pub(super) fn converter(_from: &DataType, target: &Target, mode: &Mode) -> Option<Converter> {
    let name = target.name();
    let of_texts = |parse: Parser| {
        let context = Parse { name: name.clone(), mode: mode.clone() };
        let converter: Converter = Arc::new(move |column| parse(column, &context));
        Some(converter)
    };
    let to = target.data_type.clone();
    match &target.data_type {
        DataType::Int8 => {
            of_texts(Box::new(move |column, parse| parse.numbers::<Int8Type>(column, &to, parse_tinyint)))
        }
        DataType::Int16 => {
            of_texts(Box::new(move |column, parse| parse.numbers::<Int16Type>(column, &to, parse_smallint)))
        }
        DataType::Int32 => of_texts(Box::new(move |column, parse| parse.numbers::<Int32Type>(column, &to, parse_int))),
        DataType::Int64 => {
            of_texts(Box::new(move |column, parse| parse.numbers::<Int64Type>(column, &to, parse_bigint)))
        }
        DataType::Float32 => {
            of_texts(Box::new(move |column, parse| parse.numbers::<Float32Type>(column, &to, parse_float)))
        }
        DataType::Float64 => {
            of_texts(Box::new(move |column, parse| parse.numbers::<Float64Type>(column, &to, parse_double)))
        }
        DataType::Decimal128(precision, scale) => {
            let (precision, scale) = (*precision, scale.unsigned_abs());
            of_texts(Box::new(move |column, parse| {
                parse.numbers::<Decimal128Type>(column, &to, |text| parse_decimal(text, precision, scale))
            }))
        }
        DataType::Boolean => of_texts(Box::new(|column, parse| {
            let texts: &StringArray = column.as_string();
            build_booleans(column.len(), |row| match texts.is_valid(row) {
                true => parse.value(texts.value(row), parse_boolean),
                false => Ok(None),
            })
        })),
        DataType::Date32 | DataType::Time32(_) | DataType::Timestamp(_, _) => {
            let fit = target.fit;
            of_texts(Box::new(move |column, parse| {
                let texts: &StringArray = column.as_string();
                write(column.len(), &to, fit, &parse.mode, |row| {
                    if texts.is_null(row) {
                        return Ok(None);
                    }
                    let text = texts.value(row);
                    let point = match &to {
                        DataType::Date32 => parse_date(text).map(|date| (i64::from(to_days(date)) * DAY_MS, 0)),
                        DataType::Time32(_) => parse_time(text).map(|time| {
                            (
                                i64::from(time.num_seconds_from_midnight()) * 1000
                                    + i64::from(time.nanosecond()) / 1_000_000,
                                0,
                            )
                        }),
                        DataType::Timestamp(_, zone) => parse_timestamp(text, true).and_then(|time| {
                            let point = (to_millis(&time), i64::from(time.nanosecond() % 1_000_000));
                            if zone.is_some() { instant(point, parse.mode.settings.zone) } else { Some(point) }
                        }),
                        _ => None,
                    };
                    match point {
                        Some(point) => Ok(Some(point)),
                        None => parse.mode.failed(|| no_value(text, &parse.name, None)),
                    }
                })
            }))
        }
        _ => None,
    }
}

struct Parse {
    name: String,
    mode: Mode,
}

impl Parse {
    fn value<T>(&self, text: &str, parse: impl Fn(&str) -> TextResult<T>) -> Result<Option<T>, Error> {
        match parse(text) {
            Ok(value) => Ok(Some(value)),
            Err(reason) => self.mode.failed(|| no_value(text, &self.name, Some(reason))),
        }
    }

    fn numbers<T: ArrowPrimitiveType>(
        &self,
        column: &ArrayRef,
        to: &DataType,
        parse: impl Fn(&str) -> TextResult<T::Native>,
    ) -> Result<ArrayRef, Error> {
        let texts: &StringArray = column.as_string();
        build_numbers::<T>(column.len(), to, |row| match texts.is_valid(row) {
            true => self.value(texts.value(row), &parse),
            false => Ok(None),
        })
    }
}
