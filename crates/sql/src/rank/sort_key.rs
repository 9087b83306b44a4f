//! Sort keys: bytes that order as rows do.
//!
//! A sort key is the columns' key components (see `headpond_state::encoding`), one after another. Those of a descending
//! column have all bits flipped; where NULLs do not go with the least values, the bits of the byte that tells NULL are
//! flipped once more.

use super::RankPlan;
use headpond_rows::arrow::field_type;
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::key::KeyEncoder;
use headpond_state::backend::KeyBatch;
use headpond_state::encoding::put_datum;
use headpond_state::schema::{Datum, FieldType};
use headpond_state::{MaxParallelism, Result};

/// Makes the sort keys of rows.
#[derive(Debug)]
pub(super) struct SortKeys {
    columns: Vec<Column>,
    prefix_len: usize,
}

#[derive(Debug)]
struct Column {
    index: usize,
    encoder: KeyEncoder,
    ty: FieldType,
    descending: bool,
    /// Whether NULLs are neither first in ascending nor last in descending order.
    moved_nulls: bool,
}

impl SortKeys {
    /// Sort keys in the order of `plan`.
    pub(super) fn new(plan: &RankPlan, max_parallelism: MaxParallelism) -> Result<Self> {
        let column = |sort: &super::SortColumn| {
            Ok(Column {
                index: sort.column,
                encoder: KeyEncoder::new(&plan.input, &[sort.column], max_parallelism)?,
                ty: field_type(plan.input.field(sort.column))?,
                descending: sort.descending,
                moved_nulls: sort.nulls_first == sort.descending,
            })
        };
        let columns = plan.order.iter().map(column).collect::<Result<_>>()?;
        Ok(SortKeys { columns, prefix_len: max_parallelism.prefix_len() })
    }

    /// The sort keys of a batch.
    pub(super) fn of_batch(&self, changes: &ChangeBatch) -> Result<KeyBatch> {
        let columns = self.columns.iter().map(|column| column.encoder.encode(changes)).collect::<Result<Vec<_>>>()?;
        let mut keys = KeyBatch::new();
        for row in 0..changes.num_rows() {
            keys.push_with(|out| {
                for (column, values) in self.columns.iter().zip(&columns) {
                    let start = out.len();
                    out.extend_from_slice(&values.get(row)[self.prefix_len..]);
                    column.order(&mut out[start..]);
                }
            });
        }
        Ok(keys)
    }

    /// The sort key of a row whose data begin at input column `first`.
    pub(super) fn of_row(&self, row: &[Datum], first: usize, key: &[Datum], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        for column in &self.columns {
            let start = out.len();
            let datum = if column.index < first { &key[column.index] } else { &row[column.index - first] };
            put_datum(&column.ty, datum, out)?;
            column.order(&mut out[start..]);
        }
        Ok(())
    }
}

impl Column {
    fn order(&self, bytes: &mut [u8]) {
        if self.descending {
            bytes.iter_mut().for_each(|byte| *byte = !*byte);
        }
        if self.moved_nulls
            && self.ty.nullable
            && let Some(null) = bytes.first_mut()
        {
            *null = !*null;
        }
    }
}
