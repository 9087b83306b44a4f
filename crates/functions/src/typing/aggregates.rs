//! Calls of aggregate functions.

use super::typer::{Typer, external};
use crate::aggregates::check;
use datafusion_common::Result;
use datafusion_expr::Expr;
use datafusion_expr::expr::AggregateFunction;

impl Typer<'_> {
    /// The call, if its arguments are what it takes.
    pub(super) fn aggregate(&self, mut call: AggregateFunction) -> Result<Expr> {
        for argument in &call.params.args {
            check(&call.func, &self.type_of(argument)?).map_err(external)?;
        }
        if let Some(filter) = call.params.filter.take() {
            call.params.filter = Some(Box::new(self.condition(*filter, "FILTER (WHERE …)")?));
        }
        Ok(Expr::AggregateFunction(call))
    }
}
