//! The state of a side.

use super::plan::JoinPlan;
use super::rows::SideRows;
use arrow_schema::DataType;
use headpond_state::{KeyedStateBackend, Result, StateId};

/// The state of a side.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) state: StateId,
    pub(super) rows: SideRows,
    /// The types of the row's columns.
    pub(super) types: Vec<DataType>,
}

impl Stored {
    /// Registers the state of side `side`.
    pub(super) fn register(
        backend: &mut dyn KeyedStateBackend,
        plan: &JoinPlan,
        side: usize,
        rows: SideRows,
    ) -> Result<Self> {
        let state = backend.register(&rows.descriptor(plan))?;
        Ok(Stored { state, rows, types: plan.sides[side].types() })
    }
}
