//! Splits of rows that are made, not read: runs of row numbers.

use headpond_runtime::source::{Backlog, BacklogUnit, SourceSplit};
use headpond_runtime::{Error, Result};
use headpond_state::{Context, Remedy};
use serde_json::{Value, json};

/// How the rows of a table are shared by its splits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowSplits {
    /// The number of rows; `None`: no end.
    pub(crate) rows: Option<u64>,
    /// The number of splits, at least 1.
    pub(crate) splits: u64,
    /// Whether rows are dealt to the splits in turn, as those of a table without end always are; else each split is a
    /// run.
    pub(crate) in_turn: bool,
}

/// Which rows a split has: `first`, `first + step`, and so on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    first: u64,
    step: u64,
    count: Option<u64>,
    /// How many of them were made.
    made: u64,
}

const CHANGED: &str = "the number of rows or splits was changed: change it back";

impl RowSplits {
    /// The splits that have rows.
    pub(crate) fn splits(&self) -> Vec<SourceSplit> {
        let splits = (0..self.splits).map(|index| self.split(index));
        let not_empty = splits.filter(|(_, rows)| rows.count != Some(0));
        not_empty.map(|(id, _)| SourceSplit { id }).collect()
    }

    /// The rows of a split behind a position; `option` is the one that says how many rows there are.
    pub(crate) fn open(&self, split: &SourceSplit, at: Option<&Value>, option: &str) -> Result<Rows> {
        let found = (0..self.splits).map(|index| self.split(index)).find(|(id, _)| *id == split.id);
        let (_, mut rows) = found.ok_or_else(|| {
            Error::incompatible(format!("the checkpoint has read the table in other splits, such as '{}'", split.id))
                .with(Context::Option, option)
                .hint(CHANGED)
                .remedy(Remedy::StartAnew)
        })?;
        if let Some(at) = at {
            rows.made = at.get("rows").and_then(Value::as_u64).ok_or_else(|| {
                Error::incompatible("the checkpoint's position is not one in made rows")
                    .with(Context::Text, at)
                    .hint(CHANGED)
                    .remedy(Remedy::StartAnew)
            })?;
        }
        Ok(rows)
    }

    /// How many rows of a split are left behind a position.
    pub(crate) fn backlog(&self, split: &SourceSplit, at: Option<&Value>) -> Option<Backlog> {
        let (_, rows) = (0..self.splits).map(|index| self.split(index)).find(|(id, _)| *id == split.id)?;
        let total = rows.count?;
        let made = at.and_then(|at| at.get("rows")?.as_u64()).unwrap_or(0);
        Some(Backlog { unit: BacklogUnit::Rows, total, left: total.saturating_sub(made) })
    }

    /// A split's id and rows.
    fn split(&self, index: u64) -> (String, Rows) {
        let Some(rows) = self.rows.filter(|_| !self.in_turn) else {
            let count = self.rows.map(|rows| rows.saturating_sub(index).div_ceil(self.splits));
            let rows = Rows { first: index, step: self.splits, count, made: 0 };
            return (format!("rows-{index}-of-every-{}", self.splits), rows);
        };
        let bound = |index: u64| (u128::from(rows) * u128::from(index) / u128::from(self.splits)) as u64;
        let (first, end) = (bound(index), bound(index + 1));
        (format!("rows-{first}-to-{end}"), Rows { first, step: 1, count: Some(end - first), made: 0 })
    }
}

impl Rows {
    /// How many rows are left.
    pub(crate) fn left(&self) -> usize {
        let left = self.count.map_or(u64::MAX, |count| count.saturating_sub(self.made));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Takes the numbers of the next `count` rows.
    pub(crate) fn take(&mut self, count: usize) -> impl Iterator<Item = u64> + use<> {
        let (first, step, made) = (self.first, self.step, self.made);
        self.made += count as u64;
        (0..count as u64).map(move |ahead| first + (made + ahead) * step)
    }

    /// The position behind the rows that were taken.
    pub(crate) fn position(&self) -> Value {
        json!({ "rows": self.made })
    }
}
