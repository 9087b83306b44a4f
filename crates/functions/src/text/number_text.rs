//! Numbers as the text that Java gives them.

use crate::text::java_digits::Digits;
use std::fmt::Write;

fn write_finite(out: &mut String, digits: &Digits) {
    let text = digits.as_str();
    let (head, tail) = match digits.exponent {
        e @ 0..=6 => {
            let whole = e as usize + 1;
            if text.len() <= whole {
                out.push_str(text);
                out.extend(std::iter::repeat_n('0', whole - text.len()));
                out.push_str(".0");
                return;
            }
            text.split_at(whole)
        }
        e @ -3..=-1 => {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', (-e - 1) as usize));
            out.push_str(text);
            return;
        }
        _ => text.split_at(1.min(text.len())),
    };
    out.push_str(head);
    out.push('.');
    out.push_str(if tail.is_empty() { "0" } else { tail });
    if !(-3..=6).contains(&digits.exponent) {
        out.push('E');
        // Writing to a String cannot fail.
        let _ = write!(out, "{}", digits.exponent);
    }
}

/// Appends a DOUBLE as Java's `Double.toString` does: `1.0E7`, `0.001`, `NaN`, `-0.0`.
pub fn write_double(out: &mut String, value: f64) {
    if write_special(out, value.is_nan(), value.is_infinite(), value.is_sign_negative()) {
        return;
    }
    write_finite(out, &Digits::of_double(value.abs(), true));
}

/// Appends a FLOAT as Java's `Float.toString` does.
pub fn write_float(out: &mut String, value: f32) {
    if write_special(out, value.is_nan(), value.is_infinite(), value.is_sign_negative()) {
        return;
    }
    write_finite(out, &Digits::of_float(value.abs()));
}

/// Writes what is not a finite number, or only the sign of one.
fn write_special(out: &mut String, nan: bool, infinite: bool, negative: bool) -> bool {
    if nan {
        out.push_str("NaN");
        return true;
    }
    if negative {
        out.push('-');
    }
    if infinite {
        out.push_str("Infinity");
    }
    infinite
}

/// Appends a decimal of an unscaled value and a scale, never with an exponent.
pub fn write_decimal(out: &mut String, unscaled: i128, scale: u8) {
    if unscaled < 0 {
        out.push('-');
    }
    let start = out.len();
    let scale = usize::from(scale);
    // Writing to a String cannot fail.
    let _ = write!(out, "{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
    if scale > 0 && out.len() - start > scale {
        out.insert(out.len() - scale, '.');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_and_floats() {
        for (value, want) in [
            (1e7, "1.0E7"),
            (9999999.0, "9999999.0"),
            (1e-4, "1.0E-4"),
            (0.001, "0.001"),
            (0.0125, "0.0125"),
            (100.0, "100.0"),
            (1234567.891, "1234567.891"),
            (-0.0, "-0.0"),
            (0.0, "0.0"),
            (f64::NAN, "NaN"),
            (-f64::INFINITY, "-Infinity"),
            (1e300, "1.0E300"),
            (-99999999.99, "-9.999999999E7"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
        ] {
            let mut out = String::new();
            write_double(&mut out, value);
            assert_eq!(out, want);
        }
        for (value, want) in [(3.4028235e38, "3.4028235E38"), (0.1f32, "0.1"), (-1.5, "-1.5"), (1e10, "1.0E10")] {
            let mut out = String::new();
            write_float(&mut out, value);
            assert_eq!(out, want);
        }
    }

    #[test]
    fn decimals() {
        for (unscaled, scale, want) in
            [(12345, 2, "123.45"), (-1, 18, "-0.000000000000000001"), (0, 2, "0.00"), (7, 0, "7"), (-50, 1, "-5.0")]
        {
            let mut out = String::new();
            write_decimal(&mut out, unscaled, scale);
            assert_eq!(out, want);
        }
    }
}
