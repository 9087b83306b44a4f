//! Rows as files.

use crate::query::RowSink;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use headpond_state::{Context, Error, Result};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::fmt;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// How dates with times are written where a format has only text: with as many digits behind the second as there are.
pub(crate) const TIMESTAMP_FORMAT: &str = "%Y-%m-%d %H:%M:%S%.f";

/// Rows of a Parquet file that are held in memory until they are written together.
const ROW_GROUP_ROWS: usize = 128 << 10;

/// What a file of rows is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Parquet, compressed with Snappy.
    Parquet,
    /// Comma-separated values behind a line of names; NULL is nothing.
    Csv,
    /// A JSON object per line.
    Json,
}

impl FileFormat {
    /// The format that a file's name tells.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when it tells none.
    pub fn of_path(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        extension.parse().map_err(|_| {
            Error::invalid("the file's name does not tell its format")
                .with(Context::Path, path.display())
                .hint("end it in .parquet, .csv or .json, or name the format")
        })
    }
}

impl FromStr for FileFormat {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "parquet" => FileFormat::Parquet,
            "csv" => FileFormat::Csv,
            "json" | "jsonl" | "ndjson" => FileFormat::Json,
            _ => return Err(Error::invalid(format!("`{text}` is no format; it is one of parquet, csv, json"))),
        })
    }
}

/// Writes rows in a format.
pub struct RowWriter {
    writer: FileWriter,
    /// What is written to, for messages.
    place: String,
    rows: u64,
}

type Out = Box<dyn Write + Send>;

enum FileWriter {
    /// Before the columns are known.
    Parquet(Option<Out>),
    ParquetOpen(Box<ArrowWriter<Out>>),
    Csv {
        out: Out,
        has_header: bool,
    },
    Json(Out),
}

impl fmt::Debug for RowWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowWriter").field("place", &self.place).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl RowWriter {
    /// A writer to `out`, which `place` names in messages.
    pub fn new(format: FileFormat, out: Box<dyn Write + Send>, place: impl fmt::Display) -> Self {
        let writer = match format {
            FileFormat::Parquet => FileWriter::Parquet(Some(out)),
            FileFormat::Csv => FileWriter::Csv { out, has_header: false },
            FileFormat::Json => FileWriter::Json(out),
        };
        RowWriter { writer, place: place.to_string(), rows: 0 }
    }

    /// Writes what is left, and says how many rows there were.
    ///
    /// # Errors
    /// As the output's.
    pub fn finish(self) -> Result<u64> {
        let RowWriter { writer, place, rows } = self;
        match writer {
            FileWriter::ParquetOpen(writer) => {
                writer.close().map(drop).map_err(|cause| parquet_error(cause, &place))?
            }
            FileWriter::Parquet(None) => {}
            FileWriter::Parquet(Some(mut out)) | FileWriter::Csv { mut out, .. } | FileWriter::Json(mut out) => {
                out.flush().map_err(|cause| io_error(cause, &place))?;
            }
        }
        Ok(rows)
    }
}

impl RowSink for RowWriter {
    fn begin(&mut self, schema: &SchemaRef) -> Result<()> {
        match &mut self.writer {
            FileWriter::Parquet(out) => {
                let Some(out) = out.take() else { return Ok(()) };
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
                    .build();
                let writer = ArrowWriter::try_new(out, Arc::clone(schema), Some(properties));
                let writer = writer.map_err(|cause| parquet_error(cause, &self.place))?;
                self.writer = FileWriter::ParquetOpen(Box::new(writer));
                Ok(())
            }
            // The names are there also when there are no rows.
            FileWriter::Csv { .. } => self.rows(&RecordBatch::new_empty(Arc::clone(schema))).map(drop),
            _ => Ok(()),
        }
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>> {
        self.rows += batch.num_rows() as u64;
        let place = &self.place;
        match &mut self.writer {
            FileWriter::Parquet(_) => return Err(Error::internal("rows are written before their columns are known")),
            FileWriter::ParquetOpen(writer) => writer.write(batch).map_err(|cause| parquet_error(cause, place))?,
            FileWriter::Csv { out, has_header } => {
                let text = csv(batch, !std::mem::replace(has_header, true)).map_err(encoding_error)?;
                out.write_all(&text).map_err(|cause| io_error(cause, place))?;
            }
            FileWriter::Json(out) => {
                let text = json(batch).map_err(encoding_error)?;
                out.write_all(&text).map_err(|cause| io_error(cause, place))?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn csv(batch: &RecordBatch, header: bool) -> Result<Vec<u8>, ArrowError> {
    let batch = with_nested_as_text(batch)?;
    let mut text = Vec::new();
    let mut writer = arrow_csv::WriterBuilder::new()
        .with_header(header)
        .with_timestamp_format(TIMESTAMP_FORMAT.to_owned())
        .with_timestamp_tz_format(TIMESTAMP_FORMAT.to_owned())
        .build(&mut text);
    writer.write(&batch)?;
    drop(writer);
    Ok(text)
}

fn json(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = arrow_json::WriterBuilder::new()
        .with_explicit_nulls(true)
        .with_timestamp_format(TIMESTAMP_FORMAT.to_owned())
        .with_timestamp_tz_format(TIMESTAMP_FORMAT.to_owned())
        .build::<_, arrow_json::writer::LineDelimited>(Vec::new());
    writer.write(batch)?;
    writer.finish()?;
    Ok(writer.into_inner())
}

/// The batch with lists and rows as text: CSV has no other form for them.
fn with_nested_as_text(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    if !batch.schema().fields().iter().any(|field| field.data_type().is_nested()) {
        return Ok(batch.clone());
    }
    let mut fields = Vec::with_capacity(batch.num_columns());
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(batch.num_columns());
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if !field.data_type().is_nested() {
            fields.push(field.as_ref().clone());
            columns.push(Arc::clone(column));
            continue;
        }
        fields.push(Field::new(field.name(), DataType::Utf8, true));
        let formatter = ArrayFormatter::try_new(column.as_ref(), &text_options())?;
        let text = |row: usize| column.is_valid(row).then(|| formatter.value(row).to_string());
        columns.push(Arc::new((0..column.len()).map(text).collect::<StringArray>()));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// How values are written as text.
pub(crate) fn text_options() -> FormatOptions<'static> {
    FormatOptions::new()
        .with_null("NULL")
        .with_timestamp_format(Some(TIMESTAMP_FORMAT))
        .with_timestamp_tz_format(Some(TIMESTAMP_FORMAT))
}

/// The rows of a batch as text, column by column.
///
/// # Errors
/// [`Internal`](headpond_state::ErrorKind::Internal) for a type that has no text.
pub fn as_text(batch: &RecordBatch) -> Result<Vec<Vec<String>>> {
    let options = text_options();
    let column = |column: &ArrayRef| {
        let formatter = ArrayFormatter::try_new(column.as_ref(), &options)?;
        (0..column.len()).map(|row| formatter.value(row).try_to_string()).collect::<Result<Vec<_>, _>>()
    };
    batch.columns().iter().map(column).collect::<Result<_, ArrowError>>().map_err(encoding_error)
}

fn encoding_error(cause: ArrowError) -> Error {
    Error::unsupported("rows cannot be written in this format").because(cause)
}

fn io_error(cause: io::Error, place: &str) -> Error {
    match cause.kind() {
        io::ErrorKind::BrokenPipe => Error::closed("nobody reads the rows any more").because(cause),
        _ => Error::io("rows cannot be written", place, cause),
    }
}

fn parquet_error(cause: ParquetError, place: &str) -> Error {
    Error::unavailable("rows cannot be written").with(Context::Path, place).because(cause)
}
