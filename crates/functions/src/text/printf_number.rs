//! Numbers in PRINTF: %d %x %o %e %f %g.

use crate::text::java_digits::Digits;
use crate::text::printf::{Flags, Specifier};

/// Appends an integer of a number of bytes.
pub(crate) fn integer(out: &mut String, specifier: &Specifier, value: i64, bytes: u8) {
    let flags = specifier.flags;
    if specifier.conversion == 'd' {
        let digits = value.unsigned_abs().to_string();
        return signed(out, specifier, value < 0, &digits);
    }
    // Negative values count as unsigned ones of their size.
    let unsigned = match bytes {
        1 => u64::from(value as u8),
        2 => u64::from(value as u16),
        4 => u64::from(value as u32),
        _ => value as u64,
    };
    let (prefix, digits) =
        if specifier.conversion == 'x' { ("0x", format!("{unsigned:x}")) } else { ("0", format!("{unsigned:o}")) };
    let prefix = if flags.alternate { prefix } else { "" };
    out.push_str(prefix);
    if flags.zero {
        let zeros = specifier.width.unwrap_or(0).saturating_sub(prefix.len() + digits.len());
        out.extend(std::iter::repeat_n('0', zeros));
    }
    out.push_str(&digits);
}

/// Appends digits (with a point or an exponent) with the sign, the groups and the zeros that the flags ask for.
fn signed(out: &mut String, specifier: &Specifier, negative: bool, digits: &str) {
    let flags = specifier.flags;
    let start = out.len();
    sign(out, flags, negative);
    let mut body = String::new();
    let whole = digits.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(whole);
    for (i, c) in whole.chars().enumerate() {
        if flags.group && i > 0 && (whole.len() - i).is_multiple_of(3) {
            body.push(',');
        }
        body.push(c);
    }
    body.push_str(rest);
    if flags.zero {
        let used = out.len() - start + body.len() + usize::from(negative && flags.parentheses);
        out.extend(std::iter::repeat_n('0', specifier.width.unwrap_or(0).saturating_sub(used)));
    }
    out.push_str(&body);
    if negative && flags.parentheses {
        out.push(')');
    }
}

fn sign(out: &mut String, flags: Flags, negative: bool) {
    if negative {
        out.push(if flags.parentheses { '(' } else { '-' });
    } else if flags.plus {
        out.push('+');
    } else if flags.space {
        out.push(' ');
    }
}

/// Appends a floating-point number; digits are rounded half up over the decimal text that Java gives.
pub(crate) fn floating(out: &mut String, specifier: &Specifier, value: f64) {
    let flags = specifier.flags;
    if value.is_nan() {
        return out.push_str("NaN");
    }
    let negative = value.is_sign_negative();
    if value.is_infinite() {
        sign(out, flags, negative);
        out.push_str("Infinity");
        if negative && flags.parentheses {
            out.push(')');
        }
        return;
    }
    let number = Decimal::of(value.abs());
    let mut digits = String::new();
    match specifier.conversion {
        'f' => number.fixed(&mut digits, specifier.precision.unwrap_or(6), flags.alternate),
        'e' => number.scientific(&mut digits, specifier.precision.unwrap_or(6), flags.alternate),
        _ => {
            let precision = specifier.precision.unwrap_or(6).max(1);
            let exponent = number.rounded(precision).exponent;
            if number.is_zero() {
                number.fixed(&mut digits, precision - 1, false);
            } else if exponent >= -4 && exponent < i32::try_from(precision).unwrap_or(i32::MAX) {
                let places = (precision as i64 - 1 - i64::from(exponent)).max(0);
                number.fixed(&mut digits, usize::try_from(places).unwrap_or(0), false);
            } else {
                number.scientific(&mut digits, precision - 1, false);
            }
        }
    }
    signed(out, specifier, negative, &digits);
}

/// Decimal digits with the exponent of the first one.
struct Decimal {
    digits: Vec<u8>,
    exponent: i32,
}

impl Decimal {
    fn of(value: f64) -> Self {
        let digits = Digits::of_double(value, false);
        Self { digits: digits.as_bytes().to_vec(), exponent: digits.exponent }
    }

    fn is_zero(&self) -> bool {
        self.digits.iter().all(|d| *d == b'0')
    }

    /// Rounded half up to a number of significant digits, which may be 0 or less.
    fn rounded(&self, count: impl TryInto<i64>) -> Self {
        let count = count.try_into().unwrap_or(i64::MAX);
        let up = |at: usize| self.digits.get(at).is_some_and(|d| *d >= b'5');
        let Ok(count) = usize::try_from(count) else { return Self { digits: vec![b'0'], exponent: 0 } };
        if count >= self.digits.len() {
            return Self { digits: self.digits.clone(), exponent: self.exponent };
        }
        let mut digits = self.digits.get(..count).unwrap_or(&[]).to_vec();
        let mut exponent = self.exponent;
        if up(count) {
            let mut carry = true;
            for d in digits.iter_mut().rev() {
                if *d == b'9' {
                    *d = b'0';
                } else {
                    *d += 1;
                    carry = false;
                    break;
                }
            }
            if carry {
                digits.insert(0, b'1');
                exponent += 1;
            }
        }
        if digits.is_empty() {
            digits.push(b'0');
            exponent = 0;
        }
        Self { digits, exponent }
    }

    /// The digit of a power of ten.
    fn digit(&self, power: i64) -> char {
        let at = i64::from(self.exponent) - power;
        usize::try_from(at).ok().and_then(|at| self.digits.get(at)).map_or('0', |d| char::from(*d))
    }

    fn fixed(&self, out: &mut String, places: usize, point: bool) {
        let places = places as i64;
        let number = self.rounded(i64::from(self.exponent) + 1 + places);
        for power in (0..=i64::from(number.exponent.max(0))).rev() {
            out.push(number.digit(power));
        }
        if places > 0 || point {
            out.push('.');
        }
        out.extend((1..=places).map(|p| number.digit(-p)));
    }

    fn scientific(&self, out: &mut String, places: usize, point: bool) {
        let number = self.rounded(places as i64 + 1);
        let exponent = if number.is_zero() { 0 } else { number.exponent };
        let first = i64::from(number.exponent);
        out.push(number.digit(first));
        if places > 0 || point {
            out.push('.');
        }
        out.extend((1..=places as i64).map(|p| number.digit(first - p)));
        out.push_str(&format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs()));
    }
}
