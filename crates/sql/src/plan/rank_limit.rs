//! What a condition on `ROW_NUMBER()` keeps of the rows of a key.

use crate::expression::ROW_NUMBER;
use arrow_schema::DataType;
use datafusion_common::{Column, ScalarValue};
use datafusion_expr::expr::WindowFunction;
use datafusion_expr::utils::{expr_to_columns, split_conjunction};
use datafusion_expr::{Between, BinaryExpr, Expr, Filter, LogicalPlan, Operator, Projection, Window};
use headpond_state::{Error, Result};
use std::collections::HashSet;

/// What a condition keeps of the rows of a key.
#[derive(Debug, Clone)]
pub(super) struct RankLimit {
    /// The first so many.
    pub(super) limit: usize,
    /// The conditions that the limit does not cover.
    pub(super) rest: Vec<Expr>,
    /// Whether the numbers are asked for.
    pub(super) numbered: bool,
}

impl RankLimit {
    /// The limit that a filter sets to the row numbers below it; `None`: it sets none.
    pub(super) fn of(filter: &Filter) -> Result<Option<Self>> {
        let numbers = numbers_of(&filter.input);
        if numbers.is_empty() {
            return Ok(None);
        }
        let mut limit: Option<i64> = None;
        let mut rest = Vec::new();
        for condition in split_conjunction(&filter.predicate) {
            let Some(bounds) = Bounds::of(condition, &numbers) else {
                rest.push(condition.clone());
                continue;
            };
            if let Some(most) = bounds.most {
                limit = Some(limit.map_or(most, |known| known.min(most)));
            }
            if bounds.least > 1 {
                rest.push(condition.clone());
            }
        }
        let Some(limit) = limit else { return Ok(None) };
        if limit < 1 {
            return Err(Error::invalid("the condition on ROW_NUMBER() keeps no row").hint("row numbers begin with 1"));
        }
        let numbered = rest.iter().any(|condition| mentions(condition, &numbers));
        Ok(Some(RankLimit { limit: usize::try_from(limit).unwrap_or(usize::MAX), rest, numbered }))
    }

    /// Whether one row of each key is kept, whatever it is.
    pub(super) fn is_one_row(&self) -> bool {
        self.limit == 1 && self.rest.is_empty()
    }
}

/// What a condition says of a row number.
struct Bounds {
    least: i64,
    most: Option<i64>,
}

impl Bounds {
    fn of(condition: &Expr, numbers: &[Column]) -> Option<Self> {
        let is_number = |expr: &Expr| matches!(expr, Expr::Column(column) if numbers.contains(column));
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let (op, number) = match (is_number(left), is_number(right)) {
                    (true, false) => (*op, integer(right)?),
                    (false, true) => (op.swap()?, integer(left)?),
                    _ => return None,
                };
                let (least, most) = match op {
                    Operator::Eq => (number, Some(number)),
                    Operator::LtEq => (1, Some(number)),
                    Operator::Lt => (1, Some(number.saturating_sub(1))),
                    Operator::GtEq => (number, None),
                    Operator::Gt => (number.saturating_add(1), None),
                    _ => return None,
                };
                Some(Bounds { least, most })
            }
            Expr::Between(Between { expr, negated: false, low, high }) if is_number(expr) => {
                Some(Bounds { least: integer(low)?, most: Some(integer(high)?) })
            }
            _ => None,
        }
    }
}

fn integer(expr: &Expr) -> Option<i64> {
    let Expr::Literal(value, _) = expr else { return None };
    match value.cast_to(&DataType::Int64) {
        Ok(ScalarValue::Int64(number)) => number,
        _ => None,
    }
}

/// The columns of a plan that are row numbers.
fn numbers_of(plan: &LogicalPlan) -> Vec<Column> {
    let schema = plan.schema();
    let at = |index: usize| Column::from(schema.qualified_field(index));
    match plan {
        LogicalPlan::Window(window) => {
            let first = window.input.schema().fields().len();
            let is_number = |expr: &Expr| call_of(expr).is_some_and(|call| call.fun.name() == ROW_NUMBER);
            let numbers = window.window_expr.iter().enumerate().filter(|(_, expr)| is_number(expr));
            numbers.map(|(index, _)| at(first + index)).collect()
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let below = numbers_of(&alias.input);
            let index = |column: &Column| alias.input.schema().maybe_index_of_column(column);
            below.iter().filter_map(index).map(at).collect()
        }
        LogicalPlan::Projection(projection) => {
            let below = numbers_of(&projection.input);
            let is_number = |expr: &Expr| matches!(unaliased(expr), Expr::Column(column) if below.contains(column));
            let numbers = projection.expr.iter().enumerate().filter(|(_, expr)| is_number(expr));
            numbers.map(|(index, _)| at(index)).collect()
        }
        _ => Vec::new(),
    }
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}

pub(super) fn call_of(expr: &Expr) -> Option<&WindowFunction> {
    match unaliased(expr) {
        Expr::WindowFunction(call) => Some(call),
        _ => None,
    }
}

fn mentions(expr: &Expr, columns: &[Column]) -> bool {
    let mut mentioned = HashSet::new();
    expr_to_columns(expr, &mut mentioned).is_err() || columns.iter().any(|column| mentioned.contains(column))
}

/// Whether a projection leaves out the row numbers that a filter below it asks for.
pub(super) fn leaves_out_numbers(projection: &Projection) -> bool {
    let numbers = numbers_of(match projection.input.as_ref() {
        LogicalPlan::Filter(filter) => &filter.input,
        other => other,
    });
    !projection.expr.iter().any(|expr| mentions(expr, &numbers))
}

/// The columns that a rank numbers rows by, where its filter keeps one row of each: the columns of the plan below the
/// filter.
pub(super) fn key_of_one_row(filter: &Filter) -> Option<&Window> {
    let limit = RankLimit::of(filter).ok()??;
    match filter.input.as_ref() {
        LogicalPlan::Window(window) if limit.is_one_row() => Some(window),
        _ => None,
    }
}

/// Whether `columns` of a window's input are all that its rows are numbered within.
pub(super) fn is_numbered_within(window: &Window, columns: &[usize]) -> bool {
    let Some(call) = window.window_expr.first().and_then(call_of) else { return false };
    let schema = window.input.schema();
    let partition = call.params.partition_by.iter().map(|expr| match expr {
        Expr::Column(column) => schema.maybe_index_of_column(column),
        _ => None,
    });
    let Some(partition) = partition.collect::<Option<Vec<_>>>() else { return false };
    !partition.is_empty()
        && columns.iter().all(|column| partition.contains(column))
        && partition.iter().all(|column| columns.contains(column))
}
