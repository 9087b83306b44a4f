//! What a join has to give, and has not given yet.

use super::plan::JoinPlan;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt8Array, UInt32Array, new_null_array};
use headpond_runtime::Output;
use headpond_runtime::batch::{ChangeBatch, ChangeKind, arrow_error};
use headpond_runtime::operator::Progress;
use headpond_state::Result;
use std::sync::Arc;

/// How many rows are given at a time, at most.
pub(super) const ROWS_PER_SLICE: usize = 4096;

/// About how many bytes are given at a time.
const BYTES_PER_SLICE: usize = 1 << 20;

/// No row: its columns are NULL.
const NONE: u32 = u32::MAX;

/// Rows to give: each a row of the batch, or a stored row, or both, some number of times.
#[derive(Debug, Default)]
pub(super) struct Emission {
    runs: Vec<Run>,
    /// How many runs have been given.
    given: usize,
    /// How often the next one has been given.
    copies_given: u64,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    own: u32,
    other: u32,
    kind: ChangeKind,
    copies: u64,
}

/// Where the columns come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns<'a> {
    /// The side of the batch.
    pub(super) side: usize,
    /// The batch's.
    pub(super) own: &'a [ArrayRef],
    /// The stored rows'.
    pub(super) other: &'a [ArrayRef],
}

impl Columns<'_> {
    /// What a pair of rows takes on average.
    fn bytes_per_row(&self) -> usize {
        let of_column = |column: &ArrayRef| match column.len() {
            0 => 0,
            rows => column.to_data().get_slice_memory_size().unwrap_or(0) / rows,
        };
        self.own.iter().chain(self.other).map(of_column).sum()
    }
}

impl Emission {
    /// A pair; `diff` says how many come or go.
    pub(super) fn pair(&mut self, own: u32, other: u32, diff: i64) {
        self.push(own, other, diff);
    }

    /// A row of the batch without a stored one.
    pub(super) fn own(&mut self, own: u32, diff: i64) {
        self.push(own, NONE, diff);
    }

    /// A stored row without one of the batch.
    pub(super) fn other(&mut self, other: u32, diff: i64) {
        self.push(NONE, other, diff);
    }

    fn push(&mut self, own: u32, other: u32, diff: i64) {
        if diff != 0 {
            let kind = if diff > 0 { ChangeKind::Insert } else { ChangeKind::Delete };
            self.runs.push(Run { own, other, kind, copies: diff.unsigned_abs() });
        }
    }

    /// Gives rows until there are none or the output is full. `changing`: whether kinds are needed.
    pub(super) fn give(
        &mut self,
        plan: &JoinPlan,
        changing: bool,
        columns: Columns<'_>,
        output: &mut Output,
    ) -> Result<Progress> {
        if self.runs.is_empty() {
            return Ok(Progress::Done);
        }
        let rows_per_slice = (BYTES_PER_SLICE / columns.bytes_per_row().max(1)).clamp(1, ROWS_PER_SLICE);
        while self.given < self.runs.len() {
            if output.is_full() {
                return Ok(Progress::More);
            }
            let slice = self.next_slice(rows_per_slice);
            output.give(slice.batch(plan, changing, columns)?);
        }
        self.runs.clear();
        self.given = 0;
        Ok(Progress::Done)
    }

    fn next_slice(&mut self, rows: usize) -> Slice {
        let mut slice = Slice::default();
        while let Some(run) = self.runs.get(self.given) {
            let left = run.copies - self.copies_given;
            let copies = left.min((rows - slice.own.len()) as u64);
            for _ in 0..copies {
                slice.own.push(run.own);
                slice.other.push(run.other);
                slice.kinds.push(run.kind as u8);
            }
            if copies < left {
                self.copies_given += copies;
                break;
            }
            self.copies_given = 0;
            self.given += 1;
        }
        slice
    }
}

/// Rows that are given together.
#[derive(Debug, Default)]
struct Slice {
    own: Vec<u32>,
    other: Vec<u32>,
    kinds: Vec<u8>,
}

impl Slice {
    fn batch(self, plan: &JoinPlan, changing: bool, columns: Columns<'_>) -> Result<ChangeBatch> {
        let rows = self.own.len();
        let own = Picked::new(self.own);
        let other = Picked::new(self.other);
        let mut taken: Vec<ArrayRef> = Vec::with_capacity(plan.output.fields().len());
        let sides = if plan.kind.gives_pairs() { 2 } else { 1 };
        for side in 0..sides {
            let (picked, from) = if side == columns.side { (&own, columns.own) } else { (&other, columns.other) };
            for index in 0..plan.sides[side].columns {
                let data_type = plan.output.field(taken.len()).data_type();
                taken.push(match (picked, from.get(index)) {
                    (Picked::Rows(rows), Some(column)) => {
                        arrow_select::take::take(column, rows, None).map_err(arrow_error)?
                    }
                    _ => new_null_array(data_type, rows),
                });
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch =
            RecordBatch::try_new_with_options(Arc::clone(&plan.output), taken, &options).map_err(arrow_error)?;
        if changing {
            ChangeBatch::with_kinds(batch, UInt8Array::from(self.kinds))
        } else {
            Ok(ChangeBatch::inserts(batch))
        }
    }
}

/// Which rows of some columns are taken.
#[derive(Debug)]
enum Picked {
    /// None of them.
    Nothing,
    /// These, NULL for none.
    Rows(UInt32Array),
}

impl Picked {
    fn new(rows: Vec<u32>) -> Self {
        let none = rows.iter().filter(|row| **row == NONE).count();
        if none == rows.len() {
            Picked::Nothing
        } else if none == 0 {
            Picked::Rows(rows.into())
        } else {
            Picked::Rows(rows.into_iter().map(|row| (row != NONE).then_some(row)).collect())
        }
    }
}
