//! Rows that stand in the query itself: `VALUES (1, 'a'), (2, 'b')`, and a `SELECT` without `FROM`.

use super::flow::{Flow, FlowBuilder, column};
use super::types::canonical;
use crate::expression::{Compiler, failed};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_expr::Values;
use headpond_runtime::batch::arrow_error;
use headpond_runtime::source::{ReadBatch, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_runtime::{Node, NodeKind, SourceNode};
use headpond_state::{Error, Result};
use serde_json::Value;
use std::sync::Arc;

impl FlowBuilder<'_> {
    /// The node that gives the rows of `VALUES`.
    pub(super) fn values(&mut self, values: &Values) -> Result<Flow> {
        let nothing: SchemaRef = Arc::new(Schema::empty());
        let compiler = Compiler::new(&nothing, self.session)?;
        let one = RecordBatch::try_new_with_options(
            Arc::clone(&nothing),
            Vec::new(),
            &RecordBatchOptions::new().with_row_count(Some(1)),
        )
        .map_err(arrow_error)?;
        let mut fields = Vec::new();
        let mut columns: Vec<ArrayRef> = Vec::new();
        for (index, field) in values.schema.fields().iter().enumerate() {
            let data_type = canonical(field.data_type())?;
            let mut cells = Vec::with_capacity(values.values.len());
            for row in &values.values {
                let cell = row.get(index).ok_or_else(|| Error::invalid("the rows of VALUES differ in length"))?;
                let cell = compiler.compile(&compiler.cast(cell.clone(), &data_type)?)?;
                let value = cell.evaluate(&one).and_then(|value| value.into_array(1));
                cells.push(value.map_err(|error| failed(error, "a value"))?);
            }
            let cells: Vec<&dyn arrow_array::Array> = cells.iter().map(AsRef::as_ref).collect();
            columns.push(arrow_select::concat::concat(&cells).map_err(arrow_error)?);
            fields.push(Field::new(format!("column_{index}"), data_type, true));
        }
        let schema = Arc::new(Schema::new(fields));
        let rows = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(arrow_error)?;
        let of_schema = schema.fields().iter().map(|field| column(field.name())).collect();
        Ok(Flow { columns: of_schema, ..self.rows(rows, format!("{} rows of VALUES", values.values.len())) })
    }

    /// The node that gives the one row of a `SELECT` without `FROM`.
    pub(super) fn one_row(&mut self) -> Result<Flow> {
        // A row has a column: nobody asks for it.
        let schema = Arc::new(Schema::new(vec![Field::new("row", DataType::Boolean, true)]));
        let rows = RecordBatch::try_new(schema, vec![Arc::new(BooleanArray::from(vec![true]))]).map_err(arrow_error)?;
        Ok(self.rows(rows, "one row".to_owned()))
    }

    fn rows(&mut self, rows: RecordBatch, description: String) -> Flow {
        let base = rows.schema();
        let source = Arc::new(ValuesSource { rows });
        let kind = NodeKind::Source(SourceNode { source, watermarks: None, row_watermark: false });
        let node = Node { id: self.next_id("values"), description, schema: Arc::clone(&base), kind };
        Flow {
            node: self.graph.add(node),
            base,
            row_watermark: false,
            columns: Vec::new(),
            filter: None,
            changing: false,
            bounded: true,
            event_time: None,
            window: None,
            windows_to_come: None,
        }
    }
}

/// A source of rows that are known.
#[derive(Debug)]
struct ValuesSource {
    rows: RecordBatch,
}

impl Source for ValuesSource {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    fn is_bounded(&self) -> bool {
        true
    }

    fn splits(&self) -> Result<Vec<SourceSplit>> {
        Ok(vec![SourceSplit { id: "values".to_owned() }])
    }

    fn open(
        &self,
        _split: &SourceSplit,
        position: Option<&Value>,
        _reader: &ReaderContext,
    ) -> Result<Box<dyn SplitReader>> {
        let read = match position {
            None => 0,
            Some(position) => position
                .as_u64()
                .and_then(|read| usize::try_from(read).ok())
                .filter(|read| *read <= self.rows.num_rows())
                .ok_or_else(|| {
                    Error::incompatible("there are fewer rows in VALUES than have been read")
                        .hint("start anew with --restore none, or put the rows back")
                })?,
        };
        Ok(Box::new(ValuesReader { rows: self.rows.clone(), read }))
    }
}

#[derive(Debug)]
struct ValuesReader {
    rows: RecordBatch,
    read: usize,
}

impl SplitReader for ValuesReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        let left = self.rows.num_rows() - self.read;
        if left == 0 {
            return Ok(None);
        }
        let rows = self.rows.slice(self.read, left.min(max_rows));
        self.read += rows.num_rows();
        Ok(Some(ReadBatch::inserts(rows, Value::from(self.read))))
    }
}
