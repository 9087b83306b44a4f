//! Arithmetic and comparisons of `FLOAT` and `DOUBLE`, as IEEE 754 has them: NaN is neither equal to anything nor more
//! or less. Arrow's comparisons take it for the greatest number.

use super::operation::{Arithmetic, operator};
use super::sides::{of_both, repeated};
use crate::bind::{Bind, Bound};
use crate::bound::{Kernel, internal};
use crate::columns::floats;
use crate::common_type::is_floating;
use arrow_arith::numeric;
use arrow_array::{Array, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;
use headpond_state::Error;
use std::sync::Arc;

/// What computes an operation on two floating-point numbers of one type.
pub(super) fn kernel(operation: Arithmetic) -> Kernel {
    Arc::new(move |arguments| {
        let result = of_both(arguments.values, |left, right| match operation {
            Arithmetic::Plus => numeric::add_wrapping(left, right),
            Arithmetic::Minus => numeric::sub_wrapping(left, right),
            Arithmetic::Times => numeric::mul_wrapping(left, right),
            Arithmetic::Divide => numeric::div(left, right),
            Arithmetic::Modulo => numeric::rem(left, right),
        })?;
        repeated(result.map_err(internal)?, arguments)
    })
}

/// A comparison of floating-point numbers.
pub(super) fn comparison(call: &Bind<'_>) -> Result<Bound, Error> {
    let [left, right] = call.types else { return Err(call.wrong()) };
    if !is_floating(left) || !is_floating(right) {
        return Err(call.wrong());
    }
    let compare: fn(f64, f64) -> bool = match call.name {
        "=" => |a, b| a == b,
        "<>" => |a, b| a != b && !a.is_nan() && !b.is_nan(),
        "<" => |a, b| a < b,
        "<=" => |a, b| a <= b,
        ">" => |a, b| a > b,
        _ => |a, b| a >= b,
    };
    let kernel: Kernel = Arc::new(move |arguments| {
        let read = |index: usize| -> Result<_, Error> {
            floats(&arguments.column(index)?).ok_or_else(|| Error::internal("a comparison lacks a float"))
        };
        let (left, right) = (read(0)?, read(1)?);
        let (lefts, rights) = (left.values(), right.values());
        let values = BooleanBuffer::collect_bool(left.len(), |row| compare(lefts[row], rights[row]));
        let nulls = NullBuffer::union(left.nulls(), right.nulls());
        Ok(Arc::new(BooleanArray::new(values, nulls)))
    });
    Ok(operator(call.name, vec![left.clone(), right.clone()], DataType::Boolean, kernel))
}
