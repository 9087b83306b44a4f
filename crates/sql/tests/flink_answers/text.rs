//! Values as the table of Flink's answers writes them: texts in quotes, bytes as `x'…'`, timestamps without trailing
//! zeros, instants in UTC with `Z`.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int32Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use headpond_functions::text::{write_double, write_float};
use headpond_runtime::ChangeBatch;
use headpond_runtime::batch::ChangeKind;
use std::collections::BTreeMap;

/// The values by the rows' ids, when all changes are applied.
pub(crate) fn texts(changes: &[ChangeBatch]) -> Vec<(String, String)> {
    let mut values: BTreeMap<i32, String> = BTreeMap::new();
    for batch in changes {
        let ids = batch.rows().column(0).as_primitive::<Int32Type>();
        for row in 0..batch.num_rows() {
            if matches!(batch.kind(row), ChangeKind::Insert | ChangeKind::UpdateAfter) {
                values.insert(ids.value(row), text(batch.rows().column(1), row));
            }
        }
    }
    values.into_iter().map(|(id, value)| (id.to_string(), value)).collect()
}

fn text(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return "NULL".to_owned();
    }
    let mut written = String::new();
    match column.data_type() {
        DataType::Utf8 => return quoted(column.as_string::<i32>().value(row)),
        DataType::Binary => {
            let hex: String = column.as_binary::<i32>().value(row).iter().map(|byte| format!("{byte:02x}")).collect();
            return format!("x'{hex}'");
        }
        DataType::Float32 => write_float(&mut written, column.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => write_double(&mut written, column.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, _) => return column.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Timestamp(_, zone) => {
            let ms = column.as_primitive::<TimestampMillisecondType>().value(row);
            let time = headpond_functions::time::of_millis(ms).map_or_else(|| ms.to_string(), |time| time.to_string());
            let time = if time.contains('.') { time.trim_end_matches('0').trim_end_matches('.') } else { &time };
            return format!("{time}{}", if zone.is_some() { "Z" } else { "" });
        }
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(row);
            let items: Vec<String> = (0..items.len()).map(|index| text(&items, index)).collect();
            return format!("[{}]", items.join(", "));
        }
        DataType::Map(_, _) => {
            let entries = column.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let entry = |index: usize| format!("{}: {}", text(keys, index), text(values, index));
            let mut entries: Vec<String> = (0..entries.len()).map(entry).collect();
            entries.sort();
            return format!("{{{}}}", entries.join(", "));
        }
        DataType::Struct(_) => {
            let fields: Vec<String> = column.as_struct().columns().iter().map(|field| text(field, row)).collect();
            return format!("({})", fields.join(", "));
        }
        _ => {
            let options = FormatOptions::default();
            let formatter = ArrayFormatter::try_new(column.as_ref(), &options).expect("a column that can be shown");
            return formatter.value(row).to_string();
        }
    }
    written
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if (c as u32) < 32 || c as u32 == 127 => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
