//! `TO_TIMESTAMP_LTZ(number[, precision])`: a number of seconds or milliseconds since the epoch as an instant, as Flink
//! has it.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, ScalarValue, exec_err, plan_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

/// The function in the session's time zone.
pub(super) fn to_timestamp_ltz(options: &ConfigOptions) -> Arc<ScalarUDF> {
    let zone = options.execution.time_zone.clone().unwrap_or_else(|| "UTC".to_owned());
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(ToTimestampLtz { zone, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToTimestampLtz {
    zone: String,
    signature: Signature,
}

impl ScalarUDFImpl for ToTimestampLtz {
    fn name(&self) -> &str {
        "to_timestamp_ltz"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let number = match types {
            [number] | [number, _] => number,
            _ => return plan_err!("TO_TIMESTAMP_LTZ takes a number and, perhaps, a precision"),
        };
        if !number.is_integer() && !number.is_null() {
            return plan_err!("TO_TIMESTAMP_LTZ takes a whole number of seconds or milliseconds");
        }
        Ok(vec![DataType::Int64; types.len()])
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Timestamp(TimeUnit::Millisecond, Some(self.zone.as_str().into())))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let per_unit = match arguments.args.get(1) {
            None | Some(ColumnarValue::Scalar(ScalarValue::Int64(Some(3)))) => 1,
            Some(ColumnarValue::Scalar(ScalarValue::Int64(Some(0)))) => 1000,
            _ => return exec_err!("the precision of TO_TIMESTAMP_LTZ is 0 (seconds) or 3 (milliseconds)"),
        };
        let is_scalar = matches!(arguments.args[0], ColumnarValue::Scalar(_));
        let numbers = arguments.args[0].to_array(arguments.number_rows)?;
        let numbers = numbers.as_primitive::<Int64Type>();
        let times: PrimitiveArray<TimestampMillisecondType> = match per_unit {
            1 => numbers.reinterpret_cast(),
            per_unit => numbers.try_unary(|number| match number.checked_mul(per_unit) {
                Some(ms) => Ok(ms),
                None => exec_err!("{number} seconds are beyond all times"),
            })?,
        };
        let times: ArrayRef = Arc::new(times.with_timezone(self.zone.as_str()));
        if is_scalar && times.len() == 1 {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&times, 0)?));
        }
        Ok(ColumnarValue::Array(times))
    }
}
