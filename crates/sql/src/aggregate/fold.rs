//! Which rows of a batch go into which groups.

use super::overflow::Overflow;
use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray};
use arrow_buffer::BooleanBuffer;
use headpond_runtime::batch::ChangeBatch;

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

/// The rows that have a value and that the filter keeps; `None`: all.
pub(super) fn selection(batch: &ChangeBatch, argument: Option<usize>, filter: Option<usize>) -> Option<BooleanBuffer> {
    let values = argument.and_then(|column| batch.rows().column(column).logical_nulls());
    let values = values.filter(|nulls| nulls.null_count() > 0);
    let filter = filter.map(|column| trues(batch.rows().column(column).as_boolean()));
    match (values, filter) {
        (None, None) => None,
        (Some(nulls), None) => Some(nulls.into_inner()),
        (None, Some(filter)) => Some(filter),
        (Some(nulls), Some(filter)) => Some(nulls.inner() & &filter),
    }
}

/// The rows where a filter is true, neither false nor NULL.
fn trues(filter: &BooleanArray) -> BooleanBuffer {
    match filter.nulls() {
        None => filter.values().clone(),
        Some(nulls) => filter.values() & nulls.inner(),
    }
}
