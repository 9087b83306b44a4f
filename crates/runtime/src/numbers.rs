//! Columns of numbers, and the numbers that state holds of them, without a [`Datum`](headpond_state::schema::Datum) for
//! each value.
//!
//! A number is an integer, a date, a timestamp, or the bits of a `float64`, as the row codec's numbers are.

use crate::batch::arrow_error;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMillisecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};
use headpond_state::{Error, Result};
use std::sync::Arc;

/// Whether values of this type are numbers.
pub fn is_number(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt64
            | DataType::Date32
            | DataType::Timestamp(TimeUnit::Millisecond, _)
            | DataType::Float64
    )
}

/// The values of a column of numbers.
#[derive(Debug, Clone, Copy)]
pub struct NumberColumn<'a> {
    values: Values<'a>,
    nulls: Option<&'a NullBuffer>,
}

#[derive(Debug, Clone, Copy)]
enum Values<'a> {
    Bytes(&'a [i8]),
    Shorts(&'a [i16]),
    Ints(&'a [i32]),
    Longs(&'a [i64]),
    Unsigned(&'a [u64]),
    Floats(&'a [f64]),
}

impl<'a> NumberColumn<'a> {
    /// The column's values; `None`: they are [no numbers](is_number).
    pub fn of(column: &'a dyn Array) -> Option<Self> {
        let values = match column.data_type() {
            DataType::Int8 => Values::Bytes(column.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Values::Shorts(column.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Values::Ints(column.as_primitive::<Int32Type>().values()),
            DataType::Date32 => Values::Ints(column.as_primitive::<Date32Type>().values()),
            DataType::Int64 => Values::Longs(column.as_primitive::<Int64Type>().values()),
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                Values::Longs(column.as_primitive::<TimestampMillisecondType>().values())
            }
            DataType::UInt64 => Values::Unsigned(column.as_primitive::<UInt64Type>().values()),
            DataType::Float64 => Values::Floats(column.as_primitive::<Float64Type>().values()),
            _ => return None,
        };
        Some(NumberColumn { values, nulls: column.nulls() })
    }

    /// A row's number; `None`: NULL.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        Some(match self.values {
            Values::Bytes(values) => values[row].into(),
            Values::Shorts(values) => values[row].into(),
            Values::Ints(values) => values[row].into(),
            Values::Longs(values) => values[row],
            Values::Unsigned(values) => values[row] as i64,
            Values::Floats(values) => values[row].to_bits() as i64,
        })
    }
}

/// A column of one Arrow type from numbers.
///
/// # Errors
/// [`Internal`](headpond_state::ErrorKind::Internal) for a type whose values are [no numbers](is_number), or a number
/// that is none of the type's.
pub fn column_of_numbers(data_type: &DataType, numbers: &[Option<i64>]) -> Result<ArrayRef> {
    match data_type {
        DataType::Int8 => column::<Int8Type>(data_type, numbers, |number| number.try_into().ok()),
        DataType::Int16 => column::<Int16Type>(data_type, numbers, |number| number.try_into().ok()),
        DataType::Int32 => column::<Int32Type>(data_type, numbers, |number| number.try_into().ok()),
        DataType::Date32 => column::<Date32Type>(data_type, numbers, |number| number.try_into().ok()),
        DataType::Int64 => column::<Int64Type>(data_type, numbers, Some),
        DataType::Timestamp(TimeUnit::Millisecond, _) => column::<TimestampMillisecondType>(data_type, numbers, Some),
        DataType::UInt64 => column::<UInt64Type>(data_type, numbers, |number| Some(number as u64)),
        DataType::Float64 => column::<Float64Type>(data_type, numbers, |number| Some(f64::from_bits(number as u64))),
        other => Err(Error::internal(format!("values of type {other} are no numbers"))),
    }
}

fn column<T: ArrowPrimitiveType>(
    data_type: &DataType,
    numbers: &[Option<i64>],
    convert: impl Fn(i64) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let mut values = Vec::with_capacity(numbers.len());
    let mut has_nulls = false;
    for number in numbers {
        has_nulls |= number.is_none();
        let value = convert(number.unwrap_or_default());
        values.push(value.ok_or_else(|| Error::internal(format!("a number is no value of type {data_type}")))?);
    }
    let nulls = has_nulls.then(|| numbers.iter().map(Option::is_some).collect::<NullBuffer>());
    let array = PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), nulls).map_err(arrow_error)?;
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}
