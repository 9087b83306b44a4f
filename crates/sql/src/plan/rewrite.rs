//! What is rewritten in a query before DataFusion plans it.

use super::field_names::FieldNames;
use super::sql_forms::SqlForms;
use crate::expression::{WindowKind, WindowPart};
use datafusion_sql::sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, ObjectName, Query,
    Select, SelectItem, SetExpr, Value, VisitMut, VisitorMut, WildcardAdditionalOptions,
};
use headpond_state::Result;
use std::ops::ControlFlow;

/// Rewrites a query. `by_position`: its columns are taken by position, so that two of them may have one name.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for a form of SQL that is wrong.
pub(super) fn rewrite(query: &mut Query, by_position: bool) -> Result<()> {
    let _ = query.visit(&mut GroupByWindow);
    let _ = query.visit(&mut FieldsOfElements);
    let _ = query.visit(&mut FieldNames);
    let _ = query.visit(&mut DistinctNames { by_position });
    match query.visit(&mut SqlForms) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Turns the older `GROUP BY TUMBLE(ts, size)`, `HOP(…)` or `SESSION(…)` into a grouping by everything that tells the
/// window, so that the query may select `TUMBLE_START(ts, size)` and its sisters.
struct GroupByWindow;

impl VisitorMut for GroupByWindow {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let SetExpr::Select(select) = query.body.as_mut() else { return ControlFlow::Continue(()) };
        let GroupByExpr::Expressions(groups, _) = &mut select.group_by else { return ControlFlow::Continue(()) };
        let mut grouped = Vec::with_capacity(groups.len());
        for group in groups.drain(..) {
            match window(&group) {
                Some((kind, call)) => {
                    grouped.extend(WindowPart::ALL.map(|part| renamed(call, kind.function(part))));
                }
                None => grouped.push(group),
            }
        }
        *groups = grouped;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let name = function.name.to_string();
        // DataFusion compares calls by their text, so all of them are spelt alike.
        if let Some((kind, part)) = WindowKind::of_function(&name) {
            *expr = renamed(function, kind.function(part));
        } else if is_processing_time_of_window(&name) {
            let mut now = function.clone();
            if let FunctionArguments::List(list) = &mut now.args {
                list.args.clear();
            }
            *expr = renamed(&now, "proctime");
        }
        ControlFlow::Continue(())
    }
}

/// Whether a function is `TUMBLE_PROCTIME` or one of its sisters: processing time, whichever the window.
fn is_processing_time_of_window(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.strip_suffix("_PROCTIME").is_some_and(|kind| WindowKind::named(kind).is_some())
}

fn window(expr: &Expr) -> Option<(WindowKind, &Function)> {
    let Expr::Function(function) = expr else { return None };
    let kind = WindowKind::named(&function.name.to_string())?;
    let FunctionArguments::List(list) = &function.args else { return None };
    let is_expr = |argument: &FunctionArg| matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Expr(_)));
    list.args.iter().all(is_expr).then_some((kind, function))
}

fn renamed(call: &Function, name: &str) -> Expr {
    let mut call = call.clone();
    call.name = ObjectName::from(vec![Ident::new(name)]);
    Expr::Function(call)
}

/// Turns `l[1].x` into `l[1]['x']`, the form that DataFusion plans.
struct FieldsOfElements;

impl VisitorMut for FieldsOfElements {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::CompoundFieldAccess { access_chain, .. } = expr else { return ControlFlow::Continue(()) };
        // Names before the first element are the column's.
        let elements = access_chain.iter().position(|access| matches!(access, AccessExpr::Subscript(_)));
        for access in access_chain.iter_mut().skip(elements.unwrap_or(usize::MAX)) {
            if let AccessExpr::Dot(field @ Expr::Identifier(_)) = access
                && let Expr::Identifier(name) = &*field
            {
                *field = Expr::Value(Value::SingleQuotedString(name.value.clone()).with_empty_span());
            }
        }
        ControlFlow::Continue(())
    }
}

/// Gives every column of a `SELECT` a name of its own, as DataFusion wants it: a column that is an expression is named
/// by its text, and a name that stands there already gets a number.
struct DistinctNames {
    /// Whether nobody asks for the columns of the next query by name.
    by_position: bool,
}

impl VisitorMut for DistinctNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        match query.body.as_mut() {
            SetExpr::Select(select) => {
                let by_position = std::mem::take(&mut self.by_position);
                name_columns(select, by_position);
            }
            // What stands in parentheses is visited next.
            SetExpr::Query(_) => {}
            _ => self.by_position = false,
        }
        ControlFlow::Continue(())
    }
}

fn name_columns(select: &mut Select, by_position: bool) {
    let mut names = Vec::new();
    let mut stars = Stars::default();
    for item in &mut select.projection {
        let (name, is_taken) = match &*item {
            SelectItem::Wildcard(options) => {
                stars.of_all |= is_everything(options);
                continue;
            }
            SelectItem::QualifiedWildcard(of, options) => {
                stars.of_tables.extend(is_everything(options).then(|| of.to_string()));
                continue;
            }
            SelectItem::ExprWithAlias { alias, .. } => {
                let is_taken = by_position && names.contains(&alias.value);
                (alias.value.clone(), is_taken)
            }
            SelectItem::UnnamedExpr(expr) => match plain_column(expr) {
                Some(name) => (name.to_owned(), stars.give(expr) || names.iter().any(|other| other == name)),
                None => (expr.to_string(), true),
            },
            SelectItem::ExprWithAliases { .. } => continue,
        };
        if !is_taken {
            names.push(name);
            continue;
        }
        let given = matches!(&*item, SelectItem::UnnamedExpr(expr) if plain_column(expr).is_some() && stars.give(expr));
        let name = unique(name, &names, given);
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = &*item {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('`', name.clone()) };
        }
        names.push(name);
    }
}

/// The stars before a column.
#[derive(Default)]
struct Stars {
    /// Whether there is a `*` alone.
    of_all: bool,
    /// Those with the name of a table, as `t.*`.
    of_tables: Vec<String>,
}

impl Stars {
    /// Whether a column is among what they give, or may be.
    fn give(&self, column: &Expr) -> bool {
        match column {
            _ if self.of_all => true,
            // A column of another table has its own qualifier and is told apart.
            Expr::CompoundIdentifier(parts) => {
                parts.first().is_some_and(|table| self.of_tables.iter().any(|of| *of == format!("{table}.*")))
            }
            Expr::Nested(expr) => self.give(expr),
            _ => !self.of_tables.is_empty(),
        }
    }
}

/// Whether a `*` gives all columns.
fn is_everything(options: &WildcardAdditionalOptions) -> bool {
    options.opt_exclude.is_none() && options.opt_except.is_none()
}

/// The name of a column that is not computed.
fn plain_column(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) => Some(&name.value),
        Expr::CompoundIdentifier(parts) => parts.last().map(|part| part.value.as_str()),
        Expr::Nested(expr) => plain_column(expr),
        _ => None,
    }
}

/// The name with a number, unless none of `names` is like it. No column is named so by chance.
fn unique(name: String, names: &[String], is_taken: bool) -> String {
    if !is_taken && !names.contains(&name) {
        return name;
    }
    let numbered = (2..).map(|number| format!("{name} ({number})")).find(|name| !names.contains(name));
    numbered.unwrap_or(name)
}
