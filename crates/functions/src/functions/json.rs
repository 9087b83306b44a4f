//! Functions of JSON. Their clauses come as texts, in the order in which the parser puts them.

use super::json_values::{JsonWriter, is_json_type, json_rows};
use super::text_error::failed;
use crate::bind::{Bind, Bound, Category, Function, Parameter};
use crate::bound::Kernel;
use crate::columns::{Texts, build_booleans, build_doubles, build_ints, build_texts};
use crate::common_type::{array_type, is_text};
use crate::json::{self, Behavior, JsonKind, OnErrorExists, OnQuery, Path, Scalar, Wrapper, write_object};
use crate::text::TextError;
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use headpond_state::Error;
use std::sync::Arc;

const CHAPTER: Category = Category::Json;

pub(super) const FUNCTIONS: &[Function] = &[
    function!(
        &["IS_JSON"],
        "text IS [NOT] JSON [VALUE | OBJECT | ARRAY | SCALAR]",
        "Whether a text is JSON of a kind; false for NULL.",
        &[("'{}' IS JSON OBJECT", "true")],
        is_json
    ),
    function!(
        &["JSON_EXISTS"],
        "JSON_EXISTS(text, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])",
        "Whether a path leads to anything.",
        &[("JSON_EXISTS('{\"a\": 1}', '$.a')", "true")],
        exists
    ),
    function!(
        &["JSON_VALUE"],
        "JSON_VALUE(text, path [RETURNING type] [{NULL | ERROR | DEFAULT value} ON EMPTY] [… ON ERROR])",
        "The scalar that a path leads to, as a text unless said.",
        &[("JSON_VALUE('{\"a\": 1}', '$.a')", "1")],
        value
    ),
    function!(
        &["JSON_QUERY"],
        "JSON_QUERY(text, path [RETURNING ARRAY<STRING>] [… WRAPPER] [{NULL | EMPTY ARRAY | EMPTY OBJECT | ERROR} ON EMPTY] [… ON ERROR])",
        "The object or array that a path leads to, as JSON.",
        &[("JSON_QUERY('{\"a\": [1]}', '$.a')", "[1]")],
        query
    ),
    function!(
        &["JSON_OBJECT"],
        "JSON_OBJECT([KEY] key VALUE value, … [{NULL | ABSENT} ON NULL])",
        "A JSON object.",
        &[("JSON_OBJECT('a' VALUE 1)", "{\"a\":1}")],
        object
    ),
    function!(
        &["JSON_ARRAY"],
        "JSON_ARRAY(value, … [{NULL | ABSENT} ON NULL])",
        "A JSON array.",
        &[("JSON_ARRAY(1, 'a')", "[1,\"a\"]")],
        array
    ),
    function!(&["JSON_STRING"], "JSON_STRING(value)", "A value as JSON.", &[("JSON_STRING('a')", "\"a\"")], string),
    function!(
        &["JSON"],
        "JSON(text)",
        "A text that is JSON, which JSON_OBJECT and JSON_ARRAY take as it is.",
        &[("JSON_ARRAY(JSON('{\"a\": 1}'))", "[{\"a\":1}]")],
        |call| of_text(call, |text, out| {
            let normal = json::normalize_json(text)?;
            Ok(normal.inspect(|normal| out.push_str(normal)).is_some())
        })
    ),
    function!(
        &["JSON_QUOTE"],
        "JSON_QUOTE(text)",
        "The text in the quotes and escapes of JSON.",
        &[("JSON_QUOTE('a')", "\"a\"")],
        |call| of_text(call, |text, out| {
            out.push_str(&json::json_quote(text));
            Ok(true)
        })
    ),
    function!(
        &["JSON_UNQUOTE"],
        "JSON_UNQUOTE(text)",
        "The text without the quotes and escapes of JSON; what is not JSON stays as it is.",
        &[("JSON_UNQUOTE('\"a\"')", "a")],
        |call| of_text(call, |text, out| {
            out.push_str(&json::json_unquote(text)?);
            Ok(true)
        })
    ),
    Function {
        names: &["TYPEOF"],
        category: Category::Conversion,
        syntax: "TYPEOF(value)",
        doc: "The name of a value's type.",
        examples: &[("TYPEOF(1)", "INT")],
        bind: |call| {
            let [of] = call.types else { return Err(call.wrong()) };
            let name = super::time::name_of(of);
            let kernel: Kernel = Arc::new(move |arguments| {
                build_texts(arguments.rows, |_, text| {
                    text.push_str(&name);
                    Ok(true)
                })
            });
            Ok(call.bound(vec![of.clone()], DataType::Utf8, kernel))
        },
    },
];

fn json_failed(name: &str, reason: String) -> Error {
    failed(TextError::new(format!("{name}: {reason}")))
}

fn of_text(call: &Bind<'_>, write: fn(&str, &mut String) -> Result<bool, String>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text], 0)?;
    let name = call.name.to_uppercase();
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        build_texts(arguments.rows, |row, out| match texts.get(row) {
            Some(text) => write(text, out).map_err(|reason| json_failed(&name, reason)),
            None => Ok(false),
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn is_json(call: &Bind<'_>) -> Result<Bound, Error> {
    let [of, _] = call.types else { return Err(call.wrong()) };
    if !is_text(of) && !of.is_null() {
        return Err(call.wrong());
    }
    let kind = match call.literal_text(1) {
        Some("OBJECT") => JsonKind::Object,
        Some("ARRAY") => JsonKind::Array,
        Some("SCALAR") => JsonKind::Scalar,
        _ => JsonKind::Value,
    };
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        build_booleans(arguments.rows, |row| Ok(Some(texts.get(row).is_some_and(|text| json::is_json(text, kind)))))
    });
    Ok(call.bound(vec![DataType::Utf8, DataType::Utf8], DataType::Boolean, kernel))
}

/// The paths of rows, read anew only where they change.
#[derive(Default)]
struct Paths {
    last: Option<(String, Path)>,
}

impl Paths {
    fn of(&mut self, paths: &Texts, row: usize) -> Option<&Path> {
        let path = paths.get(row)?;
        if self.last.as_ref().is_none_or(|(of, _)| of != path) {
            self.last = Some((path.to_owned(), Path::deferred(path)));
        }
        self.last.as_ref().map(|(_, path)| path)
    }
}

fn exists(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 0)?;
    let on_error = |text: Option<&str>| match text {
        Some("TRUE") => OnErrorExists::True,
        Some("UNKNOWN") => OnErrorExists::Unknown,
        Some("ERROR") => OnErrorExists::Error,
        _ => OnErrorExists::False,
    };
    let behavior = call.literal_text(2).map(str::to_owned);
    let kernel: Kernel = Arc::new(move |arguments| {
        let (texts, paths) = (arguments.texts(0)?, arguments.texts(1)?);
        let mut read = Paths::default();
        build_booleans(arguments.rows, |row| {
            let (Some(text), Some(path)) = (texts.get(row), read.of(&paths, row)) else { return Ok(None) };
            json::json_exists(text, path, on_error(behavior.as_deref()))
                .map_err(|reason| json_failed("JSON_EXISTS", reason))
        })
    });
    Ok(call.bound(arguments, DataType::Boolean, kernel))
}

fn behavior<'a>(kind: &str, default: Option<&'a str>) -> Behavior<'a> {
    match (kind, default) {
        ("ERROR", _) => Behavior::Error,
        ("DEFAULT", Some(default)) => Behavior::Default(default),
        _ => Behavior::Null,
    }
}

fn value(call: &Bind<'_>) -> Result<Bound, Error> {
    let [document, path, _, _, _, _, _] = call.types else { return Err(call.wrong()) };
    let text_or_null = |of: &DataType| is_text(of) || of.is_null();
    if !text_or_null(document) || !text_or_null(path) {
        return Err(call.wrong());
    }
    let returning = call.literal_text(2).unwrap_or("STRING").to_uppercase();
    let result = match returning.split('(').next().unwrap_or_default().trim() {
        "STRING" | "VARCHAR" | "CHAR" => DataType::Utf8,
        "BOOLEAN" => DataType::Boolean,
        "INT" | "INTEGER" => DataType::Int32,
        "DOUBLE" => DataType::Float64,
        other => return Err(Error::unsupported(format!("JSON_VALUE(… RETURNING {other}) is not supported"))),
    };
    let clause = |index: usize| call.literal_text(index).unwrap_or("NULL").to_owned();
    let (on_empty, on_error, to) = (clause(3), clause(5), result.clone());
    let kernel: Kernel = Arc::new(move |arguments| {
        let (texts, paths) = (arguments.texts(0)?, arguments.texts(1)?);
        let (of_empty, of_error) = (arguments.texts(4)?, arguments.texts(6)?);
        let mut read = Paths::default();
        let mut scalar = |row: usize| -> Result<Option<Scalar<'_>>, Error> {
            let (Some(text), Some(path)) = (texts.get(row), read.of(&paths, row)) else { return Ok(None) };
            let (empty, error) = (behavior(&on_empty, of_empty.get(row)), behavior(&on_error, of_error.get(row)));
            json::json_value(text, path, empty, error).map(Some).map_err(|reason| json_failed("JSON_VALUE", reason))
        };
        let failed = |reason: String| json_failed("JSON_VALUE", reason);
        match to {
            DataType::Boolean => build_booleans(arguments.rows, |row| match scalar(row)? {
                Some(scalar) => json::returning_boolean(&scalar).map_err(failed),
                None => Ok(None),
            }),
            DataType::Int32 => build_ints(arguments.rows, |row| match scalar(row)? {
                Some(scalar) => json::returning_integer(&scalar).map_err(failed),
                None => Ok(None),
            }),
            DataType::Float64 => build_doubles(arguments.rows, |row| match scalar(row)? {
                Some(scalar) => json::returning_double(&scalar).map_err(failed),
                None => Ok(None),
            }),
            _ => build_texts(arguments.rows, |row, out| {
                let text = scalar(row)?.and_then(json::returning_text);
                Ok(text.inspect(|text| out.push_str(text)).is_some())
            }),
        }
    });
    let bound = call.bound(vec![DataType::Utf8; 7], result, kernel);
    Ok(bound)
}

fn query(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 6], 0)?;
    let returning = call.literal_text(2).unwrap_or("STRING").to_uppercase().replace(' ', "");
    let is_array = match returning.split('(').next().unwrap_or_default() {
        "STRING" | "VARCHAR" => false,
        "ARRAY<STRING>" | "ARRAY<VARCHAR>" => true,
        other => return Err(Error::unsupported(format!("JSON_QUERY(… RETURNING {other}) is not supported"))),
    };
    let wrapper = match call.literal_text(3) {
        Some("CONDITIONAL") => Wrapper::Conditional,
        Some("UNCONDITIONAL") => Wrapper::Unconditional,
        _ => Wrapper::Without,
    };
    let behavior = |index: usize| match call.literal_text(index) {
        Some("ERROR") => OnQuery::Error,
        Some("EMPTY ARRAY") => OnQuery::EmptyArray,
        Some("EMPTY OBJECT") => OnQuery::EmptyObject,
        _ => OnQuery::Null,
    };
    let (on_empty, on_error) = (behavior(4), behavior(5));
    let result = if is_array { array_type(DataType::Utf8) } else { DataType::Utf8 };
    let kernel: Kernel = Arc::new(move |arguments| {
        let (texts, paths) = (arguments.texts(0)?, arguments.texts(1)?);
        let mut read = Paths::default();
        let failed = |reason: String| json_failed("JSON_QUERY", reason);
        if is_array {
            let mut lists = ListBuilder::new(StringBuilder::new()).with_field(Field::new("item", DataType::Utf8, true));
            for row in 0..arguments.rows {
                let found = match (texts.get(row), read.of(&paths, row)) {
                    (Some(text), Some(path)) => {
                        json::json_query_array(text, path, wrapper, on_empty, on_error).map_err(failed)?
                    }
                    _ => None,
                };
                found.iter().flatten().for_each(|item| lists.values().append_option(item.as_deref()));
                lists.append(found.is_some());
            }
            return Ok(Arc::new(lists.finish()));
        }
        build_texts(arguments.rows, |row, out| {
            let (Some(text), Some(path)) = (texts.get(row), read.of(&paths, row)) else { return Ok(false) };
            let found = json::json_query(text, path, wrapper, on_empty, on_error).map_err(failed)?;
            Ok(found.inspect(|found| out.push_str(found)).is_some())
        })
    });
    Ok(call.bound(arguments, result, kernel))
}

fn string(call: &Bind<'_>) -> Result<Bound, Error> {
    let [of] = call.types else { return Err(call.wrong()) };
    if !is_json_type(of) {
        return Err(call.wrong());
    }
    let settings = Arc::clone(call.settings);
    let kernel: Kernel = Arc::new(move |arguments| {
        let column = arguments.column(0)?;
        let write = json_rows(&column, &settings)?;
        build_texts(arguments.rows, |row, out| Ok(write(row, out)))
    });
    Ok(call.bound(vec![of.clone()], DataType::Utf8, kernel))
}

/// What a constructor is given: what it does with NULL, and which values are JSON already.
fn constructed(call: &Bind<'_>) -> Result<(bool, Vec<bool>), Error> {
    let (Some(on_null), Some(raw)) = (call.literal(0), call.literal(1)) else { return Err(call.wrong()) };
    let raw = raw.try_as_str().flatten().unwrap_or_default();
    let absent = on_null.try_as_str().flatten() == Some("ABSENT");
    if !call.types[2..].iter().all(is_json_type) {
        return Err(call.wrong());
    }
    Ok((absent, raw.bytes().map(|byte| byte == b'1').collect()))
}

fn object(call: &Bind<'_>) -> Result<Bound, Error> {
    if call.types.len() < 2 || !call.types.len().is_multiple_of(2) {
        return Err(call.wrong());
    }
    let (absent, raw) = constructed(call)?;
    let keys_are_texts = call.types[2..].iter().step_by(2).all(is_text);
    if !keys_are_texts {
        return Err(call.wrong());
    }
    let settings = Arc::clone(call.settings);
    let kernel: Kernel = Arc::new(move |arguments| {
        let columns =
            (2..arguments.values.len()).map(|index| arguments.column(index)).collect::<Result<Vec<_>, _>>()?;
        let writers = columns.iter().map(|column| json_rows(column, &settings)).collect::<Result<Vec<_>, _>>()?;
        build_texts(arguments.rows, |row, out| {
            let mut entries: Vec<(&str, String)> = Vec::with_capacity(columns.len() / 2);
            for index in (0..columns.len()).step_by(2) {
                let keys = columns[index].as_string::<i32>();
                if keys.is_null(row) {
                    return Err(json_failed("JSON_OBJECT", "a key is NULL".to_owned()));
                }
                let value = one(&columns[index + 1], &writers[index + 1], raw.get(index + 1) == Some(&true), row);
                match value {
                    Some(value) => entries.push((keys.value(row), value)),
                    None if absent => {}
                    None => entries.push((keys.value(row), "null".to_owned())),
                }
            }
            let entries: Vec<(&str, &str)> = entries.iter().map(|(key, raw)| (*key, raw.as_str())).collect();
            write_object(out, &entries);
            Ok(true)
        })
    });
    Ok(call.bound(call.types.to_vec(), DataType::Utf8, kernel))
}

/// A value as JSON, or as the JSON that it is.
fn one(column: &ArrayRef, write: &JsonWriter<'_>, raw: bool, row: usize) -> Option<String> {
    if raw && matches!(column.data_type(), DataType::Utf8) {
        let texts = column.as_string::<i32>();
        return texts.is_valid(row).then(|| texts.value(row).to_owned());
    }
    let mut text = String::new();
    write(row, &mut text).then_some(text)
}

fn array(call: &Bind<'_>) -> Result<Bound, Error> {
    if call.types.len() < 2 {
        return Err(call.wrong());
    }
    let (absent, raw) = constructed(call)?;
    let settings = Arc::clone(call.settings);
    let kernel: Kernel = Arc::new(move |arguments| {
        let columns =
            (2..arguments.values.len()).map(|index| arguments.column(index)).collect::<Result<Vec<_>, _>>()?;
        let writers = columns.iter().map(|column| json_rows(column, &settings)).collect::<Result<Vec<_>, _>>()?;
        build_texts(arguments.rows, |row, out| {
            out.push('[');
            let mut first = true;
            for (index, (column, write)) in columns.iter().zip(&writers).enumerate() {
                let value = one(column, write, raw.get(index) == Some(&true), row);
                if value.is_none() && absent {
                    continue;
                }
                if !first {
                    out.push(',');
                }
                first = false;
                out.push_str(value.as_deref().unwrap_or("null"));
            }
            out.push(']');
            Ok(true)
        })
    });
    Ok(call.bound(call.types.to_vec(), DataType::Utf8, kernel))
}
