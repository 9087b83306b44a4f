//! Numbers as text.

use super::Problem;
use std::io::Write;

/// Reads a whole number: an optional sign and digits.
#[inline]
pub(crate) fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return if digits.is_empty() { None } else { parse_long(text) };
    }
    // 18 digits fit into an i64, so nothing here can overflow.
    let (mut value, mut digits) = (0_i64, digits);
    while let Some((eight, rest)) = digits.split_first_chunk::<8>() {
        value = value.wrapping_mul(100_000_000).wrapping_add(eight_digits(u64::from_le_bytes(*eight))?);
        digits = rest;
    }
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
    }
    Some(if negative { value.wrapping_neg() } else { value })
}

/// The number that eight digits mean, the first in the lowest byte.
#[inline]
fn eight_digits(text: u64) -> Option<i64> {
    const HIGH: u64 = u64::from_ne_bytes([0xf0; 8]);
    const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
    const SIXES: u64 = u64::from_ne_bytes([6; 8]);
    // A digit's high half is that of '0', and stays so when 6 is added.
    if text & HIGH != ZEROS || text.wrapping_add(SIXES) & HIGH != ZEROS {
        return None;
    }
    // Neighbours become numbers of two digits, these of four, these of eight.
    let digits = text - ZEROS;
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some(((fours * 10_000 + (fours >> 32)) & 0xffff_ffff) as i64)
}

#[cold]
fn parse_long(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Reads a whole number that may be written as `1.0` or `1e3`, if it is whole and in range.
#[cold]
pub(crate) fn parse_whole(text: &[u8]) -> Option<i64> {
    let Decimal { unscaled, exact: true } = parse_decimal(text, 0)? else { return None };
    i64::try_from(unscaled).ok()
}

/// What a decimal text says at a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// The value times ten to the power of the scale, rounded half away from zero.
    pub(crate) unscaled: i128,
    /// Whether nothing was rounded.
    pub(crate) exact: bool,
}

/// Reads a decimal with an optional exponent, digit by digit. `None`: not a number, or beyond 38 digits at this scale.
pub(crate) fn parse_decimal(text: &[u8], scale: u8) -> Option<Decimal> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let exponent_at = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = match exponent_at {
        Some(at) => (&text[..at], parse_i64(&text[at + 1..])?.clamp(-10_000, 10_000)),
        None => (text, 0),
    };
    let point = mantissa.iter().position(|&byte| byte == b'.');
    let (whole, fraction) = match point {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &[][..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // The digits of the mantissa that count at this scale; those behind them only round.
    let kept = i64::try_from(whole.len()).ok()? + exponent + i64::from(scale);
    let mut decimal = Decimal { unscaled: 0, exact: true };
    let mut round_up = false;
    let mut seen = 0_i64;
    for &byte in whole.iter().chain(fraction) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        if seen < kept {
            decimal.unscaled = decimal.unscaled.checked_mul(10)?.checked_add(i128::from(digit))?;
        } else {
            round_up |= seen == kept && digit >= 5;
            decimal.exact &= digit == 0;
        }
        seen += 1;
    }
    while seen < kept && decimal.unscaled != 0 {
        decimal.unscaled = decimal.unscaled.checked_mul(10)?;
        seen += 1;
    }
    if round_up {
        decimal.unscaled = decimal.unscaled.checked_add(1)?;
    }
    if negative {
        decimal.unscaled = -decimal.unscaled;
    }
    Some(decimal)
}

/// Whether a decimal has at most `precision` digits.
pub(crate) fn fits(unscaled: i128, precision: u8) -> bool {
    unscaled.unsigned_abs() < 10_u128.pow(u32::from(precision.min(38)))
}

/// Reads a floating-point number; `NaN`, `Infinity` and `inf` are some, with a sign or without.
pub(crate) fn parse_f64(text: &[u8]) -> Option<f64> {
    lexical_core::parse(text).ok()
}

/// As [`parse_f64`], in single precision.
pub(crate) fn parse_f32(text: &[u8]) -> Option<f32> {
    lexical_core::parse(text).ok()
}

/// Writes a whole number.
pub(crate) fn write_i64(value: i64, out: &mut Vec<u8>) {
    let mut buffer = [0; lexical_core::BUFFER_SIZE];
    out.extend_from_slice(lexical_core::write(value, &mut buffer));
}

/// Writes the shortest text that reads as the same number. [`f32`] or [`f64`], by its `Debug` form: it has a point or
/// an exponent, and an exponent only where the digits would be many.
pub(crate) fn write_float(value: impl std::fmt::Debug + Into<f64> + Copy, out: &mut Vec<u8>) {
    let wide: f64 = value.into();
    if wide.is_finite() {
        let _ = write!(out, "{value:?}");
    } else {
        out.extend_from_slice(match (wide.is_nan(), wide > 0.0) {
            (true, _) => b"NaN".as_slice(),
            (false, true) => b"Infinity",
            (false, false) => b"-Infinity",
        });
    }
}

/// Writes a decimal with all digits of its scale.
pub(crate) fn write_decimal(unscaled: i128, scale: i8, out: &mut Vec<u8>) {
    let digits = unscaled.unsigned_abs().to_string();
    if unscaled < 0 {
        out.push(b'-');
    }
    let scale = usize::try_from(scale).unwrap_or(0);
    if scale == 0 {
        out.extend_from_slice(digits.as_bytes());
        return;
    }
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    out.extend_from_slice(whole.as_bytes());
    out.push(b'.');
    out.extend_from_slice(fraction.as_bytes());
}

/// The error for a text that is not a whole number from `least` to `greatest`.
#[cold]
pub(crate) fn not_whole(type_name: &str, least: i64, greatest: i64) -> Problem {
    Problem::new(format!("not a whole number that {type_name} can hold ({least} to {greatest})"))
}
