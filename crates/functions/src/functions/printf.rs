//! The kernel of PRINTF.

use super::text_error::failed;
use crate::bound::Arguments;
use crate::cast::write;
use crate::columns::build_texts;
use crate::settings::Settings;
use crate::text::{Argument, Format};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use headpond_state::Error;

/// Writes values in a format.
pub(super) fn kernel(arguments: &Arguments<'_>, settings: &Settings) -> Result<ArrayRef, Error> {
    let formats = arguments.texts(0)?;
    let columns = (1..arguments.values.len()).map(|index| arguments.column(index)).collect::<Result<Vec<_>, _>>()?;
    let writers = columns.iter().map(|column| write::rows(column, settings)).collect::<Result<Vec<_>, _>>()?;
    let mut last: Option<(String, Format)> = None;
    let mut texts: Vec<String> = vec![String::new(); columns.len()];
    build_texts(arguments.rows, |row, out| {
        let Some(format) = formats.get(row) else { return Ok(false) };
        if last.as_ref().is_none_or(|(of, _)| of != format) {
            last = Some((format.to_owned(), Format::new(format).map_err(failed)?));
        }
        let Some((_, format)) = &last else { return Ok(false) };
        for ((column, write), text) in columns.iter().zip(&writers).zip(&mut texts) {
            text.clear();
            if matches!(column.data_type(), DataType::Utf8) {
                write(row, text);
            }
        }
        let values: Vec<Argument<'_>> =
            columns.iter().zip(&texts).map(|(column, text)| value(column, row, text)).collect();
        format.write(out, &values).map_err(failed)?;
        Ok(true)
    })
}

fn value<'t>(column: &ArrayRef, row: usize, text: &'t str) -> Argument<'t> {
    if column.is_null(row) {
        return Argument::Null;
    }
    match column.data_type() {
        DataType::Boolean => Argument::Bool(column.as_boolean().value(row)),
        DataType::Int8 => Argument::Int(i64::from(column.as_primitive::<Int8Type>().value(row)), 1),
        DataType::Int16 => Argument::Int(i64::from(column.as_primitive::<Int16Type>().value(row)), 2),
        DataType::Int32 => Argument::Int(i64::from(column.as_primitive::<Int32Type>().value(row)), 4),
        DataType::Int64 => Argument::Int(column.as_primitive::<Int64Type>().value(row), 8),
        DataType::Float32 => Argument::Float(column.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Argument::Double(column.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            Argument::Decimal(column.as_primitive::<Decimal128Type>().value(row), scale.unsigned_abs())
        }
        _ => Argument::Text(text),
    }
}
