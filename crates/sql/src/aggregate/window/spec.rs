//! Which windows rows are in, and when these close.

use crate::aggregate::layout::AggregatePlan;
use crate::expression::WindowShape;
use arrow_schema::SchemaRef;
use headpond_runtime::operator::OperatorContext;
use headpond_state::StateDescriptor;
use headpond_state::typed::Timers;

/// The name of the state of timers.
const TIMERS: &str = "window ends";

/// The declaration of the state of timers. `namespace` names the parts of their namespaces.
pub(super) fn timers_descriptor(plan: &AggregatePlan, namespace: &[&str]) -> StateDescriptor {
    Timers::descriptor(TIMERS)
        .with_key_schema(plan.key_schema.to_string())
        .with_columns(plan.key_columns_shown(namespace))
}

/// How many windows are closed at a time.
pub(super) const WINDOWS_PER_PASS: usize = 4096;

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

/// What is given of late rows.
#[derive(Debug, Clone)]
pub(crate) struct LateRows {
    /// These columns of the input.
    pub(crate) columns: Vec<usize>,
    /// Under these names.
    pub(crate) schema: SchemaRef,
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

    /// The time that has passed: windows that end after it are still open.
    pub(super) fn closing_ms(&self, cx: &OperatorContext<'_>) -> i64 {
        if self.is_event_time() {
            return cx.event_time_ms;
        }
        // All windows are given when the input ends. Until then the millisecond of the tick is not over.
        if cx.end_of_input { i64::MAX } else { cx.processing_time_ms.saturating_sub(1) }
    }

    /// When a tick is wanted, if the earliest timer is no earlier than `earliest_ms`.
    pub(super) fn wake_at_ms(&self, earliest_ms: i64) -> Option<i64> {
        (!self.is_event_time() && earliest_ms < i64::MAX).then(|| earliest_ms.saturating_add(1))
    }
}
