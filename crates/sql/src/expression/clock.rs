//! Functions that read the clock.
//!
//! DataFusion replaces `now()` by the time at which a query is planned. A streaming query runs for weeks, so ours read
//! the clock for each batch. All rows of a batch see one time.

use arrow_array::timezone::Tz;
use arrow_array::types::{Date32Type, TimestampMillisecondType};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, TimeZone, Utc};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::TreeNode;
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

/// The functions that read the clock.
pub(super) fn clock_functions(options: &ConfigOptions) -> Vec<Arc<ScalarUDF>> {
    let zone = options.execution.time_zone.clone().unwrap_or_else(|| "UTC".to_owned());
    let function = |name, aliases: &[&str], reading| {
        Arc::new(ScalarUDF::new_from_impl(ClockFunction {
            name,
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            reading,
            zone: zone.clone(),
            signature: Signature::nullary(Volatility::Volatile),
        }))
    };
    vec![
        function("now", &["current_timestamp"], Reading::Instant),
        function(PROCTIME, &[], Reading::Instant),
        function("localtimestamp", &[], Reading::LocalTime),
        function("current_date", &["today"], Reading::LocalDate),
    ]
}

/// The function of processing time. As the time of a window it is the operator's clock, and is not computed for rows.
const PROCTIME: &str = "proctime";

/// Whether an expression is `PROCTIME()`.
pub(crate) fn is_processing_time(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.name() == PROCTIME)
}

/// Whether an expression gives another value each time it is computed, as `random()` does; processing time does not
/// count, since nobody minds at which moment of a batch it is read.
pub(crate) fn is_random(expr: &Expr) -> bool {
    let is_random = |expr: &Expr| match expr {
        Expr::ScalarFunction(call) => {
            call.func.signature().volatility == Volatility::Volatile && !is_processing_time(expr)
        }
        _ => false,
    };
    expr.exists(|expr| Ok(is_random(expr))).unwrap_or(true)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Reading {
    Instant,
    LocalTime,
    LocalDate,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ClockFunction {
    name: &'static str,
    aliases: Vec<String>,
    reading: Reading,
    zone: String,
    signature: Signature,
}

impl ScalarUDFImpl for ClockFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.reading {
            Reading::Instant => DataType::Timestamp(TimeUnit::Millisecond, Some(self.zone.as_str().into())),
            Reading::LocalTime => DataType::Timestamp(TimeUnit::Millisecond, None),
            Reading::LocalDate => DataType::Date32,
        })
    }

    fn invoke_with_args(&self, _arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zone: Tz = self.zone.parse().map_err(|error| DataFusionError::ArrowError(Box::new(error), None))?;
        let now: DateTime<Utc> = std::time::SystemTime::now().into();
        let local = zone.from_utc_datetime(&now.naive_utc()).naive_local();
        Ok(ColumnarValue::Scalar(match self.reading {
            Reading::Instant => {
                ScalarValue::TimestampMillisecond(Some(now.timestamp_millis()), Some(self.zone.as_str().into()))
            }
            Reading::LocalTime => ScalarValue::new_primitive::<TimestampMillisecondType>(
                Some(local.and_utc().timestamp_millis()),
                &DataType::Timestamp(TimeUnit::Millisecond, None),
            )?,
            Reading::LocalDate => {
                let days = Date32Type::from_naive_date(local.date());
                ScalarValue::Date32(Some(days))
            }
        }))
    }
}
