//! Rows as CSV.

use super::Dialect;
use crate::json::writer::write_value;
use crate::values::timestamp::Standard;
use crate::values::write::{is_nested, write_scalar};
use arrow_array::{Array, RecordBatch};
use headpond_runtime::{Error, Result};
use headpond_state::Context;

/// Writes rows.
#[derive(Debug)]
pub(crate) struct CsvWriter {
    dialect: Dialect,
    field: Vec<u8>,
}

impl CsvWriter {
    pub(crate) fn new(dialect: Dialect) -> Self {
        CsvWriter { dialect, field: Vec::new() }
    }

    /// How rows are written.
    pub(crate) fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Appends the line that names the columns, if files have one.
    pub(crate) fn write_header<'a>(&mut self, names: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) -> Result<()> {
        if !self.dialect.header {
            return Ok(());
        }
        for (index, name) in names.enumerate() {
            if index > 0 {
                out.push(self.dialect.delimiter);
            }
            self.write_text(name.as_bytes(), out)?;
        }
        out.push(b'\n');
        Ok(())
    }

    /// Appends a row without line break; `op` is its first field, if there is one.
    pub(crate) fn write_row(
        &mut self,
        rows: &RecordBatch,
        row: usize,
        op: Option<&str>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let begin = out.len();
        if let Some(op) = op {
            self.write_text(op.as_bytes(), out)?;
        }
        for (index, column) in rows.columns().iter().enumerate() {
            if index > 0 || op.is_some() {
                out.push(self.dialect.delimiter);
            }
            self.write_field(column.as_ref(), row, out)?;
        }
        // An empty line is no row when it is read.
        if out.len() == begin
            && let Some(quote) = self.dialect.quote
        {
            out.extend_from_slice(&[quote, quote]);
        }
        Ok(())
    }

    fn write_field(&mut self, column: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<()> {
        if column.is_null(row) {
            out.extend_from_slice(self.dialect.null_literal.as_deref().unwrap_or_default());
            return Ok(());
        }
        let mut field = std::mem::take(&mut self.field);
        field.clear();
        let written = if is_nested(column.data_type()) {
            write_value(column, row, Standard::Sql, &mut field)
        } else {
            write_scalar(column, row, Standard::Sql, &mut field)
        };
        let written = written.and_then(|()| self.write_text(&field, out));
        self.field = field;
        written
    }

    /// Appends a text, in quotes where it needs them: where it would be read as something else.
    fn write_text(&self, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Dialect { delimiter, quote, escape, .. } = self.dialect;
        let is_special = |byte: u8| {
            byte == delimiter || matches!(byte, b'\n' | b'\r') || Some(byte) == quote || Some(byte) == escape
        };
        let is_null = self.dialect.null_literal.as_deref() == Some(text);
        let is_comment = self.dialect.comments && text.first() == Some(&b'#');
        if !is_null && !is_comment && !text.iter().copied().any(is_special) {
            out.extend_from_slice(text);
            return Ok(());
        }
        let Some(quote) = quote else {
            return Err(Error::invalid("a text cannot be written without quotes, which the table's options disable")
                .with(Context::Option, "csv.disable-quote-character")
                .with(Context::Text, format_args!("'{}'", crate::values::shown(text)))
                .hint("leave out 'csv.disable-quote-character', or choose a delimiter that no text has"));
        };
        out.push(quote);
        for &byte in text {
            if byte == quote {
                out.push(quote);
            } else if Some(byte) == escape {
                out.push(byte);
            }
            out.push(byte);
        }
        out.push(quote);
        Ok(())
    }
}
