//! A table's rows with the hopping windows or the session of each: a node of our own in DataFusion's plans.
//!
//! A row of hopping windows is as many rows as it has windows, and a session is known only when it is over, so their
//! columns are not what a projection could compute, and must not vanish where nobody asks for them.

use crate::expression::WindowPart;
use datafusion_common::{DFSchema, DFSchemaRef, DataFusionError, Result};
use datafusion_expr::utils::exprlist_to_fields;
use datafusion_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// The rows of an input with the columns of their windows behind their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct WindowTable {
    pub(super) input: LogicalPlan,
    /// The calls that tell the windows' parts, with the columns' names.
    pub(super) windows: Vec<Expr>,
    schema: DFSchemaRef,
}

impl WindowTable {
    /// The plan that adds the windows to the rows of `input`.
    pub(super) fn plan(input: LogicalPlan, windows: Vec<Expr>) -> Result<LogicalPlan> {
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(Self::new(input, windows)?) }))
    }

    /// The node that a plan is, if it is one.
    pub(super) fn of(extension: &Extension) -> Option<&Self> {
        extension.node.as_any().downcast_ref()
    }

    fn new(input: LogicalPlan, windows: Vec<Expr>) -> Result<Self> {
        let added = exprlist_to_fields(&windows, &input)?;
        let added = DFSchema::new_with_metadata(added, Default::default())?;
        let schema = Arc::new(input.schema().join(&added)?);
        Ok(WindowTable { input, windows, schema })
    }
}

impl UserDefinedLogicalNodeCore for WindowTable {
    fn name(&self) -> &str {
        "WindowTable"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.windows.clone()
    }

    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        WindowPart::ALL.map(|part| part.column().to_owned()).into()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WindowTable: {}", self.windows.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }

    fn with_exprs_and_inputs(&self, windows: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let input = inputs.into_iter().next();
        Self::new(input.ok_or_else(|| DataFusionError::Internal("windows lack their rows".to_owned()))?, windows)
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let inputs = self.input.schema().fields().len();
        Some(vec![output_columns.iter().copied().filter(|column| *column < inputs).collect()])
    }
}

/// As the order of their windows; the nodes of a plan are not sorted.
impl PartialOrd for WindowTable {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.windows.partial_cmp(&other.windows).filter(|order| *order != Ordering::Equal || self == other)
    }
}
