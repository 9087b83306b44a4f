//! Reading fixtures: lines of columns, data as JSON.
//!
//! Floats may be `"NaN"`, `"inf"`, `"-inf"`, `"-0"`; decimals and `uint64` are text where JSON's numbers fall short;
//! `binary` is text in hexadecimal.

use headpond_state::schema::{DataKind, Datum, FieldType};
use serde_json::Value;

/// The columns of every line that is not a comment.
pub(crate) fn columns<const N: usize>(fixture: &str) -> impl Iterator<Item = [&str; N]> {
    fixture.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(|line| {
        let columns: Vec<_> = line.split(" | ").collect();
        columns.try_into().unwrap_or_else(|_| panic!("`{line}` has not {N} columns"))
    })
}

pub(crate) fn datum(ty: &FieldType, value: &Value) -> Datum {
    match (&ty.kind, value) {
        (_, Value::Null) => Datum::Null,
        (_, Value::Bool(value)) => Datum::Bool(*value),
        (DataKind::UInt64, Value::String(text)) => Datum::Int64(text.parse::<u64>().expect("a uint64") as i64),
        (DataKind::Decimal { .. }, Value::String(text)) => Datum::Decimal(text.parse().expect("a decimal")),
        (DataKind::Float32 | DataKind::Float64, Value::String(text)) => Datum::Float64(text.parse().expect("a float")),
        (DataKind::Float32 | DataKind::Float64, value) => Datum::Float64(value.as_f64().expect("a float")),
        (_, Value::Number(value)) => Datum::Int64(value.as_i64().expect("an integer")),
        (DataKind::Binary, Value::String(text)) => Datum::binary(from_hex(text)),
        (_, Value::String(text)) => Datum::utf8(text.as_str()),
        (DataKind::List(element), Value::Array(values)) => {
            Datum::List(values.iter().map(|value| datum(element, value)).collect())
        }
        (DataKind::Struct(fields), Value::Array(values)) => {
            Datum::Struct(fields.iter().zip(values).map(|(field, value)| datum(&field.ty, value)).collect())
        }
        _ => panic!("{value} is not of {ty}"),
    }
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).expect("a hexadecimal digit") as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
