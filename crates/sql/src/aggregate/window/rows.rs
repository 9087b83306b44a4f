//! The rows of windows that are over.

use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::layout::{AggregatePlan, OutputColumn};
use crate::aggregate::results::results;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, TimestampMillisecondArray};
use headpond_runtime::batch::{ChangeBatch, arrow_error};
use headpond_runtime::key::columns_of_keys;
use headpond_state::Result;
use headpond_state::backend::KeyBatch;
use std::sync::Arc;

/// Windows that are over: whose, from when to when, and with which accumulators. All three in the same order.
#[derive(Debug)]
pub(super) struct ClosedWindows {
    /// Encoded keys.
    pub(super) keys: KeyBatch,
    /// The first millisecond of each, and the first after it.
    pub(super) windows: Vec<(i64, i64)>,
    pub(super) accumulators: Accumulators,
}

impl ClosedWindows {
    /// None yet.
    pub(super) fn new(plan: &AggregatePlan) -> Self {
        ClosedWindows { keys: KeyBatch::new(), windows: Vec::new(), accumulators: Accumulators::new(&plan.layout) }
    }

    /// The number of windows.
    pub(super) fn len(&self) -> usize {
        self.windows.len()
    }

    /// Removes all windows and keeps the allocations.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.windows.clear();
        self.accumulators.clear();
    }

    /// Their rows; `None` without windows.
    pub(super) fn rows(&self, plan: &AggregatePlan) -> Result<Option<ChangeBatch>> {
        if self.windows.is_empty() {
            return Ok(None);
        }
        let keys = columns_of_keys(&plan.key_schema, &plan.input.fields()[..plan.key_columns], &self.keys)?;
        let results = results(plan, &self.accumulators)?;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(plan.output_columns.len());
        for (column, field) in plan.output_columns.iter().zip(plan.output.fields()) {
            columns.push(match *column {
                OutputColumn::Key(index) => Arc::clone(&keys[index]),
                OutputColumn::Call(index) => Arc::clone(&results[index]),
                OutputColumn::Window(part) => {
                    let times = self.windows.iter().map(|(start_ms, end_ms)| part.of(*start_ms, *end_ms));
                    let times: TimestampMillisecondArray = times.collect::<Vec<i64>>().into();
                    Arc::new(times.with_data_type(field.data_type().clone()))
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.windows.len()));
        let rows = RecordBatch::try_new_with_options(Arc::clone(&plan.output), columns, &options);
        Ok(Some(ChangeBatch::inserts(rows.map_err(arrow_error)?)))
    }
}
