//! Text to integers, floating-point numbers and booleans, as CAST reads them.

use crate::text::error::{TextError, TextResult};

fn not_a_number(text: &str, reason: &str) -> TextError {
    TextError::new(format!("For input string: '{text}'. {reason}"))
}

/// Reads an integer: spaces around it are ignored, a fraction is cut off, an exponent is refused.
fn parse_integer(text: &str, min: i64, max: i64) -> TextResult<i64> {
    let text = text.trim_matches(' ');
    let bytes = text.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let signed = negative || bytes.first() == Some(&b'+');
    let digits = bytes.get(usize::from(signed)..).unwrap_or(&[]);
    if digits.is_empty() {
        let reason = if signed { "Input has only positive or negative symbol." } else { "Input is empty." };
        return Err(not_a_number(text, reason));
    }
    let mut digits = digits.iter();
    let mut value = 0i128;
    for b in digits.by_ref() {
        match b {
            b'.' => break,
            b'0'..=b'9' => value = value * 10 - i128::from(b - b'0'),
            _ => return Err(not_a_number(text, "Invalid character found.")),
        }
        if value < i128::from(min) {
            return Err(not_a_number(text, "Overflow."));
        }
    }
    if digits.any(|b| !b.is_ascii_digit()) {
        return Err(not_a_number(text, "Invalid character found."));
    }
    let value = if negative { value } else { -value };
    match i64::try_from(value) {
        Ok(value) if value <= max => Ok(value),
        _ => Err(not_a_number(text, "Overflow.")),
    }
}

/// Text to BIGINT.
pub fn parse_bigint(text: &str) -> TextResult<i64> {
    parse_integer(text, i64::MIN, i64::MAX)
}

/// Text to INT.
pub fn parse_int(text: &str) -> TextResult<i32> {
    let value = parse_integer(text, i32::MIN.into(), i32::MAX.into())?;
    i32::try_from(value).map_err(|_| not_a_number(text, "Overflow."))
}

/// Text to SMALLINT.
pub fn parse_smallint(text: &str) -> TextResult<i16> {
    i16::try_from(parse_int(text)?).map_err(|_| not_a_number(text, "Overflow."))
}

/// Text to TINYINT.
pub fn parse_tinyint(text: &str) -> TextResult<i8> {
    i8::try_from(parse_int(text)?).map_err(|_| not_a_number(text, "Overflow."))
}

/// What Java's grammar of floating-point numbers sees in a text.
enum Floating<'a> {
    Special(f64),
    Decimal(&'a str),
    Hexadecimal { negative: bool, digits: &'a str, exponent: i64 },
}

fn digits_end(bytes: &[u8], from: usize, is_digit: fn(&u8) -> bool) -> usize {
    bytes.iter().skip(from).position(|b| !is_digit(b)).map_or(bytes.len(), |n| from + n)
}

fn scan(text: &str) -> Option<Floating<'_>> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned {
        "NaN" => return Some(Floating::Special(f64::NAN)),
        "Infinity" => return Some(Floating::Special(if negative { -f64::INFINITY } else { f64::INFINITY })),
        _ => {}
    }
    let hexadecimal = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    let number = unsigned.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(unsigned);
    let bytes = number.as_bytes();
    let is_digit: fn(&u8) -> bool = if hexadecimal { u8::is_ascii_hexdigit } else { u8::is_ascii_digit };
    let start = if hexadecimal { 2 } else { 0 };
    let mut end = digits_end(bytes, start, is_digit);
    let mut count = end - start;
    if bytes.get(end) == Some(&b'.') {
        let after = digits_end(bytes, end + 1, is_digit);
        count += after - end - 1;
        end = after;
    }
    if count == 0 {
        return None;
    }
    let mantissa = number.get(start..end)?;
    let mut exponent = 0;
    match bytes.get(end) {
        None if !hexadecimal => {}
        Some(b'e' | b'E') if !hexadecimal => exponent = exponent_of(number.get(end + 1..)?)?,
        Some(b'p' | b'P') if hexadecimal => exponent = exponent_of(number.get(end + 1..)?)?,
        _ => return None,
    }
    if hexadecimal {
        return Some(Floating::Hexadecimal { negative, digits: mantissa, exponent });
    }
    let sign = usize::from(text.len() > unsigned.len());
    text.get(..sign + number.len()).map(Floating::Decimal)
}

fn exponent_of(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(1_000_000).min(1_000_000i64);
    Some(if text.starts_with('-') { -size } else { size })
}

fn hexadecimal_value(negative: bool, digits: &str, exponent: i64) -> f64 {
    let mut mantissa = 0u64;
    let mut power = exponent;
    let mut after_point = false;
    for c in digits.chars() {
        let Some(d) = c.to_digit(16) else {
            after_point = true;
            continue;
        };
        if mantissa >> 58 == 0 {
            mantissa = mantissa << 4 | u64::from(d);
            power -= if after_point { 4 } else { 0 };
        } else {
            // Further digits only decide the rounding.
            mantissa |= u64::from(d != 0);
            power += if after_point { 0 } else { 4 };
        }
    }
    let mut value = mantissa as f64;
    while power != 0 && value != 0.0 && value.is_finite() {
        let step = power.clamp(-1000, 1000);
        value *= 2f64.powi(step as i32);
        power -= step;
    }
    if negative { -value } else { value }
}

fn java_trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

fn floating_error(text: &str) -> TextError {
    if text.is_empty() {
        TextError::new("empty String")
    } else {
        TextError::new(format!("For input string: \"{text}\""))
    }
}

/// Text to DOUBLE: as Java's `Double.parseDouble`, with `1d`, `0x1p3`, `.5`, `NaN` and `Infinity`.
pub fn parse_double(text: &str) -> TextResult<f64> {
    let text = java_trim(text);
    match scan(text) {
        Some(Floating::Special(value)) => Ok(value),
        Some(Floating::Decimal(number)) => number.parse().map_err(|_| floating_error(text)),
        Some(Floating::Hexadecimal { negative, digits, exponent }) => Ok(hexadecimal_value(negative, digits, exponent)),
        None => Err(floating_error(text)),
    }
}

/// Text to FLOAT: as Java's `Float.parseFloat`.
pub fn parse_float(text: &str) -> TextResult<f32> {
    let text = java_trim(text);
    match scan(text) {
        Some(Floating::Special(value)) => Ok(value as f32),
        Some(Floating::Decimal(number)) => number.parse().map_err(|_| floating_error(text)),
        Some(Floating::Hexadecimal { negative, digits, exponent }) => {
            Ok(hexadecimal_value(negative, digits, exponent) as f32)
        }
        None => Err(floating_error(text)),
    }
}

/// Text to BOOLEAN: t, true, y, yes, 1 and f, false, n, no, 0 in any case; spaces are not ignored.
pub fn parse_boolean(text: &str) -> TextResult<bool> {
    let is_one_of = |words: [&str; 5]| words.iter().any(|w| text.eq_ignore_ascii_case(w));
    if is_one_of(["t", "true", "y", "yes", "1"]) {
        Ok(true)
    } else if is_one_of(["f", "false", "n", "no", "0"]) {
        Ok(false)
    } else {
        Err(TextError::new(format!("Cannot parse '{text}' as BOOLEAN.")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        for (text, want) in [
            ("42", Ok(42)),
            (" 42 ", Ok(42)),
            ("42.7", Ok(42)),
            ("-3.7", Ok(-3)),
            ("+5", Ok(5)),
            (".5", Ok(0)),
            ("5.", Ok(5)),
            ("-2147483648", Ok(i32::MIN)),
            ("", Err("For input string: ''. Input is empty.")),
            ("   ", Err("For input string: ''. Input is empty.")),
            ("-", Err("For input string: '-'. Input has only positive or negative symbol.")),
            ("1e3", Err("For input string: '1e3'. Invalid character found.")),
            ("1.x", Err("For input string: '1.x'. Invalid character found.")),
            ("2147483648", Err("For input string: '2147483648'. Overflow.")),
            ("99999999999999999999999", Err("For input string: '99999999999999999999999'. Overflow.")),
        ] {
            assert_eq!(parse_int(text), want.map_err(TextError::new), "{text}");
        }
        assert_eq!(parse_bigint("9223372036854775807"), Ok(i64::MAX));
        assert_eq!(parse_bigint("-9223372036854775808"), Ok(i64::MIN));
        assert!(parse_bigint("9223372036854775808").is_err());
        assert!(parse_tinyint("128").is_err());
        assert_eq!(parse_smallint("-32768"), Ok(i16::MIN));
    }

    #[test]
    fn floating() {
        for (text, want) in [
            ("1d", 1.0),
            (".5", 0.5),
            ("5.", 5.0),
            (" 12 ", 12.0),
            ("1e3", 1000.0),
            ("0x1p3", 8.0),
            ("-0x1.8p1f", -3.0),
            ("-Infinity", f64::NEG_INFINITY),
            ("1e999", f64::INFINITY),
            ("\t1F\n", 1.0),
            ("0x1p-1074", 5e-324),
        ] {
            assert_eq!(parse_double(text), Ok(want), "{text}");
        }
        assert!(parse_double("NaN").is_ok_and(f64::is_nan));
        for text in ["", "inf", "nan", "infinity", ".", "e5", "1e", "0x1F", "1 2", "1dd", "--1", "NaNf", "0x.p1"] {
            assert!(parse_double(text).is_err(), "{text}");
        }
        assert_eq!(parse_double(""), Err(TextError::new("empty String")));
        assert_eq!(parse_float("0.1"), Ok(0.1f32));
    }

    #[test]
    fn booleans() {
        for text in ["t", "TRUE", "y", "Yes", "1"] {
            assert_eq!(parse_boolean(text), Ok(true));
        }
        for text in ["f", "False", "n", "NO", "0"] {
            assert_eq!(parse_boolean(text), Ok(false));
        }
        assert_eq!(parse_boolean("maybe"), Err(TextError::new("Cannot parse 'maybe' as BOOLEAN.")));
        assert!(parse_boolean(" true").is_err());
    }
}
