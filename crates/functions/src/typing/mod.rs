//! Types as Flink derives them: every expression of a plan gets the types, and the casts, that it has there.
//!
//! [`Typing`] takes the place of DataFusion's type coercion. A plan comes from the planner with literals as DataFusion
//! reads them and [functions without types](crate::unbound); it leaves with each argument cast to what its function
//! takes, so that nothing after it derives a type of its own.

mod aggregates;
mod choices;
mod comparisons;
mod equality;
mod literals;
mod plans;
mod reduced;
mod typer;

use crate::settings::Settings;
use arrow_schema::DataType;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{DFSchema, Result};
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_optimizer::AnalyzerRule;
use equality::Equality;
use std::sync::Arc;
use typer::Typer;

/// The rule that types a plan.
#[derive(Debug)]
pub struct Typing {
    settings: Arc<Settings>,
}

impl Typing {
    /// The rule for a session.
    pub fn new(settings: Arc<Settings>) -> Self {
        Typing { settings }
    }

    /// Types an expression over the columns of `schema`.
    ///
    /// # Errors
    /// An error of ours, wrapped, for what has no type.
    pub fn expression(&self, expr: Expr, schema: &DFSchema) -> Result<Expr> {
        Typer { settings: &self.settings, schema, equality: Equality::OfValues }.typed(expr)
    }

    /// The expression as a value of type `wanted`, converted as a column of a table is filled.
    ///
    /// # Errors
    /// An error of ours, wrapped, when there is no such conversion.
    pub fn converted(&self, expr: Expr, schema: &DFSchema, wanted: &DataType) -> Result<Expr> {
        let typer = Typer { settings: &self.settings, schema, equality: Equality::OfValues };
        let expr = typer.implicit(expr, wanted)?;
        // An instant is the same in every zone: only its type's name differs.
        Ok(if typer.type_of(&expr)? == *wanted { expr } else { datafusion_expr::cast(expr, wanted.clone()) })
    }
}

impl AnalyzerRule for Typing {
    fn name(&self) -> &str {
        "types"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| plans::typed(plan, &self.settings).map(Transformed::yes)).data()
    }
}
