//! The table function `TUMBLE`: a table's columns with `window_start`, `window_end` and `window_time`.
//!
//! `TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY [, INTERVAL '6' HOUR]))`, with or without names (`DATA`, `TIMECOL`,
//! `SIZE`, `OFFSET`) and with or without `TABLE(…)` around it.

use super::session::external;
use crate::expression::{WindowPart, interval_ms, window_udf};
use crate::position::{At, Position};
use datafusion_common::{Column, DFSchema, Result};
use datafusion_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion_expr::{Expr, LogicalPlanBuilder, lit};
use datafusion_sql::sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Spanned, TableAlias,
    TableFactor,
};
use headpond_state::Error;

/// Plans `TUMBLE`.
#[derive(Debug)]
pub(super) struct TumblePlanner;

impl RelationPlanner for TumblePlanner {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let (name, arguments, alias) = match &relation {
            TableFactor::TableFunction { expr: SqlExpr::Function(function), alias } => match &function.args {
                FunctionArguments::List(list) => (&function.name, &list.args, alias),
                _ => return Ok(RelationPlanning::Original(Box::new(relation))),
            },
            TableFactor::Table { name, args: Some(arguments), alias, .. } => (name, &arguments.args, alias),
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        if !name.to_string().eq_ignore_ascii_case("TUMBLE") {
            let position = name.span().start.into();
            let error = Error::unsupported(format!("table function {name} is not supported"))
                .hint("TUMBLE is: TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY))");
            return Err(external(error.at(position)));
        }
        let position = name.span().start.into();
        let arguments = Arguments::of(arguments).map_err(|error| external(error.at(position)))?;
        plan_tumble(arguments, alias.clone(), position, context)
            .map(|planned| RelationPlanning::Planned(Box::new(planned)))
    }
}

fn plan_tumble(
    arguments: Arguments,
    alias: Option<TableAlias>,
    position: Position,
    context: &mut dyn RelationPlannerContext,
) -> Result<PlannedRelation> {
    let table = TableFactor::Table {
        name: ObjectName::from(vec![arguments.table]),
        alias: None,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    };
    let input = context.plan(table)?;
    let time = context.sql_to_expr(SqlExpr::Identifier(arguments.time), input.schema())?;
    let mut window = vec![time];
    for interval in std::iter::once(arguments.size).chain(arguments.offset) {
        let interval = context.sql_to_expr(interval, &DFSchema::empty())?;
        window.push(lit(interval_ms(&interval).map_err(|error| external(error.at(position)))?));
    }
    let mut columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    for part in WindowPart::ALL {
        if columns.iter().any(|column| matches!(column, Expr::Column(Column { name, .. }) if name == part.column())) {
            let error = Error::invalid(format!("the table has a column `{}` already", part.column()));
            return Err(external(error.at(position)));
        }
        columns.push(window_udf(part).call(window.clone()).alias(part.column()));
    }
    let plan = LogicalPlanBuilder::from(input).project(columns)?.build()?;
    Ok(PlannedRelation::new(plan, alias))
}

/// The arguments of `TUMBLE`.
struct Arguments {
    table: Ident,
    time: Ident,
    size: SqlExpr,
    offset: Option<SqlExpr>,
}

impl Arguments {
    const NAMES: [&'static str; 4] = ["DATA", "TIMECOL", "SIZE", "OFFSET"];

    fn of(arguments: &[FunctionArg]) -> Result<Self, Error> {
        let usage = || {
            Error::invalid("TUMBLE takes a table, a time column, a size and, perhaps, an offset")
                .hint("write TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY))")
        };
        let mut named: [Option<&SqlExpr>; 4] = [None; 4];
        for (index, argument) in arguments.iter().enumerate() {
            let (slot, value) = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (index, value),
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                    let is_name = |candidate: &&str| candidate.eq_ignore_ascii_case(&name.value);
                    (Self::NAMES.iter().position(is_name).ok_or_else(usage)?, value)
                }
                _ => return Err(usage()),
            };
            if named.get_mut(slot).ok_or_else(usage)?.replace(value).is_some() {
                return Err(usage());
            }
        }
        let [Some(SqlExpr::Identifier(table)), Some(time), Some(size), offset] = named else { return Err(usage()) };
        Ok(Arguments {
            table: table.clone(),
            time: descriptor(time).ok_or_else(usage)?,
            size: size.clone(),
            offset: offset.cloned(),
        })
    }
}

/// The column that a `DESCRIPTOR(column)` names.
fn descriptor(expr: &SqlExpr) -> Option<Ident> {
    let SqlExpr::Function(function) = expr else { return None };
    if !function.name.to_string().eq_ignore_ascii_case("DESCRIPTOR") {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    match &list.args[..] {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(SqlExpr::Identifier(column)))] => Some(column.clone()),
        _ => None,
    }
}
