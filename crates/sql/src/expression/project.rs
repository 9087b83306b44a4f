//! Filter and projection as one stateless step.

use super::compile::Compiler;
use crate::plan::value_error;
use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions, UInt8Array};
use arrow_schema::SchemaRef;
use datafusion_common::DataFusionError;
use datafusion_expr::Expr;
use datafusion_physical_expr::PhysicalExpr;
use headpond_runtime::batch::{ChangeBatch, ChangeKind, arrow_error};
use headpond_runtime::operator::{BatchFunction, BatchFunctionFactory};
use headpond_state::{Context, Error, Result};
use std::sync::Arc;

/// The step, not yet opened on a worker.
#[derive(Debug, Clone)]
pub(crate) struct ProjectionFactory {
    filter: Option<Arc<dyn PhysicalExpr>>,
    columns: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
}

impl ProjectionFactory {
    /// A step that keeps the rows for which `filter` is true and gives `columns`, whose types are those of `schema`.
    pub(crate) fn new(compiler: &Compiler, filter: Option<&Expr>, columns: &[Expr], schema: SchemaRef) -> Result<Self> {
        let filter = filter.map(|filter| compiler.compile(filter)).transpose()?;
        let columns = columns.iter().map(|column| compiler.compile(column)).collect::<Result<_>>()?;
        Ok(ProjectionFactory { filter, columns, schema })
    }

    /// The step as the runtime opens it.
    pub(crate) fn into_function(self) -> BatchFunctionFactory {
        Arc::new(move || Ok(Box::new(Projection(self.clone()))))
    }
}

/// The step on a worker.
#[derive(Debug)]
pub(crate) struct Projection(ProjectionFactory);

impl Projection {
    fn filter(&self, batch: ChangeBatch) -> Result<ChangeBatch> {
        let Some(filter) = &self.0.filter else { return Ok(batch) };
        let keep = filter.evaluate(batch.rows()).and_then(|value| value.into_array(batch.num_rows()));
        let keep = keep.map_err(|error| failed(error, "the condition of WHERE or HAVING"))?;
        let keep = keep.as_boolean();
        if keep.true_count() == batch.num_rows() {
            return Ok(batch);
        }
        match batch.kinds() {
            None => batch.filter(keep),
            Some(kinds) => {
                let kinds = kinds_of_the_kept(kinds, keep);
                ChangeBatch::with_kinds(batch.rows().clone(), kinds)?.filter(keep)
            }
        }
    }
}

impl BatchFunction for Projection {
    fn process(&mut self, batch: ChangeBatch) -> Result<Option<ChangeBatch>> {
        let batch = self.filter(batch)?;
        if batch.is_empty() {
            return Ok(None);
        }
        let mut columns = Vec::with_capacity(self.0.columns.len());
        for (expr, field) in self.0.columns.iter().zip(self.0.schema.fields()) {
            let column = expr.evaluate(batch.rows()).and_then(|value| value.into_array(batch.num_rows()));
            let column = column.map_err(|error| failed(error, "a value").with(Context::Column, field.name()))?;
            if !field.is_nullable() && column.null_count() > 0 {
                return Err(Error::invalid("a column that is declared NOT NULL would get NULL")
                    .hint("drop such rows with WHERE … IS NOT NULL, replace NULL with COALESCE, or declare the column without NOT NULL")
                    .with(Context::Column, field.name()));
            }
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let rows =
            RecordBatch::try_new_with_options(Arc::clone(&self.0.schema), columns, &options).map_err(arrow_error)?;
        batch.with_rows(rows).map(Some)
    }
}

/// The error for what cannot be computed for a row.
#[cold]
pub(crate) fn failed(error: DataFusionError, what: &str) -> Error {
    let error = value_error(error);
    let reported = Error::new(error.kind(), format!("{what} cannot be computed: {}", error.message()));
    match error.way_out() {
        Some(way_out) => reported.hint(way_out),
        None => reported,
    }
}

/// The kinds when only some rows are kept. An update of which only the old row is kept takes that row away; one of
/// which only the new row is kept brings a new row.
fn kinds_of_the_kept(kinds: &UInt8Array, keep: &BooleanArray) -> UInt8Array {
    const BEFORE: u8 = ChangeKind::UpdateBefore as u8;
    const AFTER: u8 = ChangeKind::UpdateAfter as u8;
    let kinds = kinds.values();
    let kept = |row: usize, kind: u8| {
        kinds.get(row) == Some(&kind) && !arrow_array::Array::is_null(keep, row) && keep.value(row)
    };
    let adjusted = kinds.iter().enumerate().map(|(row, &kind)| match kind {
        BEFORE if !kept(row + 1, AFTER) => ChangeKind::Delete as u8,
        AFTER if row == 0 || !kept(row - 1, BEFORE) => ChangeKind::Insert as u8,
        other => other,
    });
    adjusted.collect::<Vec<u8>>().into()
}
