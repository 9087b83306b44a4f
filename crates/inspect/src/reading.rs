//! Reading a table part by part, a bounded number of rows at a time.

use crate::catalog::{StateTable, TablePart};
use crate::checkpoint::InspectedCheckpoint;
use crate::columns::array;
use crate::form::{Decoder, FormColumn, Rows};
use crate::readers::StateReaders;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use headpond_state::{Context, Error, RestoredState, Result};
use std::ops::ControlFlow;

/// The most rows of a batch.
pub(crate) const BATCH_ROWS: usize = 8192;
/// From so many bytes of entries on a batch has enough rows.
const BATCH_BYTES: usize = 1 << 20;

/// What is read of a table.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// The columns, by index.
    pub(crate) columns: Vec<usize>,
    /// Their schema.
    pub(crate) schema: SchemaRef,
    /// The most rows that anybody will look at.
    pub(crate) limit: Option<usize>,
}

/// Reads a part of a table and gives its rows in batches.
///
/// # Errors
/// As the reader's; [`Corrupt`](headpond_state::ErrorKind::Corrupt) when an entry is not what its state's descriptor
/// says. The error names the state.
pub(crate) fn read_part(
    checkpoint: &InspectedCheckpoint,
    readers: &dyn StateReaders,
    table: &StateTable,
    part: &TablePart,
    wanted: &Wanted,
    give: &mut dyn FnMut(RecordBatch) -> ControlFlow<()>,
) -> Result<()> {
    let result = read_states(checkpoint, readers, table, part, wanted, give);
    result.map_err(|error| checkpoint.explained(error.with(Context::Operator, table.operator())))
}

fn read_states(
    checkpoint: &InspectedCheckpoint,
    readers: &dyn StateReaders,
    table: &StateTable,
    part: &TablePart,
    wanted: &Wanted,
    give: &mut dyn FnMut(RecordBatch) -> ControlFlow<()>,
) -> Result<()> {
    let restored = RestoredState { handle: &part.handle, source: checkpoint.source().as_ref() };
    let mut reader = readers.open(restored, checkpoint.manifest().max_parallelism)?;
    let columns: Vec<&FormColumn> = wanted.columns.iter().map(|column| &table.columns[*column]).collect();
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let rows_max = wanted.limit.map_or(BATCH_ROWS, |limit| limit.clamp(1, BATCH_ROWS));
    let mut rows = Rows::new(columns.len());
    for (state, form) in &part.states {
        let mut decoder = Decoder::new(form, &names);
        let mut flow = ControlFlow::Continue(());
        let in_state = |error: Error| error.with(Context::State, &part.handle.states[*state].name);
        let read = reader.read(*state, part.handle.key_groups, &mut |entry| {
            decoder.decode(entry, &mut rows)?;
            if rows.count >= rows_max || rows.bytes >= BATCH_BYTES {
                flow = give(batch_of(&columns, wanted, &mut rows)?);
            }
            Ok(flow)
        });
        read.map_err(in_state)?;
        if rows.count > 0 && flow == ControlFlow::Continue(()) {
            flow = give(batch_of(&columns, wanted, &mut rows)?);
        }
        if flow == ControlFlow::Break(()) {
            return Ok(());
        }
    }
    Ok(())
}

/// The rows as a batch; they are gone from `rows` then.
fn batch_of(columns: &[&FormColumn], wanted: &Wanted, rows: &mut Rows) -> Result<RecordBatch> {
    let arrays = columns.iter().zip(&rows.columns).map(|(column, values)| {
        array(&column.ty.kind, values).map_err(|error| error.with(Context::Column, &column.name))
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.count));
    let batch = RecordBatch::try_new_with_options(wanted.schema.clone(), arrays, &options);
    rows.clear();
    batch.map_err(|cause| Error::internal("rows of state do not make a batch").because(cause))
}
