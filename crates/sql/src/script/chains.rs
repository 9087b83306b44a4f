//! Long chains of AND, OR, `||` and UNION ALL as trees of few levels.
//!
//! A parser makes `a OR b OR c …` a tree that is as deep as the chain is long, and whatever walks it needs as much
//! stack. These operators may be taken together in any order, so a chain of thousands becomes a tree of a dozen levels,
//! which reads and means the same.

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, SetExpr, SetOperator, SetQuantifier, Value, Values, VisitMut, VisitorMut,
};
use headpond_state::{Error, Result};
use std::ops::ControlFlow;

/// Chains up to this length stay as they are.
const SHORT: usize = 16;

/// How many levels an expression nests at most, after that; parentheses are none. A worker computes it on its stack.
const LEVELS_MAX: usize = 250;

/// Makes the chains of a query shallow.
///
/// # Errors
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for an expression that nests too many levels.
pub(super) fn balance(query: &mut Query) -> Result<()> {
    let mut balance = Balance::default();
    let _ = query.visit(&mut balance);
    balance.check()
}

/// Makes the chains of an expression shallow.
///
/// # Errors
/// As [`balance`].
pub(super) fn balance_expr(expr: &mut Expr) -> Result<()> {
    let mut balance = Balance::default();
    let _ = expr.visit(&mut balance);
    balance.check()
}

#[derive(Default)]
struct Balance {
    level: usize,
    deepest: usize,
}

impl Balance {
    fn check(&self) -> Result<()> {
        match self.deepest {
            few if few <= LEVELS_MAX => Ok(()),
            many => Err(Error::unsupported(format!(
                "an expression that nests {many} levels is not supported; {LEVELS_MAX} are"
            ))
            .hint("compute parts of it in a subquery or a view: FROM (SELECT …)")),
        }
    }
}

impl VisitorMut for Balance {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if is_union(&query.body) {
            let body = std::mem::replace(query.body.as_mut(), nothing());
            let parts = flat(body, |body| match body {
                SetExpr::SetOperation { op, set_quantifier, left, right } => match (op, set_quantifier) {
                    (SetOperator::Union, SetQuantifier::All) => Link::Pair(left, right),
                    _ => Link::Part(Box::new(SetExpr::SetOperation { op, set_quantifier, left, right })),
                },
                other => Link::Part(Box::new(other)),
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

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.level -= usize::from(is_level(expr));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.level += usize::from(is_level(expr));
        self.deepest = self.deepest.max(self.level);
        let Expr::BinaryOp { op, .. } = &*expr else { return ControlFlow::Continue(()) };
        if !matches!(op, BinaryOperator::And | BinaryOperator::Or | BinaryOperator::StringConcat) {
            return ControlFlow::Continue(());
        }
        let op = op.clone();
        let chain = std::mem::replace(expr, Expr::Value(Value::Null.with_empty_span()));
        let parts = flat(chain, |expr| match expr {
            Expr::BinaryOp { left, op: of, right } if of == op => Link::Pair(left, right),
            other => Link::Part(Box::new(other)),
        });
        let pair = |left, right| Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) };
        if let Some(tree) = joined(parts, &pair) {
            *expr = tree;
        }
        ControlFlow::Continue(())
    }
}

fn is_level(expr: &Expr) -> bool {
    !matches!(expr, Expr::Nested(_))
}

/// What stands in a query's place while it is taken apart.
fn nothing() -> SetExpr {
    SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows: Vec::new() })
}

fn is_union(body: &SetExpr) -> bool {
    matches!(body, SetExpr::SetOperation { op: SetOperator::Union, set_quantifier: SetQuantifier::All, .. })
}

/// The parts of a chain, in their order, without recursion.
fn flat<T>(chain: T, split: impl Fn(T) -> Link<T>) -> Vec<T> {
    let (mut parts, mut rest) = (Vec::new(), vec![chain]);
    while let Some(next) = rest.pop() {
        match split(next) {
            Link::Pair(left, right) => rest.extend([*right, *left]),
            Link::Part(part) => parts.push(*part),
        }
    }
    parts
}

/// What a tree is to a chain.
enum Link<T> {
    /// Two of its sides.
    Pair(Box<T>, Box<T>),
    /// What is in it.
    Part(Box<T>),
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
