//! Rows that come too late for all of their windows.

use super::spec::WindowSpec;
use arrow_array::{RecordBatch, RecordBatchOptions, UInt32Array};
use headpond_runtime::batch::{ChangeBatch, arrow_error};
use headpond_runtime::operator::{Counters, OperatorContext};
use headpond_state::Result;
use std::sync::Arc;

/// The port to which late rows are given.
pub(crate) const LATE_ROWS_PORT: usize = 1;

impl WindowSpec {
    /// Counts rows of a batch that are late, and gives them where anybody wants them.
    pub(super) fn give_late(&self, rows: Vec<u32>, batch: &ChangeBatch, cx: &mut OperatorContext<'_>) -> Result<()> {
        cx.counters.add(Counters::LATE_ROWS, rows.len() as u64);
        let Some(late) = self.late.as_ref().filter(|_| !rows.is_empty()) else { return Ok(()) };
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let rows = UInt32Array::from(rows);
        let take = |column: &usize| arrow_select::take::take(batch.rows().column(*column), &rows, None);
        let columns = late.columns.iter().map(take).collect::<Result<Vec<_>, _>>().map_err(arrow_error)?;
        let rows = RecordBatch::try_new_with_options(Arc::clone(&late.schema), columns, &options);
        cx.output.give_to(LATE_ROWS_PORT, ChangeBatch::inserts(rows.map_err(arrow_error)?));
        Ok(())
    }
}
