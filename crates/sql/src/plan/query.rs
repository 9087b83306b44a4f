//! From a query's text to an optimized logical plan.

use super::error::planning_error;
use super::rewrite::rewrite;
use super::session::Session;
use crate::position::{At, Position};
use crate::script::{SourceQuery, not_supported};
use datafusion_expr::LogicalPlan;
use datafusion_optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion_optimizer::optimize_projections::OptimizeProjections;
use datafusion_optimizer::push_down_filter::PushDownFilter;
use datafusion_optimizer::simplify_expressions::SimplifyExpressions;
use datafusion_optimizer::{Analyzer, Optimizer, OptimizerContext};
use datafusion_sql::planner::SqlToRel;
use datafusion_sql::sqlparser::ast::Statement;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use headpond_state::Result;
use std::sync::Arc;

/// Plans a query without optimizing it: the plan of a view. `by_position`: its columns are taken by position, whatever
/// their names.
pub(super) fn plan_query(query: &SourceQuery, session: &Session, by_position: bool) -> Result<LogicalPlan> {
    refuse_unsupported(&query.tokens)?;
    let mut ast = query.query.clone();
    rewrite(&mut ast, by_position);
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

/// Words that stand for something we do not support, its name, and what to do instead, where there is something.
/// All of the words are reserved in Flink, too, so none can be a name without quotes.
const UNSUPPORTED: [(&[&str], &str, Option<&str>); 20] = [
    (&["JOIN"], "JOIN", None),
    (&["OVER", "("], "OVER", None),
    (
        &["ORDER", "BY"],
        "ORDER BY",
        Some("leave it out: rows that keep coming have no last order; sort what was written"),
    ),
    (&["LIMIT"], "LIMIT", Some(TAKE_FEWER)),
    (&["FETCH"], "FETCH", Some(TAKE_FEWER)),
    (&["OFFSET"], "OFFSET", Some(TAKE_FEWER)),
    (&["UNION"], "UNION", Some("instead of UNION ALL, write an INSERT INTO of its own for each query")),
    (&["INTERSECT"], "INTERSECT", None),
    (&["EXCEPT"], "EXCEPT", None),
    (&["CUMULATE", "("], "CUMULATE", Some(OTHER_WINDOWS)),
    (&["MATCH_RECOGNIZE", "("], "MATCH_RECOGNIZE", None),
    (&["GROUPING", "SETS"], "GROUPING SETS", Some(ONE_GROUPING)),
    (&["ROLLUP", "("], "ROLLUP", Some(ONE_GROUPING)),
    (&["CUBE", "("], "CUBE", Some(ONE_GROUPING)),
    (&["LATERAL"], "LATERAL", None),
    (&["UNNEST", "("], "UNNEST", None),
    (&["QUALIFY"], "QUALIFY", None),
    (&["EXISTS", "("], "EXISTS", None),
    (&["TABLESAMPLE"], "TABLESAMPLE", None),
    (&["FOR", "SYSTEM_TIME"], "FOR SYSTEM_TIME AS OF", None),
];

const TAKE_FEWER: &str = "leave it out, and keep rows by a condition: WHERE …";
const OTHER_WINDOWS: &str = "TUMBLE, HOP and SESSION are: TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY))";
const ONE_GROUPING: &str = "write an INSERT INTO of its own for each grouping";
const SELECT_DISTINCT: &str = "group by the columns instead: SELECT a, b FROM t GROUP BY a, b";
const COUNT_DISTINCT: &str =
    "count the groups of a query: SELECT k, COUNT(x) FROM (SELECT k, x FROM t GROUP BY k, x) GROUP BY k";

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
        let refused =
            UNSUPPORTED.iter().find(|(expected, ..)| is(index, expected)).map(|(_, name, instead)| (*name, *instead));
        let preceded_by = |word: &str| index > 0 && words[index - 1].0 == word;
        let refused = match word.as_str() {
            // The argument of TUMBLE and HOP of that name.
            "OFFSET" if words.get(index + 1).is_some_and(|(next, _)| next == "=>") => None,
            "DISTINCT" if preceded_by("SELECT") => Some(("SELECT DISTINCT", Some(SELECT_DISTINCT))),
            "DISTINCT" if preceded_by("(") => Some(("an aggregate of DISTINCT values", Some(COUNT_DISTINCT))),
            "SELECT" if preceded_by("(") && index > 1 && words[index - 2].0 == "IN" => Some(("IN (SELECT …)", None)),
            _ => refused,
        };
        if let Some((name, instead)) = refused {
            return Err(not_supported(name, instead).at(*position));
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
