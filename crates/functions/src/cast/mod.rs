//! Casts as Flink has them: which types can be cast to which, and how.

mod mode;
mod nested;
mod numbers;
mod parse;
mod target;
mod times;
pub(crate) mod write;

pub use target::{Fit, Target, localized};

use mode::{Converter, Mode};

use crate::bound::{BoundFunction, Kernel, Spelling};
use crate::columns::build_texts;
use crate::common_type::{is_floating, is_integer, is_number, is_text, is_timestamp};
use crate::decimal::precision_and_scale;
use crate::settings::Settings;
use crate::type_name::type_name;
use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, StringArray};
use arrow_schema::{DataType, TimeUnit};
use datafusion_expr::Expr;
use headpond_state::Error;
use std::sync::Arc;

/// Whether Arrow's own cast keeps all values as they are, so that it may be seen through.
pub(crate) fn keeps_values(from: &DataType, target: &Target) -> bool {
    let to = &target.data_type;
    if target.fit.is_some() {
        return false;
    }
    match (from, to) {
        _ if from == to => true,
        (from, to) if is_text(from) && is_text(to) => true,
        (from, to) if is_integer(from) && is_integer(to) => precision_and_scale(from) <= precision_and_scale(to),
        (DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64, DataType::Float64) => true,
        (DataType::Float32, DataType::Float64) => true,
        (from, DataType::Decimal128(precision, scale)) if !is_floating(from) => {
            precision_and_scale(from).is_some_and(|(p, s)| {
                let whole = |precision: u8, scale: i8| i16::from(precision) - i16::from(scale);
                *scale >= s && whole(*precision, *scale) >= whole(p, s)
            })
        }
        (DataType::Timestamp(from, from_zone), DataType::Timestamp(to, to_zone)) => {
            from_zone.is_some() == to_zone.is_some()
                && (from == to || (*from, *to) == (TimeUnit::Second, TimeUnit::Millisecond))
        }
        (DataType::FixedSizeBinary(_) | DataType::LargeBinary | DataType::BinaryView, DataType::Binary) => true,
        _ => false,
    }
}

/// The cast from one type to another; `tries`: NULL for what cannot be converted.
///
/// # Errors
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) when there is none.
pub(crate) fn function(
    from: &DataType,
    target: &Target,
    tries: bool,
    settings: &Arc<Settings>,
) -> Result<BoundFunction, Error> {
    let mode = Mode { tries, settings: Arc::clone(settings) };
    let name = if tries { "TRY_CAST" } else { "CAST" };
    let convert = converter(from, target, &mode).ok_or_else(|| not_castable(name, from, &target.name()))?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let column = arguments.column(0)?;
        convert(&column)
    });
    let function = BoundFunction::new(name, Spelling::Cast, vec![from.clone()], target.data_type.clone(), kernel);
    Ok(function.variant(target.name()))
}

#[cold]
fn not_castable(name: &str, from: &DataType, to: &str) -> Error {
    let error = Error::unsupported(format!("{name} of {} to {to} is not supported", type_name(from)));
    match from {
        number if is_number(number) && to.starts_with("TIMESTAMP") => {
            error.hint("TO_TIMESTAMP_LTZ(number, 0) takes seconds since 1970, TO_TIMESTAMP_LTZ(number, 3) milliseconds")
        }
        _ => error,
    }
}

/// Whether an expression is a cast of ours.
pub fn is_cast(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if matches!(call.func.name(), "CAST" | "TRY_CAST"))
}

/// What converts columns of a type to a target; `None` if nothing does.
pub(crate) fn converter(from: &DataType, target: &Target, mode: &Mode) -> Option<Converter> {
    let to = &target.data_type;
    if from == to && target.fit.is_none() {
        return Some(Arc::new(|column| Ok(Arc::clone(column))));
    }
    if let Some(nested) = nested::converter(from, to, mode, converter) {
        return Some(nested);
    }
    match to {
        to if is_text(to) => {
            if !write::is_writable(from) {
                return None;
            }
            let fit = target.fit;
            let mode = mode.clone();
            Some(Arc::new(move |column| {
                let write = write::rows(column, &mode.settings)?;
                build_texts(column.len(), |row, text| {
                    let written = write(row, text);
                    if let Some(fit) = fit.filter(|_| written) {
                        fitted(text, fit);
                    }
                    Ok(written)
                })
            }))
        }
        DataType::Binary => to_bytes(from, target.fit),
        from_text if is_text(from) => parse::converter(from_text, target, mode),
        to if is_timestamp(to) || matches!(to, DataType::Date32 | DataType::Time32(_) | DataType::Duration(_)) => {
            times::converter(from, target, mode)
        }
        _ => numbers::converter(from, to, mode),
    }
}

/// Makes a text as long as its type says.
fn fitted(text: &mut String, fit: Fit) {
    let (Fit::Char(length) | Fit::Varchar(length)) = fit else { return };
    let Some((end, _)) = text.char_indices().nth(length) else {
        if let Fit::Char(_) = fit {
            let missing = length - text.chars().count();
            text.extend(std::iter::repeat_n(' ', missing));
        }
        return;
    };
    text.truncate(end);
}

fn to_bytes(from: &DataType, fit: Option<Fit>) -> Option<Converter> {
    let sized = move |bytes: &[u8]| -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match fit {
            Some(Fit::Binary(length)) => bytes.resize(length, 0),
            Some(Fit::Varbinary(length)) => bytes.truncate(length),
            _ => {}
        }
        bytes
    };
    match from {
        DataType::Utf8 => Some(Arc::new(move |column| {
            let texts: &StringArray = column.as_string();
            let bytes: BinaryArray = texts.iter().map(|text| text.map(|text| sized(text.as_bytes()))).collect();
            Ok(Arc::new(bytes))
        })),
        DataType::Binary => Some(Arc::new(move |column| {
            let values: &BinaryArray = column.as_binary();
            let bytes: BinaryArray = values.iter().map(|value| value.map(&sized)).collect();
            Ok(Arc::new(bytes))
        })),
        _ => None,
    }
}
