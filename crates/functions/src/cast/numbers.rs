//! Casts between numbers, and between them and truth values.
//!
//! A fraction is cut off; a `DOUBLE` beyond a whole number's type becomes its nearest, NaN zero; a decimal that has not
//! room for a number is NULL. A whole number beyond its type fails, where Flink lets it wrap around.

use super::mode::{Converter, Mode};
use crate::columns::{build_booleans, build_numbers, decimals, floats};
use crate::common_type::{is_floating, is_integer};
use crate::operators::{OVERFLOW, has_digits, power, rescaled};
use crate::text::double_to_decimal;
use crate::type_name::type_name;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use arrow_schema::DataType;
use headpond_state::Error;
use std::sync::Arc;

pub(super) fn converter(from: &DataType, to: &DataType, mode: &Mode) -> Option<Converter> {
    let is_source = |data_type: &DataType| {
        is_integer(data_type)
            || is_floating(data_type)
            || matches!(data_type, DataType::Decimal128(_, _) | DataType::Boolean)
    };
    if !is_source(from) {
        return None;
    }
    let mode = mode.clone();
    Some(match to {
        DataType::Int8 => whole::<Int8Type>(DataType::Int8, mode),
        DataType::Int16 => whole::<Int16Type>(DataType::Int16, mode),
        DataType::Int32 => whole::<Int32Type>(DataType::Int32, mode),
        DataType::Int64 => whole::<Int64Type>(DataType::Int64, mode),
        DataType::Float32 => Arc::new(|column| {
            let doubles = reals(column)?;
            build_numbers::<Float32Type>(column.len(), &DataType::Float32, |row| {
                Ok(doubles(row).map(|real| real as f32))
            })
        }),
        DataType::Float64 => Arc::new(|column| {
            let doubles = reals(column)?;
            build_numbers::<Float64Type>(column.len(), &DataType::Float64, |row| Ok(doubles(row)))
        }),
        DataType::Decimal128(precision, scale) => decimal(*precision, *scale, mode),
        DataType::Boolean => Arc::new(|column| {
            let doubles = reals(column)?;
            build_booleans(column.len(), |row| Ok(doubles(row).map(|real| real != 0.0)))
        }),
        _ => return None,
    })
}

type Rows<'a, T> = Box<dyn Fn(usize) -> Option<T> + 'a>;

/// A column's whole numbers; `None` for columns that are none.
fn wholes(column: &ArrayRef) -> Option<Rows<'_, i64>> {
    fn rows<T: ArrowPrimitiveType>(column: &ArrayRef) -> Option<Rows<'_, i64>>
    where
        i64: From<T::Native>,
    {
        let values = column.as_primitive_opt::<T>()?;
        Some(Box::new(|row| values.is_valid(row).then(|| i64::from(values.value(row)))))
    }
    match column.data_type() {
        DataType::Int8 => rows::<Int8Type>(column),
        DataType::Int16 => rows::<Int16Type>(column),
        DataType::Int32 => rows::<Int32Type>(column),
        DataType::Int64 => rows::<Int64Type>(column),
        DataType::Boolean => {
            let values: &BooleanArray = column.as_boolean();
            Some(Box::new(|row| values.is_valid(row).then(|| i64::from(values.value(row)))))
        }
        _ => None,
    }
}

/// A column's numbers as `f64`.
fn reals(column: &ArrayRef) -> Result<Rows<'_, f64>, Error> {
    if let Some(wholes) = wholes(column) {
        return Ok(Box::new(move |row| wholes(row).map(|whole| whole as f64)));
    }
    if let Some(floats) = floats(column) {
        return Ok(Box::new(move |row| floats.is_valid(row).then(|| floats.value(row))));
    }
    let (values, scale) = decimals(column)?;
    Ok(Box::new(move |row| values.is_valid(row).then(|| real_of_decimal(values.value(row), scale))))
}

/// The `f64` nearest to a decimal.
pub(crate) fn real_of_decimal(value: i128, scale: i8) -> f64 {
    const EXACT: u128 = 1 << 53;
    let scale = u32::from(scale.unsigned_abs());
    if value.unsigned_abs() <= EXACT && scale <= 22 {
        return value as f64 / 10f64.powi(scale as i32);
    }
    format!("{value}e-{scale}").parse().unwrap_or(f64::NAN)
}

fn whole<T>(to: DataType, mode: Mode) -> Converter
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i64> + TryFrom<i128>,
{
    let width = match to {
        DataType::Int8 => 8,
        DataType::Int16 => 16,
        DataType::Int32 => 32,
        _ => 64,
    };
    // Flink's result: the number's last bits.
    let wrapped = move |number: i128| {
        let shift = 128 - width;
        T::Native::try_from((number << shift) >> shift).ok()
    };
    Arc::new(move |column| {
        let fit = |number: i128| -> Result<Option<T::Native>, Error> {
            match T::Native::try_from(number) {
                Ok(fitting) => Ok(Some(fitting)),
                Err(_) if mode.settings.wraps => Ok(wrapped(number)),
                Err(_) => mode.failed(|| {
                    Error::invalid(format!("CAST: {number} does not fit {}", type_name(&to))).hint(OVERFLOW)
                }),
            }
        };
        if let Some(values) = column.as_primitive_opt::<Int64Type>()
            && values.values().iter().all(|value| T::Native::try_from(*value).is_ok())
        {
            // As a rule all fit: then the column is narrowed as a whole.
            let fitting: PrimitiveArray<T> = values.unary(|value| T::Native::try_from(value).unwrap_or_default());
            return Ok(Arc::new(fitting));
        }
        if let Some(wholes) = wholes(column) {
            return build_numbers::<T>(column.len(), &to, |row| match wholes(row) {
                Some(number) => fit(i128::from(number)),
                None => Ok(None),
            });
        }
        if let Some(floats) = floats(column) {
            return build_numbers::<T>(column.len(), &to, |row| {
                if floats.is_null(row) {
                    return Ok(None);
                }
                // As in Java: the nearest number of INT or BIGINT, then the narrower type.
                let real = floats.value(row);
                fit(if width == 64 { i128::from(real as i64) } else { i128::from(real as i32) })
            });
        }
        let (values, scale) = decimals(column)?;
        let divisor = power(u32::from(scale.unsigned_abs())).unwrap_or(i128::MAX);
        build_numbers::<T>(column.len(), &to, |row| {
            if values.is_null(row) { Ok(None) } else { fit(values.value(row) / divisor) }
        })
    })
}

fn decimal(precision: u8, scale: i8, mode: Mode) -> Converter {
    let to = DataType::Decimal128(precision, scale);
    Arc::new(move |column| {
        let fit = |value: Option<i128>| value.filter(|value| has_digits(*value, precision));
        if let Some(wholes) = wholes(column) {
            return build_numbers::<Decimal128Type>(column.len(), &to, |row| {
                Ok(wholes(row).and_then(|number| fit(rescaled(i128::from(number), 0, scale))))
            });
        }
        if let Some(reals) = floats(column) {
            let single = *column.data_type() == DataType::Float32;
            return build_numbers::<Decimal128Type>(column.len(), &to, |row| {
                if reals.is_null(row) {
                    return Ok(None);
                }
                let real = reals.value(row);
                if !real.is_finite() {
                    return mode.failed(|| Error::invalid(format!("CAST: {real} is no {}", type_name(&to))));
                }
                // The digits that a FLOAT shows, not those of the DOUBLE it becomes.
                let real = if single { (real as f32).to_string().parse().unwrap_or(real) } else { real };
                double_to_decimal(real, precision, scale.unsigned_abs())
                    .or_else(|reason| mode.failed(|| Error::invalid(reason.0)))
            });
        }
        let (values, from_scale) = decimals(column)?;
        build_numbers::<Decimal128Type>(column.len(), &to, |row| {
            Ok(if values.is_null(row) { None } else { fit(rescaled(values.value(row), from_scale, scale)) })
        })
    })
}
