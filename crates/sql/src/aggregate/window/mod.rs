//! `GROUP BY` within windows: each window's result once, when time has passed it.
//!
//! [`FixedWindows`](fixed::FixedWindows) holds windows whose place does not depend on the rows: tumbling ones, hopping
//! ones, and those that the rows have been given already. [`Sessions`](session::Sessions) holds those that grow with
//! their rows.
//!
//! *Time* is event time, or processing time where the window's time is `PROCTIME()`. A row's *watermark* is what its
//! source had promised just before the row (see `docs/decisions/0007`), so that which rows are late does not depend on
//! how rows fall into batches and ticks.
//!
//! In reading order: `spec`, `row_times`, `late_rows`, `rows`, `fixed`, `hop`, `session`.

mod fixed;
mod hop;
mod late_rows;
mod row_times;
mod rows;
mod session;
mod spec;

pub(crate) use late_rows::LATE_ROWS_PORT;
pub(crate) use spec::{LateRows, RowTime, WindowSpec, Windows};

use super::layout::AggregatePlan;
use super::migration::migration;
use crate::expression::WindowShape;
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorSetup};
use headpond_state::schema::RowSchema;
use headpond_state::{Migration, Result, StateDescriptor};
use std::sync::Arc;

impl WindowSpec {
    /// The states that hold accumulators, with the schemas of their values.
    pub(crate) fn states(&self, plan: &AggregatePlan) -> Vec<(&'static str, RowSchema)> {
        match self.windows {
            Windows::OfTime { shape: WindowShape::Session { .. }, .. } => session::states(plan),
            _ => vec![(super::group::ACCUMULATORS, plan.layout.schema.clone())],
        }
    }
}

/// Makes the operator of each worker.
#[derive(Debug)]
pub(crate) struct WindowAggregateFactory {
    plan: Arc<AggregatePlan>,
    window: WindowSpec,
}

impl WindowAggregateFactory {
    /// A factory of operators that follow `plan` in windows.
    pub(crate) fn new(plan: AggregatePlan, window: WindowSpec) -> Self {
        WindowAggregateFactory { plan: Arc::new(plan), window }
    }
}

impl KeyedOperatorFactory for WindowAggregateFactory {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let plan = Arc::clone(&self.plan);
        Ok(match self.window.windows {
            Windows::OfTime { shape: WindowShape::Session { gap_ms }, .. } => {
                Box::new(session::Sessions::open(plan, self.window.clone(), gap_ms, setup)?)
            }
            _ => Box::new(fixed::FixedWindows::open(plan, self.window.clone(), setup)?),
        })
    }

    fn migration(&self, restored: &StateDescriptor, declared: &StateDescriptor) -> Result<Migration> {
        migration(&self.plan, restored, declared)
    }
}
