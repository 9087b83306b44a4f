//! From a query's text to an optimized logical plan.

use super::error::planning_error;
use super::rewrite::rewrite;
use super::session::Session;
use crate::position::{At, Position};
use crate::script::{SourceQuery, not_supported};
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion_optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion_optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion_optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion_optimizer::optimize_projections::OptimizeProjections;
use datafusion_optimizer::push_down_filter::PushDownFilter;
use datafusion_optimizer::replace_distinct_aggregate::ReplaceDistinctWithAggregate;
use datafusion_optimizer::simplify_expressions::SimplifyExpressions;
use datafusion_optimizer::{Analyzer, Optimizer, OptimizerContext};
use datafusion_sql::planner::SqlToRel;
use datafusion_sql::sqlparser::ast::Statement;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use headpond_state::{Error, Result};
use std::sync::Arc;

/// Plans a query without optimizing it: the plan of a view. `by_position`: its columns are taken by position, whatever
/// their names.
pub(super) fn plan_query(query: &SourceQuery, session: &Session, by_position: bool) -> Result<LogicalPlan> {
    refuse_unsupported(&query.tokens)?;
    let mut ast = query.query.clone();
    rewrite(&mut ast, by_position).at(query.position)?;
    let planner = SqlToRel::new_with_options(session, Session::parser_options());
    let plan = planner.sql_statement_to_plan(Statement::Query(ast)).map_err(planning_error).at(query.position)?;
    check_steps(&plan).at(query.position)?;
    Ok(plan)
}

/// Types, simplifies and prunes a plan.
pub(super) fn optimize(plan: LogicalPlan, session: &Session) -> Result<LogicalPlan> {
    let options = session.config_options();
    let analyzer = Analyzer::with_rules(vec![Arc::new(session.typing())]);
    let plan = analyzer.execute_and_check(plan, options, |_, _| {}).map_err(planning_error)?;
    let optimizer = Optimizer::with_rules(vec![
        Arc::new(ReplaceDistinctWithAggregate::new()),
        Arc::new(SimplifyExpressions::new()),
        Arc::new(DecorrelatePredicateSubquery::new()),
        Arc::new(ExtractEquijoinPredicate::new()),
        Arc::new(EliminateCrossJoin::new()),
        Arc::new(EliminateOuterJoin::new()),
        Arc::new(PushDownFilter::new()),
        Arc::new(OptimizeProjections::new()),
    ]);
    // Without a start time `now()` is not folded: a streaming query reads the clock as it runs.
    let context = OptimizerContext::new_with_config_options(Arc::clone(options)).without_query_execution_start_time();
    let plan = optimizer.optimize(plan, &context, |_, _| {}).map_err(planning_error)?;
    refuse_subqueries(&plan)?;
    Ok(plan)
}

/// The names of the tables that a plan reads.
pub(super) fn tables_of(plan: &LogicalPlan) -> Result<Vec<String>> {
    let mut names = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            names.push(scan.table_name.table().to_owned());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map_err(planning_error)?;
    Ok(names)
}

/// How many steps a query has at most, those of its views among them.
const STEPS_MAX: usize = 20_000;

/// Refuses a query of too many steps: views that read each other twice double them.
fn check_steps(plan: &LogicalPlan) -> Result<()> {
    let mut steps = 0;
    plan.apply_with_subqueries(|_| {
        steps += 1;
        Ok(if steps > STEPS_MAX { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })
    .map_err(planning_error)?;
    if steps <= STEPS_MAX {
        return Ok(());
    }
    let error = Error::unsupported(format!("a query of more than {STEPS_MAX} steps is not supported"));
    Err(error.hint("views that read a view more than once double its steps: write what they give into a table"))
}

/// Refuses the subqueries that have not become joins.
fn refuse_subqueries(plan: &LogicalPlan) -> Result<()> {
    let mut found = None;
    let of_expr = |expr: &Expr| match expr {
        Expr::ScalarSubquery(_) => Some("a query in place of a value"),
        Expr::Exists(_) => Some("EXISTS here"),
        Expr::InSubquery(_) => Some("IN (SELECT …) here"),
        _ => None,
    };
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                found = found.or_else(|| of_expr(expr));
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map_err(planning_error)?;
    match found {
        None => Ok(()),
        Some(what) => Err(not_supported(what, Some("join the tables: FROM a JOIN b ON a.k = b.k"))),
    }
}

/// Words that stand for something we do not support, its name, and what to do instead, where there is something.
/// All of the words are reserved in Flink, too, so none can be a name without quotes.
const UNSUPPORTED: [(&[&str], &str, Option<&str>); 14] = [
    (&["LIMIT"], "LIMIT", Some(TAKE_FEWER)),
    (&["FETCH"], "FETCH", Some(TAKE_FEWER)),
    (&["OFFSET"], "OFFSET", Some(TAKE_FEWER)),
    (&["INTERSECT", "ALL"], "INTERSECT ALL", Some(WITHOUT_ALL)),
    (&["EXCEPT", "ALL"], "EXCEPT ALL", Some(WITHOUT_ALL)),
    (&["CUMULATE", "("], "CUMULATE", Some(OTHER_WINDOWS)),
    (&["MATCH_RECOGNIZE", "("], "MATCH_RECOGNIZE", None),
    (&["GROUPING", "SETS"], "GROUPING SETS", Some(ONE_GROUPING)),
    (&["ROLLUP", "("], "ROLLUP", Some(ONE_GROUPING)),
    (&["CUBE", "("], "CUBE", Some(ONE_GROUPING)),
    (&["LATERAL"], "LATERAL", None),
    (&["UNNEST", "("], "UNNEST", None),
    (&["QUALIFY"], "QUALIFY", None),
    (&["TABLESAMPLE"], "TABLESAMPLE", None),
];

const SORT_LATER: &str = "leave it out: rows that keep coming have no last order; sort what was written";
const NUMBERED: &str = "ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) is supported where WHERE limits the number";
const TAKE_FEWER: &str = "leave it out, and keep rows by a condition: WHERE …";
const OTHER_WINDOWS: &str = "TUMBLE, HOP and SESSION are: TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY))";
const WITHOUT_ALL: &str = "leave ALL out: each row is then given once";
const ONE_GROUPING: &str = "write an INSERT INTO of its own for each grouping";

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
        let refused = UNSUPPORTED.iter().find(|(expected, ..)| is(index, expected));
        let refused = refused.map(|(_, name, instead)| ((*name).to_owned(), *instead));
        let refused = match word.as_str() {
            // The argument of TUMBLE and HOP of that name.
            "OFFSET" if words.get(index + 1).is_some_and(|(next, _)| next == "=>") => None,
            "OVER" if words.get(index + 1).is_some_and(|(next, _)| next == "(") => over(&words, index),
            "ORDER" if words.get(index + 1).is_some_and(|(next, _)| next == "BY") && !is_in_over(&words, index) => {
                Some(("ORDER BY".to_owned(), Some(SORT_LATER)))
            }
            _ => refused,
        };
        if let Some((name, instead)) = refused {
            return Err(not_supported(&name, instead).at(*position));
        }
    }
    Ok(())
}

/// Why the `OVER` at `index` is refused: `None` for `ROW_NUMBER() OVER`.
fn over(words: &[(String, Position)], index: usize) -> Option<(String, Option<&'static str>)> {
    let begin = opening(words, index)?;
    let function = &words.get(begin.checked_sub(1)?)?.0;
    (function != "ROW_NUMBER").then(|| (format!("{function} OVER"), Some(NUMBERED)))
}

/// Whether the word at `index` is within the parentheses of an `OVER`.
fn is_in_over(words: &[(String, Position)], index: usize) -> bool {
    opening(words, index + 1).and_then(|begin| begin.checked_sub(1)).is_some_and(|before| words[before].0 == "OVER")
}

/// The parenthesis that encloses what comes before `index`, or opens what was closed right before it.
fn opening(words: &[(String, Position)], index: usize) -> Option<usize> {
    let closed = index.checked_sub(1).is_some_and(|before| words[before].0 == ")");
    let mut depth = if closed { 0 } else { 1 };
    for at in (0..index).rev() {
        match words[at].0.as_str() {
            ")" => depth += 1,
            "(" if depth == 1 => return Some(at),
            "(" => depth -= 1,
            _ => {}
        }
    }
    None
}

fn spelling(token: &Token) -> String {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
        // Quoted words are never keywords.
        Token::Word(_) => String::new(),
        other => other.to_string(),
    }
}
