//! Functions that read the clock: anew for each batch, so that all its rows see one time. A streaming query runs for
//! weeks.

use crate::bind::{Bind, Bound, Category, Function};
use crate::bound::{BoundFunction, Kernel};
use crate::settings::TIMESTAMP;
use crate::time::{DAY_MS, Zone};
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_common::tree_node::TreeNode;
use datafusion_expr::{Expr, Volatility};
use headpond_state::Error;
use std::sync::Arc;

macro_rules! reading {
    ($names:expr, $syntax:expr, $doc:expr, $reading:expr) => {
        function!($names, $syntax, $doc, &[], |call| clock(call, $reading))
    };
}

/// What is read.
#[derive(Debug, Clone, Copy)]
enum Reading {
    Instant,
    LocalTimestamp,
    LocalTime,
    LocalDate,
}

const CHAPTER: Category = Category::Time;

pub(super) const FUNCTIONS: &[Function] = &[
    reading!(
        &["CURRENT_TIMESTAMP", "NOW", "CURRENT_ROW_TIMESTAMP"],
        "CURRENT_TIMESTAMP, NOW(), CURRENT_ROW_TIMESTAMP()",
        "The present instant, as a TIMESTAMP_LTZ(3).",
        Reading::Instant
    ),
    reading!(&["PROCTIME"], "PROCTIME()", "Processing time, as a TIMESTAMP_LTZ(3).", Reading::Instant),
    reading!(
        &["LOCALTIMESTAMP"],
        "LOCALTIMESTAMP",
        "The present local time, as a TIMESTAMP(3).",
        Reading::LocalTimestamp
    ),
    reading!(
        &["LOCALTIME", "CURRENT_TIME"],
        "LOCALTIME, CURRENT_TIME",
        "The present local time of day, as a TIME(0).",
        Reading::LocalTime
    ),
    reading!(&["CURRENT_DATE"], "CURRENT_DATE", "The present local date.", Reading::LocalDate),
];

const PROCTIME: &str = "proctime";

/// Whether an expression is `PROCTIME()`.
pub fn is_processing_time(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.name().eq_ignore_ascii_case(PROCTIME))
}

/// Whether an expression gives another value each time it is computed, as `RAND()` does; processing time does not
/// count, since nobody minds at which moment of a batch it is read.
pub fn is_random(expr: &Expr) -> bool {
    let is_random = |expr: &Expr| match expr {
        Expr::ScalarFunction(call) => {
            call.func.signature().volatility == Volatility::Volatile && !is_processing_time(expr)
        }
        _ => false,
    };
    expr.exists(|expr| Ok(is_random(expr))).unwrap_or(true)
}

fn clock(call: &Bind<'_>, reading: Reading) -> Result<Bound, Error> {
    let arguments = call.take(&[], 0)?;
    let result = match reading {
        Reading::Instant => call.settings.instant(),
        Reading::LocalTimestamp => TIMESTAMP,
        Reading::LocalTime => DataType::Time32(TimeUnit::Millisecond),
        Reading::LocalDate => DataType::Date32,
    };
    let (settings, data_type) = (Arc::clone(call.settings), result.clone());
    let kernel: Kernel = Arc::new(move |arguments| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now_ms = match now {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        };
        let zone: Zone = settings.zone;
        let local_ms = zone.local_millis(now_ms).unwrap_or(now_ms);
        let value = match reading {
            Reading::Instant => ScalarValue::TimestampMillisecond(Some(now_ms), Some(Arc::clone(&settings.zone_name))),
            Reading::LocalTimestamp => ScalarValue::TimestampMillisecond(Some(local_ms), None),
            Reading::LocalTime => {
                ScalarValue::Time32Millisecond(Some((local_ms.rem_euclid(DAY_MS) / 1000 * 1000) as i32))
            }
            Reading::LocalDate => ScalarValue::Date32(i32::try_from(local_ms.div_euclid(DAY_MS)).ok()),
        };
        debug_assert_eq!(value.data_type(), data_type);
        value.to_array_of_size(arguments.rows).map_err(crate::bound::internal)
    });
    let name = call.name.to_lowercase();
    let function = BoundFunction::new(&name, crate::bound::Spelling::Call, arguments.clone(), result, kernel);
    Ok(Bound { function: function.volatile(), arguments })
}
