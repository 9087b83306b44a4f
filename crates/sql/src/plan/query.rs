//! From a query's text to an optimized logical plan.

use super::error::planning_error;
use super::session::Session;
use crate::position::{At, Position};
use crate::script::SourceQuery;
use datafusion_expr::LogicalPlan;
use datafusion_optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion_optimizer::optimize_projections::OptimizeProjections;
use datafusion_optimizer::push_down_filter::PushDownFilter;
use datafusion_optimizer::simplify_expressions::SimplifyExpressions;
use datafusion_optimizer::{Analyzer, Optimizer, OptimizerContext};
use datafusion_sql::planner::SqlToRel;
use datafusion_sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, ObjectName, Query, SelectItem,
    SetExpr, Statement, VisitMut, VisitorMut,
};
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use headpond_state::{Error, Result};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Plans a query without optimizing it: the plan of a view.
pub(super) fn plan_query(query: &SourceQuery, session: &Session) -> Result<LogicalPlan> {
    refuse_unsupported(&query.tokens)?;
    let mut ast = query.query.clone();
    let _ = ast.visit(&mut GroupByTumble);
    let _ = ast.visit(&mut DistinctNames);
    let planner = SqlToRel::new_with_options(session, Session::parser_options());
    planner.sql_statement_to_plan(Statement::Query(ast)).map_err(planning_error).at(query.position)
}

/// Types, simplifies and prunes a plan.
pub(super) fn optimize(plan: LogicalPlan, session: &Session) -> Result<LogicalPlan> {
    let options = session.config_options();
    let analyzer = Analyzer::with_rules(vec![Arc::new(TypeCoercion::new())]);
    let plan = analyzer.execute_and_check(plan, options, |_, _| {}).map_err(planning_error)?;
    let optimizer = Optimizer::with_rules(vec![
        Arc::new(SimplifyExpressions::new()),
        Arc::new(PushDownFilter::new()),
        Arc::new(OptimizeProjections::new()),
    ]);
    // Without a start time `now()` is not folded: a streaming query reads the clock as it runs.
    let context = OptimizerContext::new_with_config_options(Arc::clone(options)).without_query_execution_start_time();
    optimizer.optimize(plan, &context, |_, _| {}).map_err(planning_error)
}

/// Words that stand for something we do not support. All of them are reserved in Flink, too, so none can be a name without quotes.
const UNSUPPORTED: [(&[&str], &str); 22] = [
    (&["JOIN"], "JOIN"),
    (&["OVER", "("], "OVER"),
    (&["ORDER", "BY"], "ORDER BY"),
    (&["LIMIT"], "LIMIT"),
    (&["FETCH"], "FETCH"),
    (&["OFFSET"], "OFFSET"),
    (&["UNION"], "UNION"),
    (&["INTERSECT"], "INTERSECT"),
    (&["EXCEPT"], "EXCEPT"),
    (&["HOP", "("], "HOP"),
    (&["CUMULATE", "("], "CUMULATE"),
    (&["SESSION", "("], "SESSION"),
    (&["MATCH_RECOGNIZE", "("], "MATCH_RECOGNIZE"),
    (&["GROUPING", "SETS"], "GROUPING SETS"),
    (&["ROLLUP", "("], "ROLLUP"),
    (&["CUBE", "("], "CUBE"),
    (&["LATERAL"], "LATERAL"),
    (&["UNNEST", "("], "UNNEST"),
    (&["QUALIFY"], "QUALIFY"),
    (&["EXISTS", "("], "EXISTS"),
    (&["TABLESAMPLE"], "TABLESAMPLE"),
    (&["FOR", "SYSTEM_TIME"], "FOR SYSTEM_TIME AS OF"),
];

fn refuse_unsupported(tokens: &[TokenWithSpan]) -> Result<()> {
    let words: Vec<(String, Position)> = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .map(|token| (spelling(&token.token), token.span.start.into()))
        .collect();
    let is = |index: usize, expected: &[&str]| {
        expected
            .iter()
            .enumerate()
            .all(|(ahead, word)| words.get(index + ahead).is_some_and(|(found, _)| found == word))
    };
    for (index, (word, position)) in words.iter().enumerate() {
        let refused = UNSUPPORTED.iter().find(|(expected, _)| is(index, expected)).map(|(_, name)| *name);
        let preceded_by = |word: &str| index > 0 && words[index - 1].0 == word;
        let refused = match word.as_str() {
            // The argument of TUMBLE of that name.
            "OFFSET" if words.get(index + 1).is_some_and(|(next, _)| next == "=>") => None,
            "DISTINCT" if preceded_by("SELECT") => Some("SELECT DISTINCT"),
            "DISTINCT" if preceded_by("(") => Some("an aggregate of DISTINCT values"),
            "SELECT" if preceded_by("(") && index > 1 && words[index - 2].0 == "IN" => Some("IN (SELECT …)"),
            _ => refused,
        };
        if let Some(name) = refused {
            return Err(Error::unsupported(format!("{name} is not supported")).at(*position));
        }
    }
    Ok(())
}

fn spelling(token: &Token) -> String {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
        // Quoted words are never keywords.
        Token::Word(_) => String::new(),
        other => other.to_string(),
    }
}

/// Turns the older `GROUP BY TUMBLE(ts, size)` into a grouping by everything that tells the window, so that the query may
/// select `TUMBLE_START(ts, size)` and its sisters.
struct GroupByTumble;

impl VisitorMut for GroupByTumble {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let SetExpr::Select(select) = query.body.as_mut() else { return ControlFlow::Continue(()) };
        let GroupByExpr::Expressions(groups, _) = &mut select.group_by else { return ControlFlow::Continue(()) };
        let Some(index) = groups.iter().position(|group| tumble(group).is_some()) else {
            return ControlFlow::Continue(());
        };
        let parts = ["tumble_start", "tumble_end", "tumble_rowtime"];
        if let Some(call) = tumble(&groups[index]).cloned() {
            groups.splice(index..=index, parts.map(|part| renamed(&call, part)));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        // DataFusion compares calls by their text, so all of them are spelt alike.
        if let Expr::Function(function) = expr
            && let Some(part) = ["tumble_start", "tumble_end", "tumble_rowtime"]
                .into_iter()
                .find(|part| function.name.to_string().eq_ignore_ascii_case(part))
        {
            *expr = renamed(function, part);
        }
        ControlFlow::Continue(())
    }
}

fn tumble(expr: &Expr) -> Option<&Function> {
    match expr {
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("TUMBLE") => match &function.args {
            FunctionArguments::List(list) => {
                let is_expr =
                    |argument: &FunctionArg| matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Expr(_)));
                list.args.iter().all(is_expr).then_some(function)
            }
            _ => None,
        },
        _ => None,
    }
}

fn renamed(call: &Function, name: &str) -> Expr {
    let mut call = call.clone();
    call.name = ObjectName::from(vec![Ident::new(name)]);
    Expr::Function(call)
}

/// Gives columns of a `SELECT` that would have one name two: DataFusion wants each to have its own.
struct DistinctNames;

impl VisitorMut for DistinctNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let SetExpr::Select(select) = query.body.as_mut() else { return ControlFlow::Continue(()) };
        let mut names = Vec::new();
        for item in &mut select.projection {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            let name = column_name(expr);
            let count = names.iter().filter(|other| **other == name).count();
            if count > 0 {
                let alias = Ident::with_quote('`', format!("{name}_{count}"));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
            names.push(name);
        }
        ControlFlow::Continue(())
    }
}

/// The name that DataFusion gives a column without one: casts do not change it.
fn column_name(expr: &Expr) -> String {
    match expr {
        Expr::Cast { expr, .. } => column_name(expr),
        Expr::Nested(expr) => column_name(expr),
        Expr::CompoundIdentifier(parts) => parts.last().map_or_else(String::new, |part| part.value.clone()),
        other => other.to_string(),
    }
}
