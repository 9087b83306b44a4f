//! Accumulators that are numbers, kept and read without a [`Datum`](headpond_state::schema::Datum) for each.

use super::accumulators::Accumulators;
use super::cell::{Cell, CellKind, CellValues, misfit};
use headpond_state::{Error, Result};

impl Accumulators {
    /// Whether all cells are integers or `DOUBLE`s.
    pub(super) fn are_numbers(&self) -> bool {
        let is_number = |cell: &Cell| matches!(cell.values, CellValues::Integers(_) | CellValues::Floats { .. });
        !self.has_since && self.cells.iter().all(is_number)
    }

    /// Adds a group from its state; only if cells [are numbers](Self::are_numbers).
    #[inline]
    pub(super) fn push_numbers(&mut self, data: &[Option<i64>]) -> Result<()> {
        let Some((Some(rows), mut data)) = data.split_first() else {
            return Err(Error::corrupt("a group's state does not begin with the count of its rows"));
        };
        self.rows.push(*rows);
        self.existed.push(true);
        self.since_ms.push(i64::MIN);
        for cell in &mut self.cells {
            data = cell.push_numbers(data)?;
        }
        Ok(())
    }

    /// Appends the state of a group; only if cells [are numbers](Self::are_numbers).
    #[inline]
    pub(super) fn append_numbers(&self, group: usize, row: &mut Vec<Option<i64>>) {
        row.push(Some(self.rows[group]));
        for cell in &self.cells {
            let is_set = cell.kind == CellKind::Count || cell.set[group];
            match &cell.values {
                CellValues::Integers(values) => row.push(is_set.then(|| values[group])),
                CellValues::Floats { sums, lost } => {
                    row.push(is_set.then(|| bits(sums[group])));
                    if cell.kind == CellKind::SumFloat {
                        row.push(Some(bits(lost[group])));
                    }
                }
                _ => row.push(None),
            }
        }
    }
}

impl Cell {
    /// Adds a group from its state and returns the numbers of the cells that follow.
    #[inline]
    fn push_numbers<'d>(&mut self, data: &'d [Option<i64>]) -> Result<&'d [Option<i64>]> {
        let Some((number, rest)) = data.split_first() else { return Err(misfit()) };
        if self.kind != CellKind::Count {
            self.set.push(number.is_some());
        }
        match &mut self.values {
            CellValues::Integers(values) => {
                values.push(number.unwrap_or(0));
                Ok(rest)
            }
            CellValues::Floats { sums, lost } => {
                sums.push(number.map_or(0.0, float));
                if self.kind != CellKind::SumFloat {
                    lost.push(0.0);
                    return Ok(rest);
                }
                let Some((Some(part), rest)) = rest.split_first() else { return Err(misfit()) };
                lost.push(float(*part));
                Ok(rest)
            }
            _ => Err(misfit()),
        }
    }
}

fn bits(float: f64) -> i64 {
    float.to_bits() as i64
}

fn float(bits: i64) -> f64 {
    f64::from_bits(bits as u64)
}
