//! Typing a plan, node by node.

use super::equality::Equality;
use super::reduced::reduced;
use super::typer::{Typer, external};
use crate::common_type::of_two;
use crate::settings::Settings;
use crate::type_name::type_name;
use arrow_schema::{DataType, Field};
use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, DFSchema, Result};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::logical_plan::Projection;
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{Expr, Join, LogicalPlan, Union, Values};
use headpond_state::Error;
use std::sync::Arc;

/// The node with types; its inputs have them.
pub(super) fn typed(plan: LogicalPlan, settings: &Arc<Settings>) -> Result<LogicalPlan> {
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
    }
    let equality = if matches!(plan, LogicalPlan::Join(_)) { Equality::OfKeys } else { Equality::OfValues };
    let typer = Typer { settings, schema: &schema, equality };
    let names = NamePreserver::new(&plan);
    let plan = plan
        .map_expressions(|expr| {
            let name = names.save(&expr);
            Ok(Transformed::yes(name.restore(typer.typed(expr)?)))
        })?
        .data;
    let plan = match plan {
        LogicalPlan::Filter(mut filter) => {
            filter.predicate = typer.condition(filter.predicate, "WHERE")?;
            LogicalPlan::Filter(filter)
        }
        LogicalPlan::Join(join) => LogicalPlan::Join(joined(join, &typer)?),
        LogicalPlan::Aggregate(node) => {
            // With types, before its parts are taken apart.
            return match LogicalPlan::Aggregate(node).recompute_schema()? {
                LogicalPlan::Aggregate(node) => reduced(node, &typer),
                other => Ok(other),
            };
        }
        LogicalPlan::Union(union) => return united(union, settings),
        LogicalPlan::Values(values) => return listed(values, &typer),
        other => other,
    };
    plan.recompute_schema()
}

/// The join's keys, in one type each.
fn joined(mut join: Join, typer: &Typer<'_>) -> Result<Join> {
    let on = std::mem::take(&mut join.on);
    for (left, right) in on {
        let side = |schema| Typer { settings: typer.settings, schema, equality: Equality::OfKeys };
        let (of_left, of_right) = (side(join.left.schema()), side(join.right.schema()));
        let types = (of_left.type_of(&left)?, of_right.type_of(&right)?);
        let common = of_two(&types.0, &types.1).ok_or_else(|| {
            let (left, right) = (type_name(&types.0), type_name(&types.1));
            external(Error::unsupported(format!("`{left} = {right}` is not supported")).hint("cast one side"))
        })?;
        join.on.push((of_left.implicit(left, &common)?, of_right.implicit(right, &common)?));
    }
    join.filter = join.filter.map(|filter| typer.condition(filter, "ON")).transpose()?;
    Ok(join)
}

/// The types of columns, of several rows or inputs.
fn common(types: &mut [DataType], next: impl Iterator<Item = DataType>, of: &str) -> Result<()> {
    for (number, (common, next)) in types.iter_mut().zip(next).enumerate() {
        *common = of_two(common, &next).ok_or_else(|| {
            let (left, right) = (type_name(common), type_name(&next));
            let text = format!("{of} of {left} and {right}, in column {}, is not supported", number + 1);
            external(Error::unsupported(text).hint(format!("cast one side: CAST(… AS {left})")))
        })?;
    }
    Ok(())
}

/// The union with inputs whose columns have the same types.
fn united(union: Union, settings: &Arc<Settings>) -> Result<LogicalPlan> {
    let Union { inputs, schema } = union;
    let types_of = |plan: &LogicalPlan| -> Vec<DataType> {
        plan.schema().fields().iter().map(|field| field.data_type().clone()).collect()
    };
    let Some(first) = inputs.first() else { return Ok(LogicalPlan::Union(Union { inputs, schema })) };
    let mut types = types_of(first);
    for input in &inputs[1..] {
        common(&mut types, types_of(input).into_iter(), "UNION")?;
    }
    let fields = schema.iter().zip(&types).map(|((qualifier, field), data_type)| {
        (qualifier.cloned(), Arc::new(Field::new(field.name(), data_type.clone(), true)))
    });
    let schema = Arc::new(DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())?);
    let inputs = inputs.into_iter().map(|input| {
        if types_of(&input) == types {
            return Ok(input);
        }
        let typer = Typer { settings, schema: input.schema(), equality: Equality::OfValues };
        let columns = input.schema().iter().zip(&types).map(|((qualifier, field), data_type)| {
            let column = Expr::Column(Column::from((qualifier, field)));
            Ok(typer.implicit(column, data_type)?.alias_qualified(qualifier.cloned(), field.name()))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Projection::try_new(columns, Arc::clone(&input)).map(|projection| Arc::new(LogicalPlan::Projection(projection)))
    });
    Ok(LogicalPlan::Union(Union { inputs: inputs.collect::<Result<_>>()?, schema }))
}

/// `VALUES` whose columns have one type each.
fn listed(values: Values, typer: &Typer<'_>) -> Result<LogicalPlan> {
    let Values { schema, values } = values;
    let mut types = vec![DataType::Null; schema.fields().len()];
    for row in &values {
        let of_row = row.iter().map(|value| typer.type_of(value)).collect::<Result<Vec<_>>>()?;
        common(&mut types, of_row.into_iter(), "VALUES")?;
    }
    let cast = |row: Vec<Expr>| {
        row.into_iter()
            .zip(&types)
            .map(|(value, data_type)| typer.implicit(value, data_type))
            .collect::<Result<Vec<_>>>()
    };
    let values = values.into_iter().map(cast).collect::<Result<Vec<_>>>()?;
    let fields = schema.iter().zip(&types).map(|((qualifier, field), data_type)| {
        (qualifier.cloned(), Arc::new(Field::new(field.name(), data_type.clone(), true)))
    });
    let schema = Arc::new(DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())?);
    Ok(LogicalPlan::Values(Values { schema, values }))
}
