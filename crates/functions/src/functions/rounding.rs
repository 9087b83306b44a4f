//! ROUND and TRUNCATE.

use super::whole_number::{WholeNumber, for_wholes};
use crate::bind::{Bind, Bound, Parameter};
use crate::bound::Kernel;
use crate::columns::{build_numbers, decimals, floats};
use crate::decimal::{precision_and_scale, rounded};
use crate::operators::{OVERFLOW, has_digits, power, rescaled};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::DataType;
use headpond_state::Error;
use std::sync::Arc;

/// `ROUND` and `TRUNCATE`.
pub(super) fn round(call: &Bind<'_>, half_up: bool) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Number, Parameter::Whole], 1)?;
    let of = arguments[0].clone();
    let result = match (&of, call.types.len()) {
        (DataType::Decimal128(precision, scale), 1) => rounded((*precision, *scale), 0),
        (DataType::Decimal128(precision, scale), _) => match call.literal_whole(1) {
            Some(digits) => rounded((*precision, *scale), digits),
            None => of.clone(),
        },
        // Flink gives a FLOAT to be cut as the FLOAT it is, and rounds as a DOUBLE all the same.
        (other, _) => other.clone(),
    };
    let (wraps, to, name) = (call.settings.wraps, result.clone(), if half_up { "ROUND" } else { "TRUNCATE" });
    let kernel: Kernel = Arc::new(move |arguments| {
        let array = arguments.column(0)?;
        let digits = if arguments.values.len() > 1 { Some(arguments.longs(1)?) } else { None };
        let digits = |row: usize| match &digits {
            Some(digits) => digits.get(row).map(|digits| digits.clamp(-400, 400) as i32),
            None => Some(0),
        };
        fn of_wholes<T: ArrowPrimitiveType>(
            array: &ArrayRef,
            to: &DataType,
            digits: &dyn Fn(usize) -> Option<i32>,
            half_up: bool,
            wraps: bool,
            name: &str,
        ) -> Result<ArrayRef, Error>
        where
            T::Native: WholeNumber,
        {
            let values = array.as_primitive::<T>();
            build_numbers::<T>(values.len(), to, |row| {
                let Some(digits) = digits(row).filter(|_| values.is_valid(row)) else { return Ok(None) };
                let value = values.value(row).to_i128();
                let rounded = if digits >= 0 { value } else { to_digits(value, digits.unsigned_abs(), half_up) };
                match T::Native::of_i128(rounded) {
                    Some(fitting) => Ok(Some(fitting)),
                    None if wraps => Ok(Some(T::Native::wrapped(rounded))),
                    None => Err(Error::invalid(format!("{name}: {rounded} grows beyond its type")).hint(OVERFLOW)),
                }
            })
        }
        if let Some(reals) = floats(&array) {
            let single = *array.data_type() == DataType::Float32;
            let rounded = |row: usize| -> Option<f64> {
                let digits = digits(row).filter(|_| reals.is_valid(row))?;
                Some(real_to_digits(reals.value(row), single, digits, half_up))
            };
            return if single {
                build_numbers::<Float32Type>(arguments.rows, &to, |row| Ok(rounded(row).map(|real| real as f32)))
            } else {
                build_numbers::<Float64Type>(arguments.rows, &to, |row| Ok(rounded(row)))
            };
        }
        let of_decimals = || -> Result<ArrayRef, Error> {
            let (values, scale) = decimals(&array)?;
            let (precision, to_scale) = precision_and_scale(&to).unwrap_or((38, scale));
            build_numbers::<Decimal128Type>(arguments.rows, &to, |row| {
                let Some(digits) = digits(row).filter(|_| values.is_valid(row)) else { return Ok(None) };
                let dropped = i32::from(scale) - digits;
                let value = values.value(row);
                let value = if dropped > 0 { to_digits(value, dropped.unsigned_abs(), half_up) } else { value };
                Ok(rescaled(value, scale, to_scale).filter(|value| has_digits(*value, precision)))
            })
        };
        for_wholes!(&array, array.data_type(), of_decimals(), of_wholes, &to, &digits, half_up, wraps, name)
    });
    Ok(call.bound(arguments, result, kernel))
}

/// The number with its last so many digits zero.
fn to_digits(value: i128, dropped: u32, half_up: bool) -> i128 {
    let Some(unit) = power(dropped) else { return 0 };
    let cut = value / unit * unit;
    let rest = value - cut;
    let rounds = half_up && rest.unsigned_abs() >= unit.unsigned_abs() - rest.unsigned_abs();
    match rounds {
        true => cut.checked_add(unit * value.signum()).unwrap_or(cut),
        false => cut,
    }
}

/// A `DOUBLE` rounded by the decimal digits that it shows.
fn real_to_digits(real: f64, single: bool, digits: i32, half_up: bool) -> f64 {
    if !real.is_finite() || real == 0.0 {
        return real;
    }
    let shown = if single { (real as f32).to_string() } else { real.to_string() };
    let (whole, fraction) = shown.split_once('.').unwrap_or((&shown, ""));
    let negative = whole.starts_with('-');
    let whole = whole.trim_start_matches('-');
    let kept = whole.len() as i64 + i64::from(digits);
    if kept < 0 {
        return 0.0;
    }
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let kept = kept as usize;
    if kept >= all.len() {
        return real;
    }
    let up = half_up && all[kept] >= b'5';
    let mut digits_kept: Vec<u8> = all[..kept].to_vec();
    let mut carry = up;
    for digit in digits_kept.iter_mut().rev() {
        if !carry {
            break;
        }
        carry = *digit == b'9';
        *digit = if carry { b'0' } else { *digit + 1 };
    }
    let mut text = String::with_capacity(all.len() + 8);
    if negative {
        text.push('-');
    }
    if carry {
        text.push('1');
    }
    text.extend(digits_kept.iter().map(|digit| char::from(*digit)));
    if text.is_empty() || text == "-" {
        text.push('0');
    }
    text.push_str(&format!("e{}", -digits));
    text.parse().unwrap_or(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reals_are_rounded_by_the_digits_they_show() {
        for (real, digits, expected) in [
            (1.005, 2, 1.01),
            (0.125, 2, 0.13),
            (2.5, 0, 3.0),
            (-2.5, 0, -3.0),
            (9.99, 1, 10.0),
            (0.4, 0, 0.0),
            (0.5, 0, 1.0),
            (1234.5, -2, 1200.0),
            (99.0, -2, 100.0),
            (1e300, 2, 1e300),
            (49.0, -3, 0.0),
        ] {
            assert_eq!(real_to_digits(real, false, digits, true), expected, "{real} to {digits}");
        }
        assert_eq!(real_to_digits(-42.9, false, 0, false), -42.0);
    }

    #[test]
    fn whole_numbers_are_rounded_half_up() {
        assert_eq!(to_digits(15, 1, true), 20);
        assert_eq!(to_digits(-15, 1, true), -20);
        assert_eq!(to_digits(14, 1, true), 10);
        assert_eq!(to_digits(19, 1, false), 10);
        assert_eq!(to_digits(12345, 2, true), 12300);
    }
}
