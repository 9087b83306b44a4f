//! Rows as a table of text.

use crate::console;
use crate::format::cell;
use headpond_inspect::{RecordBatch, RowSink, SchemaRef, as_text};
use headpond_state::Result;
use std::fmt::Write;
use std::ops::ControlFlow;

/// Rows that are looked at for how wide the columns are.
const ROWS_MEASURED: usize = 1000;

/// The rows of a batch as cells, each on one line.
pub(super) fn cells(batch: &RecordBatch) -> Result<Vec<Vec<String>>> {
    let columns = as_text(batch)?;
    let row = |row: usize| columns.iter().map(|column| cell(&column[row])).collect();
    Ok((0..batch.num_rows()).map(row).collect())
}

/// Lines of cells, two blanks between columns, which are as wide as they have to be.
pub(super) fn aligned(rows: &[Vec<String>], widths: &[usize]) -> String {
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

/// How wide the columns of rows are.
pub(super) fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    (0..columns).map(|column| width(column).unwrap_or(0)).collect()
}

/// Prints the rows of a query. The first thousand say how wide columns are.
#[derive(Debug, Default)]
pub(super) struct RowPrinter {
    /// Rows that are not printed yet, the names first.
    held: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
}

impl RowPrinter {
    /// Prints what is left.
    pub(super) fn finish(mut self) -> Result<()> {
        self.print()
    }

    fn print(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.held);
        let widths = self.widths.get_or_insert_with(|| widths(&rows));
        console::data(&aligned(&rows, widths))
    }
}

impl RowSink for RowPrinter {
    fn begin(&mut self, schema: &SchemaRef) -> Result<()> {
        self.held.push(schema.fields().iter().map(|field| cell(field.name())).collect());
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>> {
        self.held.extend(cells(batch)?);
        if self.widths.is_some() || self.held.len() > ROWS_MEASURED {
            self.print()?;
        }
        Ok(ControlFlow::Continue(()))
    }
}
