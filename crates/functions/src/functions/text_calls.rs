//! Calls of functions of texts: what they take, and their kernels.

use super::text_error::{failed, int};
use crate::bind::{Bind, Bound, Parameter};
use crate::bound::Kernel;
use crate::columns::{build_booleans, build_bytes, build_ints, build_slices, build_texts};
use crate::common_type::{array_type, common_type, is_integer, is_text, map_type};
use crate::text::{self, TextResult};
use arrow_array::Array;
use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder};
use arrow_schema::{DataType, Field};
use headpond_state::Error;
use std::sync::Arc;

/// A function from a text to a text, written into a buffer; it says whether there is one.
pub(super) fn to_text(call: &Bind<'_>, write: fn(&str, &mut String) -> TextResult<bool>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        build_texts(arguments.rows, |row, out| match texts.get(row) {
            Some(text) => write(text, out).map_err(failed),
            None => Ok(false),
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

/// A function from a text to an `INT`.
pub(super) fn to_int(call: &Bind<'_>, compute: fn(&str) -> i32) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        build_ints(arguments.rows, |row| Ok(texts.get(row).map(compute)))
    });
    Ok(call.bound(arguments, DataType::Int32, kernel))
}

/// A function from two texts to a truth value.
pub(super) fn to_boolean(call: &Bind<'_>, compute: fn(&str, &str) -> bool) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let (left, right) = (arguments.texts(0)?, arguments.texts(1)?);
        build_booleans(arguments.rows, |row| {
            Ok(left.get(row).zip(right.get(row)).map(|(left, right)| compute(left, right)))
        })
    });
    Ok(call.bound(arguments, DataType::Boolean, kernel))
}

/// A test of a text that is false for NULL.
pub(super) fn test(call: &Bind<'_>, compute: fn(&str) -> bool) -> Result<Bound, Error> {
    let [of] = call.types else { return Err(call.wrong()) };
    if !is_text(of) && !of.is_null() {
        return Err(call.wrong());
    }
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        build_booleans(arguments.rows, |row| Ok(Some(texts.get(row).is_some_and(compute))))
    });
    Ok(call.bound(vec![DataType::Utf8], DataType::Boolean, kernel))
}

/// A text and a text that may be left out, to a part of the first.
pub(super) fn trim(call: &Bind<'_>, trimmed: for<'a> fn(&'a str, &str) -> &'a str) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 1)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        let sets = if arguments.values.len() > 1 { Some(arguments.texts(1)?) } else { None };
        build_slices(arguments.rows, |row| {
            let set = match &sets {
                Some(sets) => sets.get(row),
                None => Some(" "),
            };
            Ok(texts.get(row).zip(set).map(|(text, set)| trimmed(text, set)))
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn pad(call: &Bind<'_>, padded: fn(&str, i32, &str) -> TextResult<Option<String>>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Whole, Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let (texts, lengths, pads) = (arguments.texts(0)?, arguments.longs(1)?, arguments.texts(2)?);
        build_texts(arguments.rows, |row, out| {
            let (Some(text), Some(length), Some(pad)) = (texts.get(row), lengths.get(row), pads.get(row)) else {
                return Ok(false);
            };
            let padded = padded(text, int(length), pad).map_err(failed)?;
            Ok(padded.inspect(|padded| out.push_str(padded)).is_some())
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn concat(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take_many(&[Parameter::Text], Parameter::Text)?;
    let count = arguments.len();
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = (0..count).map(|index| arguments.texts(index)).collect::<Result<Vec<_>, _>>()?;
        build_texts(arguments.rows, |row, out| {
            for text in &texts {
                let Some(text) = text.get(row) else { return Ok(false) };
                out.push_str(text);
            }
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn concat_ws(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take_many(&[Parameter::Text], Parameter::Text)?;
    let count = arguments.len();
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = (0..count).map(|index| arguments.texts(index)).collect::<Result<Vec<_>, _>>()?;
        build_texts(arguments.rows, |row, out| {
            let Some(separator) = texts[0].get(row) else { return Ok(false) };
            text::concat_ws(out, separator, texts[1..].iter().map(|text| text.get(row)));
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn substring(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Whole, Parameter::Whole], 1)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, starts) = (arguments.texts(0)?, arguments.longs(1)?);
        let lengths = if arguments.values.len() > 2 { Some(arguments.longs(2)?) } else { None };
        build_slices(arguments.rows, |row| {
            let (Some(text), Some(start)) = (texts.get(row), starts.get(row)) else { return Ok(None) };
            let length = match &lengths {
                Some(lengths) => match lengths.get(row) {
                    Some(length) => Some(int(length)),
                    None => return Ok(None),
                },
                None => None,
            };
            Ok(text::substring(text, int(start), length))
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn side(call: &Bind<'_>, part: fn(&str, i32) -> &str) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Whole], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let (texts, lengths) = (arguments.texts(0)?, arguments.longs(1)?);
        build_slices(arguments.rows, |row| {
            Ok(texts.get(row).zip(lengths.get(row)).map(|(text, length)| part(text, int(length))))
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn replace(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, parts, others) = (arguments.texts(0)?, arguments.texts(1)?, arguments.texts(2)?);
        build_texts(arguments.rows, |row, out| {
            let (Some(text), Some(part), Some(other)) = (texts.get(row), parts.get(row), others.get(row)) else {
                return Ok(false);
            };
            out.push_str(&text::replace(text, part, other).map_err(failed)?);
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn repeat(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Whole], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, counts) = (arguments.texts(0)?, arguments.longs(1)?);
        build_texts(arguments.rows, |row, out| {
            let (Some(text), Some(count)) = (texts.get(row), counts.get(row)) else { return Ok(false) };
            out.push_str(&text::repeat(text, int(count)).map_err(failed)?);
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn overlay(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text, Parameter::Whole, Parameter::Whole], 1)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, others, starts) = (arguments.texts(0)?, arguments.texts(1)?, arguments.longs(2)?);
        let lengths = if arguments.values.len() > 3 { Some(arguments.longs(3)?) } else { None };
        build_texts(arguments.rows, |row, out| {
            let (Some(text), Some(other), Some(start)) = (texts.get(row), others.get(row), starts.get(row)) else {
                return Ok(false);
            };
            let length = match &lengths {
                Some(lengths) => match lengths.get(row) {
                    None => return Ok(false),
                    some => some,
                },
                None => None,
            };
            out.push_str(&text::overlay(text, other, start, length));
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn locate(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text, Parameter::Whole], 1)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (parts, texts) = (arguments.texts(0)?, arguments.texts(1)?);
        let starts = if arguments.values.len() > 2 { Some(arguments.longs(2)?) } else { None };
        build_ints(arguments.rows, |row| {
            let (Some(part), Some(text)) = (parts.get(row), texts.get(row)) else { return Ok(None) };
            Ok(match &starts {
                Some(starts) => starts.get(row).map(|start| text::locate(part, text, int(start))),
                None => Some(text::position(part, text)),
            })
        })
    });
    Ok(call.bound(arguments, DataType::Int32, kernel))
}

pub(super) fn instr(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text, Parameter::Whole, Parameter::Whole], 2)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, parts) = (arguments.texts(0)?, arguments.texts(1)?);
        let whole =
            |index: usize| if arguments.values.len() > index { arguments.longs(index).map(Some) } else { Ok(None) };
        let (starts, nths) = (whole(2)?, whole(3)?);
        build_ints(arguments.rows, |row| {
            let (Some(text), Some(part)) = (texts.get(row), parts.get(row)) else { return Ok(None) };
            let of = |column: &Option<crate::columns::Numbers<arrow_array::types::Int64Type>>| match column {
                Some(column) => column.get(row).map(int),
                None => Some(1),
            };
            match (of(&starts), of(&nths)) {
                (Some(start), Some(nth)) => text::instr(text, part, start, nth).map(Some).map_err(failed),
                _ => Ok(None),
            }
        })
    });
    Ok(call.bound(arguments, DataType::Int32, kernel))
}

pub(super) fn translate(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, froms, tos) = (arguments.texts(0)?, arguments.texts(1)?, arguments.texts(2)?);
        let translation = |row: usize| froms.get(row).map(|from| text::Translation::new(from, tos.get(row)));
        let fixed = if froms.is_constant() && tos.is_constant() { Some(translation(0)) } else { None };
        build_texts(arguments.rows, |row, out| {
            let Some(text) = texts.get(row) else { return Ok(false) };
            let of_row;
            let translation = match &fixed {
                Some(fixed) => fixed.as_ref(),
                None => {
                    of_row = translation(row);
                    of_row.as_ref()
                }
            };
            match translation {
                Some(translation) => out.push_str(&translation.apply(text)),
                None => out.push_str(text),
            }
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn split(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, delimiters) = (arguments.texts(0)?, arguments.texts(1)?);
        let field = Field::new("item", DataType::Utf8, true);
        let mut lists = ListBuilder::new(StringBuilder::new()).with_field(field);
        for row in 0..arguments.rows {
            let parts = texts.get(row).zip(delimiters.get(row)).map(|(text, delimiter)| text::split(text, delimiter));
            parts.iter().flatten().for_each(|part| lists.values().append_value(part));
            lists.append(parts.is_some());
        }
        Ok(Arc::new(lists.finish()))
    });
    Ok(call.bound(arguments, array_type(DataType::Utf8), kernel))
}

pub(super) fn split_index(call: &Bind<'_>) -> Result<Bound, Error> {
    let by_code = call.types.get(1).is_some_and(is_integer);
    let delimiter = if by_code { Parameter::Whole } else { Parameter::Text };
    let arguments = call.take(&[Parameter::Text, delimiter, Parameter::Whole], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let (texts, indexes) = (arguments.texts(0)?, arguments.longs(2)?);
        if by_code {
            let codes = arguments.longs(1)?;
            return build_slices(arguments.rows, |row| {
                let (Some(text), Some(code), Some(index)) = (texts.get(row), codes.get(row), indexes.get(row)) else {
                    return Ok(None);
                };
                Ok(text::split_index_code(text, int(code), int(index)))
            });
        }
        let delimiters = arguments.texts(1)?;
        build_slices(arguments.rows, |row| {
            let (Some(text), Some(delimiter), Some(index)) = (texts.get(row), delimiters.get(row), indexes.get(row))
            else {
                return Ok(None);
            };
            Ok(text::split_index(text, delimiter, int(index)))
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn str_to_map(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 2)?;
    if arguments.len() == 2 {
        return Err(call.wrong());
    }
    let result = map_type(DataType::Utf8, DataType::Utf8);
    let kernel: Kernel = Arc::new(|arguments| {
        let texts = arguments.texts(0)?;
        let patterns = if arguments.values.len() > 1 { Some((arguments.texts(1)?, arguments.texts(2)?)) } else { None };
        let compiled = |pattern: &str| text::JavaRegex::new(pattern).map_err(|error| failed(error.into()));
        let of_row = |row: usize| match &patterns {
            None => Ok(Some((compiled(",")?, compiled("=")?))),
            Some((entries, values)) => match entries.get(row).zip(values.get(row)) {
                Some((entries, values)) => Ok(Some((compiled(entries)?, compiled(values)?))),
                None => Ok::<_, Error>(None),
            },
        };
        let is_fixed = patterns.as_ref().is_none_or(|(entries, values)| entries.is_constant() && values.is_constant());
        let fixed = if is_fixed { Some(of_row(0)?) } else { None };
        let mut maps = MapBuilder::new(
            Some(arrow_array::builder::MapFieldNames {
                entry: "entries".to_owned(),
                key: "key".to_owned(),
                value: "value".to_owned(),
            }),
            StringBuilder::new(),
            StringBuilder::new(),
        );
        for row in 0..arguments.rows {
            let own;
            let patterns = match &fixed {
                Some(fixed) => fixed.as_ref(),
                None => {
                    own = of_row(row)?;
                    own.as_ref()
                }
            };
            let (Some(text), Some((entries, values))) = (texts.get(row), patterns) else {
                maps.append(false).map_err(crate::bound::internal)?;
                continue;
            };
            for (key, value) in text::str_to_map(text, entries, values).map_err(failed)? {
                maps.keys().append_value(key);
                maps.values().append_option(value);
            }
            maps.append(true).map_err(crate::bound::internal)?;
        }
        Ok(Arc::new(maps.finish()))
    });
    Ok(call.bound(arguments, result, kernel))
}

pub(super) fn elt(call: &Bind<'_>) -> Result<Bound, Error> {
    let (index, values) = call.types.split_first().ok_or_else(|| call.wrong())?;
    let common = common_type(values).filter(|_| is_integer(index) || index.is_null()).ok_or_else(|| call.wrong())?;
    let common = if common.is_null() { DataType::Utf8 } else { common };
    if !matches!(common, DataType::Utf8 | DataType::Binary) {
        return Err(call.wrong());
    }
    let count = values.len();
    let mut arguments = vec![DataType::Int64];
    arguments.extend(vec![common.clone(); count]);
    let kernel: Kernel = Arc::new(move |arguments| {
        let indexes = arguments.longs(0)?;
        let columns = (1..=count).map(|index| arguments.column(index)).collect::<Result<Vec<_>, _>>()?;
        let none = arrow_array::new_null_array(columns[0].data_type(), 1);
        let mut all: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
        all.push(none.as_ref());
        let place = |row: usize| {
            let index = indexes.get(row).and_then(|index| usize::try_from(index).ok());
            match index.filter(|index| (1..=count).contains(index)) {
                Some(index) => (index - 1, row),
                None => (count, 0),
            }
        };
        let places: Vec<(usize, usize)> = (0..arguments.rows).map(place).collect();
        arrow_select::interleave::interleave(&all, &places).map_err(crate::bound::internal)
    });
    Ok(call.bound(arguments, common, kernel))
}

pub(super) fn hex(call: &Bind<'_>) -> Result<Bound, Error> {
    if matches!(call.types, [of] if is_text(of)) {
        return to_text(call, |text, out| {
            out.push_str(&text::hex_bytes(text.as_bytes()));
            Ok(true)
        });
    }
    let arguments = call.take(&[Parameter::Whole], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let numbers = arguments.longs(0)?;
        build_texts(arguments.rows, |row, out| {
            let Some(number) = numbers.get(row) else { return Ok(false) };
            out.push_str(&text::hex_number(number));
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn to_base64(call: &Bind<'_>) -> Result<Bound, Error> {
    to_text(call, |text, out| {
        out.push_str(&text::to_base64(text.as_bytes()));
        Ok(true)
    })
}

pub(super) fn encode(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, charsets) = (arguments.texts(0)?, arguments.texts(1)?);
        build_bytes(arguments.rows, |row| {
            let (Some(text), Some(charset)) = (texts.get(row), charsets.get(row)) else { return Ok(None) };
            Ok(Some(text::Charset::of(charset).map_err(failed)?.encode(text)))
        })
    });
    Ok(call.bound(arguments, DataType::Binary, kernel))
}

pub(super) fn decode(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Bytes, Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (bytes, charsets) = (arguments.bytes(0)?, arguments.texts(1)?);
        build_texts(arguments.rows, |row, out| {
            let (Some(bytes), Some(charset)) = (bytes.get(row), charsets.get(row)) else { return Ok(false) };
            out.push_str(&text::Charset::of(charset).map_err(failed)?.decode(bytes));
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) fn parse_url(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 1)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (urls, parts) = (arguments.texts(0)?, arguments.texts(1)?);
        let keys = if arguments.values.len() > 2 { Some(arguments.texts(2)?) } else { None };
        build_texts(arguments.rows, |row, out| {
            let (Some(url), Some(part)) = (urls.get(row), parts.get(row)) else { return Ok(false) };
            let value = match &keys {
                Some(keys) => keys.get(row).and_then(|key| text::parse_url_key(url, part, key)),
                None => text::parse_url(url, part),
            };
            Ok(value.inspect(|value| out.push_str(value)).is_some())
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}
