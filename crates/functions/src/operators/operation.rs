//! Operations of arithmetic.

use crate::bind::Bound;
use crate::bound::{BoundFunction, Kernel, Spelling};
use arrow_schema::{DataType, IntervalUnit};

/// An operation on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
}

impl Arithmetic {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "+" => Arithmetic::Plus,
            "-" => Arithmetic::Minus,
            "*" => Arithmetic::Times,
            "/" => Arithmetic::Divide,
            "%" => Arithmetic::Modulo,
            _ => return None,
        })
    }

    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Plus => "+",
            Arithmetic::Minus => "-",
            Arithmetic::Times => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Modulo => "%",
        }
    }
}

/// The function of an operator whose arguments have been cast to `arguments`.
pub(super) fn operator(name: &str, arguments: Vec<DataType>, result: DataType, kernel: Kernel) -> Bound {
    let function = BoundFunction::new(name, Spelling::Operator, arguments.clone(), result, kernel).strict();
    Bound { function, arguments }
}

/// The type of intervals.
pub(crate) const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
