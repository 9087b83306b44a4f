//! Files of records: CSV and lines of JSON, read and written exactly once by the connector `filesystem`.

use super::data_stream::{DataStream, DataStreamSink, ReadRecords};
use super::environment::StreamExecutionEnvironment;
use super::record::Record;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use headpond_connectors::{Connectors, SinkInput, TableDescription};
use headpond_runtime::NodeKind;
use headpond_runtime::batch::{ChangeBatch, arrow_error};
use headpond_runtime::operator::BatchFunction;
use headpond_state::{Context, Error, Result};
use serde::de::DeserializeOwned;
use serde_arrow::ArrayBuilder;
use serde_arrow::schema::{SchemaLike, TracingOptions};
use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

/// Files to read records from, for [`from_files`](StreamExecutionEnvironment::from_files).
///
/// The columns are the fields of the record's type: a struct. Integers, floating-point numbers, truth values, texts,
/// `Option`s of them, lists and nested structs (JSON, also within a field of CSV) can be read. A job that goes on from
/// a checkpoint reads each file on from where it was.
pub struct FileSource<T> {
    options: BTreeMap<String, String>,
    records: PhantomData<fn() -> T>,
}

/// A directory to write records to, for [`write_files`](DataStream::write_files).
///
/// Files appear at checkpoints, each record in one of them exactly once; without checkpoints they appear when the job
/// has finished. The columns are the fields of the record's type, as for a [`FileSource`].
pub struct FileSink<T> {
    options: BTreeMap<String, String>,
    records: PhantomData<fn(T)>,
}

macro_rules! formats {
    ($files:ident, $what:literal) => {
        impl<T> $files<T> {
            #[doc = concat!("CSV with a header, ", $what, ".")]
            pub fn csv(path: impl AsRef<Path>) -> Self {
                Self::of("csv", path.as_ref()).with_option("csv.header", "true")
            }

            #[doc = concat!("A JSON object a line, ", $what, ".")]
            pub fn json_lines(path: impl AsRef<Path>) -> Self {
                Self::of("json", path.as_ref())
            }

            /// Sets an option of the connector or the format, such as `csv.field-delimiter`:
            /// docs/reference/connectors.md lists them.
            #[must_use]
            pub fn with_option(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
                self.options.insert(key.into(), value.into());
                self
            }

            fn of(format: &str, path: &Path) -> Self {
                let options = [("connector", "filesystem"), ("format", format), ("path", &path.display().to_string())]
                    .map(|(key, value)| (key.to_owned(), value.to_owned()));
                $files { options: options.into(), records: PhantomData }
            }
        }

        impl<T> fmt::Debug for $files<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($files)).field("path", &self.options.get("path")).finish_non_exhaustive()
            }
        }
    };
}
formats!(FileSource, "in a file, a directory or the files of a pattern");
formats!(FileSink, "in files of a directory");

impl StreamExecutionEnvironment {
    /// A stream of the records of files, which are read in the order of their names.
    pub fn from_files<T: Record>(&self, files: FileSource<T>) -> DataStream<T> {
        let connectors = Connectors::built_in();
        self.of_rows(columns::<T>().and_then(|schema| connectors.source(&table::<T>(schema, &files.options), None)))
    }
}

impl<T: Record> DataStream<T> {
    /// Writes the records to files, exactly once. A directory belongs to one such step of one job.
    pub fn write_files(&self, files: FileSink<T>) -> DataStreamSink {
        write_rows(self, "files", &Connectors::built_in(), &files.options)
    }
}

/// Adds the steps that write a stream's records to a table with these options.
pub(super) fn write_rows<T: Record>(
    stream: &DataStream<T>,
    what: &str,
    connectors: &Connectors,
    options: &BTreeMap<String, String>,
) -> DataStreamSink {
    let env = stream.env().clone();
    let schema = columns::<T>().unwrap_or_else(|error| {
        env.fail(error);
        Arc::new(Schema::empty())
    });
    let read = stream.reader();
    let function = {
        let schema = schema.clone();
        Arc::new(move || {
            let rows =
                ArrayBuilder::from_arrow(schema.fields()).map_err(|cause| unfit::<T>("written").because(cause))?;
            Ok(Box::new(FileStep { read: read.clone(), rows, schema: schema.clone() }) as Box<dyn BatchFunction>)
        })
    };
    let input =
        env.add("file-rows", type_name::<T>(), schema.clone(), NodeKind::Map { input: stream.node(), function });
    env.add_with("sink", what, schema.clone(), |id| {
        let into = SinkInput { insert: id.to_string(), changelog: false, upsert: false, bounded: true };
        let sink = connectors.sink(&table::<T>(schema, options), &into);
        sink.map(|sink| NodeKind::Sink { input, key: None, sink })
    })
    .map_or_else(
        |error| {
            env.fail(error);
            DataStreamSink::new(env.clone(), input)
        },
        |node| DataStreamSink::new(env.clone(), node),
    )
}

pub(super) fn table<T>(schema: SchemaRef, options: &BTreeMap<String, String>) -> TableDescription {
    let name = type_name::<T>().rsplit("::").next().unwrap_or_default();
    TableDescription { options: options.clone(), ..TableDescription::new(name, schema) }
}

/// The columns of a record's type.
pub(super) fn columns<T: DeserializeOwned>() -> Result<SchemaRef> {
    let options = TracingOptions::default().strings_as_large_utf8(false).sequence_as_large_list(false);
    let fields = Vec::<FieldRef>::from_type::<T>(options).map_err(|cause| {
        Error::invalid(format!("records of type `{}` have no columns", type_name::<T>()))
            .because(cause)
            .hint("records of files are structs of numbers, texts, truth values, `Option`s, lists and structs")
    })?;
    Ok(Arc::new(Schema::new(fields.iter().map(|field| widened(field)).collect::<Fields>())))
}

/// The column of the type that files have for it: they know no unsigned integers.
fn widened(field: &Field) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 | DataType::UInt64 => DataType::Int64,
        DataType::List(element) => DataType::List(widened(element)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| widened(field)).collect()),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
}

/// The records of a batch whose first columns are theirs.
pub(super) fn records_of<T: DeserializeOwned>(rows: &RecordBatch, width: usize) -> Result<Vec<T>> {
    let columns = rows.project(&(0..width).collect::<Vec<_>>()).map_err(arrow_error)?;
    serde_arrow::from_record_batch(&columns).map_err(|cause| unfit::<T>("read").because(cause))
}

#[cold]
fn unfit<T>(what: &str) -> Error {
    Error::invalid("a record does not fit the columns of its file")
        .with(Context::Text, format_args!("{}, to be {what}", type_name::<T>()))
}

/// Makes rows of records.
struct FileStep<T> {
    read: ReadRecords<T>,
    rows: ArrayBuilder,
    schema: SchemaRef,
}

impl<T> fmt::Debug for FileStep<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStep").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl<T: Record> BatchFunction for FileStep<T> {
    fn process(&mut self, batch: ChangeBatch) -> Result<Option<ChangeBatch>> {
        let FileStep { read, rows, .. } = self;
        read(batch.rows(), &mut |record, _| rows.push(&record).map_err(|cause| unfit::<T>("written").because(cause)))?;
        let made = rows.to_record_batch().map_err(|cause| unfit::<T>("written").because(cause))?;
        if made.num_rows() == 0 {
            return Ok(None);
        }
        Ok(Some(ChangeBatch::inserts(made)))
    }
}
