//! Values of state as Arrow columns.

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, Decimal128Builder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMillisecondType, UInt64Type,
};
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use headpond_state::schema::{DataKind, Datum};
use headpond_state::{Error, Result};
use std::sync::Arc;

/// The time zone in which points in time are shown.
const UTC: &str = "UTC";

/// A column's field. Every column may be NULL: values written under an older schema lack the newer fields.
pub(crate) fn field(name: &str, kind: &DataKind) -> Field {
    Field::new(name, data_type(kind), true)
}

fn data_type(kind: &DataKind) -> DataType {
    match kind {
        DataKind::Bool => DataType::Boolean,
        DataKind::Int8 => DataType::Int8,
        DataKind::Int16 => DataType::Int16,
        DataKind::Int32 => DataType::Int32,
        DataKind::Int64 => DataType::Int64,
        DataKind::UInt64 => DataType::UInt64,
        DataKind::Float32 => DataType::Float32,
        DataKind::Float64 => DataType::Float64,
        DataKind::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale as i8),
        DataKind::Date => DataType::Date32,
        DataKind::Timestamp => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataKind::TimestampLtz => DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
        DataKind::Utf8 => DataType::Utf8,
        DataKind::Binary => DataType::Binary,
        DataKind::List(element) => DataType::List(Arc::new(field("item", &element.kind))),
        DataKind::Struct(fields) => {
            DataType::Struct(fields.iter().map(|inner| field(&inner.name, &inner.ty.kind)).collect())
        }
    }
}

/// A column of values of `kind`.
///
/// # Errors
/// [`Corrupt`](headpond_state::ErrorKind::Corrupt) when a value is not of the type.
pub(crate) fn array(kind: &DataKind, values: &[Datum]) -> Result<ArrayRef> {
    Ok(match kind {
        DataKind::Bool => {
            let mut builder = BooleanBuilder::with_capacity(values.len());
            for value in values {
                builder.append_option(match value {
                    Datum::Null => None,
                    Datum::Bool(value) => Some(*value),
                    other => return Err(misfit(kind, other)),
                });
            }
            Arc::new(builder.finish())
        }
        DataKind::Int8 => integers::<Int8Type>(kind, values, |value| value.try_into().ok())?,
        DataKind::Int16 => integers::<Int16Type>(kind, values, |value| value.try_into().ok())?,
        DataKind::Int32 => integers::<Int32Type>(kind, values, |value| value.try_into().ok())?,
        DataKind::Int64 => integers::<Int64Type>(kind, values, Some)?,
        DataKind::UInt64 => integers::<UInt64Type>(kind, values, |value| Some(value as u64))?,
        DataKind::Date => integers::<Date32Type>(kind, values, |value| value.try_into().ok())?,
        DataKind::Timestamp | DataKind::TimestampLtz => integers::<TimestampMillisecondType>(kind, values, Some)?,
        DataKind::Float32 => floats::<Float32Type>(kind, values, |value| value as f32)?,
        DataKind::Float64 => floats::<Float64Type>(kind, values, |value| value)?,
        DataKind::Decimal { .. } => {
            let mut builder = Decimal128Builder::with_capacity(values.len()).with_data_type(data_type(kind));
            for value in values {
                builder.append_option(match value {
                    Datum::Null => None,
                    Datum::Decimal(value) => Some(*value),
                    other => return Err(misfit(kind, other)),
                });
            }
            Arc::new(builder.finish())
        }
        DataKind::Utf8 => {
            let mut builder = StringBuilder::new();
            for value in values {
                match value {
                    Datum::Null => builder.append_null(),
                    Datum::Utf8(text) => builder.append_value(text),
                    other => return Err(misfit(kind, other)),
                }
            }
            Arc::new(builder.finish())
        }
        DataKind::Binary => {
            let mut builder = BinaryBuilder::new();
            for value in values {
                match value {
                    Datum::Null => builder.append_null(),
                    Datum::Binary(bytes) => builder.append_value(bytes),
                    other => return Err(misfit(kind, other)),
                }
            }
            Arc::new(builder.finish())
        }
        DataKind::List(element) => {
            let mut elements = Vec::new();
            let mut lengths = Vec::with_capacity(values.len());
            for value in values {
                let list = match value {
                    Datum::Null => &[][..],
                    Datum::List(list) => list,
                    other => return Err(misfit(kind, other)),
                };
                elements.extend_from_slice(list);
                lengths.push(list.len());
            }
            let offsets = OffsetBuffer::from_lengths(lengths);
            let elements = array(&element.kind, &elements)?;
            Arc::new(ListArray::new(Arc::new(field("item", &element.kind)), offsets, elements, nulls(values)))
        }
        DataKind::Struct(inner) => {
            let mut columns = vec![Vec::with_capacity(values.len()); inner.len()];
            for value in values {
                match value {
                    Datum::Null => columns.iter_mut().for_each(|column| column.push(Datum::Null)),
                    Datum::Struct(fields) if fields.len() == inner.len() => {
                        columns.iter_mut().zip(fields).for_each(|(column, field)| column.push(field.clone()));
                    }
                    other => return Err(misfit(kind, other)),
                }
            }
            let arrays = inner.iter().zip(&columns).map(|(inner, column)| array(&inner.ty.kind, column));
            let arrays = arrays.collect::<Result<Vec<_>>>()?;
            let fields: Fields = inner.iter().map(|inner| field(&inner.name, &inner.ty.kind)).collect();
            let columns = StructArray::try_new_with_length(fields, arrays, nulls(values), values.len());
            Arc::new(columns.map_err(|cause| Error::internal("a column of rows cannot be made").because(cause))?)
        }
    })
}

fn nulls(values: &[Datum]) -> Option<NullBuffer> {
    values.iter().any(Datum::is_null).then(|| values.iter().map(|value| !value.is_null()).collect())
}

fn integers<T: ArrowPrimitiveType>(
    kind: &DataKind,
    values: &[Datum],
    native: impl Fn(i64) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let mut builder = PrimitiveBuilder::<T>::with_capacity(values.len());
    for value in values {
        builder.append_option(match value {
            Datum::Null => None,
            Datum::Int64(number) => Some(native(*number).ok_or_else(|| misfit(kind, value))?),
            other => return Err(misfit(kind, other)),
        });
    }
    Ok(Arc::new(builder.finish().with_data_type(data_type(kind))))
}

fn floats<T: ArrowPrimitiveType>(
    kind: &DataKind,
    values: &[Datum],
    native: impl Fn(f64) -> T::Native,
) -> Result<ArrayRef> {
    let mut builder = PrimitiveBuilder::<T>::with_capacity(values.len());
    for value in values {
        builder.append_option(match value {
            Datum::Null => None,
            Datum::Float64(number) => Some(native(*number)),
            other => return Err(misfit(kind, other)),
        });
    }
    Ok(Arc::new(builder.finish()))
}

#[cold]
fn misfit(kind: &DataKind, value: &Datum) -> Error {
    Error::corrupt(format!("a value of a column of type {kind} is {}", value.variant_name()))
}
