//! Hopping windows row by row: a row becomes one row for each of its windows.

use super::{WindowPart, window_start};
use crate::expression::ProjectionFactory;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, TimestampMillisecondArray, UInt8Array, UInt32Array};
use arrow_schema::SchemaRef;
use headpond_runtime::batch::{ChangeBatch, ChangeKind, arrow_error};
use headpond_runtime::operator::{BatchFunction, BatchFunctionFactory};
use headpond_state::Result;
use std::sync::Arc;

/// The step, not yet opened on a worker.
#[derive(Debug, Clone)]
pub(crate) struct HopFactory {
    /// Gives the rows' columns and, behind them, their times.
    pub(crate) columns: ProjectionFactory,
    /// How far windows begin from each other.
    pub(crate) slide_ms: i64,
    /// How long a window is.
    pub(crate) size_ms: i64,
    /// Where windows begin, counted from the epoch.
    pub(crate) offset_ms: i64,
    /// Before which column the three columns of a window stand.
    pub(crate) before: usize,
    /// The columns that come out.
    pub(crate) schema: SchemaRef,
}

impl HopFactory {
    /// The step as the runtime opens it.
    pub(crate) fn into_function(self) -> BatchFunctionFactory {
        Arc::new(move || {
            let columns = (self.columns.clone().into_function())()?;
            Ok(Box::new(Hop { step: self.clone(), columns }))
        })
    }

    fn windows(&self, batch: &ChangeBatch) -> Result<ChangeBatch> {
        let mut columns = batch.rows().columns().to_vec();
        let Some(times) = columns.pop() else { return Ok(batch.clone()) };
        let times = times.as_primitive::<TimestampMillisecondType>();
        let count = usize::try_from(self.size_ms / self.slide_ms).unwrap_or(usize::MAX);
        let mut rows: Vec<u32> = Vec::with_capacity(times.len().saturating_mul(count));
        let mut starts: Vec<Option<i64>> = Vec::with_capacity(rows.capacity());
        for row in 0..times.len() {
            if times.is_null(row) {
                rows.push(row as u32);
                starts.push(None);
                continue;
            }
            let last = window_start(times.value(row), self.slide_ms, self.offset_ms);
            for back in (0..self.size_ms / self.slide_ms).rev() {
                rows.push(row as u32);
                starts.push(Some(last.saturating_sub(back * self.slide_ms)));
            }
        }
        let rows = UInt32Array::from(rows);
        for column in &mut columns {
            *column = arrow_select::take::take(column, &rows, None).map_err(arrow_error)?;
        }
        let starts: TimestampMillisecondArray = starts.into_iter().collect();
        for (index, part) in WindowPart::ALL.into_iter().enumerate() {
            let values: PrimitiveArray<TimestampMillisecondType> =
                starts.unary(|start| part.of(start, start.saturating_add(self.size_ms)));
            let values: ArrayRef = Arc::new(values.with_data_type(times.data_type().clone()));
            columns.insert(self.before + index, values);
        }
        let expanded = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(arrow_error)?;
        match batch.kinds() {
            None => Ok(ChangeBatch::inserts(expanded)),
            // The two rows of an update do not stand side by side any more.
            Some(_) => {
                let kinds = rows.values().iter().map(|row| match batch.kind(*row as usize).is_retraction() {
                    true => ChangeKind::Delete as u8,
                    false => ChangeKind::Insert as u8,
                });
                ChangeBatch::with_kinds(expanded, UInt8Array::from_iter_values(kinds))
            }
        }
    }
}

/// The step on a worker.
#[derive(Debug)]
struct Hop {
    step: HopFactory,
    columns: Box<dyn BatchFunction>,
}

impl BatchFunction for Hop {
    fn process(&mut self, batch: ChangeBatch) -> Result<Option<ChangeBatch>> {
        match self.columns.process(batch)? {
            Some(batch) => self.step.windows(&batch).map(Some),
            None => Ok(None),
        }
    }
}
