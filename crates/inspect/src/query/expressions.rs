//! From a logical expression to a physical one.

use datafusion_common::{DFSchema, Result};
use datafusion_expr::Expr;
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};
use std::sync::Arc;

/// Makes expressions that can be computed.
#[derive(Default)]
pub(super) struct Expressions {
    pub(super) properties: ExecutionProps,
    pub(super) context: PhysicalPlanningContext,
}

impl Expressions {
    /// An expression over the columns of a plan.
    pub(super) fn expr(&self, expr: &Expr, schema: &DFSchema) -> Result<Arc<dyn PhysicalExpr>> {
        create_physical_expr(expr, schema, &self.properties, &self.context)
    }

    pub(super) fn exprs(&self, exprs: &[Expr], schema: &DFSchema) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
        exprs.iter().map(|expr| self.expr(expr, schema)).collect()
    }
}
