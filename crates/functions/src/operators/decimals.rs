//! Arithmetic of decimals: exact, rounded half up to the digits of the result, and NULL where these are not enough, as
//! in Flink.

use super::operation::Arithmetic;
use super::whole::division_by_zero;
use crate::bound::Kernel;
use crate::columns::{build_numbers, decimals};
use arrow_array::Array;
use arrow_array::types::Decimal128Type;
use arrow_buffer::i256;
use arrow_schema::DataType;
use std::sync::Arc;

/// What computes an operation on two decimals.
pub(super) fn kernel(operation: Arithmetic, precision: u8, scale: i8) -> Kernel {
    Arc::new(move |arguments| {
        let (left, right) = (arguments.column(0)?, arguments.column(1)?);
        let ((left, left_scale), (right, right_scale)) = (decimals(&left)?, decimals(&right)?);
        let result = DataType::Decimal128(precision, scale);
        build_numbers::<Decimal128Type>(arguments.rows, &result, |row| {
            if left.is_null(row) || right.is_null(row) {
                return Ok(None);
            }
            let (left, right) = (left.value(row), right.value(row));
            let value = match operation {
                Arithmetic::Plus => sum(left, left_scale, right, right_scale, scale),
                Arithmetic::Minus => sum(left, left_scale, -right, right_scale, scale),
                Arithmetic::Times => product(left, right, left_scale + right_scale, scale),
                Arithmetic::Divide | Arithmetic::Modulo if right == 0 => return Err(division_by_zero()),
                Arithmetic::Divide => quotient(left, left_scale, right, right_scale, scale),
                Arithmetic::Modulo => remainder(left, left_scale, right, right_scale, scale),
            };
            Ok(value.filter(|value| has_digits(*value, precision)))
        })
    })
}

/// Whether a number has at most so many digits.
pub(crate) fn has_digits(value: i128, precision: u8) -> bool {
    power(u32::from(precision)).is_none_or(|limit| value.unsigned_abs() < limit.unsigned_abs())
}

/// Ten to this power; `None` beyond 38.
pub(crate) fn power(exponent: u32) -> Option<i128> {
    10i128.checked_pow(exponent)
}

fn wide_power(exponent: u32) -> Option<i256> {
    (0..exponent).try_fold(i256::ONE, |power, _| power.checked_mul(i256::from_i128(10)))
}

/// The value with other digits behind the point, rounded half up; `None` beyond 128 bits.
pub(crate) fn rescaled(value: i128, from: i8, to: i8) -> Option<i128> {
    let digits = i32::from(to) - i32::from(from);
    if digits >= 0 {
        return value.checked_mul(power(digits as u32)?);
    }
    match power(digits.unsigned_abs()) {
        Some(divisor) => Some(rounded(value, divisor)),
        None => Some(0),
    }
}

/// The quotient rounded half away from zero.
fn rounded(dividend: i128, divisor: i128) -> i128 {
    let (quotient, remainder) = (dividend / divisor, dividend % divisor);
    if remainder.unsigned_abs() >= divisor.unsigned_abs() - remainder.unsigned_abs() {
        quotient + if (dividend < 0) == (divisor < 0) { 1 } else { -1 }
    } else {
        quotient
    }
}

fn wide_rounded(dividend: i256, divisor: i256) -> Option<i128> {
    let quotient = dividend.checked_div(divisor)?;
    let remainder = dividend.checked_rem(divisor)?.wrapping_abs();
    let rest = divisor.wrapping_abs().checked_sub(remainder)?;
    let quotient = if remainder >= rest {
        let away = if dividend.is_negative() == divisor.is_negative() { i256::ONE } else { i256::MINUS_ONE };
        quotient.checked_add(away)?
    } else {
        quotient
    };
    quotient.to_i128()
}

fn wide_rescaled(value: i256, from: i32, to: i32) -> Option<i128> {
    if to >= from {
        return value.checked_mul(wide_power((to - from) as u32)?)?.to_i128();
    }
    wide_rounded(value, wide_power((from - to) as u32)?)
}

fn sum(left: i128, left_scale: i8, right: i128, right_scale: i8, scale: i8) -> Option<i128> {
    let common = left_scale.max(right_scale);
    let narrow = || rescaled(left, left_scale, common)?.checked_add(rescaled(right, right_scale, common)?);
    if let Some(sum) = narrow() {
        return rescaled(sum, common, scale);
    }
    let wide = |value: i128, from: i8| i256::from_i128(value).checked_mul(wide_power((common - from) as u32)?);
    let sum = wide(left, left_scale)?.checked_add(wide(right, right_scale)?)?;
    wide_rescaled(sum, i32::from(common), i32::from(scale))
}

fn product(left: i128, right: i128, from: i8, scale: i8) -> Option<i128> {
    match left.checked_mul(right) {
        Some(product) => rescaled(product, from, scale),
        None => {
            let product = i256::from_i128(left).checked_mul(i256::from_i128(right))?;
            wide_rescaled(product, i32::from(from), i32::from(scale))
        }
    }
}

fn quotient(left: i128, left_scale: i8, right: i128, right_scale: i8, scale: i8) -> Option<i128> {
    let digits = i32::from(scale) - i32::from(left_scale) + i32::from(right_scale);
    if digits < 0 {
        let divisor = i256::from_i128(right).checked_mul(wide_power(digits.unsigned_abs())?)?;
        return wide_rounded(i256::from_i128(left), divisor);
    }
    match power(digits as u32).and_then(|factor| left.checked_mul(factor)) {
        Some(dividend) => Some(rounded(dividend, right)),
        None => wide_rounded(i256::from_i128(left).checked_mul(wide_power(digits as u32)?)?, i256::from_i128(right)),
    }
}

fn remainder(left: i128, left_scale: i8, right: i128, right_scale: i8, scale: i8) -> Option<i128> {
    let common = left_scale.max(right_scale);
    let wide = |value: i128, from: i8| i256::from_i128(value).checked_mul(wide_power((common - from) as u32)?);
    let remainder = wide(left, left_scale)?.checked_rem(wide(right, right_scale)?)?;
    wide_rescaled(remainder, i32::from(common), i32::from(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_rounded_half_up() {
        assert_eq!(quotient(12345, 2, 42, 0, 13), Some(29_392_857_142_857));
        assert_eq!(quotient(125, 1, 84, 1, 6), Some(1_488_095));
        assert_eq!(quotient(-1, 0, 3, 0, 6), Some(-333_333));
        assert_eq!(quotient(2, 0, 3, 0, 6), Some(666_667));
        assert_eq!(product(11, 11, 2, 2), Some(121));
        assert_eq!(sum(1, 1, 2, 1, 1), Some(3));
        assert_eq!(remainder(12345, 2, 7, 0, 2), Some(445));
        assert_eq!(remainder(-12345, 2, 7, 0, 2), Some(-445));
        assert_eq!(rescaled(123_455, 3, 2), Some(12346));
        assert_eq!(rescaled(-123_455, 3, 2), Some(-12346));
        // 12.5 * 8.4 of DECIMAL(38, 19).
        let scaled = |tenths: i128| tenths * 10i128.pow(18);
        assert_eq!(product(scaled(125), scaled(84), 38, 6), Some(105_000_000));
    }

    #[test]
    fn numbers_have_at_most_their_digits() {
        assert!(has_digits(999, 3) && has_digits(-999, 3));
        assert!(!has_digits(1000, 3) && !has_digits(-1000, 3));
        assert!(has_digits(i128::from(i64::MAX), 38));
    }
}
