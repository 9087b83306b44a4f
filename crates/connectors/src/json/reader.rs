//! Rows of JSON lines into columns.

use super::cursor::{Cursor, ValueKind};
use crate::column::{Column, Values};
use crate::filesystem::input::{Input, RECORD_BYTES_MAX};
use crate::filesystem::reader::{Outcome, RowReader};
use crate::values::{Problem, Zone, shown, sql_type};
use arrow_schema::FieldRef;
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Reads rows of one file of JSON lines.
#[derive(Debug)]
pub(crate) struct JsonReader {
    path: PathBuf,
    ignore_errors: bool,
    zone: Zone,
    /// Where in the row the reader is: after an error, where it was.
    field: Vec<PathSegment>,
}

/// A step from a value to a part of it.
#[derive(Debug)]
enum PathSegment {
    Field(FieldRef),
    Key(String),
    Element(usize),
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl JsonReader {
    /// Begins to read a file, at its beginning: takes its byte order mark.
    pub(crate) fn begin(path: &Path, ignore_errors: bool, zone: Zone, input: &mut Input) -> Result<Self> {
        input.more()?;
        if input.window().starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len(), 0);
        }
        Ok(JsonReader { path: path.to_owned(), ignore_errors, zone, field: Vec::new() })
    }

    #[cold]
    fn malformed(&self, problem: &Problem, line: &[u8], at: usize, number: u64) -> Error {
        let error = Error::invalid(problem.0.clone()).with(Context::Path, self.path.display());
        let error = error.with(Context::Line, number);
        let path = dotted(&self.field);
        let error = if path.is_empty() {
            error.with(Context::Column, at + 1)
        } else {
            error.with(Context::Column, format_args!("{} ({path})", at + 1))
        };
        error
            .with(Context::Text, format_args!("'{}'", shown(line)))
            .hint("correct the file, or leave such rows out with 'json.ignore-parse-errors' = 'true'")
    }
}

impl JsonReader {
    /// Says that the line at the window's beginning is too long, or leaves all of it out.
    #[cold]
    fn overlong(&mut self, input: &mut Input) -> Result<Outcome> {
        if !self.ignore_errors {
            self.field.clear();
            let problem = Problem::new(format!("the line is longer than {} MiB", RECORD_BYTES_MAX >> 20));
            return Err(self.malformed(&problem, &input.window()[..RECORD_BYTES_MAX], 0, input.line()));
        }
        input.skip_line()?;
        Ok(Outcome::Skipped)
    }
}

impl RowReader for JsonReader {
    fn read(&mut self, input: &mut Input, columns: &mut [Column]) -> Result<Outcome> {
        loop {
            let window = input.window();
            let newline = window.iter().position(|&byte| byte == b'\n');
            let (length, newlines) = match newline {
                Some(at) if at < RECORD_BYTES_MAX => (at + 1, 1),
                None if input.at_end() && window.is_empty() => return Ok(Outcome::End),
                None if input.at_end() && !input.is_full() => (window.len(), 0),
                None if !input.is_full() => {
                    input.more()?;
                    continue;
                }
                Some(_) | None => return self.overlong(input),
            };
            let line = window[..length].trim_ascii_end();
            if line.trim_ascii_start().is_empty() {
                input.consume(length, newlines);
                continue;
            }
            self.field.clear();
            let outcome = match std::str::from_utf8(line) {
                Ok(text) => {
                    let mut cursor = Cursor::new(text);
                    row(&mut cursor, columns, &self.zone, &mut self.field).map_err(|problem| (problem, cursor.at()))
                }
                Err(error) => Err((Problem::new("not UTF-8"), error.valid_up_to())),
            };
            if let Err((problem, at)) = outcome {
                if !self.ignore_errors {
                    return Err(self.malformed(&problem, line, at, input.line()));
                }
                input.consume(length, newlines);
                return Ok(Outcome::Skipped);
            }
            input.consume(length, newlines);
            return Ok(Outcome::Row);
        }
    }
}

/// Appends the value of a nested type that is written as JSON in a field of another format.
pub(crate) fn append_json_text(column: &mut Column, text: &[u8], zone: &Zone) -> Result<(), Problem> {
    let text = std::str::from_utf8(text).map_err(|_| Problem::new("not UTF-8"))?;
    let mut cursor = Cursor::new(text);
    let mut field = Vec::new();
    let outcome = value(&mut cursor, column, zone, &mut field).and_then(|()| cursor.end());
    outcome.map_err(|problem| {
        let path = dotted(&field);
        if path.is_empty() { problem } else { Problem::new(format!("{} (in {path})", problem.0)) }
    })
}

fn row(
    cursor: &mut Cursor<'_>,
    columns: &mut [Column],
    zone: &Zone,
    field: &mut Vec<PathSegment>,
) -> Result<(), Problem> {
    if cursor.kind()? != ValueKind::Object {
        return Err(Problem::new("each line must be a JSON object"));
    }
    object(cursor, columns, zone, field)?;
    cursor.end()
}

/// Appends the members of an object to the columns of their names, and NULL to the others.
fn object(
    cursor: &mut Cursor<'_>,
    columns: &mut [Column],
    zone: &Zone,
    field: &mut Vec<PathSegment>,
) -> Result<(), Problem> {
    let Some(before) = columns.iter().map(Column::len).min() else { return cursor.value().map(drop) };
    // Members mostly come in the order of the columns.
    let mut expected = 0;
    cursor.members(|cursor, name| {
        let as_expected = columns.get(expected).filter(|column| column.name() == name).map(|_| expected);
        let Some(index) = as_expected.or_else(|| columns.iter().position(|column| column.name() == name)) else {
            return cursor.value().map(drop);
        };
        expected = index + 1;
        let column = &mut columns[index];
        field.push(PathSegment::Field(column.field().clone()));
        // Of members with the same name the last one counts.
        column.truncate(before);
        value(cursor, column, zone, field)?;
        field.pop();
        Ok(())
    })?;
    for column in columns.iter_mut().filter(|column| column.len() == before) {
        if let Err(problem) = column.append_null() {
            field.push(PathSegment::Field(column.field().clone()));
            return Err(problem);
        }
    }
    Ok(())
}

/// Appends the next value to a column.
fn value(
    cursor: &mut Cursor<'_>,
    column: &mut Column,
    zone: &Zone,
    field: &mut Vec<PathSegment>,
) -> Result<(), Problem> {
    let kind = cursor.kind()?;
    if kind == ValueKind::Null {
        cursor.literal("null")?;
        return column.append_null();
    }
    let type_name = |column: &Column| sql_type(column.data_type());
    match (column.values_mut(), kind) {
        (Values::Struct(columns), ValueKind::Object) => object(cursor, columns, zone, field)?,
        (Values::List { offsets, element }, ValueKind::Array) => {
            let mut index = 0;
            cursor.elements(|cursor| {
                field.push(PathSegment::Element(index));
                value(cursor, element, zone, field)?;
                field.pop();
                index += 1;
                Ok(())
            })?;
            offsets.push(element.len() as i32);
        }
        (Values::Map { offsets, key, value: values }, ValueKind::Object) => {
            cursor.members(|cursor, name| {
                key.append_text(name.as_bytes(), zone)?;
                field.push(PathSegment::Key(name.into_owned()));
                value(cursor, values, zone, field)?;
                field.pop();
                Ok(())
            })?;
            offsets.push(key.len() as i32);
        }
        (Values::Struct(_) | Values::List { .. } | Values::Map { .. }, _) => {
            return Err(Problem::new(format!("not a value of {}", type_name(column))));
        }
        (
            Values::Text(_),
            ValueKind::Number | ValueKind::True | ValueKind::False | ValueKind::Array | ValueKind::Object,
        ) => {
            let text = cursor.value()?;
            return column.append_text(text.as_bytes(), zone);
        }
        (_, ValueKind::String) => return scalar(&cursor.string()?, column, zone),
        (_, ValueKind::Number) => return scalar(cursor.number()?, column, zone),
        (Values::Bool(_), ValueKind::True | ValueKind::False) => return scalar(cursor.value()?, column, zone),
        _ => return Err(Problem::new(format!("not a value of {}", type_name(column)))),
    }
    column.appended();
    Ok(())
}

fn scalar(text: &str, column: &mut Column, zone: &Zone) -> Result<(), Problem> {
    column
        .append_text(text.as_bytes(), zone)
        .map_err(|problem| Problem::new(format!("not a value of {}: {}", sql_type(column.data_type()), problem.0)))
}

/// A path such as `a.b[2]`.
fn dotted(parts: &[PathSegment]) -> String {
    let mut path = String::new();
    for part in parts {
        let separator = if path.is_empty() { "" } else { "." };
        let _ = match part {
            PathSegment::Field(field) => write!(path, "{separator}{}", field.name()),
            PathSegment::Key(key) => write!(path, "{separator}{key}"),
            PathSegment::Element(index) => write!(path, "[{index}]"),
        };
    }
    path
}
