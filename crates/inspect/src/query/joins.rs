//! Joins: by a hash table where there is an equality, else by trying all pairs.

use super::expressions::Expressions;
use datafusion_common::{DFSchema, Result};
use datafusion_expr::{Expr, Join};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::joins::utils::{JoinFilter, JoinOn};
use datafusion_physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, PartitionMode};
use std::collections::HashMap;
use std::sync::Arc;

/// The operator of a join of two inputs, each in one partition.
pub(super) fn join(
    expressions: &Expressions,
    join: &Join,
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let filter =
        join.filter.as_ref().map(|filter| join_filter(expressions, filter, join, &left, &right)).transpose()?;
    if join.on.is_empty() {
        return Ok(Arc::new(NestedLoopJoinExec::try_new(left, right, filter, &join.join_type, None)?));
    }
    let mut on: JoinOn = Vec::with_capacity(join.on.len());
    for (of_left, of_right) in &join.on {
        let of_left: Arc<dyn PhysicalExpr> = expressions.expr(of_left, join.left.schema())?;
        on.push((of_left, expressions.expr(of_right, join.right.schema())?));
    }
    Ok(Arc::new(HashJoinExec::try_new(
        left,
        right,
        on,
        filter,
        &join.join_type,
        None,
        PartitionMode::CollectLeft,
        join.null_equality,
        join.null_aware,
    )?))
}

/// A condition on pairs, over the columns of both sides that it reads.
fn join_filter(
    expressions: &Expressions,
    filter: &Expr,
    join: &Join,
    left: &Arc<dyn ExecutionPlan>,
    right: &Arc<dyn ExecutionPlan>,
) -> Result<JoinFilter> {
    let columns = filter.column_refs();
    let mut qualified = Vec::new();
    let mut fields = Vec::new();
    let mut indices = [Vec::new(), Vec::new()];
    let sides = [(join.left.schema(), left), (join.right.schema(), right)];
    for ((logical, physical), indices) in sides.into_iter().zip(&mut indices) {
        indices.extend(columns.iter().filter_map(|column| logical.maybe_index_of_column(column)));
        indices.sort_unstable();
        for index in indices.iter() {
            let (qualifier, field) = logical.qualified_field(*index);
            qualified.push((qualifier.cloned(), Arc::clone(field)));
            fields.push(physical.schema().field(*index).clone());
        }
    }
    let schema = DFSchema::new_with_metadata(qualified, HashMap::new())?;
    let expr = expressions.expr(filter, &schema)?;
    let [left, right] = indices;
    let indices = JoinFilter::build_column_indices(left, right);
    Ok(JoinFilter::new(expr, indices, Arc::new(arrow_schema::Schema::new(fields))))
}
