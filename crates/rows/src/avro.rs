//! The format `avro`: the binary encoding of an Avro record, written by hand because it is on the hot path.
//!
//! A nullable field is the union `["null", T]`. The types are those of
//! [`avro_schema`](crate::avro_schema()). Bytes that end at a field's boundary were written before the
//! fields behind it were added: those are NULL.

use super::native::{absent, not_nullable};
use super::protobuf::integer;
use headpond_state::bytes::{ByteReader, decimal_from_bytes, decimal_to_bytes, put_zigzag, text, truth};
use headpond_state::schema::Datum;
use headpond_state::schema::{DataKind, Field, FieldType};
use headpond_state::{Context, Error, Result};

pub(crate) fn encode_fields(fields: &[Field], row: &[Datum], out: &mut Vec<u8>) -> Result<()> {
    for (field, datum) in fields.iter().zip(row) {
        encode_field(&field.ty, datum, out)
            .map_err(|error| error.with(Context::Column, format_args!("`{}`", field.name)))?;
    }
    Ok(())
}

/// The branches of the union `["null", T]`, in zigzag form.
const NULL_BRANCH: u8 = 0;
const VALUE_BRANCH: u8 = 2;

fn encode_field(ty: &FieldType, datum: &Datum, out: &mut Vec<u8>) -> Result<()> {
    match (ty.nullable, datum.is_null()) {
        (true, true) => {
            out.push(NULL_BRANCH);
            return Ok(());
        }
        (false, true) => return Err(not_nullable(ty)),
        (true, false) => out.push(VALUE_BRANCH),
        (false, false) => {}
    }
    let kind = &ty.kind;
    match (kind, datum) {
        (DataKind::Bool, Datum::Bool(value)) => out.push(u8::from(*value)),
        (DataKind::UInt64, Datum::Int64(value)) => {
            put_bytes(decimal_to_bytes(i128::from(*value as u64), &mut [0; 16]), out);
        }
        (_, Datum::Int64(value)) => match kind.integer_range() {
            Some((least, greatest)) if (least..=greatest).contains(value) => put_zigzag(*value, out),
            _ => return Err(kind.mismatch(datum)),
        },
        (DataKind::Float32, Datum::Float64(value)) => out.extend_from_slice(&(*value as f32).to_le_bytes()),
        (DataKind::Float64, Datum::Float64(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (DataKind::Decimal { .. }, Datum::Decimal(value)) => {
            put_bytes(decimal_to_bytes(*value, &mut [0; 16]), out);
        }
        (DataKind::Utf8, Datum::Utf8(value)) => put_bytes(value.as_bytes(), out),
        (DataKind::Binary, Datum::Binary(value)) => put_bytes(value, out),
        (DataKind::List(element), Datum::List(elements)) => {
            if !elements.is_empty() {
                put_zigzag(elements.len() as i64, out);
                for datum in elements {
                    encode_field(element, datum, out)?;
                }
            }
            out.push(0);
        }
        (DataKind::Struct(fields), Datum::Struct(row)) if fields.len() == row.len() && !row.is_empty() => {
            encode_fields(fields, row, out)?;
        }
        _ => return Err(kind.mismatch(datum)),
    }
    Ok(())
}

/// Appends bytes after their length, which in Avro is a signed number.
#[inline]
fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_zigzag(bytes.len() as i64, out);
    out.extend_from_slice(bytes);
}

#[inline]
fn take_bytes<'a>(input: &mut ByteReader<'a>) -> Result<&'a [u8]> {
    let len = input.zigzag()?;
    let len = usize::try_from(len).map_err(|_| Error::corrupt(format!("{len} is not a length")))?;
    input.take(len)
}

/// Appends the fields to `row`, NULL where `input` ends before.
pub(crate) fn decode_fields(fields: &[Field], input: &mut ByteReader<'_>, row: &mut Vec<Datum>) -> Result<()> {
    for field in fields {
        let datum = if !input.is_empty() {
            decode_field(&field.ty, input)
        } else if field.ty.nullable {
            Ok(Datum::Null)
        } else {
            Err(absent(&field.ty))
        };
        row.push(datum.map_err(|error| error.with(Context::Column, format_args!("`{}`", field.name)))?);
    }
    Ok(())
}

fn decode_field(ty: &FieldType, input: &mut ByteReader<'_>) -> Result<Datum> {
    if ty.nullable {
        match input.byte()? {
            NULL_BRANCH => return Ok(Datum::Null),
            VALUE_BRANCH => {}
            other => return Err(Error::corrupt(format!("{other} is not a branch of a union with null"))),
        }
    }
    let kind = &ty.kind;
    Ok(match kind {
        DataKind::Bool => Datum::Bool(truth(input.byte()?)?),
        DataKind::UInt64 => {
            let value = decimal_from_bytes(take_bytes(input)?)?;
            let value =
                u64::try_from(value).map_err(|_| Error::corrupt(format!("{value} is out of range for {kind}")))?;
            Datum::Int64(value as i64)
        }
        DataKind::Int8
        | DataKind::Int16
        | DataKind::Int32
        | DataKind::Int64
        | DataKind::Date
        | DataKind::Timestamp
        | DataKind::TimestampLtz => integer(kind, input.zigzag()?)?,
        DataKind::Float32 => Datum::Float64(f64::from(f32::from_le_bytes(input.array()?))),
        DataKind::Float64 => Datum::Float64(f64::from_le_bytes(input.array()?)),
        DataKind::Decimal { .. } => Datum::Decimal(decimal_from_bytes(take_bytes(input)?)?),
        DataKind::Utf8 => Datum::Utf8(text(take_bytes(input)?)?.into()),
        DataKind::Binary => Datum::Binary(take_bytes(input)?.into()),
        DataKind::List(element) => Datum::List(decode_list(element, input)?),
        DataKind::Struct(fields) => {
            let mut row = Vec::with_capacity(fields.len());
            for field in fields {
                row.push(decode_field(&field.ty, input)?);
            }
            Datum::Struct(row)
        }
    })
}

/// Reads the blocks of an array.
fn decode_list(element: &FieldType, input: &mut ByteReader<'_>) -> Result<Vec<Datum>> {
    let mut elements = Vec::new();
    loop {
        let count = input.zigzag()?;
        if count == 0 {
            return Ok(elements);
        }
        if count < 0 {
            // Such a block says how many bytes it has, for readers that skip it.
            input.zigzag()?;
        }
        // Every element takes a byte at least, so a greater count is damage.
        if count.unsigned_abs() > input.len() as u64 {
            return Err(Error::corrupt(format!("{} elements do not fit {} bytes", count.unsigned_abs(), input.len())));
        }
        for _ in 0..count.unsigned_abs() {
            elements.push(decode_field(element, input)?);
        }
    }
}
