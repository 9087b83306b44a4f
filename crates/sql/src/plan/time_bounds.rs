//! What a join's condition says about how far the times of two rows may be apart.
//!
//! `a.ts BETWEEN b.ts - INTERVAL '2' HOUR AND b.ts`, `a.ts - b.ts < INTERVAL '30' SECOND`, and whatever else is a
//! difference of two times compared with a constant, once the terms are sorted.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{BinaryExpr, Expr, ExprSchemable, Join, Operator};
use headpond_functions::{is_cast, sum_of};

/// Bounds of `right time - left time`, both inclusive, in milliseconds.
#[derive(Debug, Clone)]
pub(super) struct TimeBounds {
    /// The column of the left input.
    pub(super) left: usize,
    /// The column of the right input.
    pub(super) right: usize,
    pub(super) lower_ms: i64,
    pub(super) upper_ms: i64,
    /// The rest of the join's condition.
    pub(super) rest: Option<Expr>,
}

impl TimeBounds {
    /// For each pair of columns that the condition bounds from both sides, how.
    pub(super) fn of(join: &Join) -> Vec<TimeBounds> {
        let (left, right) = (join.left.schema().as_ref(), join.right.schema().as_ref());
        // The join's own schema lacks the right columns where it is a semi join.
        let Ok(both) = left.join(right) else { return Vec::new() };
        let inputs = Inputs { left, right, both };
        let conditions: Vec<&Expr> = join.filter.as_ref().map(split_conjunction).unwrap_or_default();
        let bounds: Vec<Option<Bound>> = conditions.iter().map(|condition| Bound::of(condition, &inputs)).collect();
        let mut pairs: Vec<(usize, usize)> = bounds.iter().flatten().map(|bound| (bound.left, bound.right)).collect();
        let equal = join.on.iter().filter_map(|(left, right)| equal_times(left, right, &inputs));
        let equal: Vec<(usize, usize)> = equal.collect();
        pairs.extend(&equal);
        pairs.sort_unstable();
        pairs.dedup();
        let of_pair = |pair: (usize, usize)| {
            let is_of = |bound: &&Bound| (bound.left, bound.right) == pair;
            let of: Vec<&Bound> = bounds.iter().flatten().filter(is_of).collect();
            let equal = equal.contains(&pair).then_some(0);
            let lower_ms = of.iter().filter_map(|bound| bound.lower_ms).chain(equal).max()?;
            let upper_ms = of.iter().filter_map(|bound| bound.upper_ms).chain(equal).min()?;
            let others = conditions.iter().zip(&bounds).filter(|(_, bound)| !bound.as_ref().is_some_and(|b| is_of(&b)));
            let rest = others.map(|(condition, _)| (*condition).clone()).reduce(Expr::and);
            (lower_ms <= upper_ms).then_some(TimeBounds { left: pair.0, right: pair.1, lower_ms, upper_ms, rest })
        };
        pairs.into_iter().filter_map(of_pair).collect()
    }
}

/// The columns of both inputs.
struct Inputs<'a> {
    left: &'a DFSchema,
    right: &'a DFSchema,
    both: DFSchema,
}

/// The columns of an equality of two times.
fn equal_times(left: &Expr, right: &Expr, inputs: &Inputs<'_>) -> Option<(usize, usize)> {
    let (Expr::Column(left), Expr::Column(right)) = (left, right) else { return None };
    let left = inputs.left.maybe_index_of_column(left)?;
    let right = inputs.right.maybe_index_of_column(right)?;
    let is_time = |data_type: &DataType| matches!(data_type, DataType::Timestamp(_, _));
    let both = is_time(inputs.left.field(left).data_type()) && is_time(inputs.right.field(right).data_type());
    both.then_some((left, right))
}

/// What one comparison says.
#[derive(Debug)]
struct Bound {
    left: usize,
    right: usize,
    lower_ms: Option<i64>,
    upper_ms: Option<i64>,
}

impl Bound {
    fn of(condition: &Expr, inputs: &Inputs<'_>) -> Option<Bound> {
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => Self::of_comparison(left, *op, right, inputs),
            Expr::Between(between) if !between.negated => {
                let lower = Self::of_comparison(&between.expr, Operator::GtEq, &between.low, inputs)?;
                let upper = Self::of_comparison(&between.expr, Operator::LtEq, &between.high, inputs)?;
                ((lower.left, lower.right) == (upper.left, upper.right)).then(|| Bound {
                    left: lower.left,
                    right: lower.right,
                    lower_ms: lower.lower_ms.or(upper.lower_ms),
                    upper_ms: lower.upper_ms.or(upper.upper_ms),
                })
            }
            _ => None,
        }
    }

    fn of_comparison(left: &Expr, op: Operator, right: &Expr, inputs: &Inputs<'_>) -> Option<Bound> {
        // left - right op 0
        let difference = Linear::of(left, inputs)?.plus(Linear::of(right, inputs)?.negated())?;
        let (left, right) = (difference.left?, difference.right?);
        // Into right time - left time + constant op 0.
        let (op, constant) = match (right.sign, left.sign) {
            (1, -1) => (op, difference.ns),
            (-1, 1) => (op.swap()?, -difference.ns),
            _ => return None,
        };
        const NS_PER_MS: i128 = 1_000_000;
        let least = -constant;
        let floor = i64::try_from(least.div_euclid(NS_PER_MS)).ok()?;
        let is_whole = least.rem_euclid(NS_PER_MS) == 0;
        let ceil = if is_whole { floor } else { floor.checked_add(1)? };
        let (lower_ms, upper_ms) = match op {
            Operator::GtEq => (Some(ceil), None),
            Operator::Gt => (Some(floor.checked_add(1)?), None),
            Operator::LtEq => (None, Some(floor)),
            Operator::Lt => (None, Some(ceil.checked_sub(1)?)),
            Operator::Eq if is_whole => (Some(floor), Some(floor)),
            _ => return None,
        };
        Some(Bound { left: left.column, right: right.column, lower_ms, upper_ms })
    }
}

/// A sum of at most one time of each side and constants.
#[derive(Debug, Clone, Copy, Default)]
struct Linear {
    left: Option<Time>,
    right: Option<Time>,
    ns: i128,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Time {
    column: usize,
    sign: i8,
}

impl Linear {
    fn of(expr: &Expr, inputs: &Inputs<'_>) -> Option<Linear> {
        match expr {
            Expr::Alias(alias) => Self::of(&alias.expr, inputs),
            Expr::Negative(inner) => Self::of(inner, inputs).map(Linear::negated),
            Expr::Literal(value, _) => Self::of_literal(value),
            Expr::Column(column) => {
                let left = inputs.left.maybe_index_of_column(column);
                let (schema, index) = match left {
                    Some(index) => (inputs.left, index),
                    None => (inputs.right, inputs.right.maybe_index_of_column(column)?),
                };
                let DataType::Timestamp(_, _) = schema.field(index).data_type() else { return None };
                let time = Some(Time { column: index, sign: 1 });
                Some(match left {
                    Some(_) => Linear { left: time, ..Linear::default() },
                    None => Linear { right: time, ..Linear::default() },
                })
            }
            Expr::ScalarFunction(call) if is_cast(expr) => {
                let [inner] = &call.args[..] else { return None };
                let to = expr.get_type(&inputs.both).ok()?;
                keeps_time(&inner.get_type(&inputs.both).ok()?, &to).then(|| Self::of(inner, inputs))?
            }
            Expr::Cast(cast) => {
                let from = cast.expr.get_type(&inputs.both).ok()?;
                keeps_time(&from, cast.field.data_type()).then(|| Self::of(&cast.expr, inputs))?
            }
            other => {
                let (left, sign, right) = sum_of(other)?;
                let right = Self::of(right, inputs)?;
                Self::of(left, inputs)?.plus(if sign < 0 { right.negated() } else { right })
            }
        }
    }

    fn of_literal(value: &ScalarValue) -> Option<Linear> {
        const DAY_NS: i128 = 86_400_000_000_000;
        let (days, ns) = match value {
            ScalarValue::IntervalDayTime(Some(value)) => (value.days, i128::from(value.milliseconds) * 1_000_000),
            ScalarValue::IntervalMonthDayNano(Some(value)) if value.months == 0 => {
                (value.days, i128::from(value.nanoseconds))
            }
            ScalarValue::DurationSecond(Some(value)) => (0, i128::from(*value) * 1_000_000_000),
            ScalarValue::DurationMillisecond(Some(value)) => (0, i128::from(*value) * 1_000_000),
            ScalarValue::DurationMicrosecond(Some(value)) => (0, i128::from(*value) * 1_000),
            ScalarValue::DurationNanosecond(Some(value)) => (0, i128::from(*value)),
            _ => return None,
        };
        Some(Linear { ns: i128::from(days) * DAY_NS + ns, ..Linear::default() })
    }

    fn negated(self) -> Linear {
        let negated = |time: Option<Time>| time.map(|time| Time { sign: -time.sign, ..time });
        Linear { left: negated(self.left), right: negated(self.right), ns: -self.ns }
    }

    /// The sum; `None` if it has two times of one side.
    fn plus(self, other: Linear) -> Option<Linear> {
        let one = |a: Option<Time>, b: Option<Time>| match (a, b) {
            (Some(_), Some(_)) => None,
            (a, b) => Some(a.or(b)),
        };
        Some(Linear { left: one(self.left, other.left)?, right: one(self.right, other.right)?, ns: self.ns + other.ns })
    }
}

/// Whether a cast leaves a time or a span of time what it is.
fn keeps_time(from: &DataType, to: &DataType) -> bool {
    let is_span = |data_type: &DataType| matches!(data_type, DataType::Interval(_) | DataType::Duration(_));
    match (from, to) {
        (DataType::Timestamp(from, from_zone), DataType::Timestamp(to, to_zone)) => from_zone == to_zone && to >= from,
        _ => is_span(from) && is_span(to),
    }
}
