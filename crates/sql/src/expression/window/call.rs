//! Calls of window functions.

use super::kind::WindowKind;
use super::{WindowPart, interval_ms};
use datafusion_expr::Expr;
use headpond_state::Error;

/// The shape of windows. Sizes, slides and gaps are positive; a size is a multiple of its slide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WindowShape {
    /// Windows side by side.
    Tumble {
        /// How long a window is.
        size_ms: i64,
        /// Where windows begin, counted from the epoch.
        offset_ms: i64,
    },
    /// Windows that overlap.
    Hop {
        /// How far windows begin from each other.
        slide_ms: i64,
        /// How long a window is.
        size_ms: i64,
        /// Where windows begin, counted from the epoch.
        offset_ms: i64,
    },
    /// Windows that end where a key has no rows for a while.
    Session {
        /// For how long.
        gap_ms: i64,
    },
}

impl WindowShape {
    /// The windows in words.
    pub(crate) fn text(self) -> String {
        match self {
            WindowShape::Tumble { size_ms, .. } => format!("tumbling windows of {size_ms} ms"),
            WindowShape::Hop { slide_ms, size_ms, .. } => {
                format!("hopping windows of {size_ms} ms every {slide_ms} ms")
            }
            WindowShape::Session { gap_ms } => format!("sessions with a gap of {gap_ms} ms"),
        }
    }
}

/// A call of a window function.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WindowCall {
    /// What it tells.
    pub(crate) part: WindowPart,
    /// The row's time.
    pub(crate) time: Expr,
    /// The windows.
    pub(crate) shape: WindowShape,
    /// What the table function `SESSION` is partitioned by; `None` for other windows and in a `GROUP BY`, where all
    /// that is grouped by has sessions of its own.
    pub(crate) partition: Option<Vec<Expr>>,
}

impl WindowCall {
    /// The call that an expression is, if it is one.
    pub(crate) fn of(expr: &Expr) -> Option<Result<WindowCall, Error>> {
        let Expr::ScalarFunction(call) = expr else { return None };
        let (kind, part) = WindowKind::of_function(call.func.name())?;
        Some(Self::from_arguments(kind, part, &call.args))
    }

    /// The kind of the windows.
    pub(crate) fn kind(&self) -> WindowKind {
        match self.shape {
            WindowShape::Tumble { .. } => WindowKind::Tumble,
            WindowShape::Hop { .. } => WindowKind::Hop,
            WindowShape::Session { .. } => WindowKind::Session,
        }
    }

    /// Whether a row has several windows of this kind, or one that its time alone does not tell.
    pub(crate) fn is_no_value(&self) -> bool {
        !matches!(self.shape, WindowShape::Tumble { .. })
    }

    /// Whether another call tells of the same windows.
    pub(crate) fn is_same_window(&self, other: &WindowCall) -> bool {
        self.time == other.time && self.shape == other.shape && self.partition == other.partition
    }

    pub(super) fn from_arguments(kind: WindowKind, part: WindowPart, arguments: &[Expr]) -> Result<WindowCall, Error> {
        let positive = |expr: &Expr, what: &str| match interval_ms(expr)? {
            ms if ms > 0 => Ok(ms),
            _ => Err(Error::invalid(format!("the {what} of a window must be greater than zero"))),
        };
        let wrong = || Error::invalid(format!("{} takes {}", kind.name(), kind.arguments()));
        let Some((time, arguments)) = arguments.split_first() else { return Err(wrong()) };
        let mut partition = None;
        let shape = match (kind, arguments) {
            (WindowKind::Tumble, [size]) => WindowShape::Tumble { size_ms: positive(size, "size")?, offset_ms: 0 },
            (WindowKind::Tumble, [size, offset]) => {
                WindowShape::Tumble { size_ms: positive(size, "size")?, offset_ms: interval_ms(offset)? }
            }
            (WindowKind::Hop, [slide, size, offset @ ..]) if offset.len() <= 1 => {
                let (slide_ms, size_ms) = (positive(slide, "slide")?, positive(size, "size")?);
                if size_ms % slide_ms != 0 {
                    return Err(Error::invalid(format!(
                        "the size of hopping windows, {size_ms} ms, is no multiple of their slide, {slide_ms} ms"
                    ))
                    .hint("the slide comes first: HOP(TABLE t, DESCRIPTOR(ts), slide, size)"));
                }
                WindowShape::Hop { slide_ms, size_ms, offset_ms: offset.first().map_or(Ok(0), interval_ms)? }
            }
            (WindowKind::Session, [gap, partitioned @ ..]) => {
                // A third argument comes from the table function only, and says so.
                partition = partitioned.split_first().map(|(_, keys)| keys.to_vec());
                WindowShape::Session { gap_ms: positive(gap, "gap")? }
            }
            _ => return Err(wrong()),
        };
        Ok(WindowCall { part, time: time.clone(), shape, partition })
    }
}
