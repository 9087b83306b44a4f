//! Watermarks from a table's `WATERMARK FOR … AS …`.

use super::compile::Compiler;
use super::project::failed;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::{DataFusionError, ScalarValue};
use datafusion_expr::Expr;
use datafusion_physical_expr::PhysicalExpr;
use headpond_functions::sum_of;
use headpond_runtime::source::{WatermarkFactory, WatermarkStrategy};
use headpond_state::Result;
use std::sync::Arc;

/// What computes watermarks from rows by this expression, a `Timestamp(Millisecond)`.
pub(crate) fn watermark_factory(table: &str, compiler: &Compiler, expr: &Expr) -> Result<WatermarkFactory> {
    let (expr, behind_ms) = match delayed(compiler, expr)? {
        Some((time, behind_ms)) => (time, behind_ms),
        None => (expr, 0),
    };
    let strategy = WatermarkExpression { table: table.to_owned(), expr: compiler.compile(expr)?, behind_ms };
    Ok(Arc::new(move || Ok(Box::new(strategy.clone()))))
}

/// The time and the milliseconds of `time - INTERVAL …`, where that is a subtraction of milliseconds and no matter of
/// calendars: it is computed in the same pass as what else is done with the time.
fn delayed<'e>(compiler: &Compiler, expr: &'e Expr) -> Result<Option<(&'e Expr, i64)>> {
    let Some((left, -1, Expr::Literal(interval, _))) = sum_of(expr) else { return Ok(None) };
    let DataType::Timestamp(TimeUnit::Millisecond, _) = compiler.data_type(left)? else { return Ok(None) };
    let (days, ms) = match interval {
        ScalarValue::IntervalDayTime(Some(interval)) => (interval.days, i64::from(interval.milliseconds)),
        ScalarValue::IntervalMonthDayNano(Some(interval))
            if interval.months == 0 && interval.nanoseconds % 1_000_000 == 0 =>
        {
            (interval.days, interval.nanoseconds / 1_000_000)
        }
        _ => return Ok(None),
    };
    Ok(Some((left, i64::from(days) * 86_400_000 + ms)))
}

#[derive(Debug, Clone)]
struct WatermarkExpression {
    table: String,
    expr: Arc<dyn PhysicalExpr>,
    behind_ms: i64,
}

impl WatermarkStrategy for WatermarkExpression {
    fn watermarks(&mut self, rows: &RecordBatch) -> Result<Int64Array> {
        let failed = |error: DataFusionError| failed(error, &format!("the watermark of table `{}`", self.table));
        let times = self.expr.evaluate(rows).and_then(|value| value.into_array(rows.num_rows())).map_err(failed)?;
        let times = times.as_primitive::<TimestampMillisecondType>();
        Ok(times.unary(|time_ms| time_ms.saturating_sub(self.behind_ms)))
    }
}
