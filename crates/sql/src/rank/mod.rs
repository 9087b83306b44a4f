//! The first rows of each key: `ROW_NUMBER() OVER (PARTITION BY … ORDER BY …)` with a condition on the number.
//!
//! [`FirstRow`](first::FirstRowFactory) keeps one row of each key, of rows that only come: deduplication.
//! [`TopRows`](top::TopRowsFactory) keeps rows in their order: the first N of rows that only come, all of rows that may
//! be taken back.
//!
//! In reading order: `sort_key`, `first`, `top`.

mod first;
mod sort_key;
mod top;

pub(crate) use first::FirstRowFactory;
pub(crate) use top::TopRowsFactory;

use crate::mini_batch::MiniBatch;
use arrow_schema::SchemaRef;
use headpond_rows::RowFormat;
use headpond_state::StateColumns;
use headpond_state::encoding::KeySchema;
use headpond_state::schema::{Field, RowSchema};
use headpond_state::ttl::TtlConfig;
use headpond_state::{Context, Error, Result, StateDescriptor};

/// What both operators are made from.
#[derive(Debug, Clone)]
pub(crate) struct RankPlan {
    /// The columns of the input; the key's come first.
    pub(crate) input: SchemaRef,
    /// How many columns the key has.
    pub(crate) key_columns: usize,
    /// The types of the key.
    pub(crate) key_schema: KeySchema,
    /// What rows are ordered by.
    pub(crate) order: Vec<SortColumn>,
    /// How many rows of each key are given.
    pub(crate) limit: usize,
    /// Whether the rows' numbers are given, as a last column.
    pub(crate) numbered: bool,
    /// Whether rows may be taken back.
    pub(crate) retracts: bool,
    /// Whether of rows equal in order the later one is first.
    pub(crate) later_first: bool,
    /// The columns of the result: those of the input, and the number.
    pub(crate) output: SchemaRef,
    /// Whether an update needs no `-U`: the new row overwrites the old one.
    pub(crate) overwrites: bool,
    /// Whether and how long changes are buffered.
    pub(crate) mini_batch: Option<MiniBatch>,
    /// The form in which rows are kept.
    pub(crate) format: RowFormat,
    /// When they expire.
    pub(crate) ttl: Option<TtlConfig>,
}

impl RankPlan {
    /// What people see of keys (see `headpond_state::columns`).
    fn key_shown(&self) -> StateColumns {
        let named = self.input.fields().iter().zip(self.key_schema.types());
        let key = named.map(|(field, ty)| Field::new(field.name(), ty.clone())).collect();
        StateColumns { key: RowSchema::new(key), ..StateColumns::default() }
    }

    /// Within what rows are numbered and in which order: what tells states of the same columns apart.
    fn basis(&self) -> String {
        let name = |column: usize| self.input.field(column).name().as_str();
        let keys = (0..self.key_columns).map(name).collect::<Vec<_>>().join(", ");
        let later = if self.later_first { ", later rows first" } else { "" };
        format!("first of {keys} by {}{later}", self.order_text())
    }

    /// The order of rows as text.
    fn order_text(&self) -> String {
        let order = self.order.iter().map(|sort| {
            let direction = if sort.descending { "desc" } else { "asc" };
            let nulls = if sort.nulls_first { "first" } else { "last" };
            format!("{} {direction} nulls {nulls}", self.input.field(sort.column).name())
        });
        order.collect::<Vec<_>>().join(", ")
    }

    /// Fails unless both declarations say within what rows are numbered.
    fn check_basis(restored: &StateDescriptor, declared: &StateDescriptor) -> Result<()> {
        declared.check_restored_key(restored)?;
        match restored.basis.is_empty() {
            false => Ok(()),
            true => Err(Error::incompatible("the columns have changed, and an older release took the checkpoint, which does not say what rows were numbered within")
                .with(Context::State, &declared.name)
                .hint("take a checkpoint with this release and the query as it was, then change the query")),
        }
    }
}

/// A column that rows are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SortColumn {
    /// The input column.
    pub(crate) column: usize,
    /// Whether greater values come first.
    pub(crate) descending: bool,
    /// Whether NULLs come first.
    pub(crate) nulls_first: bool,
}

/// Rows taken back that the state does not have (any more).
const WITHOUT_STATE: &str = "rows taken back without state";
