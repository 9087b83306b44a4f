//! The accumulators of all groups of a batch, cell by cell.

use super::cell::{Cell, Overflow};
use super::layout::Layout;
use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray};
use arrow_buffer::BooleanBuffer;
use headpond_runtime::batch::ChangeBatch;
use headpond_state::row::Datum;
use headpond_state::{Error, Result};

/// The accumulators of groups that are numbered from 0 in the order in which they were pushed.
#[derive(Debug, Clone)]
pub(super) struct Accumulators {
    /// The groups' rows.
    pub(super) rows: Vec<i64>,
    /// Whether the groups had state.
    pub(super) existed: Vec<bool>,
    pub(super) cells: Vec<Cell>,
}

/// Which rows go into which groups.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fold<'a> {
    /// Each row's group.
    pub(super) groups: &'a [u32],
    /// 1 for a row that comes, -1 for one that is taken back; `None`: all come.
    pub(super) signs: Option<&'a [i64]>,
    /// The rows to fold; `None`: all.
    pub(super) selection: Option<&'a BooleanBuffer>,
}

impl Fold<'_> {
    /// Calls `f` with each selected row, its group and its sign.
    #[inline]
    pub(super) fn each(&self, mut f: impl FnMut(usize, usize, i64) -> Result<(), Overflow>) -> Result<(), Overflow> {
        let sign = |row: usize| self.signs.map_or(1, |signs| signs[row]);
        match self.selection {
            None => {
                for (row, group) in self.groups.iter().enumerate() {
                    f(row, *group as usize, sign(row))?;
                }
            }
            Some(selection) => {
                for row in selection.set_indices() {
                    f(row, self.groups[row] as usize, sign(row))?;
                }
            }
        }
        Ok(())
    }
}

impl Accumulators {
    /// No groups yet.
    pub(super) fn new(layout: &Layout) -> Self {
        let cells = layout.cells.iter().map(|spec| Cell::new(spec.kind)).collect();
        Accumulators { rows: Vec::new(), existed: Vec::new(), cells }
    }

    /// The number of groups.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Removes all groups and keeps the allocations.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.existed.clear();
        self.cells.iter_mut().for_each(Cell::clear);
    }

    /// Adds a group without state.
    #[inline]
    pub(super) fn push_new(&mut self) {
        self.rows.push(0);
        self.existed.push(false);
        self.cells.iter_mut().for_each(Cell::push_new);
    }

    /// Adds a group from its state.
    #[inline]
    pub(super) fn push_stored(&mut self, data: &[Datum]) -> Result<()> {
        let Some((Datum::Int64(rows), mut data)) = data.split_first() else {
            return Err(Error::corrupt("a group's state does not begin with the count of its rows"));
        };
        self.rows.push(*rows);
        self.existed.push(true);
        for cell in &mut self.cells {
            data = cell.push_stored(data)?;
        }
        Ok(())
    }

    /// Makes `row` the state of a group.
    #[inline]
    pub(super) fn store(&self, group: usize, row: &mut Vec<Datum>) {
        row.clear();
        self.append(group, row);
    }

    /// Appends the state of a group to `row`.
    #[inline]
    pub(super) fn append(&self, group: usize, row: &mut Vec<Datum>) {
        row.push(Datum::Int64(self.rows[group]));
        for cell in &self.cells {
            cell.store(group, row);
        }
    }

    /// Folds a batch's rows in. On an overflow, the row at which it happened and the call's name.
    pub(super) fn fold(
        &mut self,
        layout: &Layout,
        batch: &ChangeBatch,
        groups: &[u32],
        signs: Option<&[i64]>,
    ) -> Result<(), Overflow> {
        for (row, group) in groups.iter().enumerate() {
            // A count of rows cannot reach 2^63.
            let count = &mut self.rows[*group as usize];
            *count = count.wrapping_add(signs.map_or(1, |signs| signs[row]));
        }
        for (cell, spec) in self.cells.iter_mut().zip(&layout.cells) {
            let argument = spec.argument.map(|column| batch.rows().column(column));
            let values = argument.and_then(|array| array.logical_nulls()).filter(|nulls| nulls.null_count() > 0);
            let filter = spec.filter.map(|column| trues(batch.rows().column(column).as_boolean()));
            let selection = match (values, filter) {
                (None, None) => None,
                (Some(nulls), None) => Some(nulls.into_inner()),
                (None, Some(filter)) => Some(filter),
                (Some(nulls), Some(filter)) => Some(nulls.inner() & &filter),
            };
            cell.fold(argument, &Fold { groups, signs, selection: selection.as_ref() })?;
        }
        if signs.is_some() {
            self.reset_empty_sums(layout);
        }
        Ok(())
    }

    fn reset_empty_sums(&mut self, layout: &Layout) {
        for call in &layout.of_calls {
            let (Some(value), Some(count)) = (call.value, call.count) else { continue };
            for group in 0..self.len() {
                if self.count(Some(count), group) == 0 {
                    self.cells[value].reset(group);
                }
            }
        }
    }

    /// The value of a counting cell; of the group's rows without one.
    #[inline]
    pub(super) fn count(&self, cell: Option<usize>, group: usize) -> i64 {
        match cell.map(|cell| &self.cells[cell].values) {
            Some(super::cell::CellValues::Integers(counts)) => counts[group],
            _ => self.rows[group],
        }
    }
}

/// The rows where a filter is true, neither false nor NULL.
fn trues(filter: &BooleanArray) -> BooleanBuffer {
    match filter.nulls() {
        None => filter.values().clone(),
        Some(nulls) => filter.values() & nulls.inner(),
    }
}
