//! Reading one file, row by row, into batches.

use super::input::Input;
use crate::column::Column;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use headpond_runtime::batch::{ChangeBatch, arrow_error};
use headpond_runtime::source::{ReadBatch, SplitReader};
use headpond_runtime::{Error, Result};
use headpond_state::Remedy;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Debug;

/// The most bytes of a file that go into a batch.
const BATCH_BYTES: u64 = 8 << 20;

/// Takes rows out of a file's window.
pub(crate) trait RowReader: Debug + Send {
    /// Reads the next row into the columns. A row that is left out may leave parts of itself there.
    ///
    /// # Errors
    /// [`Invalid`](headpond_runtime::ErrorKind::Invalid) for a malformed row, unless such rows are left out.
    fn read(&mut self, input: &mut Input, columns: &mut [Column]) -> Result<Outcome>;
}

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A row.
    Row,
    /// A malformed row, which is left out.
    Skipped,
    /// The end of the file.
    End,
}

/// A place between two rows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// The bytes before it, decompressed.
    pub(super) offset: u64,
    /// The line the next row begins in, counted from 1.
    pub(super) line: u64,
    /// The rows before it.
    pub(super) rows: u64,
    /// The bytes that the file had as it is stored; checkpoints of earlier releases do not say.
    #[serde(default)]
    pub(super) length: u64,
    /// The stored bytes of a compressed file that were taken to get there, give or take a buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stored: Option<u64>,
}

/// Reads one file.
#[derive(Debug)]
pub(super) struct FileReader {
    schema: SchemaRef,
    input: Input,
    rows_reader: Box<dyn RowReader>,
    columns: Vec<Column>,
    rows: u64,
    rows_max: Option<u64>,
}

impl FileReader {
    /// Reads on from where `input` is, behind `rows` rows.
    pub(super) fn new(schema: SchemaRef, input: Input, rows_reader: Box<dyn RowReader>, rows: u64) -> Result<Self> {
        let columns = schema.fields().iter().map(|field| Column::new(field.clone())).collect::<Result<_>>()?;
        Ok(FileReader { schema, input, rows_reader, columns, rows, rows_max: None })
    }

    pub(super) fn at_most(mut self, rows: Option<u64>) -> Self {
        self.rows_max = rows;
        self
    }

    fn batch(&mut self, rows: usize, skipped: u64) -> Result<ReadBatch> {
        let columns = self.columns.iter_mut().map(Column::finish).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(arrow_error)?;
        let input = &self.input;
        let (offset, line, length) = (input.offset(), input.line(), input.length());
        let position = Position { offset, line, rows: self.rows, length, stored: self.input.stored_offset() };
        let position =
            serde_json::to_value(position).map_err(|cause| Error::internal("a position is not JSON").because(cause))?;
        Ok(ReadBatch { rows: ChangeBatch::inserts(rows), position, skipped })
    }
}

impl SplitReader for FileReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        let left = self.rows_max.map_or(u64::MAX, |most| most.saturating_sub(self.rows));
        if left == 0 {
            return Ok(None);
        }
        let wanted = max_rows.min(usize::try_from(left).unwrap_or(usize::MAX));
        let begin = self.input.offset();
        let (mut rows, mut skipped) = (0, 0);
        while rows < wanted && self.input.offset() - begin < BATCH_BYTES {
            match self.rows_reader.read(&mut self.input, &mut self.columns)? {
                Outcome::Row => rows += 1,
                Outcome::Skipped => {
                    skipped += 1;
                    self.columns.iter_mut().for_each(|column| column.truncate(rows));
                }
                Outcome::End if rows == 0 && skipped == 0 => return Ok(None),
                Outcome::End => break,
            }
        }
        self.rows += rows as u64;
        self.batch(rows, skipped).map(Some)
    }
}

/// Reads a position.
pub(super) fn position(value: &Value) -> Result<Position> {
    Position::deserialize(value).map_err(|cause| {
        Error::incompatible("the checkpoint's position is not one in a file")
            .because(cause)
            .hint("give the table the connector that it had when the checkpoint was taken")
            .remedy(Remedy::StartAnew)
    })
}
