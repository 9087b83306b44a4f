//! What travels with a record: its timestamp, and the watermark of its split before it.

use super::record::RecordColumn;
use arrow_array::builder::Int64Builder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use headpond_runtime::source::ROW_WATERMARK_COLUMN;
use headpond_state::Result;
use serde::Serialize;
use std::sync::Arc;

const TIMESTAMP_COLUMN: &str = "$timestamp";

/// A record's place in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    /// The row of the node's batch that the record comes from.
    pub(crate) row: usize,
    pub(crate) timestamp_ms: Option<i64>,
    /// The watermark of the record's split just before it, `i64::MIN` for none.
    pub(crate) watermark_ms: i64,
}

impl Stamp {
    /// That of a record that an operator gives.
    pub(crate) fn at(timestamp_ms: Option<i64>) -> Self {
        Stamp { row: 0, timestamp_ms, watermark_ms: i64::MIN }
    }
}

/// The stamps of a batch's rows.
#[derive(Debug)]
pub(crate) struct Stamps<'a> {
    timestamps: Option<&'a Int64Array>,
    watermarks: Option<&'a Int64Array>,
}

impl<'a> Stamps<'a> {
    pub(crate) fn of(rows: &'a RecordBatch) -> Self {
        let column = |name| rows.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
        Stamps { timestamps: column(TIMESTAMP_COLUMN), watermarks: column(ROW_WATERMARK_COLUMN) }
    }

    pub(crate) fn at(&self, row: usize) -> Stamp {
        Stamp {
            row,
            timestamp_ms: self.timestamps.filter(|column| column.is_valid(row)).map(|column| column.value(row)),
            watermark_ms: self.watermarks.map_or(i64::MIN, |column| column.value(row)),
        }
    }
}

/// The columns of a stream between two operators: the record, its stamp, then `more`.
pub(crate) fn stamped_schema(more: impl IntoIterator<Item = Field>) -> SchemaRef {
    let stamp =
        [Field::new(TIMESTAMP_COLUMN, DataType::Int64, true), Field::new(ROW_WATERMARK_COLUMN, DataType::Int64, false)];
    super::record::schema(stamp.into_iter().chain(more))
}

/// How many columns [`stamped_schema`] has before `more`.
pub(crate) const STAMPED_COLUMNS: usize = 3;

/// Records being written with their stamps.
#[derive(Debug, Default)]
pub(crate) struct StampedRecords {
    records: RecordColumn,
    timestamps: Int64Builder,
    watermarks: Int64Builder,
}

impl StampedRecords {
    pub(crate) fn push<T: Serialize>(&mut self, record: &T, stamp: Stamp) -> Result<()> {
        self.records.push(record)?;
        self.timestamps.append_option(stamp.timestamp_ms);
        self.watermarks.append_value(stamp.watermark_ms);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn byte_len(&self) -> usize {
        self.records.byte_len()
    }

    /// The rows written since the last call, with the columns `more`.
    pub(crate) fn finish(&mut self, schema: &SchemaRef, more: Vec<ArrayRef>) -> Result<RecordBatch> {
        let stamp: [ArrayRef; 2] = [Arc::new(self.timestamps.finish()), Arc::new(self.watermarks.finish())];
        self.records.finish(schema, stamp.into_iter().chain(more).collect())
    }
}
