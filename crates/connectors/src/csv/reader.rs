//! Rows of CSV into columns.

use super::record_end::RecordEnd;
use super::scan::{Extent, Scan, Scanner, Span};
use super::{Dialect, header};
use crate::column::Column;
use crate::filesystem::input::{Input, RECORD_BYTES_MAX};
use crate::filesystem::reader::{Outcome, RowReader};
use crate::json::reader::append_json_text;
use crate::table::TableDescription;
use crate::values::write::is_nested;
use crate::values::{Problem, Zone, shown, sql_type};
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use std::path::{Path, PathBuf};

/// Reads rows of one CSV file.
#[derive(Debug)]
pub(crate) struct CsvReader {
    path: PathBuf,
    scanner: Scanner,
    /// The place in the file of each column that is read.
    places: Vec<usize>,
    /// How many fields a row has.
    fields: usize,
    dialect: Dialect,
    zone: Zone,
    unescaped: Vec<u8>,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl CsvReader {
    /// Begins to read a file, at its beginning: takes its byte order mark and its header.
    pub(crate) fn begin(
        table: &TableDescription,
        projection: Option<&[usize]>,
        dialect: &Dialect,
        zone: Zone,
        path: &Path,
        input: &mut Input,
    ) -> Result<Self> {
        let mut scanner = Scanner::new(dialect);
        input.more()?;
        if input.window().starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len(), 0);
        }
        let declared = table.schema.fields();
        let (places, fields) = if dialect.header {
            match names(&mut scanner, dialect, path, input)? {
                Some(names) => {
                    let declared = declared.iter().map(|field| field.name().as_str());
                    (header::places(&names, declared, path)?, names.len())
                }
                // An empty file has no header and no rows.
                None => ((0..declared.len()).collect(), declared.len()),
            }
        } else {
            ((0..declared.len()).collect::<Vec<_>>(), declared.len())
        };
        let places = projection.map_or(places.clone(), |wanted| wanted.iter().map(|&column| places[column]).collect());
        let (path, dialect) = (path.to_owned(), dialect.clone());
        Ok(CsvReader { path, scanner, places, fields, dialect, zone, unescaped: Vec::new() })
    }

    /// Appends the fields of the scanned row.
    #[inline]
    fn append(&mut self, window: &[u8], columns: &mut [Column]) -> Result<(), (usize, Problem)> {
        let spans = self.scanner.spans();
        for (index, (&place, column)) in self.places.iter().zip(columns).enumerate() {
            let span = spans[place];
            let text = if span.escaped {
                unescape(&window[span.start..span.end], span, &self.dialect, &mut self.unescaped);
                &self.unescaped
            } else {
                &window[span.start..span.end]
            };
            append_field(column, text, span, &self.dialect, &self.zone).map_err(|problem| (index, problem))?;
        }
        Ok(())
    }

    /// What is wrong with a row: its column, if it is one, and text.
    #[cold]
    fn malformed(&self, message: String, column: Option<&Column>, text: &[u8], line: u64) -> Error {
        let error = Error::invalid(message).with(Context::Path, self.path.display()).with(Context::Line, line);
        let error = match column {
            Some(column) => error.with(Context::Column, column.name()),
            None => error,
        };
        error
            .with(Context::Text, format_args!("'{}'", shown(text)))
            .hint("correct the file, or leave such rows out with 'csv.ignore-parse-errors' = 'true'")
    }

    /// Says that the row at the window's beginning is malformed, or leaves it out.
    #[cold]
    fn refuse(&self, input: &mut Input, extent: Extent, error: Error) -> Result<Outcome> {
        if !self.dialect.ignore_errors {
            return Err(error);
        }
        input.consume(extent.bytes, extent.newlines);
        Ok(Outcome::Skipped)
    }

    /// Says that the row at the window's beginning is too long, or leaves all of it out: what is behind its first 16
    /// MiB is no row of its own.
    #[cold]
    fn overlong(&mut self, input: &mut Input) -> Result<Outcome> {
        if !self.dialect.ignore_errors {
            let message = format!("a row is longer than {} MiB: is a closing quote missing?", RECORD_BYTES_MAX >> 20);
            let line = first_line(&input.window()[..RECORD_BYTES_MAX]);
            return Err(self.malformed(message, None, line_of(input.window(), line), input.line()));
        }
        let mut end = RecordEnd::new(&self.dialect);
        let mut next_line = None;
        loop {
            let window = input.window();
            if next_line.is_none()
                && let Some(at) = window.iter().position(|&byte| byte == b'\n')
            {
                next_line = Some((input.offset() + at as u64 + 1, input.line() + 1));
            }
            let found = end.find(window);
            let bytes = found.unwrap_or(window.len());
            let newlines = window[..bytes].iter().filter(|&&byte| byte == b'\n').count();
            input.consume(bytes, newlines as u64);
            if found.is_some() || input.at_end() {
                break;
            }
            input.more()?;
        }
        // A quote that nobody closes may be a mistake of its line alone, so the next row begins with the next line.
        if end.is_in_quotes()
            && let Some((offset, line)) = next_line
        {
            input.return_to(offset, line)?;
        }
        Ok(Outcome::Skipped)
    }

    #[cold]
    fn wrong_count(&self, input: &mut Input, extent: Extent) -> Result<Outcome> {
        let found = self.scanner.spans().len();
        let message = format!("the row has {found} fields, not {}", self.fields);
        let error = self.malformed(message, None, line_of(input.window(), extent), input.line());
        self.refuse(input, extent, error)
    }
}

impl RowReader for CsvReader {
    fn read(&mut self, input: &mut Input, columns: &mut [Column]) -> Result<Outcome> {
        loop {
            match self.scanner.scan(input.window(), input.at_end()) {
                Scan::Row(extent) | Scan::BehindQuote(extent) if extent.bytes > RECORD_BYTES_MAX => {
                    return self.overlong(input);
                }
                Scan::Row(extent) => {
                    if self.scanner.spans().len() != self.fields {
                        return self.wrong_count(input, extent);
                    }
                    if let Err((index, problem)) = self.append(input.window(), columns) {
                        let column = &columns[index];
                        let span = self.scanner.spans()[self.places[index]];
                        let message = format!("not a value of {}: {}", sql_type(column.data_type()), problem.0);
                        let text = &input.window()[span.start..span.end];
                        let error = self.malformed(message, Some(column), text, input.line());
                        return self.refuse(input, extent, error);
                    }
                    input.consume(extent.bytes, extent.newlines);
                    return Ok(Outcome::Row);
                }
                Scan::Nothing(extent) => input.consume(extent.bytes, extent.newlines),
                Scan::Incomplete if !input.is_full() => input.more()?,
                Scan::Incomplete if self.dialect.comments && input.window().starts_with(b"#") => input.skip_line()?,
                Scan::Incomplete => return self.overlong(input),
                Scan::Unclosed if input.is_full() => return self.overlong(input),
                Scan::End => return Ok(Outcome::End),
                Scan::BehindQuote(extent) => {
                    let message = "text follows a closing quote".to_owned();
                    let error = self.malformed(message, None, line_of(input.window(), extent), input.line());
                    return self.refuse(input, extent, error);
                }
                Scan::Unclosed => {
                    // The quote may be a mistake of this line alone, so the next row begins with the next line.
                    let extent = first_line(input.window());
                    let message = "a row has no end: is a closing quote missing?".to_owned();
                    let error = self.malformed(message, None, line_of(input.window(), extent), input.line());
                    return self.refuse(input, extent, error);
                }
            }
        }
    }
}

#[inline]
fn append_field(column: &mut Column, text: &[u8], span: Span, dialect: &Dialect, zone: &Zone) -> Result<(), Problem> {
    let is_null = !span.quoted && dialect.null_literal.as_deref().is_some_and(|null| null == text);
    if is_null || (text.is_empty() && !column.is_text()) {
        return column.append_null();
    }
    if is_nested(column.data_type()) {
        return append_json_text(column, text, zone);
    }
    column.append_text(text, zone)
}

/// Reads the names of the columns; `None`: the file is empty.
fn names(scanner: &mut Scanner, dialect: &Dialect, path: &Path, input: &mut Input) -> Result<Option<Vec<String>>> {
    loop {
        match scanner.scan(input.window(), input.at_end()) {
            Scan::Row(extent) => {
                let window = input.window();
                let mut name = Vec::new();
                let names = scanner.spans().iter().map(|span| {
                    unescape(&window[span.start..span.end], *span, dialect, &mut name);
                    String::from_utf8_lossy(name.trim_ascii()).into_owned()
                });
                let names = names.collect();
                input.consume(extent.bytes, extent.newlines);
                return Ok(Some(names));
            }
            Scan::Nothing(extent) => input.consume(extent.bytes, extent.newlines),
            Scan::Incomplete if !input.is_full() => input.more()?,
            Scan::End => return Ok(None),
            Scan::BehindQuote(_) | Scan::Unclosed | Scan::Incomplete => {
                return Err(Error::invalid("the line that names the columns has a quote that is not closed")
                    .with(Context::Path, path.display())
                    .with(Context::Line, input.line())
                    .with(
                        Context::Text,
                        format_args!("'{}'", shown(line_of(input.window(), first_line(input.window())))),
                    ));
            }
        }
    }
}

/// The text of a field without doubled quotes and escapes.
fn unescape(text: &[u8], span: Span, dialect: &Dialect, out: &mut Vec<u8>) {
    out.clear();
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let doubled = span.quoted && Some(byte) == dialect.quote && bytes.peek() == Some(&byte);
        if doubled || Some(byte) == dialect.escape {
            out.push(bytes.next().unwrap_or(byte));
        } else {
            out.push(byte);
        }
    }
}

fn first_line(window: &[u8]) -> Extent {
    match window.iter().position(|&byte| byte == b'\n') {
        Some(at) => Extent { bytes: at + 1, newlines: 1 },
        None => Extent { bytes: window.len(), newlines: 0 },
    }
}

fn line_of(window: &[u8], extent: Extent) -> &[u8] {
    window[..extent.bytes.min(window.len())].trim_ascii_end()
}
