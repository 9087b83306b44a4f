//! The format `row`.
//!
//! A sequence of fields is `count (varint) | null bitmap | fields`: bit `i % 8` of the bitmap's byte `i / 8` is set
//! when field `i` is NULL, and a NULL takes no further byte. The others, little-endian: `bool` 1 byte; integers, `date`
//! (4) and timestamps (8) in their width; floats as IEEE 754; `decimal` 16; `utf8` and `binary` `length (varint) |
//! bytes`; `list` and `struct` a sequence of their own.

use headpond_state::bytes::{ByteReader, put_delimited, put_varint, text, truth};
use headpond_state::schema::Datum;
use headpond_state::schema::{DataKind, Field, FieldType};
use headpond_state::{Context, Error, Result};

#[inline]
pub(crate) fn encode_fields(fields: &[Field], row: &[Datum], out: &mut Vec<u8>) -> Result<()> {
    let bitmap = begin_sequence(row.len(), out);
    for (index, (field, datum)) in fields.iter().zip(row).enumerate() {
        encode_field(&field.ty, datum, bitmap, index, out)
            .map_err(|error| error.with(Context::Column, format_args!("`{}`", field.name)))?;
    }
    Ok(())
}

/// Appends the count and an empty bitmap, and returns where the bitmap is.
#[inline]
fn begin_sequence(count: usize, out: &mut Vec<u8>) -> usize {
    put_varint(count as u64, out);
    let bitmap = out.len();
    out.resize(bitmap + count.div_ceil(8), 0);
    bitmap
}

#[inline]
fn encode_field(ty: &FieldType, datum: &Datum, bitmap: usize, index: usize, out: &mut Vec<u8>) -> Result<()> {
    if !datum.is_null() {
        return encode_value(&ty.kind, datum, out);
    }
    if !ty.nullable {
        return Err(not_nullable(ty));
    }
    out[bitmap + index / 8] |= 1 << (index % 8);
    Ok(())
}

#[cold]
pub(crate) fn not_nullable(ty: &FieldType) -> Error {
    Error::invalid(format!("NULL does not fit {ty}, which is declared without NULL"))
}

#[inline]
fn encode_value(kind: &DataKind, datum: &Datum, out: &mut Vec<u8>) -> Result<()> {
    match (kind, datum) {
        (DataKind::Int64 | DataKind::UInt64 | DataKind::Timestamp | DataKind::TimestampLtz, Datum::Int64(value)) => {
            out.extend_from_slice(&value.to_le_bytes())
        }
        (DataKind::Float64, Datum::Float64(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (DataKind::Float32, Datum::Float64(value)) => out.extend_from_slice(&(*value as f32).to_le_bytes()),
        (DataKind::Int32 | DataKind::Date, Datum::Int64(value)) => {
            let value = i32::try_from(*value).map_err(|_| kind.mismatch(datum))?;
            out.extend_from_slice(&value.to_le_bytes());
        }
        (DataKind::Int16, Datum::Int64(value)) => {
            let value = i16::try_from(*value).map_err(|_| kind.mismatch(datum))?;
            out.extend_from_slice(&value.to_le_bytes());
        }
        (DataKind::Int8, Datum::Int64(value)) => {
            let value = i8::try_from(*value).map_err(|_| kind.mismatch(datum))?;
            out.extend_from_slice(&value.to_le_bytes());
        }
        (DataKind::Bool, Datum::Bool(value)) => out.push(u8::from(*value)),
        (DataKind::Decimal { .. }, Datum::Decimal(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (DataKind::Utf8, Datum::Utf8(value)) => put_delimited(value.as_bytes(), out),
        (DataKind::Binary, Datum::Binary(value)) => put_delimited(value, out),
        _ => return encode_nested(kind, datum, out),
    }
    Ok(())
}

/// Apart from the flat types, so that those are inlined into the loop over a row's fields.
#[inline(never)]
fn encode_nested(kind: &DataKind, datum: &Datum, out: &mut Vec<u8>) -> Result<()> {
    match (kind, datum) {
        (DataKind::List(element), Datum::List(elements)) => {
            let bitmap = begin_sequence(elements.len(), out);
            for (index, datum) in elements.iter().enumerate() {
                encode_field(element, datum, bitmap, index, out)?;
            }
        }
        (DataKind::Struct(fields), Datum::Struct(row)) if fields.len() == row.len() && !row.is_empty() => {
            encode_fields(fields, row, out)?;
        }
        _ => return Err(kind.mismatch(datum)),
    }
    Ok(())
}

/// Appends the fields to `row`, NULL where `input` has fewer.
#[inline]
pub(crate) fn decode_fields(fields: &[Field], input: &mut ByteReader<'_>, row: &mut Vec<Datum>) -> Result<()> {
    let count = input.length()?;
    if count > fields.len() {
        return Err(more_fields(count, fields.len()));
    }
    let bitmap = input.take(count.div_ceil(8))?;
    row.reserve(fields.len());
    for (index, field) in fields.iter().enumerate() {
        let datum = if index < count && !bit(bitmap, index) {
            decode_value(&field.ty.kind, input)
        } else if field.ty.nullable {
            Ok(Datum::Null)
        } else {
            Err(absent(&field.ty))
        };
        row.push(datum.map_err(|error| error.with(Context::Column, format_args!("`{}`", field.name)))?);
    }
    Ok(())
}

#[inline]
fn bit(bitmap: &[u8], index: usize) -> bool {
    bitmap[index / 8] & (1 << (index % 8)) != 0
}

#[cold]
fn more_fields(count: usize, expected: usize) -> Error {
    Error::incompatible(format!("a row was written with {count} fields, its schema has {expected}"))
}

/// The error for a value without a field that must be there.
#[cold]
pub(crate) fn absent(ty: &FieldType) -> Error {
    Error::incompatible(format!("a value has NULL or nothing where its schema has {ty}"))
        .hint("a field added to a row must be nullable")
}

#[inline]
fn decode_value(kind: &DataKind, input: &mut ByteReader<'_>) -> Result<Datum> {
    Ok(match kind {
        DataKind::Int64 | DataKind::UInt64 | DataKind::Timestamp | DataKind::TimestampLtz => {
            Datum::Int64(i64::from_le_bytes(input.array()?))
        }
        DataKind::Float64 => Datum::Float64(f64::from_le_bytes(input.array()?)),
        DataKind::Float32 => Datum::Float64(f64::from(f32::from_le_bytes(input.array()?))),
        DataKind::Int32 | DataKind::Date => Datum::Int64(i64::from(i32::from_le_bytes(input.array()?))),
        DataKind::Int16 => Datum::Int64(i64::from(i16::from_le_bytes(input.array()?))),
        DataKind::Int8 => Datum::Int64(i64::from(i8::from_le_bytes(input.array()?))),
        DataKind::Bool => Datum::Bool(truth(input.byte()?)?),
        DataKind::Decimal { .. } => Datum::Decimal(i128::from_le_bytes(input.array()?)),
        DataKind::Utf8 => Datum::Utf8(text(input.delimited()?)?.into()),
        DataKind::Binary => Datum::Binary(input.delimited()?.into()),
        DataKind::List(_) | DataKind::Struct(_) => decode_nested(kind, input)?,
    })
}

#[inline(never)]
fn decode_nested(kind: &DataKind, input: &mut ByteReader<'_>) -> Result<Datum> {
    match kind {
        DataKind::List(element) => decode_list(element, input).map(Datum::List),
        DataKind::Struct(fields) => {
            let mut row = Vec::with_capacity(fields.len());
            decode_fields(fields, input, &mut row)?;
            Ok(Datum::Struct(row))
        }
        flat => decode_value(flat, input),
    }
}

fn decode_list(element: &FieldType, input: &mut ByteReader<'_>) -> Result<Vec<Datum>> {
    let count = input.length()?;
    // The bitmap is read before anything is allocated, so the bytes there are bound the allocation.
    let bitmap = input.take(count.div_ceil(8))?;
    let mut elements = Vec::with_capacity(count);
    for index in 0..count {
        elements.push(if !bit(bitmap, index) {
            decode_value(&element.kind, input)?
        } else if element.nullable {
            Datum::Null
        } else {
            return Err(absent(element));
        });
    }
    Ok(elements)
}
