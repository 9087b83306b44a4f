//! Tumbling windows as functions of a row's time.
//!
//! A row at time `t` belongs to the window that begins at the greatest `offset + n · size` not after `t`. The table function
//! `TUMBLE` adds three columns that call these functions; a `GROUP BY` over such calls makes a windowed aggregate.

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use headpond_state::Error;
use std::sync::Arc;

/// What a window function tells of a row's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WindowPart {
    /// Its first millisecond.
    Start,
    /// The first millisecond after it.
    End,
    /// Its last millisecond.
    Time,
}

impl WindowPart {
    /// All of them, in the order of the columns that `TUMBLE` adds.
    pub(crate) const ALL: [WindowPart; 3] = [WindowPart::Start, WindowPart::End, WindowPart::Time];

    /// The name of the column that `TUMBLE` adds.
    pub(crate) fn column(self) -> &'static str {
        match self {
            WindowPart::Start => "window_start",
            WindowPart::End => "window_end",
            WindowPart::Time => "window_time",
        }
    }

    /// The name of the function.
    pub(crate) fn function(self) -> &'static str {
        match self {
            WindowPart::Start => "tumble_start",
            WindowPart::End => "tumble_end",
            WindowPart::Time => "tumble_rowtime",
        }
    }

    /// The part of the window that begins at `start_ms`.
    pub(crate) fn of(self, start_ms: i64, size_ms: i64) -> i64 {
        match self {
            WindowPart::Start => start_ms,
            WindowPart::End => start_ms.saturating_add(size_ms),
            WindowPart::Time => start_ms.saturating_add(size_ms - 1),
        }
    }
}

/// The beginning of the window in which `time_ms` lies. `size_ms` is positive.
#[inline]
pub(crate) fn window_start(time_ms: i64, size_ms: i64, offset_ms: i64) -> i64 {
    let into = i128::from(time_ms) - i128::from(offset_ms);
    let start = i128::from(time_ms) - into.rem_euclid(i128::from(size_ms));
    i64::try_from(start).unwrap_or(i64::MIN)
}

/// A call of a window function.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WindowCall {
    /// What it tells.
    pub(crate) part: WindowPart,
    /// The row's time.
    pub(crate) time: Expr,
    /// The window's size; greater than zero.
    pub(crate) size_ms: i64,
    /// Where windows begin, counted from the epoch.
    pub(crate) offset_ms: i64,
}

impl WindowCall {
    /// The call that an expression is, if it is one.
    pub(crate) fn of(expr: &Expr) -> Option<Result<WindowCall, Error>> {
        let Expr::ScalarFunction(call) = expr else { return None };
        let part = WindowPart::ALL.into_iter().find(|part| part.function() == call.func.name())?;
        Some(Self::from_arguments(part, &call.args))
    }

    fn from_arguments(part: WindowPart, arguments: &[Expr]) -> Result<WindowCall, Error> {
        let (time, size, offset) = match arguments {
            [time, size] => (time, size, None),
            [time, size, offset] => (time, size, Some(offset)),
            _ => return Err(Error::invalid("a tumbling window has a time, a size and, perhaps, an offset")),
        };
        let size_ms = interval_ms(size)?;
        if size_ms <= 0 {
            return Err(Error::invalid("the size of a window must be greater than zero"));
        }
        let offset_ms = offset.map_or(Ok(0), interval_ms)?;
        Ok(WindowCall { part, time: time.clone(), size_ms, offset_ms })
    }
}

/// The milliseconds of an interval that is a literal.
pub(crate) fn interval_ms(expr: &Expr) -> Result<i64, Error> {
    let not_literal = || Error::invalid(format!("`{expr}` is no interval such as INTERVAL '1' DAY"));
    match expr {
        Expr::Alias(alias) => interval_ms(&alias.expr),
        Expr::Negative(inner) => interval_ms(inner).map(i64::saturating_neg),
        Expr::Literal(scalar, _) => scalar_ms(scalar).ok_or_else(not_literal)?,
        _ => Err(not_literal()),
    }
}

fn scalar_ms(scalar: &ScalarValue) -> Option<Result<i64, Error>> {
    let months =
        || Error::unsupported("windows of months or years are not supported").hint("use days or shorter units");
    Some(match scalar {
        ScalarValue::Int64(Some(ms)) => Ok(*ms),
        ScalarValue::DurationMillisecond(Some(ms)) => Ok(*ms),
        ScalarValue::IntervalYearMonth(Some(_)) => Err(months()),
        ScalarValue::IntervalDayTime(Some(value)) => {
            Ok(i64::from(value.days) * 86_400_000 + i64::from(value.milliseconds))
        }
        ScalarValue::IntervalMonthDayNano(Some(value)) if value.months == 0 => {
            Ok(i64::from(value.days) * 86_400_000 + value.nanoseconds / 1_000_000)
        }
        ScalarValue::IntervalMonthDayNano(Some(_)) => Err(months()),
        _ => return None,
    })
}

/// The function that tells a part of a row's window.
pub(crate) fn window_udf(part: WindowPart) -> Arc<ScalarUDF> {
    let arguments = TypeSignature::OneOf(vec![TypeSignature::Any(2), TypeSignature::Any(3)]);
    let signature = Signature::new(arguments, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(WindowFunction { part, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct WindowFunction {
    part: WindowPart,
    signature: Signature,
}

impl ScalarUDFImpl for WindowFunction {
    fn name(&self) -> &str {
        self.part.function()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments.first() {
            Some(time @ DataType::Timestamp(TimeUnit::Millisecond, _)) => Ok(time.clone()),
            _ => Err(DataFusionError::Plan(format!(
                "{} takes a TIMESTAMP(3) or TIMESTAMP_LTZ(3) and an interval",
                self.part.function().to_uppercase()
            ))),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let literals = arguments.args.iter().skip(1).map(|argument| match argument {
            ColumnarValue::Scalar(scalar) => Ok(Expr::Literal(scalar.clone(), None)),
            ColumnarValue::Array(_) => Err(DataFusionError::Plan("the size of a window must be a literal".to_owned())),
        });
        let mut expressions = vec![Expr::Literal(ScalarValue::Null, None)];
        expressions.extend(literals.collect::<Result<Vec<_>>>()?);
        let call = WindowCall::from_arguments(self.part, &expressions)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        let times: ArrayRef = arguments.args[0].to_array(arguments.number_rows)?;
        let times = times.as_primitive::<TimestampMillisecondType>();
        let parts: PrimitiveArray<TimestampMillisecondType> =
            times.unary(|time| self.part.of(window_start(time, call.size_ms, call.offset_ms), call.size_ms));
        Ok(ColumnarValue::Array(Arc::new(parts.with_data_type(times.data_type().clone()))))
    }
}
