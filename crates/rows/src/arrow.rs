//! Between Arrow columns and the rows that state holds: types, single values, whole columns.
//!
//! State outlives a job's plan, so it is stored as rows of [`Datum`] under a declared [`RowSchema`], never as Arrow
//! buffers. This module is the one place that knows which Arrow type is which declared type.

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, Decimal128Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMillisecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, ListArray, PrimitiveArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, TimeUnit};
use headpond_state::schema::{DataKind, Datum, Field as RowField, FieldType, RowSchema};
use headpond_state::{Context, Error, Result};
use std::sync::Arc;

/// The declared type of an Arrow field.
///
/// # Errors
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a type that state cannot hold; it names the column.
pub fn field_type(field: &Field) -> Result<FieldType> {
    let kind = match field.data_type() {
        DataType::Boolean => DataKind::Bool,
        DataType::Int8 => DataKind::Int8,
        DataType::Int16 => DataKind::Int16,
        DataType::Int32 => DataKind::Int32,
        DataType::Int64 => DataKind::Int64,
        DataType::UInt64 => DataKind::UInt64,
        DataType::Float32 => DataKind::Float32,
        DataType::Float64 => DataKind::Float64,
        DataType::Decimal128(precision, scale) => {
            let scale = u8::try_from(*scale).map_err(|_| unsupported(field))?;
            DataKind::Decimal { precision: *precision, scale }
        }
        DataType::Date32 => DataKind::Date,
        DataType::Timestamp(TimeUnit::Millisecond, None) => DataKind::Timestamp,
        DataType::Timestamp(TimeUnit::Millisecond, Some(_)) => DataKind::TimestampLtz,
        DataType::Utf8 => DataKind::Utf8,
        DataType::Binary => DataKind::Binary,
        DataType::List(element) => DataKind::List(Box::new(field_type(element)?)),
        DataType::Struct(fields) => DataKind::Struct(row_fields(fields)?),
        _ => return Err(unsupported(field)),
    };
    Ok(FieldType { kind, nullable: field.is_nullable() })
}

/// The declared row of Arrow fields.
///
/// # Errors
/// As [`field_type`].
pub fn row_schema<'a>(fields: impl IntoIterator<Item = &'a Arc<Field>>) -> Result<RowSchema> {
    Ok(RowSchema::new(row_fields(fields)?))
}

fn row_fields<'a>(fields: impl IntoIterator<Item = &'a Arc<Field>>) -> Result<Vec<RowField>> {
    fields.into_iter().map(|field| Ok(RowField::new(field.name(), field_type(field)?))).collect()
}

fn unsupported(field: &Field) -> Error {
    Error::unsupported(format!("a value of type {} cannot be kept in state", field.data_type()))
        .with(Context::Column, field.name())
        .hint("cast the column to a type that state can hold, such as BIGINT, STRING or TIMESTAMP(3)")
}

/// The Arrow type of which [`field_type`] is the declared type. Points in time are in UTC.
pub fn data_type(kind: &DataKind) -> DataType {
    let field = |name: &str, ty: &FieldType| Field::new(name, data_type(&ty.kind), ty.nullable);
    match kind {
        DataKind::Bool => DataType::Boolean,
        DataKind::Int8 => DataType::Int8,
        DataKind::Int16 => DataType::Int16,
        DataKind::Int32 => DataType::Int32,
        DataKind::Int64 => DataType::Int64,
        DataKind::UInt64 => DataType::UInt64,
        DataKind::Float32 => DataType::Float32,
        DataKind::Float64 => DataType::Float64,
        // The scale of a declared decimal is at most 38.
        DataKind::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale as i8),
        DataKind::Date => DataType::Date32,
        DataKind::Timestamp => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataKind::TimestampLtz => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        DataKind::Utf8 => DataType::Utf8,
        DataKind::Binary => DataType::Binary,
        DataKind::List(element) => DataType::List(Arc::new(field("item", element))),
        DataKind::Struct(fields) => {
            DataType::Struct(fields.iter().map(|member| field(&member.name, &member.ty)).collect())
        }
    }
}

/// One value of a column.
///
/// # Errors
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a type that state cannot hold.
///
/// # Panics
/// If there is no such row.
pub fn datum_at(array: &dyn Array, row: usize) -> Result<Datum> {
    if array.is_null(row) {
        return Ok(Datum::Null);
    }
    Ok(match array.data_type() {
        DataType::Boolean => Datum::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Datum::Int64(array.as_primitive::<Int8Type>().value(row).into()),
        DataType::Int16 => Datum::Int64(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => Datum::Int64(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => Datum::Int64(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => Datum::Int64(array.as_primitive::<UInt64Type>().value(row) as i64),
        DataType::Float32 => Datum::Float64(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Datum::Float64(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, _) => Datum::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
        DataType::Date32 => Datum::Int64(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Datum::Int64(array.as_primitive::<TimestampMillisecondType>().value(row))
        }
        DataType::Utf8 => Datum::utf8(array.as_string::<i32>().value(row)),
        DataType::Binary => Datum::binary(array.as_binary::<i32>().value(row)),
        DataType::List(_) => {
            let elements = array.as_list::<i32>().value(row);
            Datum::List((0..elements.len()).map(|index| datum_at(&elements, index)).collect::<Result<_>>()?)
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns();
            Datum::Struct(columns.iter().map(|column| datum_at(column, row)).collect::<Result<_>>()?)
        }
        other => return Err(Error::unsupported(format!("a value of type {other} cannot be kept in state"))),
    })
}

/// A column of one Arrow type from single values.
///
/// # Errors
/// [`Internal`](headpond_state::ErrorKind::Internal) when a value is not of the type,
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a type that state cannot hold.
pub fn column_of(data_type: &DataType, values: &[Datum]) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Boolean => {
            let mut builder = BooleanBuilder::with_capacity(values.len());
            for value in values {
                builder.append_option(match value {
                    Datum::Null => None,
                    Datum::Bool(value) => Some(*value),
                    other => return Err(mismatch(data_type, other)),
                });
            }
            Arc::new(builder.finish())
        }
        DataType::Int8 => integers::<Int8Type>(data_type, values, |value| value.try_into().ok())?,
        DataType::Int16 => integers::<Int16Type>(data_type, values, |value| value.try_into().ok())?,
        DataType::Int32 => integers::<Int32Type>(data_type, values, |value| value.try_into().ok())?,
        DataType::Int64 => integers::<Int64Type>(data_type, values, Some)?,
        DataType::UInt64 => integers::<UInt64Type>(data_type, values, |value| Some(value as u64))?,
        DataType::Date32 => integers::<Date32Type>(data_type, values, |value| value.try_into().ok())?,
        DataType::Timestamp(TimeUnit::Millisecond, _) => integers::<TimestampMillisecondType>(data_type, values, Some)?,
        DataType::Float32 => floats::<Float32Type>(data_type, values, |value| value as f32)?,
        DataType::Float64 => floats::<Float64Type>(data_type, values, |value| value)?,
        DataType::Decimal128(_, _) => {
            let mut builder = Decimal128Builder::with_capacity(values.len()).with_data_type(data_type.clone());
            for value in values {
                builder.append_option(match value {
                    Datum::Null => None,
                    Datum::Decimal(value) => Some(*value),
                    other => return Err(mismatch(data_type, other)),
                });
            }
            Arc::new(builder.finish())
        }
        DataType::Utf8 => {
            let mut builder = StringBuilder::new();
            for value in values {
                match value {
                    Datum::Null => builder.append_null(),
                    Datum::Utf8(text) => builder.append_value(text),
                    other => return Err(mismatch(data_type, other)),
                }
            }
            Arc::new(builder.finish())
        }
        DataType::Binary => {
            let mut builder = BinaryBuilder::new();
            for value in values {
                match value {
                    Datum::Null => builder.append_null(),
                    Datum::Binary(bytes) => builder.append_value(bytes),
                    other => return Err(mismatch(data_type, other)),
                }
            }
            Arc::new(builder.finish())
        }
        DataType::List(element) => list(data_type, element, values)?,
        DataType::Struct(fields) => structure(data_type, fields, values)?,
        other => return Err(Error::unsupported(format!("a value of type {other} cannot be kept in state"))),
    })
}

fn integers<T: ArrowPrimitiveType>(
    data_type: &DataType,
    values: &[Datum],
    convert: impl Fn(i64) -> Option<T::Native>,
) -> Result<ArrayRef> {
    primitives::<T>(data_type, values, |value| match value {
        Datum::Int64(value) => convert(*value),
        _ => None,
    })
}

fn floats<T: ArrowPrimitiveType>(
    data_type: &DataType,
    values: &[Datum],
    convert: impl Fn(f64) -> T::Native,
) -> Result<ArrayRef> {
    primitives::<T>(data_type, values, |value| match value {
        Datum::Float64(value) => Some(convert(*value)),
        _ => None,
    })
}

fn primitives<T: ArrowPrimitiveType>(
    data_type: &DataType,
    values: &[Datum],
    convert: impl Fn(&Datum) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let mut column = Vec::with_capacity(values.len());
    for value in values {
        column.push(match value {
            Datum::Null => None,
            value => Some(convert(value).ok_or_else(|| mismatch(data_type, value))?),
        });
    }
    let array: PrimitiveArray<T> = column.into_iter().collect();
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

fn list(data_type: &DataType, element: &Arc<Field>, values: &[Datum]) -> Result<ArrayRef> {
    let mut elements = Vec::new();
    let mut lengths = Vec::with_capacity(values.len());
    for value in values {
        match value {
            Datum::Null => lengths.push(0),
            Datum::List(list) => {
                elements.extend_from_slice(list);
                lengths.push(list.len());
            }
            other => return Err(mismatch(data_type, other)),
        }
    }
    let elements = column_of(element.data_type(), &elements)?;
    let array = ListArray::try_new(element.clone(), OffsetBuffer::from_lengths(lengths), elements, nulls(values));
    Ok(Arc::new(array.map_err(arrow_error)?))
}

fn structure(data_type: &DataType, fields: &Fields, values: &[Datum]) -> Result<ArrayRef> {
    let mut columns = vec![Vec::with_capacity(values.len()); fields.len()];
    for value in values {
        match value {
            Datum::Null => columns.iter_mut().for_each(|column| column.push(Datum::Null)),
            Datum::Struct(parts) if parts.len() == fields.len() => {
                columns.iter_mut().zip(parts).for_each(|(column, part)| column.push(part.clone()));
            }
            other => return Err(mismatch(data_type, other)),
        }
    }
    let columns = fields.iter().zip(&columns).map(|(field, column)| column_of(field.data_type(), column));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    // Struct arrays check that a required child has no NULL where the struct is not NULL; a NULL struct has NULL
    // children.
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, nulls(values)).map_err(arrow_error)?))
}

fn nulls(values: &[Datum]) -> Option<NullBuffer> {
    values.iter().any(Datum::is_null).then(|| values.iter().map(|value| !value.is_null()).collect())
}

#[cold]
fn arrow_error(error: ArrowError) -> Error {
    Error::internal("a column cannot be made of its values").because(error)
}

#[cold]
fn mismatch(data_type: &DataType, value: &Datum) -> Error {
    Error::internal(format!("{} is no value of type {data_type}", value.variant_name()))
}
