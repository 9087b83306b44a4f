//! Tables, files and batches for the tests.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

pub mod sinks;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use headpond_connectors::{Connectors, SinkInput, TableDescription};
use headpond_runtime::Result;
use headpond_runtime::sink::Sink;
use headpond_runtime::source::{ReaderContext, Source, SourceSplit};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Millisecond, None);

pub fn timestamp_ltz() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
}

/// A schema of nullable columns.
pub fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
    let fields: Vec<Field> =
        columns.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true)).collect();
    Arc::new(Schema::new(fields))
}

/// A table of files.
pub fn files(path: &Path, format: &str, columns: &[(&str, DataType)]) -> TableDescription {
    TableDescription::new("t", schema(columns))
        .with_option("connector", "filesystem")
        .with_option("path", path.display().to_string())
        .with_option("format", format)
}

/// Writes a file and gives its path.
pub fn write(directory: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).expect("a directory in a temporary directory");
    }
    std::fs::write(&path, bytes).expect("a file in a temporary directory");
    path
}

pub const ONE_READER: ReaderContext = ReaderContext { subtask: 0, readers: 1 };

/// What a split has from a position on, the last position, and how many rows were left out.
pub fn read_split(source: &dyn Source, split: &SourceSplit, at: Option<&Value>) -> Result<(Vec<String>, Value, u64)> {
    let mut reader = source.open(split, at, &ONE_READER)?;
    let (mut rows, mut position, mut skipped) = (Vec::new(), at.cloned().unwrap_or(Value::Null), 0);
    while let Some(batch) = reader.next(3)? {
        rows.extend(shown(batch.rows.rows()));
        position = batch.position;
        skipped += batch.skipped;
    }
    Ok((rows, position, skipped))
}

/// All rows of all splits, and how many were left out.
pub fn read_all(source: &dyn Source) -> Result<(Vec<String>, u64)> {
    let (mut rows, mut skipped) = (Vec::new(), 0);
    for split in source.splits()? {
        let (more, _, left_out) = read_split(source, &split, None)?;
        rows.extend(more);
        skipped += left_out;
    }
    Ok((rows, skipped))
}

/// The rows of a table.
pub fn rows_of(table: &TableDescription) -> Vec<String> {
    read_all(&*source(table, None).expect("a good table")).expect("good rows").0
}

/// Rows as Arrow shows them, values separated by `|`, NULL as `NULL`.
pub fn shown(rows: &RecordBatch) -> Vec<String> {
    let options = arrow_cast::display::FormatOptions::new().with_null("NULL");
    // Arrow shows zones by offset only.
    let columns: Vec<ArrayRef> = rows
        .columns()
        .iter()
        .map(|column| match column.data_type() {
            DataType::Timestamp(_, Some(_)) => {
                let instants = column.as_primitive::<TimestampMillisecondType>().clone();
                Arc::new(instants.with_timezone("+00:00"))
            }
            _ => Arc::clone(column),
        })
        .collect();
    let formatters: Vec<_> = columns
        .iter()
        .map(|column| {
            arrow_cast::display::ArrayFormatter::try_new(column.as_ref(), &options).expect("a type with a form")
        })
        .collect();
    let row = |index| formatters.iter().map(|column| column.value(index).to_string()).collect::<Vec<_>>().join("|");
    (0..rows.num_rows()).map(row).collect()
}

/// A batch of nullable columns.
pub fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of one length")
}

/// Checks the options of a table of a connector that Headpond has.
pub fn check(table: &TableDescription) -> Result<()> {
    Connectors::built_in().check(table)
}

/// The source of a table of a connector that Headpond has.
pub fn source(table: &TableDescription, projection: Option<&[usize]>) -> Result<Arc<dyn Source>> {
    Connectors::built_in().source(table, projection)
}

/// The sink of a table of a connector that Headpond has.
pub fn sink(table: &TableDescription, input: &SinkInput) -> Result<Arc<dyn Sink>> {
    Connectors::built_in().sink(table, input)
}
