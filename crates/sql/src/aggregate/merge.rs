//! Accumulators merged into others: slices into a window, sessions that a row joins into one.

use super::accumulators::Accumulators;
use super::cell::{Cell, CellKind, CellValues, add_compensated, is_beyond};
use super::overflow::Overflow;
use headpond_rows::sums::ExactSum;
use headpond_state::schema::Datum;
use std::cmp::Ordering;

/// A group that takes up another one: where to, and where from.
pub(super) type Merged = (u32, u32);

impl Accumulators {
    /// Merges groups of `other` into groups of these. On an overflow, its row is the index of the pair.
    pub(super) fn merge(&mut self, other: &Accumulators, pairs: &[Merged]) -> Result<(), Overflow> {
        for &(into, from) in pairs {
            self.rows[into as usize] = self.rows[into as usize].wrapping_add(other.rows[from as usize]);
        }
        for (cell, other) in self.cells.iter_mut().zip(&other.cells) {
            cell.merge(Some(other), pairs)?;
        }
        Ok(())
    }

    /// Merges groups into others of these, pair after pair; what is merged away stays as it is.
    pub(super) fn merge_within(&mut self, pairs: &[Merged]) -> Result<(), Overflow> {
        for &(into, from) in pairs {
            self.rows[into as usize] = self.rows[into as usize].wrapping_add(self.rows[from as usize]);
        }
        self.cells.iter_mut().try_for_each(|cell| cell.merge(None, pairs))
    }
}

impl Cell {
    /// Merges values of `other`, or of this cell itself.
    fn merge(&mut self, other: Option<&Cell>, pairs: &[Merged]) -> Result<(), Overflow> {
        let Cell { kind, values, set } = self;
        for (row, &(into, from)) in pairs.iter().enumerate() {
            let (into, from) = (into as usize, from as usize);
            let source_set = other.map_or(&*set, |other| &other.set);
            if *kind != CellKind::Count && !source_set[from] {
                continue;
            }
            let is_set = *kind == CellKind::Count || set[into];
            match values {
                CellValues::Integers(values) => {
                    let Some(value) = taken(other, values, from, integers) else { continue };
                    values[into] = match kind {
                        CellKind::Count | CellKind::SumInteger => {
                            values[into].checked_add(value).ok_or(Overflow { row })?
                        }
                        _ => extreme(values[into], value, value.cmp(&values[into]), *kind, is_set),
                    };
                }
                CellValues::Decimals(values) => {
                    let Some(value) = taken(other, values, from, decimals) else { continue };
                    values[into] = match kind {
                        CellKind::SumDecimal { .. } => {
                            let sum = values[into].checked_add(value);
                            sum.filter(|sum| is_decimal(*sum)).ok_or(Overflow { row })?
                        }
                        _ => extreme(values[into], value, value.cmp(&values[into]), *kind, is_set),
                    };
                }
                CellValues::Floats { sums, lost } => {
                    let taken = match other.map(|other| &other.values) {
                        None => (sums[from], lost[from]),
                        Some(CellValues::Floats { sums, lost }) => (sums[from], lost[from]),
                        Some(_) => continue,
                    };
                    if *kind == CellKind::SumFloat {
                        add_compensated(&mut sums[into], &mut lost[into], taken.0);
                        lost[into] += taken.1;
                    } else {
                        sums[into] = extreme(sums[into], taken.0, taken.0.total_cmp(&sums[into]), *kind, is_set);
                    }
                }
                CellValues::Exact(sums) => {
                    let Some(sum) = taken(other, sums, from, exact_sums) else { continue };
                    sums[into].merge(&sum);
                }
                CellValues::Others(values) => {
                    let Some(value) = taken(other, values, from, others) else { continue };
                    let order = ordered(&value, &values[into]);
                    values[into] = extreme(values[into].clone(), value, order, *kind, is_set);
                }
            }
            if *kind != CellKind::Count {
                set[into] = true;
            }
        }
        Ok(())
    }
}

/// The value to be merged: of the other cell, or of the same.
fn taken<T: Clone>(other: Option<&Cell>, own: &[T], from: usize, of: fn(&Cell) -> Option<&[T]>) -> Option<T> {
    match other {
        None => own.get(from).cloned(),
        Some(other) => of(other)?.get(from).cloned(),
    }
}

fn integers(cell: &Cell) -> Option<&[i64]> {
    if let CellValues::Integers(values) = &cell.values { Some(values) } else { None }
}

fn decimals(cell: &Cell) -> Option<&[i128]> {
    if let CellValues::Decimals(values) = &cell.values { Some(values) } else { None }
}

fn exact_sums(cell: &Cell) -> Option<&[ExactSum]> {
    if let CellValues::Exact(sums) = &cell.values { Some(sums) } else { None }
}

fn others(cell: &Cell) -> Option<&[Datum]> {
    if let CellValues::Others(values) = &cell.values { Some(values) } else { None }
}

fn extreme<T>(old: T, new: T, order: Ordering, kind: CellKind, is_set: bool) -> T {
    let greatest = matches!(
        kind,
        CellKind::ExtremeInteger { greatest: true }
            | CellKind::ExtremeFloat { greatest: true }
            | CellKind::ExtremeDecimal { greatest: true }
            | CellKind::ExtremeOther { greatest: true }
    );
    if !is_set || is_beyond(order, greatest) { new } else { old }
}

fn ordered(a: &Datum, b: &Datum) -> Ordering {
    match (a, b) {
        (Datum::Utf8(a), Datum::Utf8(b)) => a.cmp(b),
        (Datum::Binary(a), Datum::Binary(b)) => a.cmp(b),
        (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

/// Whether a sum has at most 38 digits.
fn is_decimal(sum: i128) -> bool {
    const LIMIT: i128 = 10i128.pow(38) - 1;
    (-LIMIT..=LIMIT).contains(&sum)
}
