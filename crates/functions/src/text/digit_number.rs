//! The numbers from which decimal digits are developed.

use std::cmp::Ordering;

/// The width of an integer.
#[derive(Clone, Copy)]
pub(crate) enum Width {
    Int,
    Long,
}

/// What the digits are developed with.
pub(crate) trait Number: Ord + Clone {
    fn times_ten(&self) -> Self;
    fn plus(&self, other: &Self) -> Self;
    /// The quotient, below ten; the number becomes ten times the remainder.
    fn divide(&mut self, by: &Self) -> u8;
    /// The number as Java's int or long has it.
    fn wrapped(&self, width: Width) -> i64;
}

impl Number for u128 {
    fn times_ten(&self) -> Self {
        self.saturating_mul(10)
    }

    fn plus(&self, other: &Self) -> Self {
        self.saturating_add(*other)
    }

    fn divide(&mut self, by: &Self) -> u8 {
        let quotient = *self / by;
        *self = (*self % by).saturating_mul(10);
        quotient as u8
    }

    fn wrapped(&self, width: Width) -> i64 {
        match width {
            Width::Int => i64::from(*self as i32),
            Width::Long => *self as i64,
        }
    }
}

/// A large number without sign, the low part first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Big(Vec<u32>);

impl Big {
    /// A number times powers of five and two.
    pub(crate) fn product(start: u64, fives: u32, twos: u32) -> Self {
        let mut words = vec![0; twos as usize / 32];
        let shifted = u128::from(start) << (twos % 32);
        words.extend((0..4).map(|i| (shifted >> (32 * i)) as u32));
        let mut out = Self(words);
        let mut left = fives;
        while left > 0 {
            let step = left.min(13);
            out.multiply(5u32.pow(step));
            left -= step;
        }
        out.trim();
        out
    }

    fn multiply(&mut self, by: u32) {
        let mut carry = 0u64;
        for word in &mut self.0 {
            let product = u64::from(*word) * u64::from(by) + carry;
            *word = product as u32;
            carry = product >> 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    fn subtract(&mut self, other: &Self) {
        let mut borrow = 0i64;
        for (i, word) in self.0.iter_mut().enumerate() {
            let value = i64::from(*word) - other.0.get(i).map_or(0, |w| i64::from(*w)) - borrow;
            borrow = i64::from(value < 0);
            *word = value as u32;
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

impl Ord for Big {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl PartialOrd for Big {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Number for Big {
    fn times_ten(&self) -> Self {
        let mut out = self.clone();
        out.multiply(10);
        out
    }

    fn plus(&self, other: &Self) -> Self {
        let (long, short) = if self.0.len() >= other.0.len() { (self, other) } else { (other, self) };
        let mut carry = 0u64;
        let mut words = Vec::with_capacity(long.0.len() + 1);
        for (i, word) in long.0.iter().enumerate() {
            let sum = u64::from(*word) + short.0.get(i).map_or(0, |w| u64::from(*w)) + carry;
            words.push(sum as u32);
            carry = sum >> 32;
        }
        if carry > 0 {
            words.push(carry as u32);
        }
        Self(words)
    }

    fn divide(&mut self, by: &Self) -> u8 {
        let mut quotient = 0;
        while (*self).cmp(by) != Ordering::Less && quotient < 10 {
            self.subtract(by);
            quotient += 1;
        }
        self.multiply(10);
        self.trim();
        quotient
    }

    fn wrapped(&self, _: Width) -> i64 {
        self.0.iter().take(2).rev().fold(0, |value, word| value << 32 | i64::from(*word))
    }
}
