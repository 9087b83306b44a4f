//! Long chains of AND, OR, `||` and UNION ALL as trees of few levels.
//!
//! A parser makes `a OR b OR c …` a tree that is as deep as the chain is long, and whatever walks it needs as much stack.
//! These operators may be taken together in any order, so a chain of thousands becomes a tree of a dozen levels, which
//! reads and means the same.

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, SetExpr, SetOperator, SetQuantifier, Value, Values, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Chains up to this length stay as they are.
const SHORT: usize = 16;

/// Makes the chains of a query shallow.
pub(super) fn balance(query: &mut Query) {
    let _ = query.visit(&mut Balance);
}

/// Makes the chains of an expression shallow.
pub(super) fn balance_expr(expr: &mut Expr) {
    let _ = expr.visit(&mut Balance);
}

struct Balance;

impl VisitorMut for Balance {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if is_union(&query.body) {
            let body = std::mem::replace(query.body.as_mut(), nothing());
            let parts = flat(body, |body| match body {
                SetExpr::SetOperation { op, set_quantifier, left, right } => {
                    match (op, set_quantifier) {
                        (SetOperator::Union, SetQuantifier::All) => Ok((*left, *right)),
                        _ => Err(SetExpr::SetOperation { op, set_quantifier, left, right }),
                    }
                }
                other => Err(other),
            });
            let union = |left, right| SetExpr::SetOperation {
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::All,
                left: Box::new(left),
                right: Box::new(right),
            };
            if let Some(tree) = joined(parts, &union) {
                *query.body = tree;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::BinaryOp { op, .. } = &*expr else { return ControlFlow::Continue(()) };
        if !matches!(op, BinaryOperator::And | BinaryOperator::Or | BinaryOperator::StringConcat) {
            return ControlFlow::Continue(());
        }
        let op = op.clone();
        let chain = std::mem::replace(expr, Expr::Value(Value::Null.with_empty_span()));
        let parts = flat(chain, |expr| match expr {
            Expr::BinaryOp { left, op: of, right } if of == op => Ok((*left, *right)),
            other => Err(other),
        });
        let pair = |left, right| Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) };
        if let Some(tree) = joined(parts, &pair) {
            *expr = tree;
        }
        ControlFlow::Continue(())
    }
}

/// What stands in a query's place while it is taken apart.
fn nothing() -> SetExpr {
    SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows: Vec::new() })
}

fn is_union(body: &SetExpr) -> bool {
    matches!(body, SetExpr::SetOperation { op: SetOperator::Union, set_quantifier: SetQuantifier::All, .. })
}

/// The parts of a chain, in their order, without recursion.
fn flat<T>(chain: T, split: impl Fn(T) -> Result<(T, T), T>) -> Vec<T> {
    let (mut parts, mut rest) = (Vec::new(), vec![chain]);
    while let Some(next) = rest.pop() {
        match split(next) {
            Ok((left, right)) => rest.extend([right, left]),
            Err(part) => parts.push(part),
        }
    }
    parts
}

/// The parts as a tree: a short chain as it was, a long one of few levels.
fn joined<T>(parts: Vec<T>, pair: &impl Fn(T, T) -> T) -> Option<T> {
    if parts.len() <= SHORT {
        return parts.into_iter().reduce(pair);
    }
    let mut level = parts;
    while level.len() > 1 {
        let mut next = Vec::with_capacity(level.len().div_ceil(2));
        let mut parts = level.into_iter();
        while let Some(left) = parts.next() {
            next.push(match parts.next() {
                Some(right) => pair(left, right),
                None => left,
            });
        }
        level = next;
    }
    level.pop()
}
