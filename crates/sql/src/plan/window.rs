//! The windows of a flow's rows.
//!
//! The columns of a windowing table function are calls at first ([`WindowCall`]), so that an aggregate can compute its
//! windows without a row for each. Where rows are needed, tumbling windows are computed like any expression, a row of
//! hopping windows becomes one for each window, and sessions, which only all rows of a key together tell, are refused.

use super::flow::{Flow, FlowBuilder, column, over_base};
use super::flow_window::FlowWindow;
use super::row_watermark::with_row_watermark;
use super::window_table::WindowTable;
use crate::expression::{Compiler, HopFactory, ProjectionFactory, WindowCall, WindowPart, WindowShape};
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Expr, Extension};
use headpond_runtime::source::ROW_WATERMARK_COLUMN;
use headpond_runtime::{Node, NodeKind};
use headpond_state::{Error, Result};
use std::sync::Arc;

/// Whether rows that the watermark has passed cannot come with a greater value of this expression: it is the rows'
/// time, or the last millisecond of a window of it.
pub(super) fn is_event_time(expr: &Expr, flow: &Flow) -> bool {
    if flow.event_time.as_ref() == Some(expr) {
        return true;
    }
    if flow.window.as_ref().is_some_and(|window| window.part_of(expr) == Some(WindowPart::Time)) {
        return true;
    }
    match WindowCall::of(expr) {
        Some(Ok(call)) => call.part == WindowPart::Time && !call.is_no_value() && is_event_time(&call.time, flow),
        _ => false,
    }
}

/// Whether an expression has a call of a window that is no value of a row.
pub(super) fn has_no_value(expr: &Expr) -> bool {
    first_without_value(expr).is_some()
}

fn first_without_value(expr: &Expr) -> Option<WindowCall> {
    let mut found = None;
    let _ = expr.apply(|expr| {
        if let Some(Ok(call)) = WindowCall::of(expr)
            && call.is_no_value()
        {
            found = Some(call);
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found
}

impl FlowBuilder<'_> {
    /// The rows of a table with windows that are still to come.
    pub(super) fn window_table(&mut self, extension: &Extension, row_watermark: bool) -> Result<Flow> {
        let Some(table) = WindowTable::of(extension) else {
            return Err(Error::internal("a plan has a node that is not ours"));
        };
        let flow = self.build(&table.input, row_watermark)?;
        let flow = self.with_rows_of_windows(flow)?;
        let windows = table.windows.iter().map(|window| over_base(window, table.input.schema(), &flow));
        let windows = windows.collect::<Result<Vec<_>>>()?;
        let windows_to_come = windows.first().and_then(WindowCall::of).transpose()?;
        let columns = flow.columns.iter().cloned().chain(windows).collect();
        Ok(Flow { columns, windows_to_come, ..flow })
    }

    /// The flow with a row for each hopping window.
    ///
    /// # Errors
    /// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for sessions;
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for functions of windows that are not grouped by.
    pub(super) fn with_rows_of_windows(&mut self, mut flow: Flow) -> Result<Flow> {
        if let Some(call) = flow.windows_to_come.take() {
            let time = Compiler::new(&flow.base, self.session)?.data_type(&call.time)?;
            let WindowShape::Hop { slide_ms, size_ms, offset_ms } = call.shape.of_type(&time)? else {
                return Err(Error::unsupported("SESSION without a GROUP BY of its windows is not supported")
                    .hint("group by the partition's columns, window_start and window_end"));
            };
            flow = self.hopped(flow, &call, [slide_ms, size_ms, offset_ms])?;
        }
        match flow.columns.iter().chain(&flow.filter).find_map(first_without_value) {
            Some(call) => {
                let name = call.kind().name();
                Err(Error::invalid(format!("a function of {name} windows is called without GROUP BY {name}(…)")))
            }
            None => Ok(flow),
        }
    }

    fn hopped(&mut self, flow: Flow, call: &WindowCall, [slide_ms, size_ms, offset_ms]: [i64; 3]) -> Result<Flow> {
        let (after, before): (Vec<Expr>, Vec<Expr>) =
            flow.filter.clone().map(split_conjunction_owned).unwrap_or_default().into_iter().partition(has_no_value);
        let hidden = |schema: &SchemaRef| match flow.row_watermark {
            true => with_row_watermark(schema),
            false => Arc::clone(schema),
        };
        let input = hidden(&flow.base);
        let compiler = Compiler::new(&input, self.session)?;
        let time_type = compiler.data_type(&call.time)?;
        let mut columns: Vec<Expr> = input.fields().iter().map(|field| column(field.name())).collect();
        columns.push(call.time.clone());
        let with_time = input.fields().iter().cloned().chain([Arc::new(Field::new("$time", time_type.clone(), true))]);
        let with_time = Arc::new(Schema::new(with_time.collect::<Vec<_>>()));
        let projection = ProjectionFactory::new(&compiler, conjunction(before).as_ref(), &columns, with_time)?;

        let mut fields: Vec<Arc<Field>> = flow.base.fields().iter().cloned().collect();
        let names = WindowPart::ALL.map(|part| {
            let name = format!("${}", part.column());
            let taken = |name: &str| flow.base.index_of(name).is_ok();
            let numbered = (1..).map(|number| format!("{name}_{number}")).find(|name| !taken(name));
            if taken(&name) { numbered.unwrap_or(name) } else { name }
        });
        fields.extend(names.iter().map(|name| Arc::new(Field::new(name, time_type.clone(), true))));
        let base: SchemaRef = Arc::new(Schema::new(fields));
        let schema = hidden(&base);
        debug_assert!(!flow.row_watermark || schema.field(schema.fields().len() - 1).name() == ROW_WATERMARK_COLUMN);
        let step = HopFactory {
            columns: projection,
            slide_ms,
            size_ms,
            offset_ms,
            before: flow.base.fields().len(),
            schema: Arc::clone(&schema),
        };
        let node = Node {
            id: self.next_id("hop"),
            description: format!("give a row for each of its {}", call.shape.text()),
            schema,
            kind: NodeKind::Map { input: flow.node, function: step.into_function() },
        };
        let named = |expr: Expr| {
            expr.transform_down(|expr| {
                Ok(match WindowCall::of(&expr) {
                    Some(Ok(other)) if other.is_same_window(call) => {
                        let index = WindowPart::ALL.iter().position(|part| *part == other.part).unwrap_or_default();
                        Transformed::new(column(&names[index]), true, TreeNodeRecursion::Jump)
                    }
                    _ => Transformed::no(expr),
                })
            })
            .data()
            .map_err(super::planning_error)
        };
        let [start, end, time] = names.each_ref().map(|name| Some(column(name)));
        let is_event_time = is_event_time(&call.time, &flow);
        Ok(Flow {
            node: self.graph.add(node),
            base,
            columns: flow.columns.iter().cloned().map(named).collect::<Result<_>>()?,
            filter: conjunction(after.into_iter().map(named).collect::<Result<Vec<_>>>()?),
            window: is_event_time.then_some(FlowWindow { start, end, time }),
            ..flow
        })
    }
}
