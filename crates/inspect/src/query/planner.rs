//! From a logical plan to physical operators.
//!
//! Filters, projections and the first half of an aggregate run on the parts of a state as they are; whatever needs all
//! rows gathers them first. A limit that is reached ends the readers.

use super::expressions::Expressions;
use super::joins::join;
use super::scan::{StateScan, scanned};
use crate::catalog::StateCatalog;
use datafusion_common::{DFSchema, DataFusionError, Result};
use datafusion_expr::expr::{WindowFunction, WindowFunctionParams, physical_name};
use datafusion_expr::logical_plan::{FetchType, SkipType};
use datafusion_expr::{Aggregate, Expr, Limit, LogicalPlan, Projection, SortExpr, Values, Window};
use datafusion_physical_expr::aggregate::LoweredAggregateBuilder;
use datafusion_physical_expr::{LexOrdering, create_physical_sort_exprs};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::empty::EmptyExec;
use datafusion_physical_plan::filter::FilterExec;
use datafusion_physical_plan::limit::GlobalLimitExec;
use datafusion_physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::union::UnionExec;
use datafusion_physical_plan::windows::{WindowAggExec, create_window_expr};
use std::sync::Arc;

/// Makes operators.
pub(super) struct Planner<'c> {
    catalog: &'c StateCatalog,
    expressions: Expressions,
}

impl<'c> Planner<'c> {
    pub(super) fn new(catalog: &'c StateCatalog) -> Self {
        Planner { catalog, expressions: Expressions::default() }
    }

    /// The operators that compute `plan`.
    ///
    /// # Errors
    /// [`NotImplemented`](DataFusionError::NotImplemented) for what there is no operator for.
    pub(super) fn plan(&self, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
        match plan {
            LogicalPlan::TableScan(scan) => {
                let table = scanned(&scan.source)?;
                let all = || (0..table.schema().fields().len()).collect();
                let columns = scan.projection.clone().unwrap_or_else(all);
                Ok(Arc::new(StateScan::new(self.catalog, table, columns, scan.fetch)?))
            }
            LogicalPlan::SubqueryAlias(alias) => self.plan(&alias.input),
            LogicalPlan::Projection(projection) => self.projection(projection),
            LogicalPlan::Filter(filter) => {
                let predicate = self.expressions.expr(&filter.predicate, filter.input.schema())?;
                Ok(Arc::new(FilterExec::try_new(predicate, self.plan(&filter.input)?)?))
            }
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Window(window) => self.window(window),
            LogicalPlan::Sort(sort) => {
                let input = self.gathered(&sort.input)?;
                self.sorted(input, &sort.expr, sort.input.schema(), sort.fetch)
            }
            LogicalPlan::Limit(limit) => self.limit(limit),
            LogicalPlan::Join(found) => {
                join(&self.expressions, found, self.gathered(&found.left)?, self.gathered(&found.right)?)
            }
            LogicalPlan::Union(union) => {
                let inputs = union.inputs.iter().map(|input| self.plan(input)).collect::<Result<_>>()?;
                UnionExec::try_new(inputs)
            }
            LogicalPlan::EmptyRelation(empty) => {
                let schema = Arc::clone(empty.schema.inner());
                Ok(match empty.produce_one_row {
                    true => Arc::new(PlaceholderRowExec::new(schema)),
                    false => Arc::new(EmptyExec::new(schema)),
                })
            }
            LogicalPlan::Values(values) => self.values(values),
            other => {
                let text = other.display().to_string();
                let name = text.split([':', ' ']).next().unwrap_or_default();
                Err(not_supported(&format!("{name} in a query")))
            }
        }
    }

    /// The operators of a plan, all rows in one partition.
    fn gathered(&self, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
        self.plan(plan).map(gather)
    }

    fn projection(&self, projection: &Projection) -> Result<Arc<dyn ExecutionPlan>> {
        let input = self.plan(&projection.input)?;
        self.projected(input, projection.input.schema(), &projection.expr)
    }

    /// `exprs` over the rows of `input`, whose columns `schema` names.
    pub(super) fn projected(
        &self,
        input: Arc<dyn ExecutionPlan>,
        schema: &DFSchema,
        exprs: &[Expr],
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut named = Vec::with_capacity(exprs.len());
        for expr in exprs {
            // A column has the name that the input gives it, whatever expression it once was.
            let known = if let Expr::Column(column) = expr { schema.maybe_index_of_column(column) } else { None };
            let name = match known {
                Some(index) => input.schema().field(index).name().clone(),
                None => physical_name(expr)?,
            };
            named.push((self.expressions.expr(expr, schema)?, name));
        }
        Ok(Arc::new(ProjectionExec::try_new(named, input)?))
    }

    fn aggregate(&self, aggregate: &Aggregate) -> Result<Arc<dyn ExecutionPlan>> {
        let input = self.plan(&aggregate.input)?;
        let (logical, physical) = (aggregate.input.schema(), input.schema());
        let mut groups = Vec::with_capacity(aggregate.group_expr.len());
        for group in &aggregate.group_expr {
            if matches!(group, Expr::GroupingSet(_)) {
                return Err(not_supported("GROUPING SETS, ROLLUP and CUBE"));
            }
            groups.push((self.expressions.expr(group, logical)?, physical_name(group)?));
        }
        let groups = match groups.is_empty() {
            true => PhysicalGroupBy::new(Vec::new(), Vec::new(), Vec::new(), false),
            false => PhysicalGroupBy::new_single(groups),
        };
        let (mut calls, mut filters) = (Vec::new(), Vec::new());
        for call in &aggregate.aggr_expr {
            let lowered = LoweredAggregateBuilder::new(
                call,
                logical,
                &physical,
                &self.expressions.properties,
                &self.expressions.context,
            )
            .build()?;
            if !lowered.order_bys.is_empty() {
                return Err(not_supported("ORDER BY within an aggregate"));
            }
            calls.push(lowered.aggregate);
            filters.push(lowered.filter);
        }
        let new = |mode, groups: PhysicalGroupBy, input| {
            AggregateExec::try_new(mode, groups, calls.clone(), filters.clone(), input, Arc::clone(&physical))
        };
        if input.properties().partitioning.partition_count() <= 1 {
            return Ok(Arc::new(new(AggregateMode::Single, groups, input)?));
        }
        let partial = new(AggregateMode::Partial, groups, input)?;
        let groups = partial.group_expr().as_final();
        Ok(Arc::new(new(AggregateMode::Final, groups, gather(Arc::new(partial)))?))
    }

    fn window(&self, window: &Window) -> Result<Arc<dyn ExecutionPlan>> {
        let input_schema = window.input.schema();
        let mut input = self.gathered(&window.input)?;
        let mut calls = Vec::with_capacity(window.window_expr.len());
        for (index, expr) in window.window_expr.iter().enumerate() {
            let (name, call) = match expr {
                Expr::Alias(alias) => (alias.name.clone(), alias.expr.as_ref()),
                other => (other.schema_name().to_string(), other),
            };
            let Expr::WindowFunction(call) = call else { return Err(not_supported("this expression with OVER")) };
            let WindowFunction { fun, params } = call.as_ref();
            let WindowFunctionParams { args, partition_by, order_by, window_frame, null_treatment, distinct, filter } =
                params;
            if index == 0 {
                // All functions of a node want their rows in the same order.
                let partitions = partition_by.iter().map(|expr| expr.clone().sort(true, true));
                let order: Vec<SortExpr> = partitions.chain(order_by.iter().cloned()).collect();
                if !order.is_empty() {
                    input = self.sorted(input, &order, input_schema, None)?;
                }
            }
            let ignores_nulls =
                null_treatment.is_some_and(|nulls| nulls == datafusion_expr::expr::NullTreatment::IgnoreNulls);
            let filter = filter.as_ref().map(|filter| self.expressions.expr(filter, input_schema)).transpose()?;
            calls.push(create_window_expr(
                fun,
                name,
                &self.expressions.exprs(args, input_schema)?,
                &self.expressions.exprs(partition_by, input_schema)?,
                &create_physical_sort_exprs(
                    order_by,
                    input_schema,
                    &self.expressions.properties,
                    &self.expressions.context,
                )?,
                Arc::new(window_frame.clone()),
                Arc::clone(input_schema.inner()),
                ignores_nulls,
                *distinct,
                filter,
            )?);
        }
        Ok(Arc::new(WindowAggExec::try_new(calls, input, false)?))
    }

    fn sorted(
        &self,
        input: Arc<dyn ExecutionPlan>,
        order: &[SortExpr],
        schema: &DFSchema,
        fetch: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let order = create_physical_sort_exprs(order, schema, &self.expressions.properties, &self.expressions.context)?;
        Ok(match LexOrdering::new(order) {
            Some(order) => Arc::new(SortExec::new(order, input).with_fetch(fetch)),
            None => input,
        })
    }

    fn limit(&self, limit: &Limit) -> Result<Arc<dyn ExecutionPlan>> {
        let (SkipType::Literal(skip), FetchType::Literal(fetch)) = (limit.get_skip_type()?, limit.get_fetch_type()?)
        else {
            return Err(not_supported("a LIMIT or OFFSET that is no number"));
        };
        Ok(Arc::new(GlobalLimitExec::new(self.gathered(&limit.input)?, skip, fetch)))
    }

    /// Rows that the query itself has: each is a row without columns, and expressions over it.
    fn values(&self, values: &Values) -> Result<Arc<dyn ExecutionPlan>> {
        let nothing = DFSchema::empty();
        let rows = values.values.iter().map(|row| {
            let named = row.iter().zip(values.schema.fields());
            let exprs = named.map(|(expr, field)| Ok((self.expressions.expr(expr, &nothing)?, field.name().clone())));
            let row = PlaceholderRowExec::new(Arc::clone(nothing.inner()));
            let row = ProjectionExec::try_new(exprs.collect::<Result<Vec<_>>>()?, Arc::new(row))?;
            Ok(Arc::new(row) as Arc<dyn ExecutionPlan>)
        });
        UnionExec::try_new(rows.collect::<Result<_>>()?)
    }
}

/// All rows in one partition.
fn gather(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    match plan.properties().partitioning.partition_count() {
        0 | 1 => plan,
        _ => Arc::new(CoalescePartitionsExec::new(plan)),
    }
}

/// The error for what DataFusion can say and we do not run.
pub(super) fn not_supported(what: &str) -> DataFusionError {
    DataFusionError::NotImplemented(format!("{what} is not supported on a checkpoint"))
}
