//! Intervals that are literals.

use datafusion_common::ScalarValue;
use datafusion_expr::Expr;
use headpond_state::Error;

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
        ScalarValue::Int32(Some(ms)) => Ok(i64::from(*ms)),
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
