//! Text and floating-point numbers to DECIMAL(p, s), as unscaled values.

use crate::text::error::{TextError, TextResult};
use crate::text::java_digits::Digits;

/// A number written in decimal digits: digits times ten to the power of an exponent.
struct Written {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

/// The unscaled value at a scale, rounded half up (away from zero); None if it has more digits than the precision.
fn rescale(negative: bool, digits: &[u8], exponent: i64, precision: u8, scale: u8) -> Option<i128> {
    let first = digits.iter().position(|d| *d != b'0').unwrap_or(digits.len());
    let digits = digits.get(first..).unwrap_or(&[]);
    if digits.is_empty() {
        return Some(0);
    }
    let kept = i64::try_from(digits.len()).ok()?.checked_add(exponent)?.checked_add(i64::from(scale))?;
    if kept > 38 {
        return None;
    }
    let mut value = 0i128;
    if let Ok(kept) = usize::try_from(kept) {
        for i in 0..kept {
            value = value * 10 + i128::from(digits.get(i).map_or(0, |d| d - b'0'));
        }
        if digits.get(kept).is_some_and(|d| *d >= b'5') {
            value += 1;
        }
    }
    if value >= 10i128.checked_pow(u32::from(precision.min(38)))? {
        return None;
    }
    Some(if negative { -value } else { value })
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\n' | b'\t')
}

/// Reads `[sign] digits [. digits] [e [sign] digits]`; the error is the first character that does not fit.
fn read(text: &str) -> Result<Written, Option<char>> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut written = Written { negative, digits: Vec::with_capacity(unsigned.len()), exponent: 0 };
    let mut point = false;
    for (i, c) in unsigned.char_indices() {
        match c {
            '0'..='9' => {
                written.digits.push(c as u8);
                written.exponent -= i64::from(point);
            }
            '.' if !point => point = true,
            'e' | 'E' if !written.digits.is_empty() => {
                let exponent = unsigned.get(i + 1..).unwrap_or("");
                let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
                if digits.is_empty() {
                    return Err(None);
                }
                if let Some(bad) = digits.chars().find(|c| !c.is_ascii_digit()) {
                    return Err(Some(bad));
                }
                let size: i32 = digits.parse().map_err(|_| None)?;
                written.exponent += if exponent.starts_with('-') { -i64::from(size) } else { i64::from(size) };
                break;
            }
            _ => return Err(Some(c)),
        }
    }
    if written.digits.is_empty() { Err(None) } else { Ok(written) }
}

/// Text to DECIMAL(precision, scale): blanks around are ignored, exponents are read, the fraction is rounded half up.
/// An error for other text and for too many digits; up to a precision of 18, leading zeros count as digits.
pub fn parse_decimal(text: &str, precision: u8, scale: u8) -> TextResult<i128> {
    let trimmed = text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let overflow = || TextError::new(format!("For input string: '{text}'. Overflow."));
    let compact = precision <= 18 && text.len() <= 18;
    let written = match read(trimmed) {
        Ok(written) => written,
        Err(_) if compact => return Err(overflow()),
        Err(Some(bad)) => {
            return Err(TextError::new(format!(
                "Character {bad} is neither a decimal digit number, decimal point, nor \"e\" notation exponential mark."
            )));
        }
        Err(None) => return Err(TextError::new(format!("For input string: '{text}'. Not a number."))),
    };
    let places = i64::try_from(written.digits.len()).unwrap_or(i64::MAX);
    if compact && places + written.exponent + i64::from(scale) > i64::from(precision) {
        return Err(overflow());
    }
    rescale(written.negative, &written.digits, written.exponent, precision, scale).ok_or_else(overflow)
}

/// A DOUBLE to DECIMAL(precision, scale), rounded half up over its decimal text.
/// None (NULL) for too many digits; an error for NaN and infinities.
pub fn double_to_decimal(value: f64, precision: u8, scale: u8) -> TextResult<Option<i128>> {
    if !value.is_finite() {
        let first = if value.is_nan() { 'N' } else { 'I' };
        return Err(TextError::new(format!(
            "Character {first} is neither a decimal digit number, decimal point, nor \"e\" notation exponential mark."
        )));
    }
    let digits = Digits::of_double(value.abs(), true);
    let bytes = digits.as_bytes();
    let exponent = i64::from(digits.exponent) + 1 - i64::try_from(bytes.len()).unwrap_or(0);
    Ok(rescale(value < 0.0, bytes, exponent, precision, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_to_decimal() {
        for (text, p, s, want) in [
            ("123.456", 10, 2, Some(12346)),
            ("123.455", 10, 2, Some(12346)),
            ("-123.455", 10, 2, Some(-12346)),
            ("99999999999", 10, 2, None),
            ("1e2", 10, 2, Some(10000)),
            (" 12 ", 10, 2, Some(1200)),
            ("\n1.5\t", 10, 1, Some(15)),
            ("1E-30", 10, 2, Some(0)),
            ("", 10, 2, None),
            ("abc", 10, 2, None),
            ("1.2.3", 10, 2, None),
            ("abc", 38, 2, None),
            ("99999999999999999999999999999999999999", 38, 0, Some(99999999999999999999999999999999999999)),
            ("0.5e1", 38, 0, Some(5)),
            ("1e40", 38, 0, None),
            ("1e-99999999999", 38, 0, None),
            ("00000000012", 10, 2, None),
            ("99.995", 4, 2, None),
            ("0.00000000000000000000000000000000000000000000009", 38, 10, Some(0)),
        ] {
            assert_eq!(parse_decimal(text, p, s).ok(), want, "{text}");
        }
        assert_eq!(
            parse_decimal("99999999999", 10, 2),
            Err(TextError::new("For input string: '99999999999'. Overflow."))
        );
    }

    #[test]
    fn doubles_to_decimal() {
        for (value, p, s, want) in [
            (2.75, 10, 1, Some(28)),
            (-2.5, 10, 1, Some(-25)),
            (1e300, 10, 1, None),
            (0.0, 10, 1, Some(0)),
            (1.005, 10, 2, Some(101)),
            (1e-300, 10, 1, Some(0)),
        ] {
            assert_eq!(double_to_decimal(value, p, s), Ok(want));
        }
        assert!(double_to_decimal(f64::NAN, 10, 1).is_err());
    }
}
