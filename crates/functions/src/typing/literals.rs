//! Literals: `5` is an `INT`, `1.5` a `DECIMAL(2, 1)`.

use crate::common_type::is_integer;
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Expr;

/// The literal with the type that SQL gives it.
pub(super) fn narrowed(value: ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Int64(Some(number)) => match i32::try_from(number) {
            Ok(narrow) => ScalarValue::Int32(Some(narrow)),
            Err(_) => ScalarValue::Int64(Some(number)),
        },
        ScalarValue::UInt64(Some(number)) => ScalarValue::Decimal128(Some(i128::from(number)), 20, 0),
        ScalarValue::Decimal128(Some(number), precision, scale) if scale >= 0 => {
            let digits = number.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
            let whole = digits.saturating_sub(u32::from(scale.unsigned_abs())).max(1);
            let written = u8::try_from(whole + u32::from(scale.unsigned_abs())).unwrap_or(precision);
            ScalarValue::Decimal128(Some(number), written.clamp(1, 38), scale)
        }
        other => other,
    }
}

/// The literal's value, seen through casts that keep it.
pub(super) fn value_of(expr: &Expr) -> Option<ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value.clone()),
        Expr::Alias(alias) => value_of(&alias.expr),
        _ => None,
    }
}

/// A literal as one of another type, where that needs no computing.
pub(super) fn converted(value: &ScalarValue, wanted: &DataType) -> Option<ScalarValue> {
    if value.is_null() {
        return ScalarValue::try_from(wanted).ok();
    }
    let from = value.data_type();
    let simple = is_integer(&from) && (is_integer(wanted) || *wanted == DataType::Float64);
    simple.then(|| value.cast_to(wanted).ok()).flatten()
}
