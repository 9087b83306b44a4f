//! `GROUP BY` within windows: each window's result once, when time has passed it.
//!
//! [`FixedWindows`](fixed::FixedWindows) holds windows whose place does not depend on the rows: tumbling ones, hopping ones, and those
//! that the rows have been given already. [`Sessions`](session::Sessions) holds those that grow with their rows.
//!
//! *Time* is event time, or processing time where the window's time is `PROCTIME()`. A row's *watermark* is what its source had promised
//! just before the row (see `docs/decisions/0007`), so that which rows are late does not depend on how rows fall into batches and ticks.
//!
//! In reading order: `row_times`, `late_rows`, `rows`, `fixed`, `hop`, `session`.

mod fixed;
mod hop;
mod late_rows;
mod row_times;
mod rows;
mod session;

pub(crate) use late_rows::{LATE_ROWS_PORT, LateRows};

use super::layout::AggregatePlan;
use super::migration::migration;
use crate::expression::WindowShape;
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup};
use headpond_state::row::RowSchema;
use headpond_state::typed::Timers;
use headpond_state::{Migration, Result, StateDescriptor};
use std::sync::Arc;

/// The name of the state of timers.
const TIMERS: &str = "window ends";

/// The declaration of the state of timers. `namespace` names the parts of their namespaces.
fn timers_descriptor(plan: &AggregatePlan, namespace: &[&str]) -> StateDescriptor {
    Timers::descriptor(TIMERS)
        .with_key_schema(plan.key_schema.to_string())
        .with_columns(plan.key_columns_shown(namespace))
}

/// How many windows are closed at a time.
const WINDOWS_PER_PASS: usize = 4096;

/// The time by which a row gets its windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowTime {
    /// That of an input column.
    Event(usize),
    /// That of the tick.
    Processing,
}

/// The windows of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Windows {
    /// Windows that follow from the rows' time.
    OfTime {
        /// The windows.
        shape: WindowShape,
        /// The rows' time.
        time: RowTime,
    },
    /// Windows that rows have in columns of theirs, in event time.
    Assigned {
        /// The input column of their first millisecond.
        start: usize,
        /// The input column of the first millisecond after them.
        end: usize,
    },
}

impl Windows {
    /// The windows in words.
    pub(crate) fn text(&self) -> String {
        match self {
            Windows::OfTime { shape, time: RowTime::Event(_) } => shape.text(),
            Windows::OfTime { shape, time: RowTime::Processing } => format!("{} of processing time", shape.text()),
            Windows::Assigned { .. } => "the windows of the rows".to_owned(),
        }
    }

    /// The windows with all that tells them from others: they are part of what a state is, and compared at a restore.
    pub(crate) fn in_full(&self, column: &dyn Fn(usize) -> String) -> String {
        let (shape, time) = match self {
            Windows::OfTime { shape, time: RowTime::Event(time) } => (shape, column(*time)),
            Windows::OfTime { shape, time: RowTime::Processing } => (shape, "processing time".to_owned()),
            Windows::Assigned { start, end } => return format!("windows from {} to {}", column(*start), column(*end)),
        };
        match shape {
            WindowShape::Tumble { size_ms, offset_ms } => {
                format!("windows of {size_ms} ms from {offset_ms} ms of {time}")
            }
            WindowShape::Hop { slide_ms, size_ms, offset_ms } => {
                format!("windows of {size_ms} ms every {slide_ms} ms from {offset_ms} ms of {time}")
            }
            WindowShape::Session { gap_ms } => format!("sessions with a gap of {gap_ms} ms of {time}"),
        }
    }
}

/// Which windows, and how late rows are told.
#[derive(Debug, Clone)]
pub(crate) struct WindowSpec {
    /// The windows.
    pub(crate) windows: Windows,
    /// The input column of the row watermarks; without one, event time judges.
    pub(crate) row_watermark: Option<usize>,
    /// What is given of late rows, where anybody wants them.
    pub(crate) late: Option<LateRows>,
}

impl WindowSpec {
    /// Whether windows close by event time.
    pub(crate) fn is_event_time(&self) -> bool {
        !matches!(self.windows, Windows::OfTime { time: RowTime::Processing, .. })
    }

    /// The states that hold accumulators, with the schemas of their values.
    pub(crate) fn states(&self, plan: &AggregatePlan) -> Vec<(&'static str, RowSchema)> {
        match self.windows {
            Windows::OfTime { shape: WindowShape::Session { .. }, .. } => session::states(plan),
            _ => vec![(super::group::ACCUMULATORS, plan.layout.schema.clone())],
        }
    }

    /// The time that has passed: windows that end after it are still open.
    fn closing_ms(&self, cx: &OperatorContext<'_>) -> i64 {
        if self.is_event_time() {
            return cx.event_time_ms;
        }
        // All windows are given when the input ends. Until then the millisecond of the tick is not over.
        if cx.end_of_input { i64::MAX } else { cx.processing_time_ms.saturating_sub(1) }
    }

    /// When a tick is wanted, if the earliest timer is no earlier than `earliest_ms`.
    fn wake_at_ms(&self, earliest_ms: i64) -> Option<i64> {
        (!self.is_event_time() && earliest_ms < i64::MAX).then(|| earliest_ms.saturating_add(1))
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
