//! What flows between operators: Arrow batches with a change kind per row.

use arrow_array::{Array, BooleanArray, RecordBatch, UInt8Array, UInt32Array};
use arrow_schema::SchemaRef;
use headpond_state::{Error, Result};
use serde::{Deserialize, Serialize};

/// What a row of a changing result says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum ChangeKind {
    /// `+I`: a new row.
    Insert = 0,
    /// `-U`: the old form of a row that an [`UpdateAfter`](ChangeKind::UpdateAfter) replaces.
    UpdateBefore = 1,
    /// `+U`: the new form of a row.
    UpdateAfter = 2,
    /// `-D`: the row is gone.
    Delete = 3,
}

impl ChangeKind {
    /// The kind a stored byte stands for.
    pub fn from_u8(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => ChangeKind::Insert,
            1 => ChangeKind::UpdateBefore,
            2 => ChangeKind::UpdateAfter,
            3 => ChangeKind::Delete,
            _ => return None,
        })
    }

    /// Flink's short form: `+I`, `-U`, `+U`, `-D`.
    pub fn short(self) -> &'static str {
        match self {
            ChangeKind::Insert => "+I",
            ChangeKind::UpdateBefore => "-U",
            ChangeKind::UpdateAfter => "+U",
            ChangeKind::Delete => "-D",
        }
    }

    /// Whether the row is taken back: `-U` and `-D`.
    pub fn is_retraction(self) -> bool {
        matches!(self, ChangeKind::UpdateBefore | ChangeKind::Delete)
    }
}

/// Rows of one schema, each with its change kind. Rows without kinds are all inserts.
#[derive(Debug, Clone)]
pub struct ChangeBatch {
    rows: RecordBatch,
    kinds: Option<UInt8Array>,
}

impl ChangeBatch {
    /// Rows that are all new.
    pub fn inserts(rows: RecordBatch) -> Self {
        ChangeBatch { rows, kinds: None }
    }

    /// Rows with a kind each. If all are inserts, the batch is one of [inserts](Self::inserts).
    ///
    /// # Errors
    /// [`Internal`](headpond_state::ErrorKind::Internal) when there are not as many kinds as rows, or one of them is
    /// none.
    pub fn with_kinds(rows: RecordBatch, kinds: UInt8Array) -> Result<Self> {
        if kinds.len() != rows.num_rows() || kinds.null_count() > 0 {
            return Err(Error::internal(format!("{} change kinds for {} rows", kinds.len(), rows.num_rows())));
        }
        if kinds.values().iter().any(|&kind| kind > ChangeKind::Delete as u8) {
            return Err(Error::internal("a batch has an unknown change kind"));
        }
        let changes = kinds.values().iter().any(|&kind| kind != ChangeKind::Insert as u8);
        Ok(ChangeBatch { rows, kinds: changes.then_some(kinds) })
    }

    /// The same kinds over other columns of the same rows.
    ///
    /// # Errors
    /// As [`with_kinds`](Self::with_kinds).
    pub fn with_rows(&self, rows: RecordBatch) -> Result<Self> {
        match &self.kinds {
            None => Ok(ChangeBatch::inserts(rows)),
            Some(kinds) => ChangeBatch::with_kinds(rows, kinds.clone()),
        }
    }

    /// The rows.
    pub fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    /// The kinds as bytes (see [`ChangeKind::from_u8`]), or `None` when all rows are inserts.
    pub fn kinds(&self) -> Option<&UInt8Array> {
        self.kinds.as_ref()
    }

    /// The kind of one row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn kind(&self, row: usize) -> ChangeKind {
        match &self.kinds {
            None => ChangeKind::Insert,
            Some(kinds) => ChangeKind::from_u8(kinds.value(row)).expect("kinds are checked at construction"),
        }
    }

    /// Whether every row is an insert.
    pub fn is_insert_only(&self) -> bool {
        self.kinds.is_none()
    }

    /// The rows' schema.
    pub fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    /// The number of rows.
    pub fn num_rows(&self) -> usize {
        self.rows.num_rows()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.num_rows() == 0
    }

    /// The bytes the rows take in memory.
    pub fn byte_len(&self) -> usize {
        self.rows.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
    }

    /// The rows that `keep` selects.
    ///
    /// # Errors
    /// [`Internal`](headpond_state::ErrorKind::Internal) when `keep` has another length.
    pub fn filter(&self, keep: &BooleanArray) -> Result<Self> {
        let rows = arrow_select::filter::filter_record_batch(&self.rows, keep).map_err(arrow_error)?;
        let kinds = match &self.kinds {
            None => None,
            Some(kinds) => Some(as_kinds(&arrow_select::filter::filter(kinds, keep).map_err(arrow_error)?)),
        };
        Ok(ChangeBatch { rows, kinds })
    }

    /// The rows at `indices`, in that order.
    ///
    /// # Errors
    /// [`Internal`](headpond_state::ErrorKind::Internal) when an index is out of bounds.
    pub fn take(&self, indices: &UInt32Array) -> Result<Self> {
        let rows = arrow_select::take::take_record_batch(&self.rows, indices).map_err(arrow_error)?;
        let kinds = match &self.kinds {
            None => None,
            Some(kinds) => Some(as_kinds(&arrow_select::take::take(kinds, indices, None).map_err(arrow_error)?)),
        };
        Ok(ChangeBatch { rows, kinds })
    }

    /// `length` rows from `offset` on, without a copy.
    ///
    /// # Panics
    /// If there are not as many rows.
    pub fn slice(&self, offset: usize, length: usize) -> Self {
        ChangeBatch {
            rows: self.rows.slice(offset, length),
            kinds: self.kinds.as_ref().map(|kinds| kinds.slice(offset, length)),
        }
    }
}

fn as_kinds(array: &dyn Array) -> UInt8Array {
    array.as_any().downcast_ref::<UInt8Array>().expect("selecting from a UInt8Array gives a UInt8Array").clone()
}

/// An Arrow failure that a correct plan cannot cause.
pub fn arrow_error(error: arrow_schema::ArrowError) -> Error {
    Error::internal("an Arrow kernel failed").because(error)
}
