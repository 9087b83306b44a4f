//! Values as JSON.

use crate::cast::write::{is_writable, local_time, rows, timestamps};
use crate::common_type::is_text;
use crate::json::{write_decimal, write_double, write_float, write_integer, write_object, write_string};
use crate::settings::Settings;
use crate::text::to_base64;
use crate::time::{write_date, write_timestamp};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, ListArray, MapArray, StructArray};
use arrow_schema::DataType;
use headpond_state::Error;

/// Appends a row's value as JSON; `false` for NULL, of which nothing is written.
pub(super) type JsonWriter<'a> = Box<dyn Fn(usize, &mut String) -> bool + 'a>;

/// Whether values of a type can be JSON.
pub(super) fn is_json_type(data_type: &DataType) -> bool {
    match data_type {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => matches!(&fields[..], [key, value]
                if is_text(key.data_type()) && is_json_type(value.data_type())),
            _ => false,
        },
        DataType::List(item) => is_json_type(item.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_json_type(field.data_type())),
        DataType::Interval(_) => false,
        other => is_writable(other),
    }
}

pub(super) fn json_rows<'a>(column: &'a ArrayRef, settings: &'a Settings) -> Result<JsonWriter<'a>, Error> {
    macro_rules! scalar {
        ($values:expr, $write:expr) => {{
            let values = $values;
            let write = $write;
            Box::new(move |row, out: &mut String| {
                let valid = values.is_valid(row);
                if valid {
                    write(out, values.value(row));
                }
                valid
            })
        }};
    }
    let or_null = |write: &JsonWriter<'_>, row: usize, out: &mut String| {
        if !write(row, out) {
            out.push_str("null");
        }
    };
    Ok(match column.data_type() {
        DataType::Null => Box::new(|_, _| false),
        DataType::Boolean => {
            let values: &BooleanArray = column.as_boolean();
            scalar!(values, |out: &mut String, value: bool| out.push_str(if value { "true" } else { "false" }))
        }
        DataType::Int8 => scalar!(column.as_primitive::<Int8Type>(), |out: &mut String, value: i8| write_integer(
            out,
            i64::from(value)
        )),
        DataType::Int16 => scalar!(column.as_primitive::<Int16Type>(), |out: &mut String, value: i16| write_integer(
            out,
            i64::from(value)
        )),
        DataType::Int32 => scalar!(column.as_primitive::<Int32Type>(), |out: &mut String, value: i32| write_integer(
            out,
            i64::from(value)
        )),
        DataType::Int64 => {
            scalar!(column.as_primitive::<Int64Type>(), |out: &mut String, value: i64| write_integer(out, value))
        }
        DataType::Float32 => {
            scalar!(column.as_primitive::<Float32Type>(), |out: &mut String, value: f32| write_float(out, value))
        }
        DataType::Float64 => {
            scalar!(column.as_primitive::<Float64Type>(), |out: &mut String, value: f64| write_double(out, value))
        }
        DataType::Decimal128(_, scale) => {
            let scale = i32::from(*scale);
            scalar!(column.as_primitive::<Decimal128Type>(), move |out: &mut String, value: i128| write_decimal(
                out, value, scale
            ))
        }
        DataType::Utf8 => scalar!(column.as_string::<i32>(), |out: &mut String, value: &str| write_string(out, value)),
        DataType::Binary => {
            let values: &BinaryArray = column.as_binary();
            scalar!(values, |out: &mut String, value: &[u8]| write_string(out, &to_base64(value)))
        }
        DataType::Date32 => {
            scalar!(column.as_primitive::<arrow_array::types::Date32Type>(), |out: &mut String, value: i32| {
                out.push('"');
                write_date(value, out);
                out.push('"');
            })
        }
        DataType::Timestamp(unit, zone) => {
            let (unit, is_instant, values) = (*unit, zone.is_some(), timestamps(column)?);
            Box::new(move |row, out| {
                // An instant is written in UTC.
                let Some(time) = values(row).and_then(|value| local_time(value, unit, None)) else { return false };
                let mut text = String::new();
                write_timestamp(&time, 9, &mut text);
                let text = text.trim_end_matches('0').trim_end_matches('.').replace(' ', "T");
                out.push('"');
                out.push_str(&text);
                if is_instant {
                    out.push('Z');
                }
                out.push('"');
                true
            })
        }
        DataType::List(_) => {
            let lists: &ListArray = column.as_list();
            let items = json_rows(lists.values(), settings)?;
            Box::new(move |row, out| {
                if lists.is_null(row) {
                    return false;
                }
                let offsets = lists.value_offsets();
                out.push('[');
                for (number, index) in (offsets[row] as usize..offsets[row + 1] as usize).enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    or_null(&items, index, out);
                }
                out.push(']');
                true
            })
        }
        DataType::Map(_, _) => {
            let maps: &MapArray = column.as_map();
            let keys = maps.keys().as_string::<i32>();
            let values = json_rows(maps.values(), settings)?;
            Box::new(move |row, out| {
                if maps.is_null(row) {
                    return false;
                }
                let offsets = maps.value_offsets();
                let entry = |index: usize| {
                    let mut raw = String::new();
                    or_null(&values, index, &mut raw);
                    (keys.value(index), raw)
                };
                let entries: Vec<(&str, String)> =
                    (offsets[row] as usize..offsets[row + 1] as usize).map(entry).collect();
                let entries: Vec<(&str, &str)> = entries.iter().map(|(key, raw)| (*key, raw.as_str())).collect();
                write_object(out, &entries);
                true
            })
        }
        DataType::Struct(fields) => {
            let records: &StructArray = column.as_struct();
            let writers =
                records.columns().iter().map(|field| json_rows(field, settings)).collect::<Result<Vec<_>, _>>()?;
            Box::new(move |row, out| {
                if records.is_null(row) {
                    return false;
                }
                let entries: Vec<(&str, String)> = fields
                    .iter()
                    .zip(&writers)
                    .map(|(field, write)| {
                        let mut raw = String::new();
                        or_null(write, row, &mut raw);
                        (field.name().as_str(), raw)
                    })
                    .collect();
                let entries: Vec<(&str, &str)> = entries.iter().map(|(key, raw)| (*key, raw.as_str())).collect();
                write_object(out, &entries);
                true
            })
        }
        _ => {
            let write = rows(column, settings)?;
            Box::new(move |row, out| {
                let mut text = String::new();
                let valid = write(row, &mut text);
                if valid {
                    write_string(out, &text);
                }
                valid
            })
        }
    })
}
