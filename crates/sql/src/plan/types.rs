//! Which types columns of state have, and which types a table's column takes.

use crate::script::type_name;
use arrow_schema::{DataType, Field, TimeUnit};
use headpond_state::{Error, Result};
use std::sync::Arc;

/// The type of ours that holds the values of an Arrow type: DataFusion's functions give more types than SQL names.
///
/// # Errors
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a type without one.
pub(super) fn canonical(data_type: &DataType) -> Result<DataType> {
    Ok(match data_type {
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary | DataType::FixedSizeBinary(_) => DataType::Binary,
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 | DataType::UInt64 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Date64 => DataType::Date32,
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Dictionary(_, values) => canonical(values)?,
        DataType::Null => DataType::Boolean,
        DataType::LargeList(element) | DataType::List(element) | DataType::FixedSizeList(element, _) => {
            DataType::List(Arc::new(canonical_field(element)?))
        }
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| canonical_field(field)).collect::<Result<_>>()?)
        }
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
        | DataType::Date32 => data_type.clone(),
        DataType::Map(_, _) => {
            return Err(Error::unsupported(format!("{} can be neither a key nor compared", type_name(data_type)))
                .hint("take its values one by one, such as m['key']"));
        }
        other => return Err(Error::unsupported(format!("values of type {} are not supported here", type_name(other)))),
    })
}

fn canonical_field(field: &Field) -> Result<Field> {
    Ok(Field::new(field.name(), canonical(field.data_type())?, field.is_nullable()))
}

/// Whether a column of type `to` takes values of `from` without a cast, as a sink of Flink does: a narrower number, any
/// number for a decimal, a time for a date. A decimal that has not room for a number gets NULL.
pub(super) fn is_assignable(from: &DataType, to: &DataType) -> bool {
    let (Ok(from), Ok(to)) = (canonical(from), canonical(to)) else { return from == to };
    match (&from, &to) {
        _ if from == to => true,
        (DataType::Timestamp(_, _), DataType::Timestamp(_, _) | DataType::Date32) => true,
        (DataType::Date32, DataType::Timestamp(_, _)) => true,
        (DataType::Float32, DataType::Float64) => true,
        (DataType::Decimal128(_, _), DataType::Float64 | DataType::Float32 | DataType::Decimal128(_, _)) => true,
        (DataType::Float32 | DataType::Float64, DataType::Decimal128(_, _)) => true,
        (from, DataType::Float32 | DataType::Float64 | DataType::Decimal128(_, _)) => integer_digits(from).is_some(),
        (DataType::Struct(from), DataType::Struct(to)) => {
            from.len() == to.len() && from.iter().zip(to).all(|(a, b)| is_assignable(a.data_type(), b.data_type()))
        }
        (DataType::List(from), DataType::List(to)) => is_assignable(from.data_type(), to.data_type()),
        (from, to) => match (integer_digits(from), integer_digits(to)) {
            (Some(from), Some(to)) => from <= to,
            _ => false,
        },
    }
}

/// The decimal digits that the integers of a type may have.
fn integer_digits(data_type: &DataType) -> Option<i16> {
    match data_type {
        DataType::Int8 => Some(3),
        DataType::Int16 => Some(5),
        DataType::Int32 => Some(10),
        DataType::Int64 => Some(19),
        _ => None,
    }
}
