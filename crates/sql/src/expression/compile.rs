//! From DataFusion's logical expressions to physical ones.

use super::depth::{balanced, check_levels};
use crate::plan::{Session, planning_error};
use arrow_schema::{DataType, SchemaRef};
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_common::{DFSchema, DFSchemaRef};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::{Expr, ExprSchemable};
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};
use headpond_functions::Typing;
use headpond_state::Result;
use std::sync::Arc;

/// Compiles expressions over the columns of one schema.
#[derive(Debug)]
pub(crate) struct Compiler {
    schema: DFSchemaRef,
    typing: Typing,
    properties: ExecutionProps,
}

impl Compiler {
    /// A compiler for rows of `schema`, whose columns have names of their own.
    pub(crate) fn new(schema: &SchemaRef, session: &Session) -> Result<Self> {
        let mut properties = ExecutionProps::new();
        properties.mark_start_execution(Arc::clone(session.config_options()));
        let schema = DFSchema::try_from(Arc::clone(schema)).map_err(planning_error)?;
        Ok(Compiler { schema: Arc::new(schema), typing: session.typing(), properties })
    }

    /// The expression, ready to run.
    pub(crate) fn compile(&self, expr: &Expr) -> Result<Arc<dyn PhysicalExpr>> {
        let expr = balanced(expr.clone()).map_err(planning_error)?;
        check_levels(&expr)?;
        create_physical_expr(&expr, &self.schema, &self.properties, &PhysicalPlanningContext::default())
            .map_err(planning_error)
    }

    /// The expression as a value of type `data_type`.
    pub(crate) fn cast(&self, expr: Expr, data_type: &DataType) -> Result<Expr> {
        let actual = expr.get_type(&self.schema).map_err(planning_error)?;
        if actual == *data_type {
            return Ok(expr);
        }
        self.typing.converted(expr, &self.schema, data_type).map_err(planning_error)
    }

    /// Whether an expression may be NULL.
    pub(crate) fn is_nullable(&self, expr: &Expr) -> Result<bool> {
        expr.nullable(self.schema.as_ref()).map_err(planning_error)
    }

    /// The type of an expression.
    pub(crate) fn data_type(&self, expr: &Expr) -> Result<DataType> {
        expr.get_type(&self.schema).map_err(planning_error)
    }
}

/// The expression with every column replaced by what `column` gives for it.
pub(crate) fn substitute(expr: Expr, column: &dyn Fn(&datafusion_common::Column) -> Option<Expr>) -> Result<Expr> {
    expr.transform_up(|expr| {
        Ok(match &expr {
            Expr::Column(reference) => match column(reference) {
                Some(replacement) => Transformed::yes(replacement),
                None => Transformed::no(expr),
            },
            Expr::Alias(_) => match expr {
                Expr::Alias(alias) => Transformed::yes(*alias.expr),
                other => Transformed::no(other),
            },
            _ => Transformed::no(expr),
        })
    })
    .data()
    .map_err(planning_error)
}
