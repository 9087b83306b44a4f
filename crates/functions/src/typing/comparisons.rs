//! Comparisons: `=`, `<`, BETWEEN, IN, LIKE.

use super::equality::Equality;
use super::typer::{Typer, external};
use crate::common_type::{common_type, is_floating, is_number, is_text, is_timestamp, of_two};
use crate::type_name::type_name;
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::expr::{Between, BinaryExpr, InList, InSubquery, Like};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Operator};
use headpond_state::Error;
use std::sync::Arc;

fn symbol(op: Operator) -> &'static str {
    match op {
        Operator::Eq => "=",
        Operator::NotEq => "<>",
        Operator::Lt => "<",
        Operator::LtEq => "<=",
        Operator::Gt => ">",
        Operator::GtEq => ">=",
        Operator::IsDistinctFrom => "IS DISTINCT FROM",
        _ => "IS NOT DISTINCT FROM",
    }
}

/// The type that values of two types are compared in; `None` where Flink compares them not.
fn compared(left: &DataType, right: &DataType) -> Option<DataType> {
    let text_with = |other: &DataType| match other {
        DataType::Date32 | DataType::Timestamp(_, _) | DataType::Time32(_) => Some(other.clone()),
        DataType::Boolean => Some(DataType::Utf8),
        _ => None,
    };
    let is_span = |data_type: &DataType| matches!(data_type, DataType::Interval(_) | DataType::Duration(_));
    match (left, right) {
        (DataType::Null, other) | (other, DataType::Null) => Some(other.clone()),
        (left, right) if is_floating(left) && is_floating(right) => Some(DataType::Float64),
        (left, right) if left == right => Some(left.clone()),
        (left, right) if is_text(left) && !is_text(right) => text_with(right),
        (left, right) if is_text(right) && !is_text(left) => text_with(left),
        (DataType::Date32, other) | (other, DataType::Date32) if is_timestamp(other) => None,
        (left, right) if is_number(left) && is_number(right) => {
            let common = of_two(left, right)?;
            Some(if is_floating(&common) { DataType::Float64 } else { common })
        }
        (left, right) if is_span(left) && is_span(right) => Some(DataType::Duration(TimeUnit::Millisecond)),
        (left, right) => of_two(left, right),
    }
}

/// A truth value, or NULL where an expression is.
fn null_or(expr: Expr, value: bool) -> Expr {
    let present = Expr::IsNotNull(Box::new(expr));
    let value = Expr::Literal(ScalarValue::Boolean(Some(value)), None);
    Expr::Case(datafusion_expr::expr::Case::new(None, vec![(Box::new(present), Box::new(value))], None))
}

impl Typer<'_> {
    /// Both sides in the type that they are compared in.
    pub(super) fn comparable(&self, left: Expr, op: Operator, right: Expr) -> Result<(Expr, Expr)> {
        let (of_left, of_right) = (self.type_of(&left)?, self.type_of(&right)?);
        let common = compared(&of_left, &of_right).ok_or_else(|| incomparable(&of_left, op, &of_right))?;
        let common = if common.is_null() { DataType::Boolean } else { common };
        if matches!(common, DataType::Map(_, _)) {
            return Err(incomparable(&of_left, op, &of_right));
        }
        Ok((self.implicit(left, &common)?, self.implicit(right, &common)?))
    }

    /// A comparison.
    pub(super) fn comparison(&self, left: Expr, op: Operator, right: Expr) -> Result<Expr> {
        let (left, right) = self.comparable(left, op, right)?;
        let floating = is_floating(&self.type_of(&left)?);
        if floating && op == Operator::Eq && left == right && matches!(left, Expr::Column(_)) {
            // As Flink's optimizer has it: a column equals itself, NaN or not.
            return Ok(null_or(left, true));
        }
        let is_key = self.equality == Equality::OfKeys && op == Operator::Eq;
        if floating && !is_key {
            return self.function(symbol(op), vec![left, right]);
        }
        Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
    }

    pub(super) fn between(&self, between: Between) -> Result<Expr> {
        let Between { expr, negated, low, high } = between;
        let types = [self.type_of(&expr)?, self.type_of(&low)?, self.type_of(&high)?];
        let one = compared(&types[0], &types[1]).zip(compared(&types[0], &types[2]));
        if let Some((low_type, high_type)) = one
            && low_type == high_type
            && !is_floating(&low_type)
            && !low_type.is_null()
        {
            let cast = |expr: Box<Expr>| self.implicit(*expr, &low_type).map(Box::new);
            return Ok(Expr::Between(Between::new(cast(expr)?, negated, cast(low)?, cast(high)?)));
        }
        let lower = self.comparison(expr.as_ref().clone(), Operator::GtEq, *low)?;
        let upper = self.comparison(*expr, Operator::LtEq, *high)?;
        let within = lower.and(upper);
        Ok(if negated { Expr::Not(Box::new(within)) } else { within })
    }

    pub(super) fn in_list(&self, list: InList) -> Result<Expr> {
        let InList { expr, list, negated } = list;
        let of_expr = self.type_of(&expr)?;
        let types = list.iter().map(|item| self.type_of(item)).collect::<Result<Vec<_>>>()?;
        let of_items = common_type(&types).ok_or_else(|| mixed("IN", &types))?;
        let common = compared(&of_expr, &of_items).ok_or_else(|| incomparable(&of_expr, Operator::Eq, &of_items))?;
        let common = if common.is_null() { DataType::Boolean } else { common };
        if is_floating(&common) {
            let equal = |item| self.comparison(expr.as_ref().clone(), Operator::Eq, item);
            let any = list.into_iter().map(equal).reduce(|any, next| Ok(any?.or(next?)));
            let any = any.unwrap_or_else(|| Ok(Expr::Literal(ScalarValue::Boolean(Some(false)), None)))?;
            return Ok(if negated { Expr::Not(Box::new(any)) } else { any });
        }
        let list = list.into_iter().map(|item| self.implicit(item, &common)).collect::<Result<_>>()?;
        Ok(Expr::InList(InList::new(Box::new(self.implicit(*expr, &common)?), list, negated)))
    }

    pub(super) fn in_subquery(&self, of: InSubquery) -> Result<Expr> {
        let InSubquery { expr, mut subquery, negated } = of;
        let left = self.type_of(&expr)?;
        let right = subquery.subquery.schema().field(0).data_type().clone();
        let common = compared(&left, &right).ok_or_else(|| incomparable(&left, Operator::Eq, &right))?;
        if common != right {
            let plan = LogicalPlan::clone(&subquery.subquery);
            let (qualifier, field) = plan.schema().qualified_field(0);
            let column = Expr::Column(datafusion_common::Column::from((qualifier, field)));
            let typer = Typer { schema: plan.schema(), settings: self.settings, equality: self.equality };
            let cast = typer.implicit(column, &common)?.alias(field.name());
            subquery.subquery = Arc::new(LogicalPlanBuilder::from(plan.clone()).project([cast])?.build()?);
        }
        Ok(Expr::InSubquery(InSubquery::new(Box::new(self.implicit(*expr, &common)?), subquery, negated)))
    }

    pub(super) fn like(&self, like: Like, name: &str) -> Result<Expr> {
        let Like { negated, expr, pattern, escape_char, case_insensitive } = like;
        let name = if case_insensitive { "ILIKE" } else { name };
        let mut arguments = vec![*expr, *pattern];
        arguments.extend(escape_char.map(|escape| Expr::Literal(ScalarValue::Utf8(Some(escape.to_string())), None)));
        let matches = self.function(name, arguments)?;
        Ok(if negated { Expr::Not(Box::new(matches)) } else { matches })
    }
}

#[cold]
fn incomparable(left: &DataType, op: Operator, right: &DataType) -> datafusion_common::DataFusionError {
    let (left, right) = (type_name(left), type_name(right));
    external(
        Error::unsupported(format!("`{left} {} {right}` is not supported", symbol(op)))
            .hint(format!("cast one side: CAST(… AS {left})")),
    )
}

/// The error for values of types that have none in common.
#[cold]
pub(super) fn mixed(of: &str, types: &[DataType]) -> datafusion_common::DataFusionError {
    let mut names: Vec<String> = types.iter().map(type_name).collect();
    names.dedup();
    external(
        Error::unsupported(format!("{of} of {} is not supported", names.join(" and ")))
            .hint("cast the values to one type: CAST(… AS …)"),
    )
}
