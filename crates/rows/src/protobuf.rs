//! The format `protobuf`: the wire format of proto3, written by hand because the message is known only at run time.
//!
//! Field `i` (from 0) has the number `i + 1` and explicit presence: an absent field is NULL. Fields with numbers beyond
//! the schema are skipped, the last of several equal numbers counts, as Protobuf has it.
//!
//! | type | in the message |
//! |---|---|
//! | `bool` | `bool` |
//! | `int8`, `int16`, `int32`, `date` (days) | `sint32` |
//! | `int64`, `timestamp`, `timestamp_ltz` (ms) | `sint64` |
//! | `uint64` | `uint64` |
//! | `float32`, `float64` | `float`, `double` |
//! | `decimal` | `bytes`: the unscaled value, big-endian two's complement |
//! | `utf8`, `binary` | `string`, `bytes` |
//! | `list<T>` | a message `{ repeated Element element = 1; }`, `Element` being `{ optional T value = 1; }` |
//! | `struct` | a message |

use super::native::{absent, not_nullable};
use headpond_state::bytes::{
    ByteReader, decimal_from_bytes, decimal_to_bytes, put_delimited, put_varint, put_zigzag, text,
};
use headpond_state::schema::Datum;
use headpond_state::schema::{DataKind, Field, FieldType};
use headpond_state::{Context, Error, Result};

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const DELIMITED: u64 = 2;
const FIXED32: u64 = 5;

pub(crate) fn encode_fields(fields: &[Field], row: &[Datum], out: &mut Vec<u8>) -> Result<()> {
    for (index, (field, datum)) in fields.iter().zip(row).enumerate() {
        encode_field(&field.ty, datum, index as u64 + 1, out)
            .map_err(|error| error.with(Context::Column, format_args!("`{}`", field.name)))?;
    }
    Ok(())
}

fn encode_field(ty: &FieldType, datum: &Datum, number: u64, out: &mut Vec<u8>) -> Result<()> {
    if datum.is_null() {
        return if ty.nullable { Ok(()) } else { Err(not_nullable(ty)) };
    }
    put_varint(number << 3 | wire_type(&ty.kind), out);
    let kind = &ty.kind;
    match (kind, datum) {
        (DataKind::Bool, Datum::Bool(value)) => out.push(u8::from(*value)),
        (DataKind::UInt64, Datum::Int64(value)) => put_varint(*value as u64, out),
        (_, Datum::Int64(value)) => match kind.integer_range() {
            Some((least, greatest)) if (least..=greatest).contains(value) => put_zigzag(*value, out),
            _ => return Err(kind.mismatch(datum)),
        },
        (DataKind::Float32, Datum::Float64(value)) => out.extend_from_slice(&(*value as f32).to_le_bytes()),
        (DataKind::Float64, Datum::Float64(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (DataKind::Decimal { .. }, Datum::Decimal(value)) => {
            put_delimited(decimal_to_bytes(*value, &mut [0; 16]), out);
        }
        (DataKind::Utf8, Datum::Utf8(value)) => put_delimited(value.as_bytes(), out),
        (DataKind::Binary, Datum::Binary(value)) => put_delimited(value, out),
        (DataKind::List(element), Datum::List(elements)) => {
            let mut list = Vec::new();
            let mut message = Vec::new();
            for datum in elements {
                message.clear();
                encode_field(element, datum, 1, &mut message)?;
                put_varint(1 << 3 | DELIMITED, &mut list);
                put_delimited(&message, &mut list);
            }
            put_delimited(&list, out);
        }
        (DataKind::Struct(fields), Datum::Struct(row)) if fields.len() == row.len() && !row.is_empty() => {
            let mut message = Vec::new();
            encode_fields(fields, row, &mut message)?;
            put_delimited(&message, out);
        }
        _ => return Err(kind.mismatch(datum)),
    }
    Ok(())
}

fn wire_type(kind: &DataKind) -> u64 {
    match kind {
        DataKind::Float32 => FIXED32,
        DataKind::Float64 => FIXED64,
        DataKind::Decimal { .. } | DataKind::Utf8 | DataKind::Binary | DataKind::List(_) | DataKind::Struct(_) => {
            DELIMITED
        }
        _ => VARINT,
    }
}

/// Reads a message to the end of `input` and appends its fields to `row`.
pub(crate) fn decode_fields(fields: &[Field], input: &mut ByteReader<'_>, row: &mut Vec<Datum>) -> Result<()> {
    let base = row.len();
    row.resize(base + fields.len(), Datum::Null);
    while !input.is_empty() {
        let (number, wire) = key(input)?;
        match number.checked_sub(1).and_then(|index| fields.get(index)) {
            Some(field) => {
                row[base + number - 1] = decode_value(&field.ty.kind, wire, input)
                    .map_err(|error| error.with(Context::Column, format_args!("`{}`", field.name)))?;
            }
            None => skip(wire, input)?,
        }
    }
    for (field, datum) in fields.iter().zip(&row[base..]) {
        if datum.is_null() && !field.ty.nullable {
            return Err(absent(&field.ty).with(Context::Column, format_args!("`{}`", field.name)));
        }
    }
    Ok(())
}

/// A field's number and wire type.
fn key(input: &mut ByteReader<'_>) -> Result<(usize, u64)> {
    let key = input.varint()?;
    match usize::try_from(key >> 3) {
        Ok(number) if number > 0 && number < 1 << 29 => Ok((number, key & 7)),
        _ => Err(Error::corrupt(format!("{} is not a number of a field", key >> 3))),
    }
}

fn skip(wire: u64, input: &mut ByteReader<'_>) -> Result<()> {
    match wire {
        VARINT => input.varint().map(drop),
        FIXED64 => input.take(8).map(drop),
        DELIMITED => input.delimited().map(drop),
        FIXED32 => input.take(4).map(drop),
        other => Err(Error::corrupt(format!("{other} is not a wire type of proto3"))),
    }
}

fn decode_value(kind: &DataKind, wire: u64, input: &mut ByteReader<'_>) -> Result<Datum> {
    if wire != wire_type(kind) {
        return Err(Error::corrupt(format!("wire type {wire} does not hold {kind}")));
    }
    Ok(match kind {
        DataKind::Bool => Datum::Bool(input.varint()? != 0),
        DataKind::UInt64 => Datum::Int64(input.varint()? as i64),
        DataKind::Int8
        | DataKind::Int16
        | DataKind::Int32
        | DataKind::Int64
        | DataKind::Date
        | DataKind::Timestamp
        | DataKind::TimestampLtz => integer(kind, input.zigzag()?)?,
        DataKind::Float32 => Datum::Float64(f64::from(f32::from_le_bytes(input.array()?))),
        DataKind::Float64 => Datum::Float64(f64::from_le_bytes(input.array()?)),
        DataKind::Decimal { .. } => Datum::Decimal(decimal_from_bytes(input.delimited()?)?),
        DataKind::Utf8 => Datum::Utf8(text(input.delimited()?)?.into()),
        DataKind::Binary => Datum::Binary(input.delimited()?.into()),
        DataKind::List(element) => Datum::List(decode_list(element, ByteReader(input.delimited()?))?),
        DataKind::Struct(fields) => {
            let mut row = Vec::with_capacity(fields.len());
            decode_fields(fields, &mut ByteReader(input.delimited()?), &mut row)?;
            Datum::Struct(row)
        }
    })
}

/// An integer that must fit its declared type.
pub(crate) fn integer(kind: &DataKind, value: i64) -> Result<Datum> {
    match kind.integer_range() {
        Some((least, greatest)) if (least..=greatest).contains(&value) => Ok(Datum::Int64(value)),
        _ => Err(Error::corrupt(format!("{value} is out of range for {kind}"))),
    }
}

fn decode_list(element: &FieldType, mut input: ByteReader<'_>) -> Result<Vec<Datum>> {
    let mut elements = Vec::new();
    while !input.is_empty() {
        let (number, wire) = key(&mut input)?;
        if number == 1 && wire == DELIMITED {
            elements.push(decode_element(element, ByteReader(input.delimited()?))?);
        } else {
            skip(wire, &mut input)?;
        }
    }
    Ok(elements)
}

fn decode_element(element: &FieldType, mut input: ByteReader<'_>) -> Result<Datum> {
    let mut datum = Datum::Null;
    while !input.is_empty() {
        let (number, wire) = key(&mut input)?;
        if number == 1 {
            datum = decode_value(&element.kind, wire, &mut input)?;
        } else {
            skip(wire, &mut input)?;
        }
    }
    if datum.is_null() && !element.nullable { Err(absent(element)) } else { Ok(datum) }
}
