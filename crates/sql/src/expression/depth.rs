//! How deep expressions nest, and how deep they may: a worker computes them on its own stack.

use datafusion_common::Result;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::Expr;
use headpond_state::Error;

/// The most levels that an expression has.
const LEVELS_MAX: usize = 200;

/// From how many levels on an expression is computed before another is made of it.
pub(crate) const LEVELS_OF_A_STEP: usize = 100;

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
