//! Operators: which types they take and give, and what computes them.

mod decimals;
mod floats;
mod operation;
mod sides;
mod times;
mod whole;

pub(crate) use decimals::{has_digits, power, rescaled};
pub(crate) use whole::OVERFLOW;

use crate::bind::{Bind, Bound};
use crate::bound::{BoundFunction, Spelling};
use crate::columns::build_texts;
use crate::common_type::{is_floating, is_integer, is_number, is_text, of_two};
use crate::decimal::{self, precision_and_scale};
use arrow_schema::DataType;
use datafusion_expr::Expr;
use headpond_state::Error;
use operation::{Arithmetic, operator};
use std::sync::Arc;

/// The name of the operator that turns a number's sign.
pub(crate) const NEGATIVE: &str = "neg";
/// The name of `||`.
pub(crate) const CONCATENATION: &str = "||";

/// An operator's call; `None` where the name is none of an operator.
pub(crate) fn bind(call: &Bind<'_>) -> Option<Result<Bound, Error>> {
    if let Some(operation) = Arithmetic::parse(call.name) {
        return Some(arithmetic(operation, call));
    }
    Some(match call.name {
        NEGATIVE => negative(call),
        CONCATENATION => concatenation(call),
        "=" | "<>" | "<" | "<=" | ">" | ">=" => floats::comparison(call),
        _ => return None,
    })
}

/// The type of an operation on two numbers, by Calcite's rules; `None` where there is none.
pub(crate) fn arithmetic_type(operation: Arithmetic, left: &DataType, right: &DataType) -> Option<DataType> {
    let is_decimal = |data_type: &DataType| matches!(data_type, DataType::Decimal128(_, _));
    let both_exact = !is_floating(left) && !is_floating(right);
    if both_exact && (is_decimal(left) || is_decimal(right)) {
        let (left, right) = (precision_and_scale(left)?, precision_and_scale(right)?);
        return Some(match operation {
            Arithmetic::Plus | Arithmetic::Minus => decimal::sum(left, right),
            Arithmetic::Times => decimal::product(left, right),
            Arithmetic::Divide => decimal::quotient(left, right),
            Arithmetic::Modulo => decimal::remainder(left, right),
        });
    }
    of_two(left, right)
}

fn arithmetic(operation: Arithmetic, call: &Bind<'_>) -> Result<Bound, Error> {
    let [left, right] = call.types else { return Err(call.wrong()) };
    if let Some(bound) = times::bind(operation, left, right) {
        return Ok(bound);
    }
    let number = |data_type: &DataType| match data_type {
        DataType::Null => Some(DataType::Int32),
        number if is_number(number) => Some(number.clone()),
        _ => None,
    };
    let (Some(left), Some(right)) = (number(left), number(right)) else { return Err(call.wrong()) };
    if operation == Arithmetic::Modulo && (is_floating(&left) || is_floating(&right)) {
        return Err(call.wrong());
    }
    let result = arithmetic_type(operation, &left, &right).ok_or_else(|| call.wrong())?;
    let symbol = operation.symbol();
    Ok(match &result {
        DataType::Decimal128(precision, scale) => {
            let decimal = |data_type: &DataType| match precision_and_scale(data_type) {
                Some((precision, scale)) => DataType::Decimal128(precision, scale),
                None => data_type.clone(),
            };
            let arguments = vec![decimal(&left), decimal(&right)];
            operator(symbol, arguments, result.clone(), decimals::kernel(operation, *precision, *scale))
        }
        floating if is_floating(floating) => {
            operator(symbol, vec![result.clone(), result.clone()], result.clone(), floats::kernel(operation))
        }
        _ => {
            let kernel = whole::kernel(operation, result.clone(), call.settings.wraps);
            let variant = if call.settings.wraps { "wraps" } else { "" };
            let mut bound = operator(symbol, vec![result.clone(), result.clone()], result, kernel);
            bound.function = bound.function.variant(variant);
            bound
        }
    })
}

fn negative(call: &Bind<'_>) -> Result<Bound, Error> {
    let [only] = call.types else { return Err(call.wrong()) };
    let only = if only.is_null() { DataType::Int32 } else { only.clone() };
    let kernel = match &only {
        whole if is_integer(whole) => whole::negative(call.settings.wraps),
        number if is_number(number) => whole::negative(true),
        DataType::Interval(_) => times::negative(),
        _ => return Err(call.wrong()),
    };
    let function = BoundFunction::new("-", Spelling::Operator, vec![only.clone()], only.clone(), kernel).strict();
    Ok(Bound { function, arguments: vec![only] })
}

fn concatenation(call: &Bind<'_>) -> Result<Bound, Error> {
    let [left, right] = call.types else { return Err(call.wrong()) };
    let text = |data_type: &DataType| is_text(data_type) || data_type.is_null();
    if !text(left) || !text(right) {
        return Err(call.wrong());
    }
    let kernel: crate::bound::Kernel = Arc::new(|arguments| {
        let (left, right) = (arguments.texts(0)?, arguments.texts(1)?);
        build_texts(arguments.rows, |row, text| {
            let (Some(left), Some(right)) = (left.get(row), right.get(row)) else { return Ok(false) };
            text.push_str(left);
            text.push_str(right);
            Ok(true)
        })
    });
    Ok(operator(CONCATENATION, vec![DataType::Utf8, DataType::Utf8], DataType::Utf8, kernel))
}

/// The sides of a sum or a difference: those of `time - INTERVAL '5' SECOND`, say.
pub fn sum_of(expr: &Expr) -> Option<(&Expr, i8, &Expr)> {
    let Expr::ScalarFunction(call) = expr else { return None };
    call.func.inner().downcast_ref::<BoundFunction>()?;
    match (call.func.name(), &call.args[..]) {
        ("+", [left, right]) => Some((left, 1, right)),
        ("-", [left, right]) => Some((left, -1, right)),
        _ => None,
    }
}
