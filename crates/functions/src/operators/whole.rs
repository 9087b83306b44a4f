//! Arithmetic of whole numbers: checked, or wrapping around as Flink's.

use super::operation::Arithmetic;
use super::sides::{of_both, repeated};
use crate::bound::{Kernel, internal};
use crate::type_name::type_name;
use arrow_arith::numeric;
use arrow_array::Datum;
use arrow_schema::{ArrowError, DataType};
use headpond_state::Error;
use std::sync::Arc;

/// What computes an operation on two whole numbers of one type.
pub(super) fn kernel(operation: Arithmetic, data_type: DataType, wraps: bool) -> Kernel {
    Arc::new(move |arguments| {
        let compute = |left: &dyn Datum, right: &dyn Datum| match (operation, wraps) {
            (Arithmetic::Plus, false) => numeric::add(left, right),
            (Arithmetic::Plus, true) => numeric::add_wrapping(left, right),
            (Arithmetic::Minus, false) => numeric::sub(left, right),
            (Arithmetic::Minus, true) => numeric::sub_wrapping(left, right),
            (Arithmetic::Times, false) => numeric::mul(left, right),
            (Arithmetic::Times, true) => numeric::mul_wrapping(left, right),
            (Arithmetic::Divide, _) => numeric::div(left, right),
            (Arithmetic::Modulo, _) => numeric::rem(left, right),
        };
        let result = of_both(arguments.values, compute)?;
        let array = result.map_err(|error| failed(error, &format!("{} {0}", type_name(&data_type)), operation))?;
        repeated(array, arguments)
    })
}

#[cold]
fn failed(error: ArrowError, _types: &str, operation: Arithmetic) -> Error {
    match error {
        ArrowError::DivideByZero => division_by_zero(),
        ArrowError::ArithmeticOverflow(message) => {
            let numbers = message.rsplit(": ").next().unwrap_or_default();
            Error::invalid(format!("{}: {numbers} grows beyond its type", operation.symbol())).hint(OVERFLOW)
        }
        other => internal(other),
    }
}

/// What to do about an overflow.
pub(crate) const OVERFLOW: &str = "cast one side to a wider type first, such as BIGINT or DECIMAL(38, 0), or let it wrap around as Flink does: SET 'table.exec.integer-overflow' = 'wrap'";

#[cold]
pub(super) fn division_by_zero() -> Error {
    Error::invalid("division by zero").hint("make it NULL where the divisor is zero: a / NULLIF(b, 0)")
}

/// What turns the sign of numbers.
pub(super) fn negative(wraps: bool) -> Kernel {
    Arc::new(move |arguments| {
        let array = arguments.column(0)?;
        let result = if wraps { numeric::neg_wrapping(&array) } else { numeric::neg(&array) };
        result.map_err(|error| match error {
            ArrowError::ArithmeticOverflow(_) => {
                Error::invalid("-: the least whole number has no opposite in its type").hint(OVERFLOW)
            }
            other => internal(other),
        })
    })
}
