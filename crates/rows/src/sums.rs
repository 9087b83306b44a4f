//! Sums of floating-point numbers as states keep them.
//!
//! A sum takes several fields of a row, the first of them under the sum's name:
//!
//! | sum | fields |
//! |---|---|
//! | compensated | `s` (`float64?`, NULL: no value yet) and `s lost`, what rounding has lost; the sum is both |
//! | [exact](ExactSum) | `s is set`, `s parts`, `s huge parts`, `s of NaN`, `s of Infinity`, `s of -Infinity` |
//!
//! The second is one that rows can be taken back from. Rounding cannot be undone: after `1e300 + 1.0 - 1e300` an
//! ordinary sum is 0. So the sum is kept exactly, as numbers whose bits do not overlap (Shewchuk, "Adaptive Precision
//! Floating-Point Arithmetic", 1997): mostly one or two of them. What is no number is counted apart, and taking it back
//! leaves a finite sum. Numbers near the end of the range are summed on a smaller scale, so that no partial sum leaves
//! it.

use headpond_state::schema::Datum;

/// From here on numbers are summed on the smaller scale: 2^960.
const HUGE: f64 = f64::from_bits((1023 + 960) << 52);
/// The smaller scale: 2^-128.
const SCALE: f64 = f64::from_bits((1023 - 128) << 52);

/// What the second field of a compensated sum has behind the sum's name.
pub const LOST: &str = " lost";
/// What the first field of an exact sum has behind the sum's name.
pub const IS_SET: &str = " is set";
/// What the further fields of an exact sum have behind the sum's name, in this order.
pub const EXACT_PARTS: [&str; ExactSum::FIELDS] = [" parts", " huge parts", " of NaN", " of Infinity", " of -Infinity"];

/// An exact sum.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExactSum {
    /// Numbers of growing magnitude whose bits do not overlap.
    parts: Vec<f64>,
    /// The same of huge numbers, each scaled down.
    huge_parts: Vec<f64>,
    nans: i64,
    infinities: i64,
    negative_infinities: i64,
}

impl ExactSum {
    /// How many fields its state has, without the one that says whether it is set.
    pub const FIELDS: usize = 5;

    /// Adds a number (`sign` is 1) or takes it back (-1).
    #[inline]
    pub fn add(&mut self, number: f64, sign: i64) {
        if number.is_finite() {
            let number = if sign < 0 { -number } else { number };
            if number.abs() < HUGE {
                grow(&mut self.parts, number);
            } else {
                grow(&mut self.huge_parts, number * SCALE);
            }
        } else if number.is_nan() {
            self.nans += sign;
        } else if number > 0.0 {
            self.infinities += sign;
        } else {
            self.negative_infinities += sign;
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &ExactSum) {
        other.parts.iter().for_each(|part| grow(&mut self.parts, *part));
        other.huge_parts.iter().for_each(|part| grow(&mut self.huge_parts, *part));
        self.nans += other.nans;
        self.infinities += other.infinities;
        self.negative_infinities += other.negative_infinities;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = ExactSum::default();
    }

    /// The sum, rounded once.
    pub fn value(&self) -> f64 {
        match (self.nans > 0, self.infinities > 0, self.negative_infinities > 0) {
            (true, _, _) | (_, true, true) => f64::NAN,
            (_, true, false) => f64::INFINITY,
            (_, false, true) => f64::NEG_INFINITY,
            (false, false, false) if self.huge_parts.is_empty() => rounded(&self.parts),
            (false, false, false) => {
                let mut parts = self.huge_parts.clone();
                self.parts.iter().for_each(|part| grow(&mut parts, part * SCALE));
                rounded(&parts) / SCALE
            }
        }
    }

    /// Appends the fields of its state.
    pub fn store(&self, row: &mut Vec<Datum>) {
        let list = |parts: &[f64]| Datum::List(parts.iter().map(|part| Datum::Float64(*part)).collect());
        row.push(list(&self.parts));
        row.push(list(&self.huge_parts));
        row.extend([self.nans, self.infinities, self.negative_infinities].map(Datum::Int64));
    }

    /// The sum of a state's fields; `None` if they are none.
    pub fn restore(fields: &[Datum]) -> Option<Self> {
        let [Datum::List(parts), Datum::List(huge_parts), counts @ ..] = fields else { return None };
        let [Datum::Int64(nans), Datum::Int64(infinities), Datum::Int64(negative_infinities)] = counts else {
            return None;
        };
        let numbers = |parts: &[Datum]| {
            let number = |part: &Datum| if let Datum::Float64(part) = part { Some(*part) } else { None };
            parts.iter().map(number).collect::<Option<Vec<f64>>>()
        };
        Some(ExactSum {
            parts: numbers(parts)?,
            huge_parts: numbers(huge_parts)?,
            nans: *nans,
            infinities: *infinities,
            negative_infinities: *negative_infinities,
        })
    }
}

/// Adds a number to parts without a loss.
fn grow(parts: &mut Vec<f64>, mut number: f64) {
    let mut kept = 0;
    for index in 0..parts.len() {
        let part = parts[index];
        let (large, small) = if number.abs() < part.abs() { (part, number) } else { (number, part) };
        let sum = large + small;
        let lost = small - (sum - large);
        if lost != 0.0 {
            parts[kept] = lost;
            kept += 1;
        }
        number = sum;
    }
    parts.truncate(kept);
    if number != 0.0 {
        parts.push(number);
    }
}

/// The sum of parts, rounded to the nearest, halves to even.
fn rounded(parts: &[f64]) -> f64 {
    let Some((&last, mut rest)) = parts.split_last() else { return 0.0 };
    let mut sum = last;
    let mut lost = 0.0;
    while let Some((&part, smaller)) = rest.split_last() {
        rest = smaller;
        let before = sum;
        sum = before + part;
        lost = part - (sum - before);
        if lost != 0.0 {
            break;
        }
    }
    // What is lost is half a unit, perhaps, and what is still to come says on which side of it the sum is.
    if let Some(&next) = rest.last()
        && (lost < 0.0) == (next < 0.0)
        && lost != 0.0
    {
        let twice = lost * 2.0;
        let moved = sum + twice;
        if moved - sum == twice {
            return moved;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_leaves_no_trace() {
        let mut sum = ExactSum::default();
        let numbers = [1e300, 1e-300, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, 1e308, -3e150, 0.1];
        numbers.iter().for_each(|number| sum.add(*number, 1));
        assert!(sum.value().is_nan());
        numbers[..9].iter().for_each(|number| sum.add(*number, -1));
        assert_eq!(sum.value(), 0.1);
        sum.add(0.1, -1);
        assert_eq!(sum, ExactSum::default());
    }

    #[test]
    fn the_range_is_left_by_the_sum_only() {
        let mut sum = ExactSum::default();
        for (number, expected) in [(1.5e308, 1.5e308), (1.5e308, f64::INFINITY), (-1.5e308, 1.5e308)] {
            sum.add(number, 1);
            assert_eq!(sum.value(), expected);
        }
        let mut row = Vec::new();
        sum.store(&mut row);
        assert_eq!(row.len(), ExactSum::FIELDS);
        assert_eq!(ExactSum::restore(&row), Some(sum));
    }
}
