//! Watermarks from a table's `WATERMARK FOR … AS …`.

use super::compile::Compiler;
use super::project::failed;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType};
use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, ScalarValue};
use datafusion_expr::{BinaryExpr, Expr, Operator};
use datafusion_physical_expr::PhysicalExpr;
use headpond_runtime::source::{WatermarkFactory, WatermarkStrategy};
use headpond_state::Result;
use std::sync::Arc;

/// What computes watermarks from rows by this expression, a `Timestamp(Millisecond)`.
pub(crate) fn watermark_factory(table: &str, compiler: &Compiler, expr: &Expr) -> Result<WatermarkFactory> {
    let data_type = compiler.data_type(expr)?;
    let has_zone = matches!(&data_type, DataType::Timestamp(_, Some(_)));
    let (expr, delay_ms) = match delayed(expr, has_zone) {
        Some((time, delay_ms)) if compiler.data_type(time)? == data_type => (time, delay_ms),
        _ => (expr, 0),
    };
    let strategy = WatermarkExpression { table: table.to_owned(), expr: compiler.compile(expr)?, delay_ms };
    Ok(Arc::new(move || Ok(Box::new(strategy.clone()))))
}

/// The time and the delay of `time - INTERVAL …`, the usual form, if the delay is always the same: a day is not where clocks are put
/// forward.
fn delayed(expr: &Expr, has_zone: bool) -> Option<(&Expr, i64)> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Minus, right }) = expr else { return None };
    match right.as_ref() {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(delay)), _)
            if delay.months == 0 && (delay.days == 0 || !has_zone) && delay.nanoseconds % 1_000_000 == 0 =>
        {
            Some((left, i64::from(delay.days) * 86_400_000 + delay.nanoseconds / 1_000_000))
        }
        _ => None,
    }
}

#[derive(Debug, Clone)]
struct WatermarkExpression {
    table: String,
    expr: Arc<dyn PhysicalExpr>,
    /// What is subtracted from it.
    delay_ms: i64,
}

impl WatermarkStrategy for WatermarkExpression {
    fn watermarks(&mut self, rows: &RecordBatch) -> Result<Int64Array> {
        let failed = |error: DataFusionError| failed(error, &format!("the watermark of table `{}`", self.table));
        let times = self.expr.evaluate(rows).and_then(|value| value.into_array(rows.num_rows())).map_err(failed)?;
        let times = times.as_primitive::<TimestampMillisecondType>().reinterpret_cast::<Int64Type>();
        Ok(if self.delay_ms == 0 { times } else { times.unary(|time_ms| time_ms.saturating_sub(self.delay_ms)) })
    }
}
