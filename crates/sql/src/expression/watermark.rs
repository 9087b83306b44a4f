//! Watermarks from a table's `WATERMARK FOR … AS …`.

use super::compile::Compiler;
use super::project::failed;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType};
use arrow_array::{Int64Array, RecordBatch};
use datafusion_common::DataFusionError;
use datafusion_expr::Expr;
use datafusion_physical_expr::PhysicalExpr;
use headpond_runtime::source::{WatermarkFactory, WatermarkStrategy};
use headpond_state::Result;
use std::sync::Arc;

/// What computes watermarks from rows by this expression, a `Timestamp(Millisecond)`.
pub(crate) fn watermark_factory(table: &str, compiler: &Compiler, expr: &Expr) -> Result<WatermarkFactory> {
    let strategy = WatermarkExpression { table: table.to_owned(), expr: compiler.compile(expr)? };
    Ok(Arc::new(move || Ok(Box::new(strategy.clone()))))
}

#[derive(Debug, Clone)]
struct WatermarkExpression {
    table: String,
    expr: Arc<dyn PhysicalExpr>,
}

impl WatermarkStrategy for WatermarkExpression {
    fn watermarks(&mut self, rows: &RecordBatch) -> Result<Int64Array> {
        let failed = |error: DataFusionError| failed(error, &format!("the watermark of table `{}`", self.table));
        let times = self.expr.evaluate(rows).and_then(|value| value.into_array(rows.num_rows())).map_err(failed)?;
        Ok(times.as_primitive::<TimestampMillisecondType>().reinterpret_cast::<Int64Type>())
    }
}
