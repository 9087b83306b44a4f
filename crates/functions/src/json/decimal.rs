//! Decimal numbers of any length as digits and a scale, printed and compared as `java.math.BigDecimal` does.

use std::cmp::Ordering;

/// A decimal number: the sign, the digits without leading zeros ("0" for zero), and how many digits are fraction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    digits: String,
    scale: i64,
}

impl Decimal {
    /// From digits and a scale; leading zeros go, and zero has no sign.
    pub fn new(negative: bool, digits: &str, scale: i64) -> Self {
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Self { negative: false, digits: "0".into(), scale };
        }
        Self { negative, digits: digits.into(), scale }
    }

    /// Reads a number text as `BigDecimal` does (sign, digits, fraction, exponent); `None` if it is no number or its
    /// scale leaves 32 bits.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (rest.get(..at)?, parse_exponent(rest.get(at + 1..)?)?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        let scale = i64::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        i32::try_from(scale).ok()?;
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        Some(Self::new(negative, &digits, scale))
    }

    /// From a finite double, by the shortest digits that give it back; `None` for NaN and infinities.
    pub fn from_double(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let exponent: i64 = exponent.parse().ok()?;
        let mut digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let natural = i64::try_from(digits.len()).ok()? - 1 - exponent;
        let plain = (-3..7).contains(&exponent);
        // Java writes one fraction digit at least, in its plain and in its scientific form.
        let least = if plain { 1 } else { 1 - exponent };
        let scale = natural.max(least);
        for _ in natural..scale {
            digits.push('0');
        }
        Some(Self::new(value < 0.0, &digits, scale))
    }

    fn is_zero(&self) -> bool {
        self.digits == "0"
    }

    /// The digits before the point, as `BigDecimal.intValue` cuts; `None` if they leave 64 bits.
    pub fn truncated(&self) -> Option<i64> {
        let length = i64::try_from(self.digits.len()).ok()?;
        let whole = length - self.scale;
        if self.is_zero() || whole <= 0 {
            return Some(0);
        }
        if whole > 19 {
            return None;
        }
        let mut number: i128 = 0;
        let mut digits = self.digits.bytes();
        for _ in 0..whole {
            number = number * 10 + i128::from(digits.next().map_or(0, |b| b.wrapping_sub(b'0')));
        }
        i64::try_from(if self.negative { -number } else { number }).ok()
    }

    fn magnitude(&self) -> i64 {
        i64::try_from(self.digits.len()).unwrap_or(i64::MAX).saturating_sub(self.scale)
    }

    fn signum(&self) -> i8 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (_, true) => -1,
            _ => 1,
        }
    }

    /// Compares by value: 1.0 equals 1.
    pub fn compare(&self, other: &Self) -> Ordering {
        let sign = self.signum();
        sign.cmp(&other.signum()).then_with(|| {
            let larger = self
                .magnitude()
                .cmp(&other.magnitude())
                .then_with(|| self.digits.trim_end_matches('0').cmp(other.digits.trim_end_matches('0')));
            match sign {
                0 => Ordering::Equal,
                1 => larger,
                _ => larger.reverse(),
            }
        })
    }

    /// Appends the text of `BigDecimal.toString`: plain if the scale is not negative and the number not tiny.
    pub fn write(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
        let length = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        let adjusted = length - 1 - self.scale;
        if self.scale == 0 {
            out.push_str(&self.digits);
        } else if self.scale > 0 && adjusted >= -6 {
            let whole = length - self.scale;
            if whole > 0 {
                let (left, right) = self.digits.split_at(usize::try_from(whole).unwrap_or(0));
                out.push_str(left);
                out.push('.');
                out.push_str(right);
            } else {
                out.push_str("0.");
                for _ in whole..0 {
                    out.push('0');
                }
                out.push_str(&self.digits);
            }
        } else {
            let (left, right) = self.digits.split_at(1);
            out.push_str(left);
            if !right.is_empty() {
                out.push('.');
                out.push_str(right);
            }
            if adjusted != 0 {
                out.push('E');
                if adjusted > 0 {
                    out.push('+');
                }
                out.push_str(&adjusted.to_string());
            }
        }
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    if significant.len() > 10 {
        return None;
    }
    let number: i64 = if significant.is_empty() { 0 } else { significant.parse().ok()? };
    Some(if text.starts_with('-') { -number } else { number })
}

/// A double as `Double.toString` writes it: plain between 0.001 and 10 million, else with `E`; NaN and infinities by
/// name.
pub fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    if (-3..7).contains(&exponent.parse::<i32>().unwrap_or(0)) {
        let plain = value.to_string();
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let point = if mantissa.contains('.') { "" } else { ".0" };
    format!("{mantissa}{point}E{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> Option<String> {
        let mut out = String::new();
        Decimal::parse(text)?.write(&mut out);
        Some(out)
    }

    #[test]
    fn prints_as_big_decimal() {
        for (text, wanted) in [
            ("1.50", "1.50"),
            ("1e3", "1E+3"),
            ("1.5E3", "1.5E+3"),
            ("-0.0", "0.0"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1E-7"),
            ("0.00000012", "1.2E-7"),
            ("1e0", "1"),
            ("12e-1", "1.2"),
            ("0e5", "0E+5"),
            ("-123456789012345678901234567890.5", "-123456789012345678901234567890.5"),
        ] {
            assert_eq!(printed(text).as_deref(), Some(wanted), "{text}");
        }
        assert_eq!(printed("1e99999999999"), None);
        assert_eq!(printed("abc"), None);
    }

    #[test]
    fn doubles() {
        for (value, wanted, java) in [
            (2.75, "2.75", "2.75"),
            (0.0, "0.0", "0.0"),
            (100.0, "100.0", "100.0"),
            (1e300, "1.0E+300", "1.0E300"),
            (1e7, "1.0E+7", "1.0E7"),
            (12345678901.0, "12345678901", "1.2345678901E10"),
            (12345678.9, "12345678.9", "1.23456789E7"),
            (0.00001, "0.000010", "1.0E-5"),
            (0.001, "0.001", "0.001"),
            (-0.5, "-0.5", "-0.5"),
        ] {
            let mut out = String::new();
            Decimal::from_double(value).unwrap().write(&mut out);
            assert_eq!((out.as_str(), double_text(value).as_str()), (wanted, java));
        }
    }

    #[test]
    fn compares_by_value() {
        let compare = |a: &str, b: &str| Decimal::parse(a).unwrap().compare(&Decimal::parse(b).unwrap());
        assert_eq!(compare("1.0", "1"), Ordering::Equal);
        assert_eq!(compare("0", "0.00"), Ordering::Equal);
        assert_eq!(compare("-2", "1"), Ordering::Less);
        assert_eq!(compare("-2", "-10"), Ordering::Greater);
        assert_eq!(compare("9", "1e1"), Ordering::Less);
        assert_eq!(compare("1.25", "1.3"), Ordering::Less);
    }
}
