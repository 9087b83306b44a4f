//! Aggregates that are made of others: deviations and variances of sums and counts, as Flink makes them.
//!
//! Whatever COUNT and SUM can do (take rows back, leave doubles or some rows out, in windows or without), these can.

use super::typer::{Typer, external};
use crate::aggregates::{Aggregate, Spread, aggregate, spread_of};
use crate::cast::Target;
use arrow_schema::DataType;
use datafusion_common::{Column, Result, ScalarValue};
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::logical_plan::{Aggregate as Node, Projection};
use datafusion_expr::{Expr, LogicalPlan};
use headpond_state::Error;
use std::sync::Arc;

/// The aggregate with only those that are computed, and what makes the others of them.
pub(super) fn reduced(node: Node, typer: &Typer<'_>) -> Result<LogicalPlan> {
    let spread = |expr: &Expr| match expr.clone().unalias() {
        Expr::AggregateFunction(call) => spread_of(&call.func).map(|spread| (spread, call)),
        _ => None,
    };
    if !node.aggr_expr.iter().any(|expr| spread(expr).is_some()) {
        return Ok(LogicalPlan::Aggregate(node));
    }
    let groups = node.schema.fields().len() - node.aggr_expr.len();
    let mut computed: Vec<Expr> = Vec::new();
    let mut given: Vec<Given> = Vec::new();
    for expr in &node.aggr_expr {
        given.push(match spread(expr) {
            None => Given::Column(add(&mut computed, expr.clone())),
            Some((spread, call)) => Given::Spread(spread, Parts::of(&mut computed, call, typer)?),
        });
    }
    let names: Vec<String> = (0..computed.len()).map(|index| format!("part {index}")).collect();
    let named = computed.into_iter().zip(&names).map(|(expr, name)| expr.unalias().alias(name)).collect();
    let inner = LogicalPlan::Aggregate(Node::try_new(Arc::clone(&node.input), node.group_expr.clone(), named)?);
    let schema = Arc::clone(inner.schema());
    let of_inner = Typer { settings: typer.settings, schema: &schema, equality: typer.equality };
    let mut columns = Vec::with_capacity(node.schema.fields().len());
    for index in 0..groups {
        columns.push(Expr::Column(Column::from(schema.qualified_field(index))));
    }
    let part = |index: usize| Expr::Column(Column::new_unqualified(&names[index]));
    for (index, given) in given.into_iter().enumerate() {
        let (qualifier, field) = node.schema.qualified_field(groups + index);
        let expr = match given {
            Given::Column(index) => part(index),
            Given::Spread(spread, parts) => parts.formula(spread, &part, &of_inner, field.data_type())?,
        };
        columns.push(expr.alias_qualified(qualifier.cloned(), field.name()));
    }
    Projection::try_new(columns, Arc::new(inner)).map(LogicalPlan::Projection)
}

/// Where a column of the result comes from.
enum Given {
    /// An aggregate that is computed.
    Column(usize),
    /// A deviation or a variance.
    Spread(Spread, Parts),
}

/// The aggregates that a deviation is made of: the sum of squares, the sum, the count.
struct Parts {
    squares: usize,
    sum: usize,
    count: usize,
}

/// The index of an aggregate among those that are computed.
fn add(computed: &mut Vec<Expr>, expr: Expr) -> usize {
    computed.iter().position(|other| *other == expr).unwrap_or_else(|| {
        computed.push(expr);
        computed.len() - 1
    })
}

impl Parts {
    fn of(computed: &mut Vec<Expr>, call: AggregateFunction, typer: &Typer<'_>) -> Result<Self> {
        let params = call.params;
        if params.distinct {
            // Of distinct squares there are fewer: 2 and -2 have one.
            let name = call.func.name().to_uppercase();
            let error = Error::unsupported(format!("{name}(DISTINCT …) is not supported"));
            return Err(external(error.hint("aggregate a SELECT DISTINCT")));
        }
        let argument = params.args.into_iter().next().unwrap_or(Expr::Literal(ScalarValue::Null, None));
        let number = typer.cast(argument, &Target::of_type(&DataType::Float64), false)?;
        let square = typer.function("*", vec![number.clone(), number.clone()])?;
        let mut part = |of: Aggregate, argument: Expr| -> Result<usize> {
            let func = aggregate(of.name()).ok_or_else(|| external(Error::internal("an aggregate is missing")))?;
            let call = AggregateFunction::new_udf(func, vec![argument], false, params.filter.clone(), Vec::new(), None);
            Ok(add(computed, Expr::AggregateFunction(call)))
        };
        Ok(Parts {
            squares: part(Aggregate::Sum, square)?,
            sum: part(Aggregate::Sum, number.clone())?,
            count: part(Aggregate::Count, number)?,
        })
    }

    /// The deviation or the variance, as a value of `wanted`.
    fn formula(
        &self,
        spread: Spread,
        part: &dyn Fn(usize) -> Expr,
        typer: &Typer<'_>,
        wanted: &DataType,
    ) -> Result<Expr> {
        let number = |value: f64| Expr::Literal(ScalarValue::Float64(Some(value)), None);
        let count = typer.cast(part(self.count), &Target::of_type(&DataType::Float64), false)?;
        let square_of_sum = typer.function("*", vec![part(self.sum), part(self.sum)])?;
        let mean = typer.function("/", vec![square_of_sum, count.clone()])?;
        let difference = typer.function("-", vec![part(self.squares), mean])?;
        // Rounding makes nothing a little less than nothing.
        let difference = typer.function(
            "IF",
            vec![typer.function("<", vec![difference.clone(), number(0.0)])?, number(0.0), difference],
        )?;
        let divisor = match spread {
            Spread::StddevPop | Spread::VarPop => count,
            Spread::StddevSamp | Spread::VarSamp => {
                let less = typer.function("-", vec![count, number(1.0)])?;
                typer.function("NULLIF", vec![less, number(0.0)])?
            }
        };
        let variance = typer.function("/", vec![difference, divisor])?;
        let value = match spread {
            Spread::StddevPop | Spread::StddevSamp => typer.function("SQRT", vec![variance])?,
            Spread::VarPop | Spread::VarSamp => variance,
        };
        typer.cast(value, &Target::of_type(wanted), false)
    }
}
