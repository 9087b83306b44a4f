//! The accumulators of all groups of a batch, cell by cell.

use super::cell::{Cell, CellValues};
use super::fold::{Fold, selection};
use super::layout::{Feed, Layout};
use super::overflow::Overflow;
use super::transitions::Transitions;
use headpond_runtime::batch::ChangeBatch;
use headpond_state::schema::Datum;
use headpond_state::{Error, Result};

/// The accumulators of groups that are numbered from 0 in the order in which they were pushed.
#[derive(Debug, Clone)]
pub(super) struct Accumulators {
    /// The groups' rows.
    pub(super) rows: Vec<i64>,
    /// Whether the groups had state.
    pub(super) existed: Vec<bool>,
    /// Since when the groups' values in sets count, where the layout has it.
    pub(super) since_ms: Vec<i64>,
    pub(super) has_since: bool,
    pub(super) cells: Vec<Cell>,
}

impl Accumulators {
    /// No groups yet.
    pub(super) fn new(layout: &Layout) -> Self {
        let cells = layout.cells.iter().map(|spec| Cell::new(spec.kind)).collect();
        Accumulators { rows: Vec::new(), existed: Vec::new(), since_ms: Vec::new(), has_since: layout.has_since, cells }
    }

    /// The number of groups.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Removes all groups and keeps the allocations.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.existed.clear();
        self.since_ms.clear();
        self.cells.iter_mut().for_each(Cell::clear);
    }

    /// Adds a group without state.
    #[inline]
    pub(super) fn push_new(&mut self) {
        self.rows.push(0);
        self.existed.push(false);
        self.since_ms.push(i64::MAX);
        self.cells.iter_mut().for_each(Cell::push_new);
    }

    /// Adds a group from its state.
    #[inline]
    pub(super) fn push_stored(&mut self, data: &[Datum]) -> Result<()> {
        let Some((Datum::Int64(rows), mut data)) = data.split_first() else {
            return Err(Error::corrupt("a group's state does not begin with the count of its rows"));
        };
        let mut since_ms = i64::MIN;
        if self.has_since {
            let Some((Datum::Int64(since), rest)) = data.split_first() else {
                return Err(Error::corrupt("a group's state does not say since when its values count"));
            };
            (since_ms, data) = (*since, rest);
        }
        self.rows.push(*rows);
        self.existed.push(true);
        self.since_ms.push(since_ms);
        for cell in &mut self.cells {
            data = cell.push_stored(data)?;
        }
        Ok(())
    }

    /// Appends the state of a group to `row`.
    #[inline]
    pub(super) fn append(&self, group: usize, row: &mut Vec<Datum>) {
        row.push(Datum::Int64(self.rows[group]));
        if self.has_since {
            row.push(Datum::Int64(self.since_ms[group]));
        }
        for cell in &self.cells {
            cell.store(group, row);
        }
    }

    /// Lets the values in sets of groups without state count from now on.
    pub(super) fn begin(&mut self, now_ms: i64) {
        for (since_ms, existed) in self.since_ms.iter_mut().zip(&self.existed) {
            if !existed {
                *since_ms = now_ms;
            }
        }
    }

    /// Counts and folds a batch's rows, where no cell needs sets of values. On an overflow, the row at which it
    /// happened.
    pub(super) fn fold(
        &mut self,
        layout: &Layout,
        batch: &ChangeBatch,
        groups: &[u32],
        signs: Option<&[i64]>,
    ) -> Result<(), Overflow> {
        self.count_rows(groups, signs);
        self.fold_cells(layout, batch, groups, signs, &Transitions::default())
    }

    /// Counts a batch's rows.
    pub(super) fn count_rows(&mut self, groups: &[u32], signs: Option<&[i64]>) {
        for (row, group) in groups.iter().enumerate() {
            // A count of rows cannot reach 2^63.
            let count = &mut self.rows[*group as usize];
            *count = count.wrapping_add(signs.map_or(1, |signs| signs[row]));
        }
    }

    /// Folds a batch's rows and the values that came to sets or left them. On an overflow, the row at which it
    /// happened.
    pub(super) fn fold_cells(
        &mut self,
        layout: &Layout,
        batch: &ChangeBatch,
        groups: &[u32],
        signs: Option<&[i64]>,
        transitions: &Transitions,
    ) -> Result<(), Overflow> {
        for (cell, spec) in self.cells.iter_mut().zip(&layout.cells) {
            let argument = spec.argument.map(|column| batch.rows().column(column));
            match spec.feed {
                Feed::Rows => {
                    let selection = selection(batch, spec.argument, spec.filter);
                    cell.fold(argument, &Fold { groups, signs, selection: selection.as_ref() })?;
                }
                Feed::Distinct { set, filter } => {
                    if let Some((signs, selection)) = transitions.of(set, filter) {
                        cell.fold(argument, &Fold { groups, signs: Some(signs), selection: Some(selection) })?;
                    }
                }
                // The set itself has put it there.
                Feed::First { .. } => {}
            }
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
            Some(CellValues::Integers(counts)) => counts[group],
            _ => self.rows[group],
        }
    }
}
