//! One accumulator of all groups of a batch: a column that rows are folded into.

use super::fold::Fold;
use super::overflow::Overflow;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMillisecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use headpond_rows::sums::ExactSum;
use headpond_state::schema::Datum;
use headpond_state::{Error, Result};
use std::cmp::Ordering;

/// What a cell computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    /// How many values.
    Count,
    /// The sum of `BIGINT`s.
    SumInteger,
    /// The sum of `DECIMAL`s of this scale.
    SumDecimal { scale: u8 },
    /// The sum of `DOUBLE`s, with what rounding has lost (Neumaier's compensated sum), so that the order of rows hardly
    /// matters.
    SumFloat,
    /// The exact sum of `DOUBLE`s that may be taken back.
    SumExact,
    /// The least or greatest integer, date or timestamp.
    ExtremeInteger { greatest: bool },
    /// The least or greatest number; NaN is greater than all others.
    ExtremeFloat { greatest: bool },
    /// The least or greatest decimal.
    ExtremeDecimal { greatest: bool },
    /// The least or greatest text, bytes or truth value.
    ExtremeOther { greatest: bool },
}

impl CellKind {
    /// Whether it is the greatest value.
    pub(super) fn is_greatest(self) -> bool {
        matches!(
            self,
            CellKind::ExtremeInteger { greatest: true }
                | CellKind::ExtremeFloat { greatest: true }
                | CellKind::ExtremeDecimal { greatest: true }
                | CellKind::ExtremeOther { greatest: true }
        )
    }
}

/// The values of one cell, one for each group.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) kind: CellKind,
    pub(super) values: CellValues,
    /// Which groups have a value; empty for counts, which all groups have.
    pub(super) set: Vec<bool>,
}

/// The values by their form.
#[derive(Debug, Clone)]
pub(super) enum CellValues {
    Integers(Vec<i64>),
    Decimals(Vec<i128>),
    Floats { sums: Vec<f64>, lost: Vec<f64> },
    Exact(Vec<ExactSum>),
    Others(Vec<Datum>),
}

impl Cell {
    pub(super) fn new(kind: CellKind) -> Self {
        let values = match kind {
            CellKind::Count | CellKind::SumInteger | CellKind::ExtremeInteger { .. } => {
                CellValues::Integers(Vec::new())
            }
            CellKind::SumDecimal { .. } | CellKind::ExtremeDecimal { .. } => CellValues::Decimals(Vec::new()),
            CellKind::SumFloat | CellKind::ExtremeFloat { .. } => {
                CellValues::Floats { sums: Vec::new(), lost: Vec::new() }
            }
            CellKind::SumExact => CellValues::Exact(Vec::new()),
            CellKind::ExtremeOther { .. } => CellValues::Others(Vec::new()),
        };
        Cell { kind, values, set: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.set.clear();
        match &mut self.values {
            CellValues::Integers(values) => values.clear(),
            CellValues::Decimals(values) => values.clear(),
            CellValues::Floats { sums, lost } => {
                sums.clear();
                lost.clear();
            }
            CellValues::Exact(sums) => sums.clear(),
            CellValues::Others(values) => values.clear(),
        }
    }

    /// Adds a group without values.
    #[inline]
    pub(super) fn push_new(&mut self) {
        if self.kind != CellKind::Count {
            self.set.push(false);
        }
        match &mut self.values {
            CellValues::Integers(values) => values.push(0),
            CellValues::Decimals(values) => values.push(0),
            CellValues::Floats { sums, lost } => {
                sums.push(0.0);
                lost.push(0.0);
            }
            CellValues::Exact(sums) => sums.push(ExactSum::default()),
            CellValues::Others(values) => values.push(Datum::Null),
        }
    }

    /// Adds a group from its state and returns the data of the cells that follow.
    #[inline]
    pub(super) fn push_stored<'d>(&mut self, data: &'d [Datum]) -> Result<&'d [Datum]> {
        if let CellValues::Exact(sums) = &mut self.values {
            let (Some((Datum::Bool(set), data)), true) = (data.split_first(), data.len() > ExactSum::FIELDS) else {
                return Err(misfit());
            };
            let (fields, rest) = data.split_at(ExactSum::FIELDS);
            sums.push(ExactSum::restore(fields).ok_or_else(misfit)?);
            self.set.push(*set);
            return Ok(rest);
        }
        let Some((datum, rest)) = data.split_first() else { return Err(misfit()) };
        if self.kind != CellKind::Count {
            self.set.push(!datum.is_null());
        }
        match (&mut self.values, datum) {
            (CellValues::Integers(values), Datum::Int64(value)) => values.push(*value),
            (CellValues::Integers(values), Datum::Null) => values.push(0),
            (CellValues::Decimals(values), Datum::Decimal(value)) => values.push(*value),
            (CellValues::Decimals(values), Datum::Null) => values.push(0),
            (CellValues::Floats { sums, lost }, Datum::Float64(_) | Datum::Null) => {
                sums.push(if let Datum::Float64(sum) = datum { *sum } else { 0.0 });
                if self.kind != CellKind::SumFloat {
                    lost.push(0.0);
                    return Ok(rest);
                }
                let Some((Datum::Float64(part), rest)) = rest.split_first() else { return Err(misfit()) };
                lost.push(*part);
                return Ok(rest);
            }
            (CellValues::Others(values), datum) => values.push(datum.clone()),
            _ => return Err(misfit()),
        }
        Ok(rest)
    }

    /// Appends a group's data to its state.
    #[inline]
    pub(super) fn store(&self, group: usize, row: &mut Vec<Datum>) {
        let is_set = self.kind == CellKind::Count || self.set[group];
        let datum = |datum: Datum| if is_set { datum } else { Datum::Null };
        match &self.values {
            CellValues::Integers(values) => row.push(datum(Datum::Int64(values[group]))),
            CellValues::Decimals(values) => row.push(datum(Datum::Decimal(values[group]))),
            CellValues::Floats { sums, lost } => {
                row.push(datum(Datum::Float64(sums[group])));
                if self.kind == CellKind::SumFloat {
                    row.push(Datum::Float64(lost[group]));
                }
            }
            CellValues::Exact(sums) => {
                row.push(Datum::Bool(is_set));
                sums[group].store(row);
            }
            CellValues::Others(values) => row.push(values[group].clone()),
        }
    }

    /// The value of a group, for cells that have one.
    pub(super) fn datum(&self, group: usize) -> Datum {
        let mut row = Vec::new();
        self.store(group, &mut row);
        row.into_iter().next().unwrap_or_default()
    }

    /// Makes `datum` the extreme of a group; NULL: it has none.
    pub(super) fn replace(&mut self, group: usize, datum: Datum) -> Result<()> {
        self.set[group] = !datum.is_null();
        match (&mut self.values, datum) {
            (CellValues::Integers(values), Datum::Int64(value)) => values[group] = value,
            (CellValues::Decimals(values), Datum::Decimal(value)) => values[group] = value,
            (CellValues::Floats { sums, .. }, Datum::Float64(value)) => sums[group] = value,
            (CellValues::Others(values), datum) => values[group] = datum,
            (_, Datum::Null) => self.reset(group),
            _ => return Err(misfit()),
        }
        Ok(())
    }

    /// Folds the selected rows in. On an overflow, the row at which it happened.
    pub(super) fn fold(&mut self, array: Option<&ArrayRef>, rows: &Fold<'_>) -> Result<(), Overflow> {
        let Some(array) = array else {
            if let CellValues::Integers(counts) = &mut self.values {
                return rows.each(|_, group, sign| add_count(&mut counts[group], sign));
            }
            return Ok(());
        };
        match self.kind {
            CellKind::Count => {
                let CellValues::Integers(counts) = &mut self.values else { return Ok(()) };
                rows.each(|_, group, sign| add_count(&mut counts[group], sign))
            }
            CellKind::SumInteger => self.sum_integers(array, rows),
            CellKind::SumDecimal { .. } => self.sum_decimals(array, rows),
            CellKind::SumFloat => self.sum_floats(array, rows),
            CellKind::SumExact => self.sum_exactly(array, rows),
            CellKind::ExtremeInteger { greatest } => match array.data_type() {
                DataType::Int8 => {
                    self.extreme_integers(rows, greatest, |row| array.as_primitive::<Int8Type>().value(row).into())
                }
                DataType::Int16 => {
                    self.extreme_integers(rows, greatest, |row| array.as_primitive::<Int16Type>().value(row).into())
                }
                DataType::Int32 => {
                    self.extreme_integers(rows, greatest, |row| array.as_primitive::<Int32Type>().value(row).into())
                }
                DataType::Date32 => {
                    self.extreme_integers(rows, greatest, |row| array.as_primitive::<Date32Type>().value(row).into())
                }
                DataType::Timestamp(_, _) => {
                    let times = array.as_primitive::<TimestampMillisecondType>();
                    self.extreme_integers(rows, greatest, |row| times.value(row))
                }
                _ => {
                    let numbers = array.as_primitive::<Int64Type>();
                    self.extreme_integers(rows, greatest, |row| numbers.value(row))
                }
            },
            CellKind::ExtremeFloat { greatest } => match array.data_type() {
                DataType::Float32 => {
                    let numbers = array.as_primitive::<Float32Type>();
                    self.extreme_floats(rows, greatest, |row| numbers.value(row).into())
                }
                _ => {
                    let numbers = array.as_primitive::<Float64Type>();
                    self.extreme_floats(rows, greatest, |row| numbers.value(row))
                }
            },
            CellKind::ExtremeDecimal { greatest } => self.extreme_decimals(array, rows, greatest),
            CellKind::ExtremeOther { greatest } => self.extreme_others(array, rows, greatest),
        }
    }

    fn sum_integers(&mut self, array: &ArrayRef, rows: &Fold<'_>) -> Result<(), Overflow> {
        let CellValues::Integers(sums) = &mut self.values else { return Ok(()) };
        let numbers = array.as_primitive::<Int64Type>().values();
        let set = &mut self.set;
        rows.each(|row, group, sign| {
            let sum = &mut sums[group];
            let added = if sign >= 0 { sum.checked_add(numbers[row]) } else { sum.checked_sub(numbers[row]) };
            *sum = added.ok_or(Overflow { row })?;
            set[group] = true;
            Ok(())
        })
    }

    fn sum_decimals(&mut self, array: &ArrayRef, rows: &Fold<'_>) -> Result<(), Overflow> {
        /// The greatest unscaled value of 38 digits.
        const LIMIT: i128 = 10i128.pow(38) - 1;
        let CellValues::Decimals(sums) = &mut self.values else { return Ok(()) };
        let numbers = array.as_primitive::<Decimal128Type>().values();
        let set = &mut self.set;
        rows.each(|row, group, sign| {
            let sum = &mut sums[group];
            let added = if sign >= 0 { sum.checked_add(numbers[row]) } else { sum.checked_sub(numbers[row]) };
            *sum = added.filter(|sum| (-LIMIT..=LIMIT).contains(sum)).ok_or(Overflow { row })?;
            set[group] = true;
            Ok(())
        })
    }

    fn sum_floats(&mut self, array: &ArrayRef, rows: &Fold<'_>) -> Result<(), Overflow> {
        let CellValues::Floats { sums, lost } = &mut self.values else { return Ok(()) };
        let numbers = array.as_primitive::<Float64Type>().values();
        let set = &mut self.set;
        rows.each(|row, group, sign| {
            let number = if sign >= 0 { numbers[row] } else { -numbers[row] };
            add_compensated(&mut sums[group], &mut lost[group], number);
            set[group] = true;
            Ok(())
        })
    }

    fn sum_exactly(&mut self, array: &ArrayRef, rows: &Fold<'_>) -> Result<(), Overflow> {
        let CellValues::Exact(sums) = &mut self.values else { return Ok(()) };
        let numbers = array.as_primitive::<Float64Type>().values();
        let set = &mut self.set;
        rows.each(|row, group, sign| {
            sums[group].add(numbers[row], sign);
            set[group] = true;
            Ok(())
        })
    }

    fn extreme_integers(
        &mut self,
        rows: &Fold<'_>,
        greatest: bool,
        value: impl Fn(usize) -> i64,
    ) -> Result<(), Overflow> {
        let CellValues::Integers(extremes) = &mut self.values else { return Ok(()) };
        let set = &mut self.set;
        rows.each(|row, group, _| {
            let value = value(row);
            if !set[group] || is_beyond(value.cmp(&extremes[group]), greatest) {
                extremes[group] = value;
                set[group] = true;
            }
            Ok(())
        })
    }

    fn extreme_floats(
        &mut self,
        rows: &Fold<'_>,
        greatest: bool,
        value: impl Fn(usize) -> f64,
    ) -> Result<(), Overflow> {
        let CellValues::Floats { sums: extremes, .. } = &mut self.values else { return Ok(()) };
        let set = &mut self.set;
        rows.each(|row, group, _| {
            let value = value(row);
            // A NaN has one form, greater than all, and -0.0 is 0.0, as in keys.
            let value = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
            if !set[group] || is_beyond(value.total_cmp(&extremes[group]), greatest) {
                extremes[group] = value;
                set[group] = true;
            }
            Ok(())
        })
    }

    fn extreme_decimals(&mut self, array: &ArrayRef, rows: &Fold<'_>, greatest: bool) -> Result<(), Overflow> {
        let CellValues::Decimals(extremes) = &mut self.values else { return Ok(()) };
        let numbers = array.as_primitive::<Decimal128Type>().values();
        let set = &mut self.set;
        rows.each(|row, group, _| {
            if !set[group] || is_beyond(numbers[row].cmp(&extremes[group]), greatest) {
                extremes[group] = numbers[row];
                set[group] = true;
            }
            Ok(())
        })
    }

    fn extreme_others(&mut self, array: &ArrayRef, rows: &Fold<'_>, greatest: bool) -> Result<(), Overflow> {
        let CellValues::Others(extremes) = &mut self.values else { return Ok(()) };
        let set = &mut self.set;
        rows.each(|row, group, _| {
            let extreme = &extremes[group];
            let (order, new): (Ordering, &dyn Fn() -> Datum) = match array.data_type() {
                DataType::Utf8 => {
                    let text = array.as_string::<i32>().value(row);
                    let order = if let Datum::Utf8(extreme) = extreme { text.cmp(extreme) } else { Ordering::Equal };
                    (order, &|| Datum::utf8(array.as_string::<i32>().value(row)))
                }
                DataType::Binary => {
                    let bytes = array.as_binary::<i32>().value(row);
                    let order = if let Datum::Binary(extreme) = extreme { bytes.cmp(extreme) } else { Ordering::Equal };
                    (order, &|| Datum::binary(array.as_binary::<i32>().value(row)))
                }
                _ => {
                    let truth = array.as_boolean().value(row);
                    let order = if let Datum::Bool(extreme) = extreme { truth.cmp(extreme) } else { Ordering::Equal };
                    (order, &|| Datum::Bool(array.as_boolean().value(row)))
                }
            };
            if extreme.is_null() || is_beyond(order, greatest) {
                extremes[group] = new();
                set[group] = true;
            }
            Ok(())
        })
    }

    /// The scale of a sum of decimals.
    pub(super) fn decimal_scale(&self) -> Option<u8> {
        match self.kind {
            CellKind::SumDecimal { scale } => Some(scale),
            _ => None,
        }
    }

    /// Forgets the sum of a group that has no values any more, with what rounding has left in it.
    pub(super) fn reset(&mut self, group: usize) {
        match &mut self.values {
            CellValues::Integers(values) => values[group] = 0,
            CellValues::Decimals(values) => values[group] = 0,
            CellValues::Floats { sums, lost } => {
                sums[group] = 0.0;
                lost[group] = 0.0;
            }
            CellValues::Exact(sums) => sums[group].clear(),
            CellValues::Others(values) => values[group] = Datum::Null,
        }
        if let Some(set) = self.set.get_mut(group) {
            *set = false;
        }
    }
}

#[inline]
fn add_count(count: &mut i64, sign: i64) -> Result<(), Overflow> {
    // A count of rows cannot reach 2^63.
    *count = count.wrapping_add(sign);
    Ok(())
}

/// Neumaier's sum: `lost` gathers what `sum` cannot hold. The value is `sum + lost`.
#[inline]
pub(super) fn add_compensated(sum: &mut f64, lost: &mut f64, number: f64) {
    let total = *sum + number;
    if total.is_finite() {
        *lost += if sum.abs() >= number.abs() { (*sum - total) + number } else { (number - total) + *sum };
    } else {
        *lost = 0.0;
    }
    *sum = total;
}

#[inline]
pub(super) fn is_beyond(order: Ordering, greatest: bool) -> bool {
    order == if greatest { Ordering::Greater } else { Ordering::Less }
}

#[cold]
pub(super) fn misfit() -> Error {
    Error::corrupt("a group's state does not have the fields of its accumulators")
}
