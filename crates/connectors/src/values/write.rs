//! Values of Arrow arrays as text.

use super::number::{write_decimal, write_float, write_i64};
use super::sql_type::per_second;
use super::timestamp::{Standard, write_date, write_timestamp};
use super::{base64, sql_type};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, StructArray};
use arrow_schema::{DataType, TimeUnit};
use headpond_runtime::{Error, Result};

/// Appends a value that is not NULL and has no parts, as bare text.
///
/// # Errors
/// [`Unsupported`](headpond_runtime::ErrorKind::Unsupported) for a type that no SQL type stands for.
pub(crate) fn write_scalar(array: &dyn Array, row: usize, standard: Standard, out: &mut Vec<u8>) -> Result<()> {
    match array.data_type() {
        DataType::Utf8 => out.extend_from_slice(array.as_string::<i32>().value(row).as_bytes()),
        DataType::Int64 => write_i64(array.as_primitive::<Int64Type>().value(row), out),
        DataType::Int32 => write_i64(array.as_primitive::<Int32Type>().value(row).into(), out),
        DataType::Int16 => write_i64(array.as_primitive::<Int16Type>().value(row).into(), out),
        DataType::Int8 => write_i64(array.as_primitive::<Int8Type>().value(row).into(), out),
        DataType::Float64 => write_float(array.as_primitive::<Float64Type>().value(row), out),
        DataType::Float32 => write_float(array.as_primitive::<Float32Type>().value(row), out),
        DataType::Boolean => out.extend_from_slice(if array.as_boolean().value(row) { b"true" } else { b"false" }),
        DataType::Decimal128(_, scale) => write_decimal(array.as_primitive::<Decimal128Type>().value(row), *scale, out),
        DataType::Date32 => write_date(array.as_primitive::<Date32Type>().value(row).into(), out),
        DataType::Timestamp(unit, zone) => {
            let ticks = match unit {
                TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
                TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value(row),
                TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
                TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
            };
            write_timestamp(ticks, per_second(*unit), standard, zone.is_some(), out);
        }
        DataType::Binary => base64::encode(array.as_binary::<i32>().value(row), out),
        other => return Err(unwritable(other)),
    }
    Ok(())
}

/// Whether a type has parts, and so is written as JSON in every format.
pub(crate) fn is_nested(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Struct(_) | DataType::List(_) | DataType::Map(..))
}

/// Whether values of the type can be written.
///
/// # Errors
/// [`Unsupported`](headpond_runtime::ErrorKind::Unsupported) if not, naming the type.
pub(crate) fn check_writable(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::Struct(fields) => fields.iter().try_for_each(|field| check_writable(field.data_type())),
        DataType::List(element) => check_writable(element.data_type()),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 && *fields[0].data_type() == DataType::Utf8 => {
                check_writable(fields[1].data_type())
            }
            _ => Err(unwritable(data_type).hint("keys of a MAP are STRING")),
        },
        DataType::Utf8
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Date32
        | DataType::Timestamp(..)
        | DataType::Binary => Ok(()),
        other => Err(unwritable(other)),
    }
}

#[cold]
fn unwritable(data_type: &DataType) -> Error {
    Error::unsupported(format!("values of the type {} have no form as text", sql_type(data_type)))
}

/// A struct's column and name, by position.
pub(crate) fn struct_fields(array: &StructArray) -> impl Iterator<Item = (&str, &dyn Array)> {
    array.fields().iter().zip(array.columns()).map(|(field, column)| (field.name().as_str(), column.as_ref()))
}
