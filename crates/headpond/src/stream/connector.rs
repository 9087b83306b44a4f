//! Tables of a connector, read and written as records.

use super::data_stream::{DataStream, DataStreamSink, ReadRecords};
use super::environment::StreamExecutionEnvironment;
use super::files::{columns, records_of, table, write_rows};
use super::record::Record;
use super::stamp::Stamps;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{ArrayRef, RecordBatch, UInt8Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use headpond_connectors::{Connector, Connectors};
use headpond_runtime::batch::{ChangeBatch, ChangeKind, arrow_error};
use headpond_runtime::operator::BatchFunction;
use headpond_runtime::source::{ChangelogMode, Source};
use headpond_runtime::{NodeId, NodeKind, SourceNode};
use headpond_state::{Error, Result};
use serde::{Deserialize, Serialize};
use std::any::type_name;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// The hidden column of a change's kind.
const KIND_COLUMN: &str = "$kind";

/// A table of a connector. Its columns are the fields of the record's type, as for a [`FileSource`](super::FileSource).
#[derive(Debug)]
pub struct ConnectorTable<T> {
    connectors: Connectors,
    options: BTreeMap<String, String>,
    records: PhantomData<fn() -> T>,
}

/// A record of a source that gives changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change<T> {
    /// What becomes of the record.
    pub kind: ChangeKind,
    /// The record. Of one that is gone (`-D`) the source may know the key alone: fields that are not the key's are then
    /// `Option`s.
    pub record: T,
}

impl<T> ConnectorTable<T> {
    /// A table of a connector, without options.
    pub fn new(connector: impl Connector + 'static) -> Self {
        let options = [("connector".to_owned(), connector.options().name.to_owned())];
        let connectors = Connectors::built_in().with(connector);
        ConnectorTable { connectors, options: options.into(), records: PhantomData }
    }

    /// Sets an option of the connector.
    #[must_use]
    pub fn with_option(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.insert(key.into(), value.into());
        self
    }
}

impl StreamExecutionEnvironment {
    /// A stream of the rows of a table whose source gives new rows only. See
    /// [`changes_from_connector`](Self::changes_from_connector) for others.
    pub fn from_connector<T: Record>(&self, from: ConnectorTable<T>) -> DataStream<T> {
        let source = opened::<T>(&from).and_then(|source| match source.changelog_mode() {
            ChangelogMode::InsertOnly => Ok(source),
            _ => Err(Error::unsupported(
                "the connector's rows may be taken back, and a stream of records has new ones only",
            )
            .hint("read `changes_from_connector`, which tells what becomes of each record")),
        });
        self.of_rows(source)
    }

    /// A stream of the changes that a table's source gives, as it gives them.
    pub fn changes_from_connector<T: Record>(&self, from: ConnectorTable<T>) -> DataStream<Change<T>>
    where
        Change<T>: Record,
    {
        let Some((input, schema)) = self.add_source::<T>(opened::<T>(&from)) else { return self.without_records() };
        let width = schema.fields().len();
        let with_kind = with_kind_column(&schema);
        let function = {
            let schema = with_kind.clone();
            Arc::new(move || Ok(Box::new(KindColumn { schema: schema.clone() }) as Box<dyn BatchFunction>))
        };
        let node = self.add("change-kinds", type_name::<T>(), with_kind, NodeKind::Map { input, function });
        let read: ReadRecords<Change<T>> = Arc::new(move |rows: &RecordBatch, give: &mut _| {
            let stamps = Stamps::of(rows);
            let kinds = rows.column(width).as_primitive_opt::<UInt8Type>();
            let kinds = kinds.ok_or_else(|| Error::internal("changes have lost their kinds"))?;
            for (row, record) in records_of::<T>(rows, width)?.into_iter().enumerate() {
                let kind = ChangeKind::from_u8(kinds.value(row));
                let kind = kind.ok_or_else(|| Error::internal("a change has an unknown kind"))?;
                give(Change { kind, record }, stamps.at(row))?;
            }
            Ok(())
        });
        DataStream::new(self.clone(), node, read)
    }

    /// A stream of the rows of a source, whose columns are the records' fields.
    pub(super) fn of_rows<T: Record>(&self, source: Result<Arc<dyn Source>>) -> DataStream<T> {
        let Some((node, schema)) = self.add_source::<T>(source) else { return self.without_records() };
        let width = schema.fields().len();
        let read: ReadRecords<T> = Arc::new(move |rows: &RecordBatch, give: &mut _| {
            let stamps = Stamps::of(rows);
            records_of::<T>(rows, width)?
                .into_iter()
                .enumerate()
                .try_for_each(|(row, record)| give(record, stamps.at(row)))
        });
        DataStream::new(self.clone(), node, read)
    }

    /// Adds a source, if there is one: its node and columns.
    fn add_source<T>(&self, source: Result<Arc<dyn Source>>) -> Option<(NodeId, SchemaRef)> {
        match source {
            Ok(source) => {
                let schema = source.schema();
                let node = SourceNode { source, watermarks: None, row_watermark: false };
                Some((self.add("source", type_name::<T>(), schema.clone(), NodeKind::Source(node)), schema))
            }
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }
}

impl<T: Record> DataStream<T> {
    /// Writes the records to a table of a connector, as new rows.
    pub fn write_to_connector(&self, to: ConnectorTable<T>) -> DataStreamSink {
        let name = to.options.get("connector").cloned().unwrap_or_default();
        write_rows(self, &name, &to.connectors, &to.options)
    }
}

fn opened<T: Record>(from: &ConnectorTable<T>) -> Result<Arc<dyn Source>> {
    from.connectors.source(&table::<T>(columns::<T>()?, &from.options), None)
}

fn with_kind_column(schema: &Schema) -> SchemaRef {
    let kind = Arc::new(Field::new(KIND_COLUMN, DataType::UInt8, false));
    Arc::new(Schema::new(schema.fields().iter().cloned().chain([kind]).collect::<Vec<_>>()))
}

/// Makes a column of the kinds of changes.
#[derive(Debug)]
struct KindColumn {
    schema: SchemaRef,
}

impl BatchFunction for KindColumn {
    fn process(&mut self, batch: ChangeBatch) -> Result<Option<ChangeBatch>> {
        let kinds = match batch.kinds() {
            Some(kinds) => kinds.clone(),
            None => UInt8Array::from(vec![ChangeKind::Insert as u8; batch.num_rows()]),
        };
        let mut columns: Vec<ArrayRef> = batch.rows().columns().to_vec();
        columns.push(Arc::new(kinds));
        let rows = RecordBatch::try_new(self.schema.clone(), columns).map_err(arrow_error)?;
        Ok(Some(ChangeBatch::inserts(rows)))
    }
}
