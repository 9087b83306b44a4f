//! The table functions `TUMBLE`, `HOP` and `SESSION`: a table's columns with `window_start`, `window_end` and
//! `window_time`.
//!
//! `TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY [, INTERVAL '6' HOUR]))`, with or without names (`DATA`,
//! `TIMECOL`, `SIZE`, …) and with or without `TABLE(…)` around it. The columns are calls of window functions, which an
//! aggregate recognizes.

use super::error::external;
use super::window_table::WindowTable;
use crate::expression::{WindowCall, WindowKind, WindowPart, interval_ms, window_udf};
use crate::position::{At, Position};
use datafusion_common::{DFSchema, DataFusionError, Result};
use datafusion_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion_expr::{Expr, LogicalPlanBuilder, lit};
use datafusion_sql::sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query, Spanned, TableAlias,
    TableFactor,
};
use headpond_state::Error;

/// How table functions are written.
pub(super) const USAGE: &str =
    "TUMBLE, HOP and SESSION are supported: TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY))";

/// Plans windowing table functions.
#[derive(Debug)]
pub(super) struct WindowFunctionPlanner;

impl RelationPlanner for WindowFunctionPlanner {
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
        let position: Position = name.span().start.into();
        let Some(kind) = WindowKind::named(&name.to_string()) else {
            let error = Error::unsupported(format!("table function {name} is not supported")).hint(USAGE);
            return Err(external(error.at(position)));
        };
        let planned = Arguments::of(kind, arguments)
            .map_err(external)
            .and_then(|arguments| plan_windows(kind, arguments, alias.clone(), context));
        match planned {
            Ok(planned) => Ok(RelationPlanning::Planned(Box::new(planned))),
            Err(DataFusionError::External(error)) => Err(match error.downcast::<Error>() {
                Ok(ours) => external(ours.at(position)),
                Err(other) => DataFusionError::External(other),
            }),
            Err(other) => Err(other),
        }
    }
}

fn plan_windows(
    kind: WindowKind,
    arguments: Arguments,
    alias: Option<TableAlias>,
    context: &mut dyn RelationPlannerContext,
) -> Result<PlannedRelation> {
    let input = context.plan(arguments.data.into_factor())?;
    let mut call = vec![context.sql_to_expr(SqlExpr::Identifier(arguments.time), input.schema())?];
    for interval in arguments.intervals {
        let interval = context.sql_to_expr(interval, &DFSchema::empty())?;
        call.push(lit(interval_ms(&interval).map_err(external)?));
    }
    if kind == WindowKind::Session {
        call.push(lit(true));
        for key in arguments.partition {
            call.push(context.sql_to_expr(SqlExpr::Identifier(key), input.schema())?);
        }
    }
    let mut windows = Vec::with_capacity(WindowPart::ALL.len());
    for part in WindowPart::ALL {
        if input.schema().columns().iter().any(|column| column.name == part.column()) {
            let error = Error::invalid(format!("the table has a column `{}` already", part.column()));
            return Err(external(error.hint("rename it in a view or a subquery")));
        }
        let function = window_udf(kind, part).call(call.clone());
        if let Some(Err(error)) = WindowCall::of(&function) {
            return Err(external(error));
        }
        windows.push(function.alias(part.column()));
    }
    let plan = match kind {
        WindowKind::Tumble => {
            let columns = input.schema().columns().into_iter().map(Expr::Column).chain(windows);
            let columns: Vec<Expr> = columns.collect();
            LogicalPlanBuilder::from(input).project(columns)?.build()?
        }
        WindowKind::Hop | WindowKind::Session => WindowTable::plan(input, windows)?,
    };
    Ok(PlannedRelation::new(plan, alias))
}

/// The arguments of a windowing table function.
struct Arguments {
    data: Data,
    /// What the table is partitioned by.
    partition: Vec<Ident>,
    time: Ident,
    /// Sizes in the order of the function's arguments.
    intervals: Vec<SqlExpr>,
}

/// Whose rows get windows.
enum Data {
    Table(Ident),
    Query(Box<Query>),
}

impl Data {
    fn into_factor(self) -> TableFactor {
        match self {
            Data::Table(name) => TableFactor::Table {
                name: ObjectName::from(vec![name]),
                alias: None,
                args: None,
                with_hints: Vec::new(),
                version: None,
                with_ordinality: false,
                partitions: Vec::new(),
                json_path: None,
                sample: None,
                index_hints: Vec::new(),
            },
            Data::Query(subquery) => TableFactor::Derived { lateral: false, subquery, alias: None, sample: None },
        }
    }
}

impl Arguments {
    fn of(kind: WindowKind, arguments: &[FunctionArg]) -> Result<Self, Error> {
        let (names, usage): (&[&str], _) = match kind {
            WindowKind::Tumble => {
                (&["DATA", "TIMECOL", "SIZE", "OFFSET"], "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY))")
            }
            WindowKind::Hop => (
                &["DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"],
                "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY))",
            ),
            WindowKind::Session => (
                &["DATA", "TIMECOL", "GAP"],
                "TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' HOUR))",
            ),
        };
        let usage = || {
            Error::invalid(format!("{} takes a table and, of it, {}", kind.name(), kind.arguments()))
                .hint(format!("write {usage}"))
        };
        let mut given: Vec<Option<&SqlExpr>> = vec![None; names.len()];
        for (index, argument) in arguments.iter().enumerate() {
            let (slot, value) = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (index, value),
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                    let is_name = |candidate: &&str| candidate.eq_ignore_ascii_case(&name.value);
                    (names.iter().position(is_name).ok_or_else(usage)?, value)
                }
                _ => return Err(usage()),
            };
            if given.get_mut(slot).ok_or_else(usage)?.replace(value).is_some() {
                return Err(usage());
            }
        }
        let optional = usize::from(kind != WindowKind::Session);
        let required = names.len() - optional;
        let (Some(Some(data)), Some(Some(time))) = (given.first(), given.get(1)) else { return Err(usage()) };
        if given[..required].iter().any(Option::is_none) {
            return Err(usage());
        }
        let (data, partition) = table(data).ok_or_else(usage)?;
        if kind != WindowKind::Session && !partition.is_empty() {
            return Err(Error::invalid(format!(
                "{} has no PARTITION BY: its windows are those of all rows",
                kind.name()
            ))
            .hint("leave it out, and group by the columns"));
        }
        let intervals = given[2..].iter().flatten().map(|interval| (*interval).clone()).collect();
        Ok(Arguments { data, partition, time: descriptor(time).ok_or_else(usage)?, intervals })
    }
}

/// The table that an argument names, and what it is partitioned by.
fn table(expr: &SqlExpr) -> Option<(Data, Vec<Ident>)> {
    let name = |expr: &SqlExpr| match expr {
        SqlExpr::Identifier(name) => Some(name.clone()),
        _ => None,
    };
    match expr {
        SqlExpr::Identifier(name) => Some((Data::Table(name.clone()), Vec::new())),
        SqlExpr::Tuple(parts) => {
            let mut names = parts.iter().map(name).collect::<Option<Vec<_>>>()?.into_iter();
            Some((Data::Table(names.next()?), names.collect()))
        }
        SqlExpr::Subquery(query) => Some((Data::Query(query.clone()), Vec::new())),
        SqlExpr::Nested(inner) => table(inner),
        _ => None,
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
