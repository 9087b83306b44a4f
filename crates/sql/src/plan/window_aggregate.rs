//! Which windows an aggregate groups by.

use super::aggregate::{AggregateInput, text_of};
use super::flow::{Flow, FlowBuilder, column, over_base};
use super::flow_window::FlowWindow;
use super::window::{has_no_value, is_event_time};
use crate::aggregate::{OutputColumn, RowTime, Windows};
use crate::expression::{WindowCall, WindowPart, is_processing_time};
use crate::script::not_supported;
use arrow_schema::Schema;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Aggregate, Expr};
use headpond_state::{Error, Result};

/// Conditions on windows that are known only when they are over: they hold for groups instead of rows.
#[derive(Debug, Default)]
pub(super) struct GroupFilter(Vec<Expr>);

impl FlowBuilder<'_> {
    /// The flow as an aggregate takes it, and the conditions that its groups have to meet. A window that is more than
    /// grouped by needs a row for each window.
    pub(super) fn with_grouped_windows(&mut self, flow: Flow, aggregate: &Aggregate) -> Result<(Flow, GroupFilter)> {
        let conditions = flow.filter.clone().map(split_conjunction_owned).unwrap_or_default();
        let (of_windows, of_rows): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(has_no_value);
        let groups = groups(aggregate, &flow)?;
        let is_used = |expr: &Expr| Ok::<_, Error>(has_no_value(&over_base(expr, aggregate.input.schema(), &flow)?));
        let is_grouped_by = |call: &WindowCall| {
            groups.iter().any(|group| matches!(WindowCall::of(group), Some(Ok(other)) if other.is_same_window(call)))
        };
        let mut needs_rows = flow.windows_to_come.as_ref().is_some_and(|call| !is_grouped_by(call));
        needs_rows |= groups.iter().any(|group| WindowCall::of(group).is_none() && has_no_value(group));
        for call in &aggregate.aggr_expr {
            needs_rows |= is_used(call)?;
        }
        needs_rows |=
            of_windows.iter().any(|condition| over_groups(condition, &groups, &|_| condition.clone()).is_none());
        if needs_rows {
            return Ok((self.with_rows_of_windows(flow)?, GroupFilter::default()));
        }
        // What the optimizer has pushed below the aggregate goes back above it.
        Ok((Flow { filter: conjunction(of_rows), windows_to_come: None, ..flow }, GroupFilter(of_windows)))
    }
}

impl GroupFilter {
    /// The condition over the columns of the result.
    pub(super) fn over_result(self, aggregate: &Aggregate, flow: &Flow, output: &Schema) -> Result<Option<Expr>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let groups = groups(aggregate, flow)?;
        let named = |group: usize| column(output.field(group).name());
        let conditions = self.0.iter().filter_map(|condition| over_groups(condition, &groups, &named));
        Ok(conjunction(conditions.collect::<Vec<_>>()))
    }
}

fn groups(aggregate: &Aggregate, flow: &Flow) -> Result<Vec<Expr>> {
    aggregate.group_expr.iter().map(|group| over_base(group, aggregate.input.schema(), flow)).collect()
}

/// The expression with what is grouped by replaced; `None` when more than that is in it.
fn over_groups(expr: &Expr, groups: &[Expr], named: &dyn Fn(usize) -> Expr) -> Option<Expr> {
    let mut is_covered = true;
    let replaced = expr.clone().transform_down(|expr| {
        if let Some(group) = groups.iter().position(|group| *group == expr) {
            return Ok(Transformed::new(named(group), true, TreeNodeRecursion::Jump));
        }
        is_covered &= !matches!(expr, Expr::Column(_));
        Ok(Transformed::no(expr))
    });
    replaced.ok().filter(|_| is_covered).map(|replaced| replaced.data)
}

impl AggregateInput<'_> {
    /// The windows that are grouped by, checked.
    pub(super) fn windows(&mut self) -> Result<Option<Windows>> {
        let Some(window) = self.window_calls.first().cloned() else { return self.assigned_windows() };
        if self.window_calls.iter().any(|other| !other.is_same_window(&window)) {
            return Err(not_supported(
                "grouping by two different windows",
                Some("write an INSERT INTO of its own for each"),
            ));
        }
        if let Some(partition) = &window.partition {
            let is_key = |expr: &Expr| self.keys.contains(expr);
            if partition.len() != self.keys.len() || !partition.iter().all(is_key) {
                return Err(Error::unsupported("a GROUP BY of other columns than those of SESSION's PARTITION BY is not supported")
                    .hint("write SESSION(TABLE t PARTITION BY k, …) with all columns of the GROUP BY but window_start and window_end"));
            }
        }
        let time = if is_processing_time(&window.time) {
            RowTime::Processing
        } else if is_event_time(&window.time, self.flow) {
            RowTime::Event(self.other(window.time.clone()))
        } else if self.flow.event_time.is_some() {
            return Err(Error::invalid(format!(
                "a window's time must be the table's event time, and {} is not",
                text_of(&window.time)
            ))
            .hint("use the column of the table's WATERMARK, unchanged"));
        } else {
            return Err(Error::invalid("a window needs event time, and its input has none")
                .hint("declare it in the table: WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"));
        };
        let shape = window.shape.of_type(&self.compiler.data_type(&window.time)?)?;
        Ok(Some(Windows::OfTime { shape, time }))
    }

    /// The windows that the input's rows have in columns of theirs, if both their ends are grouped by.
    fn assigned_windows(&mut self) -> Result<Option<Windows>> {
        let Some(window) = self.assigned.clone() else { return Ok(None) };
        let (Some(start), Some(end)) = (window.start, window.end) else { return Ok(None) };
        Ok(Some(Windows::Assigned { start: self.other(start), end: self.other(end) }))
    }

    /// The window whose columns the aggregate groups by, if the input's rows have one.
    pub(super) fn assigned(groups: &[Expr], flow: &Flow) -> Option<FlowWindow> {
        let window = flow.window_of_rows().filter(|_| flow.window.is_some())?;
        let is_grouped = |part: &Option<Expr>| part.as_ref().is_some_and(|part| groups.contains(part));
        (is_grouped(&window.start) && is_grouped(&window.end)).then_some(window)
    }

    /// What the result's columns tell of its windows, for event-time windows.
    pub(super) fn result_window(columns: &[OutputColumn], output: &Schema) -> Option<FlowWindow> {
        let mut window = FlowWindow { start: None, end: None, time: None };
        for (output_column, field) in columns.iter().zip(output.fields()) {
            if let OutputColumn::Window(part) = output_column {
                *window.part(*part) = Some(column(field.name()));
            }
        }
        let is_something = WindowPart::ALL.into_iter().any(|part| window.part(part).is_some());
        is_something.then_some(window)
    }
}
