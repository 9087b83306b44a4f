//! The decimal digits that Java's `Double.toString` and `Float.toString` give, up to JDK 18:
//! mostly the shortest ones, sometimes one more.

use crate::text::digit_number::{Big, Number, Width};
use std::cmp::Ordering;

/// The significant decimal digits of a finite number and the exponent of the first one.
#[derive(Debug, Clone)]
pub(crate) struct Digits {
    digits: [u8; 24],
    len: usize,
    /// The power of ten of the first digit.
    pub(crate) exponent: i32,
}

/// A binary number: 53 bits with the highest one set, its power of two, and how many bits are significant.
struct Binary {
    fraction: u64,
    exponent: i32,
    significant: i32,
}

const LOG10_2: f64 = std::f64::consts::LOG10_2;

impl Digits {
    /// The digits of a DOUBLE that is finite and not negative.
    /// `plain` is for texts of numbers; otherwise there are two digits at least, as for formats.
    pub(crate) fn of_double(value: f64, plain: bool) -> Self {
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let exponent = (bits >> 52 & 0x7FF) as i32;
        Self::of(normal(fraction, exponent, 52, 1023), plain)
    }

    /// The digits of a FLOAT that is finite and not negative.
    pub(crate) fn of_float(value: f32) -> Self {
        let bits = u64::from(value.to_bits());
        let fraction = bits & ((1 << 23) - 1);
        let exponent = (bits >> 23 & 0xFF) as i32;
        Self::of(normal(fraction, exponent, 23, 127), true)
    }

    /// The digits as ASCII bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.digits.get(..self.len).unwrap_or(&[])
    }

    /// The digits as text.
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or("0")
    }

    fn push(&mut self, digit: u8) {
        if let Some(slot) = self.digits.get_mut(self.len) {
            *slot = b'0' + digit;
            self.len += 1;
        }
    }

    fn drop_zeros(mut self) -> Self {
        while self.len > 1 && self.as_bytes().last() == Some(&b'0') {
            self.len -= 1;
        }
        self
    }

    fn round_up(&mut self) {
        for slot in self.digits.iter_mut().take(self.len).rev() {
            if *slot != b'9' {
                *slot += 1;
                return;
            }
            *slot = b'0';
        }
        self.digits[0] = b'1';
        self.exponent += 1;
    }

    fn of(number: Option<Binary>, plain: bool) -> Self {
        let empty = Self { digits: [b'0'; 24], len: 0, exponent: 0 };
        let Some(Binary { fraction, exponent, significant }) = number else { return Self { len: 1, ..empty } };
        let zeros = fraction.trailing_zeros() as i32;
        let fraction_bits = 53 - zeros;
        // The bits to the right of the point.
        let tiny = (fraction_bits - exponent - 1).max(0);
        if tiny == 0 && (-21..=62).contains(&exponent) {
            return empty.of_whole(fraction, exponent, significant);
        }
        let scale = Scale::of(fraction, exponent, significant, zeros, tiny);
        if scale.bits < 126 {
            empty.develop(scale.small(), scale, plain)
        } else {
            empty.develop(scale.big(), scale, plain)
        }
    }

    /// Whole numbers lose the digits that the binary number does not determine.
    fn of_whole(mut self, fraction: u64, exponent: i32, significant: i32) -> Self {
        let power = exponent - significant - 1;
        let dropped = if power > 1 { (f64::from(power) * LOG10_2) as u32 } else { 0 };
        let mut value = if exponent >= 52 { fraction << (exponent - 52) } else { fraction >> (52 - exponent) };
        let unit = 10u64.saturating_pow(dropped);
        let rest = value % unit;
        value /= unit;
        if dropped > 0 && rest >= unit / 2 {
            value += 1;
        }
        let mut reversed = [0u8; 20];
        let mut len = 0;
        for slot in &mut reversed {
            *slot = (value % 10) as u8;
            value /= 10;
            len += 1;
            if value == 0 {
                break;
            }
        }
        for digit in reversed.iter().take(len).rev() {
            self.push(*digit);
        }
        self.exponent = len as i32 - 1 + dropped as i32;
        self.drop_zeros()
    }

    fn develop<N: Number>(mut self, (mut b, s, mut m): (N, N, N), scale: Scale, plain: bool) -> Self {
        let mut power = scale.power;
        let ten_s = s.times_ten();
        // Whether the remainder is near enough to the number below, and to the one above.
        let near = |b: &N, m: &N| {
            let sum = b.plus(m);
            if let Some(wrap) = scale.wrap {
                let (b, m) = (b.wrapped(wrap), m.wrapped(wrap));
                return (m <= 0 || b < m, m <= 0 || sum.wrapped(wrap) > ten_s.wrapped(wrap));
            }
            (b.cmp(m) == Ordering::Less, sum >= ten_s)
        };
        let mut digit = b.divide(&s);
        m = m.times_ten();
        let (mut low, mut high) = near(&b, &m);
        if digit == 0 && !high {
            power -= 1;
        } else {
            self.push(digit);
        }
        if !plain || !(-3..8).contains(&power) {
            (low, high) = (false, false);
        }
        while !low && !high && self.len < 22 {
            digit = b.divide(&s);
            m = m.times_ten();
            (low, high) = near(&b, &m);
            self.push(digit);
        }
        self.exponent = power;
        let odd = self.as_bytes().last().is_some_and(|d| d % 2 == 1);
        let twice = b.plus(&b);
        let order = match scale.wrap {
            Some(wrap) => {
                let difference = twice.wrapped(wrap).wrapping_sub(ten_s.wrapped(wrap));
                let difference = if matches!(wrap, Width::Int) { i64::from(difference as i32) } else { difference };
                difference.cmp(&0)
            }
            None => twice.cmp(&ten_s),
        };
        let up = match order {
            _ if !low => high,
            Ordering::Equal => high && odd,
            order => high && order == Ordering::Greater,
        };
        if up {
            self.round_up();
        }
        self.drop_zeros()
    }
}

fn normal(fraction: u64, exponent: i32, width: u32, bias: i32) -> Option<Binary> {
    if exponent > 0 {
        let fraction = (fraction | 1 << width) << (52 - width);
        return Some(Binary { fraction, exponent: exponent - bias, significant: width as i32 + 1 });
    }
    if fraction == 0 {
        return None;
    }
    let shift = fraction.leading_zeros() - (63 - width);
    Some(Binary {
        fraction: fraction << shift << (52 - width),
        exponent: 1 - shift as i32 - bias,
        significant: 64 - fraction.leading_zeros() as i32,
    })
}

/// The number as a fraction B/S times a power of ten, and M, half the distance to its neighbours:
/// each a product of powers of two and five.
#[derive(Clone, Copy)]
struct Scale {
    fraction: u64,
    power: i32,
    fives: [u32; 3],
    twos: [u32; 3],
    /// The most bits that any of the values needs.
    bits: i32,
    /// The width of the integers that Java computes with, which overflow; None for large numbers.
    wrap: Option<Width>,
}

fn bits_of_five(power: i32) -> i32 {
    if power == 0 { 0 } else { (f64::from(power) * std::f64::consts::LOG2_10 - f64::from(power)) as i32 + 1 }
}

impl Scale {
    fn of(fraction: u64, exponent: i32, significant: i32, zeros: i32, tiny: i32) -> Self {
        let fraction_bits = 53 - zeros;
        let one_to_two = f64::from_bits(1023 << 52 | fraction & ((1 << 52) - 1));
        // Java's own constant, which is shorter than the exact one.
        #[expect(clippy::approx_constant)]
        let estimate = (one_to_two - 1.5) * 0.289529654 + 0.176091259 + f64::from(exponent) * 0.301029995663981;
        let power = estimate.floor() as i32;
        let b5 = (-power).max(0);
        let s5 = power.max(0);
        let mut b2 = b5 + tiny + exponent;
        let mut s2 = s5 + tiny;
        let mut m2 = b2 - significant;
        b2 -= fraction_bits - 1;
        let common = b2.min(s2);
        b2 -= common;
        s2 -= common;
        m2 -= common;
        // Below a power of two, the neighbour is half as far away.
        if fraction_bits == 1 {
            m2 -= 1;
        }
        if m2 < 0 {
            b2 -= m2;
            s2 -= m2;
            m2 = 0;
        }
        let five = |power: i32| if power < 27 { bits_of_five(power) } else { power * 3 };
        let b_bits = fraction_bits + b2 + five(b5);
        let ten_s_bits = s2 + 1 + five(s5 + 1);
        Self {
            fraction: fraction >> zeros,
            power,
            fives: [b5 as u32, s5 as u32, b5 as u32],
            twos: [b2 as u32, s2 as u32, m2 as u32],
            bits: b_bits.max(ten_s_bits).max(m2 + five(b5)) + 5,
            wrap: match b_bits.max(ten_s_bits) {
                ..32 => Some(Width::Int),
                32..64 => Some(Width::Long),
                _ => None,
            },
        }
    }

    fn small(&self) -> (u128, u128, u128) {
        let value = |i: usize, start: u64| (u128::from(start) * 5u128.pow(self.fives[i])) << self.twos[i];
        (value(0, self.fraction), value(1, 1), value(2, 1))
    }

    fn big(&self) -> (Big, Big, Big) {
        let value = |i: usize, start: u64| Big::product(start, self.fives[i], self.twos[i]);
        (value(0, self.fraction), value(1, 1), value(2, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_as_java() {
        for (value, want, exponent) in [
            (0.0, "0", 0),
            (0.1, "1", -1),
            (1e23, "9999999999999999", 22),
            (2e-3, "2", -3),
            (5e-324, "49", -324),
            (f64::MAX, "17976931348623157", 308),
            (1.4158919103118632e15, "14158919103118632", 15),
            (1234567.891, "1234567891", 6),
            (1e300, "1", 300),
        ] {
            let digits = Digits::of_double(value, true);
            assert_eq!((digits.as_str(), digits.exponent), (want, exponent), "{value:e}");
        }
        assert_eq!(Digits::of_float(9e9).as_str(), "89999995");
        assert_eq!(Digits::of_float(0.043291893).as_str(), "43291893");
        assert_eq!(Digits::of_float(f32::MAX).as_str(), "34028235");
    }
}
