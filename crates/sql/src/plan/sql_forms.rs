//! Forms of SQL that stand for functions or literals, in the form that DataFusion plans.

use crate::dialect::{call, text};
use datafusion_sql::sqlparser::ast::{
    BinaryOperator, CastKind, CeilFloorKind, DataType, DateTimeField, ExactNumberInfo, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, Interval, Select, SelectItem, TypedString, Value, VisitorMut,
};
use headpond_functions::time::{Interval as Span, parse_interval};
use headpond_state::{Error, Result};
use std::ops::ControlFlow;

/// Rewrites forms of SQL; the first that is wrong ends it.
pub(super) struct SqlForms;

impl VisitorMut for SqlForms {
    type Break = Error;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        // `(1, 'x')` as a column is a row.
        for item in &mut select.projection {
            let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { continue };
            if let Expr::Tuple(values) = expr {
                *expr = call("ROW", std::mem::take(values));
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        // Before its parts: a tuple alone has no form.
        if let Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } = expr
            && let (Expr::Tuple(left), Expr::Tuple(right)) = (left.as_mut(), right.as_mut())
        {
            let mut periods = std::mem::take(left);
            periods.append(right);
            *expr = call("OVERLAPS", periods);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        match rewritten(expr) {
            Ok(Some(form)) => *expr = form,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

/// The form that takes an expression's place.
fn rewritten(expr: &Expr) -> Result<Option<Expr>> {
    Ok(match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) if number.contains(['e', 'E']) => Some(Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(text(number.clone())),
                data_type: DataType::Double(ExactNumberInfo::None),
                format: None,
                array: false,
            }),
            Value::UnicodeStringLiteral(literal) | Value::NationalStringLiteral(literal) => Some(text(literal.clone())),
            _ => None,
        },
        Expr::Floor { expr, field: CeilFloorKind::DateTimeField(unit) } if *unit != DateTimeField::NoDateTime => {
            Some(call("FLOOR", vec![expr.as_ref().clone(), text(unit.to_string())]))
        }
        Expr::Ceil { expr, field: CeilFloorKind::DateTimeField(unit) } if *unit != DateTimeField::NoDateTime => {
            Some(call("CEIL", vec![expr.as_ref().clone(), text(unit.to_string())]))
        }
        Expr::TypedString(literal) => typed(literal),
        Expr::Interval(interval) => Some(Expr::Interval(literal(interval)?)),
        Expr::Function(function) => with_unit(function),
        // Flink's constant needs no parentheses.
        Expr::Identifier(name) if name.quote_style.is_none() && name.value == "PI" => Some(call("PI", Vec::new())),
        _ => None,
    })
}

/// `TIMESTAMP '2024-02-29 13:14:15.5'` has as many digits behind the second as it is written with.
fn typed(literal: &TypedString) -> Option<Expr> {
    let DataType::Timestamp(None, zone) = &literal.data_type else { return None };
    let written = literal.value.value.clone().into_string()?;
    let digits = written.split_once('.').map_or(0, |(_, fraction)| fraction.len().min(9)) as u64;
    let mut literal = literal.clone();
    literal.data_type = DataType::Timestamp(Some(digits), *zone);
    Some(Expr::TypedString(literal))
}

/// `TIMESTAMPADD(MONTH, …)` with its unit as a text.
fn with_unit(function: &Function) -> Option<Expr> {
    let name = function.name.to_string().to_uppercase();
    if !matches!(name.as_str(), "TIMESTAMPADD" | "TIMESTAMPDIFF") {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    let first = list.args.first()?;
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(unit))) = first else { return None };
    let mut function = function.clone();
    if let FunctionArguments::List(list) = &mut function.args {
        list.args[0] = FunctionArg::Unnamed(FunctionArgExpr::Expr(text(unit.value.to_uppercase())));
    }
    Some(Expr::Function(function))
}

/// The interval in a form that DataFusion reads.
fn literal(interval: &Interval) -> Result<Interval> {
    let (negative, value) = match interval.value.as_ref() {
        Expr::UnaryOp { op: datafusion_sql::sqlparser::ast::UnaryOperator::Minus, expr } => (true, expr.as_ref()),
        other => (false, other),
    };
    let Expr::Value(value) = value else { return Ok(interval.clone()) };
    let (Value::SingleQuotedString(text_of), Some(unit)) = (&value.value, &interval.leading_field) else {
        return Ok(interval.clone());
    };
    let last = interval.last_field.as_ref().map(ToString::to_string);
    let span = parse_interval(text_of, &unit.to_string(), last.as_deref());
    let span = span.map_err(|reason| Error::invalid(format!("INTERVAL '{text_of}' is none: {reason}")))?;
    let sign = if negative { -1 } else { 1 };
    let text_of = match span {
        Span::Months(months) => format!("{} months", months * sign),
        Span::Millis(millis) => {
            const DAY_MS: i64 = 86_400_000;
            let (days, millis) = (millis * sign / DAY_MS, millis * sign % DAY_MS);
            format!("{days} days {millis} milliseconds")
        }
    };
    Ok(Interval {
        value: Box::new(text(text_of)),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    })
}
