//! How deep expressions nest, and how deep they may: a worker computes them on its own stack.

use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{BinaryExpr, Expr, Operator};
use headpond_state::Error;

/// The most levels that an expression has.
const LEVELS_MAX: usize = 250;

/// From how many levels on an expression is computed before another is made of it.
pub(crate) const LEVELS_OF_A_STEP: usize = 100;

/// The expression with its chains of AND and OR, which the optimizer puts together anew, as trees of few levels.
pub(crate) fn balanced(expr: Expr) -> Result<Expr> {
    expr.transform_down(|expr| {
        let Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) = &expr else {
            return Ok(Transformed::no(expr));
        };
        let op = *op;
        let (mut level, mut rest) = (Vec::new(), vec![expr]);
        while let Some(next) = rest.pop() {
            match next {
                Expr::BinaryExpr(BinaryExpr { left, op: of, right }) if of == op => rest.extend([*right, *left]),
                part => level.push(part),
            }
        }
        let pair = |left, right| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
        while level.len() > 1 {
            let mut parts = std::mem::take(&mut level).into_iter();
            while let Some(left) = parts.next() {
                level.push(match parts.next() {
                    Some(right) => pair(left, right),
                    None => left,
                });
            }
        }
        let balanced = level.pop().ok_or_else(|| DataFusionError::Internal("a chain has no parts".to_owned()))?;
        Ok(Transformed::yes(balanced))
    })
    .data()
}

/// How many levels an expression has.
pub(crate) fn levels(expr: &Expr) -> usize {
    fn below(expr: &Expr) -> Result<usize> {
        let mut deepest = 0;
        expr.apply_children(|child| {
            deepest = deepest.max(below(child)?);
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(deepest + 1)
    }
    below(expr).unwrap_or(usize::MAX)
}

/// Fails for an expression of too many levels.
///
/// # Errors
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported).
pub(crate) fn check_levels(expr: &Expr) -> Result<(), Error> {
    match levels(expr) {
        few if few <= LEVELS_MAX => Ok(()),
        many => Err(Error::unsupported(format!(
            "an expression that nests {many} levels is not supported; {LEVELS_MAX} are"
        ))
        .hint("compute parts of it in a subquery or a view: FROM (SELECT …)")),
    }
}
