//! Rows as JSON.

use crate::values::timestamp::Standard;
use crate::values::write::{struct_fields, write_scalar};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use headpond_runtime::Result;

/// Writes rows as objects.
#[derive(Debug)]
pub(crate) struct JsonWriter {
    /// `"name":` of each column.
    members: Vec<Vec<u8>>,
    standard: Standard,
}

impl JsonWriter {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>, standard: Standard) -> Self {
        let member = |name| {
            let mut member = Vec::new();
            write_string(name, &mut member);
            member.push(b':');
            member
        };
        JsonWriter { members: names.map(member).collect(), standard }
    }

    /// Appends a row without line break; `op` is its first member, if there is one.
    pub(crate) fn write_row(&self, rows: &RecordBatch, row: usize, op: Option<&str>, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'{');
        let mut separator = false;
        if let Some(op) = op {
            out.extend_from_slice(b"\"op\":\"");
            out.extend_from_slice(op.as_bytes());
            out.push(b'"');
            separator = true;
        }
        for (member, column) in self.members.iter().zip(rows.columns()) {
            if separator {
                out.push(b',');
            }
            separator = true;
            out.extend_from_slice(member);
            write_value(column.as_ref(), row, self.standard, out)?;
        }
        out.push(b'}');
        Ok(())
    }
}

/// Appends a value.
pub(crate) fn write_value(array: &dyn Array, row: usize, standard: Standard, out: &mut Vec<u8>) -> Result<()> {
    if array.is_null(row) {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Utf8 => write_string(array.as_string::<i32>().value(row), out),
        DataType::Struct(_) => {
            out.push(b'{');
            for (index, (name, column)) in struct_fields(array.as_struct()).enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(name, out);
                out.push(b':');
                write_value(column, row, standard, out)?;
            }
            out.push(b'}');
        }
        DataType::List(_) => {
            let elements = array.as_list::<i32>().value(row);
            out.push(b'[');
            for index in 0..elements.len() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(elements.as_ref(), index, standard, out)?;
            }
            out.push(b']');
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            out.push(b'{');
            for index in 0..entries.len() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(entries.column(0).as_string::<i32>().value(index), out);
                out.push(b':');
                write_value(entries.column(1).as_ref(), index, standard, out)?;
            }
            out.push(b'}');
        }
        data_type => {
            let quoted = is_quoted(array, row, data_type);
            if quoted {
                out.push(b'"');
            }
            // No scalar but a text has a character that needs an escape.
            write_scalar(array, row, standard, out)?;
            if quoted {
                out.push(b'"');
            }
        }
    }
    Ok(())
}

/// Whether JSON has no literal for the value: for dates, timestamps, bytes, and numbers that are none.
fn is_quoted(array: &dyn Array, row: usize, data_type: &DataType) -> bool {
    match data_type {
        DataType::Date32 | DataType::Timestamp(..) | DataType::Binary => true,
        DataType::Float64 => !array.as_primitive::<Float64Type>().value(row).is_finite(),
        DataType::Float32 => !array.as_primitive::<Float32Type>().value(row).is_finite(),
        _ => false,
    }
}

pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            byte => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
