//! The windows that rows have, as columns tell them.

use crate::expression::WindowPart;
use datafusion_expr::Expr;

/// The expressions, over a node's columns, that tell the event-time window of each row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FlowWindow {
    /// Its first millisecond.
    pub(super) start: Option<Expr>,
    /// The first millisecond after it.
    pub(super) end: Option<Expr>,
    /// Its last millisecond.
    pub(super) time: Option<Expr>,
}

impl FlowWindow {
    /// The expression of a part.
    pub(super) fn part(&mut self, part: WindowPart) -> &mut Option<Expr> {
        match part {
            WindowPart::Start => &mut self.start,
            WindowPart::End => &mut self.end,
            WindowPart::Time => &mut self.time,
        }
    }

    /// Which part of the window an expression is.
    pub(super) fn part_of(&self, expr: &Expr) -> Option<WindowPart> {
        let is = |part: &Option<Expr>| part.as_ref() == Some(expr);
        if is(&self.start) {
            Some(WindowPart::Start)
        } else if is(&self.end) {
            Some(WindowPart::End)
        } else if is(&self.time) {
            Some(WindowPart::Time)
        } else {
            None
        }
    }

    /// The window by other expressions; `None` if neither its start nor its end has one.
    pub(super) fn renamed(&self, rename: impl Fn(&Expr) -> Option<Expr>) -> Option<FlowWindow> {
        let renamed = |part: &Option<Expr>| part.as_ref().and_then(&rename);
        let window = FlowWindow { start: renamed(&self.start), end: renamed(&self.end), time: renamed(&self.time) };
        (window.start.is_some() || window.end.is_some() || window.time.is_some()).then_some(window)
    }
}
