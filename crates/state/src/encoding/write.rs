//! Writing components.

use super::{BYTES_END, ESCAPED_ZERO, LIST_END, NULL, PRESENT};
use crate::error::{Error, Result};
use crate::schema::{DataKind, Datum, FieldType};

/// Appends NULL, for a nullable component or element.
#[inline]
pub fn put_null(out: &mut Vec<u8>) {
    out.push(NULL);
}

/// Says that the value of a nullable component or element follows.
#[inline]
pub fn put_present(out: &mut Vec<u8>) {
    out.push(PRESENT);
}

/// Ends a list, whose elements each begin with [`put_null`] or [`put_present`].
#[inline]
pub fn put_list_end(out: &mut Vec<u8>) {
    out.push(LIST_END);
}

/// Appends a truth value.
#[inline]
pub fn put_bool(value: bool, out: &mut Vec<u8>) {
    out.push(u8::from(value));
}

/// One function per width of integer.
macro_rules! put_integer {
    ($($(#[$doc:meta])* $name:ident($ty:ty) flips $sign:expr;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            pub fn $name(value: $ty, out: &mut Vec<u8>) {
                out.extend_from_slice(&(value ^ $sign).to_be_bytes());
            }
        )*
    };
}
put_integer! {
    /// Appends an `int8`.
    put_i8(i8) flips i8::MIN;
    /// Appends an `int16`.
    put_i16(i16) flips i16::MIN;
    /// Appends an `int32` or a `date`.
    put_i32(i32) flips i32::MIN;
    /// Appends an `int64` or a timestamp.
    put_i64(i64) flips i64::MIN;
    /// Appends a `uint64`.
    put_u64(u64) flips 0;
    /// Appends the unscaled value of a `decimal`.
    put_decimal(i128) flips i128::MIN;
}

/// Appends a `float32`.
#[inline]
pub fn put_f32(value: f32, out: &mut Vec<u8>) {
    let bits = if value.is_nan() { f32::NAN.to_bits() & 0x7fff_ffff } else { (value + 0.0).to_bits() };
    let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    out.extend_from_slice(&ordered.to_be_bytes());
}

/// Appends a `float64`.
#[inline]
pub fn put_f64(value: f64, out: &mut Vec<u8>) {
    // Adding 0.0 turns -0.0 into 0.0 and nothing else into anything else.
    let bits = if value.is_nan() { f64::NAN.to_bits() & (u64::MAX >> 1) } else { (value + 0.0).to_bits() };
    let ordered = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
    out.extend_from_slice(&ordered.to_be_bytes());
}

/// Appends a `utf8`.
#[inline]
pub fn put_str(value: &str, out: &mut Vec<u8>) {
    put_bytes(value.as_bytes(), out);
}

/// Appends a `binary`.
#[inline]
pub fn put_bytes(value: &[u8], out: &mut Vec<u8>) {
    if value.contains(&0) {
        for (index, part) in value.split(|byte| *byte == 0).enumerate() {
            if index > 0 {
                out.extend_from_slice(&[0, ESCAPED_ZERO]);
            }
            out.extend_from_slice(part);
        }
    } else {
        out.extend_from_slice(value);
    }
    out.extend_from_slice(&[0, BYTES_END]);
}

/// Appends a component of the declared type.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) when `datum` does not fit the type; what was appended then means nothing.
pub fn put_datum(ty: &FieldType, datum: &Datum, out: &mut Vec<u8>) -> Result<()> {
    match (ty.nullable, datum.is_null()) {
        (true, true) => {
            put_null(out);
            Ok(())
        }
        (false, true) => Err(Error::invalid(format!("NULL does not fit {ty}, which is declared without NULL"))),
        (true, false) => {
            put_present(out);
            put_value(&ty.kind, datum, out)
        }
        (false, false) => put_value(&ty.kind, datum, out),
    }
}

fn put_value(kind: &DataKind, datum: &Datum, out: &mut Vec<u8>) -> Result<()> {
    match (kind, datum) {
        (DataKind::UInt64, Datum::Int64(value)) => put_u64(*value as u64, out),
        (_, Datum::Int64(value)) => return put_integer(kind, *value, out),
        (DataKind::Utf8, Datum::Utf8(value)) => put_str(value, out),
        (DataKind::Binary, Datum::Binary(value)) => put_bytes(value, out),
        (DataKind::Bool, Datum::Bool(value)) => put_bool(*value, out),
        (DataKind::Float32, Datum::Float64(value)) => put_f32(*value as f32, out),
        (DataKind::Float64, Datum::Float64(value)) => put_f64(*value, out),
        (DataKind::Decimal { .. }, Datum::Decimal(value)) => put_decimal(*value, out),
        (DataKind::List(element), Datum::List(elements)) => {
            for datum in elements {
                put_element(element, datum, out)?;
            }
            put_list_end(out);
        }
        (DataKind::Struct(fields), Datum::Struct(row)) if fields.len() == row.len() && !row.is_empty() => {
            for (field, datum) in fields.iter().zip(row) {
                put_datum(&field.ty, datum, out)?;
            }
        }
        _ => return Err(kind.mismatch(datum)),
    }
    Ok(())
}

fn put_integer(kind: &DataKind, value: i64, out: &mut Vec<u8>) -> Result<()> {
    match (kind.integer_range(), kind) {
        (Some((least, greatest)), _) if !(least..=greatest).contains(&value) => {
            return Err(kind.mismatch(&Datum::Int64(value)));
        }
        (_, DataKind::Int8) => put_i8(value as i8, out),
        (_, DataKind::Int16) => put_i16(value as i16, out),
        (_, DataKind::Int32 | DataKind::Date) => put_i32(value as i32, out),
        (Some(_), _) => put_i64(value, out),
        (None, _) => return Err(kind.mismatch(&Datum::Int64(value))),
    }
    Ok(())
}

/// Elements always say whether they are NULL: the byte that says so is also what tells them from the list's end.
fn put_element(element: &FieldType, datum: &Datum, out: &mut Vec<u8>) -> Result<()> {
    if !datum.is_null() {
        put_present(out);
        put_value(&element.kind, datum, out)
    } else if element.nullable {
        put_null(out);
        Ok(())
    } else {
        Err(Error::invalid(format!("NULL does not fit {element}, which is declared without NULL")))
    }
}
