//! Rows as lines of a file, in the table's format.

use super::line_migration::LineForm;
use crate::csv::Dialect;
use crate::csv::writer::CsvWriter;
use crate::json::writer::JsonWriter;
use crate::options::{Options, declared};
use crate::table::TableDescription;
use crate::values::timestamp::Standard;
use arrow_array::RecordBatch;
use headpond_runtime::{ChangeKind, Result};

/// The first field of a row of a changing result.
pub(super) const OP: &str = "op";

/// Writes rows in a table's format.
#[derive(Debug)]
pub(super) enum RowWriter {
    Csv(CsvWriter),
    Json(JsonWriter),
}

impl RowWriter {
    pub(super) fn of(table: &TableDescription) -> Result<Self> {
        let options = Options::new(table);
        if options.get(&declared::FORMAT)? == declared::Format::Csv {
            return Ok(RowWriter::Csv(CsvWriter::new(Dialect::of(table)?)));
        }
        let standard = match options.get(&declared::JSON_TIMESTAMP_FORMAT)? {
            declared::TimestampFormat::Sql => Standard::Sql,
            declared::TimestampFormat::Iso => Standard::Iso,
        };
        let names = table.schema.fields().iter().map(|field| field.name().as_str());
        Ok(RowWriter::Json(JsonWriter::new(names, standard)))
    }

    /// The form of the lines.
    pub(super) fn line_form(&self) -> LineForm {
        match self {
            RowWriter::Csv(writer) => LineForm::Csv(writer.dialect().clone()),
            RowWriter::Json(_) => LineForm::Json,
        }
    }

    /// What a file begins with, if anything.
    pub(super) fn header(&mut self, table: &TableDescription, with_op: bool) -> Result<Vec<u8>> {
        let mut header = Vec::new();
        if let RowWriter::Csv(writer) = self {
            let names = table.schema.fields().iter().map(|field| field.name().as_str());
            writer.write_header(with_op.then_some(OP).into_iter().chain(names), &mut header)?;
        }
        Ok(header)
    }

    /// Appends a row with its line break.
    pub(super) fn write(
        &mut self,
        rows: &RecordBatch,
        row: usize,
        kind: Option<ChangeKind>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let op = kind.map(ChangeKind::short);
        match self {
            RowWriter::Csv(writer) => writer.write_row(rows, row, op, out)?,
            RowWriter::Json(writer) => writer.write_row(rows, row, op, out)?,
        }
        out.push(b'\n');
        Ok(())
    }
}
