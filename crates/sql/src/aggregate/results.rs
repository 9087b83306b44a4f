//! The results of aggregates, as Arrow columns.

use super::accumulators::Accumulators;
use super::cell::CellValues;
use super::layout::{AggregateCall, AggregateFunction, AggregatePlan, CallCells};
use arrow_array::types::{Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, Decimal128Array, Float32Array, Float64Array, Int64Array, PrimitiveArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use headpond_rows::arrow::column_of;
use headpond_rows::sums::ExactSum;
use headpond_runtime::batch::arrow_error;
use headpond_state::{Error, Result};
use std::sync::Arc;

/// The results of all calls for all groups.
pub(super) fn results(plan: &AggregatePlan, accumulators: &Accumulators) -> Result<Vec<ArrayRef>> {
    let calls = plan.calls.iter().zip(&plan.layout.of_calls);
    calls.map(|(call, cells)| result(call, *cells, accumulators, plan.wraps)).collect()
}

fn result(call: &AggregateCall, cells: CallCells, accumulators: &Accumulators, wraps: bool) -> Result<ArrayRef> {
    let Some(value) = cells.value else {
        return Ok(Arc::new(Int64Array::from(accumulators.rows.clone())));
    };
    let cell = &accumulators.cells[value];
    if call.function == AggregateFunction::Avg {
        return average(call, cells, accumulators);
    }
    let has_nulls = cell.set.iter().any(|set| !set);
    let nulls = has_nulls.then(|| NullBuffer::from(cell.set.as_slice()));
    if let (AggregateFunction::Sum, CellValues::Integers(values)) = (call.function, &cell.values) {
        return whole(values, nulls, wraps, call);
    }
    Ok(match (&cell.values, &call.output) {
        (CellValues::Integers(values), DataType::Int64) => Arc::new(Int64Array::new(values.clone().into(), nulls)),
        (CellValues::Floats { sums, lost }, DataType::Float64) => {
            let values: Vec<f64> = sums.iter().zip(lost).map(|(sum, lost)| sum + lost).collect();
            Arc::new(Float64Array::new(values.into(), nulls))
        }
        (CellValues::Exact(sums), DataType::Float64) => {
            let values: Vec<f64> = sums.iter().map(ExactSum::value).collect();
            Arc::new(Float64Array::new(values.into(), nulls))
        }
        (CellValues::Floats { sums, lost }, DataType::Float32) if call.function == AggregateFunction::Sum => {
            let values: Vec<f32> = sums.iter().zip(lost).map(|(sum, lost)| (sum + lost) as f32).collect();
            Arc::new(Float32Array::new(values.into(), nulls))
        }
        (CellValues::Exact(sums), DataType::Float32) => {
            let values: Vec<f32> = sums.iter().map(|sum| sum.value() as f32).collect();
            Arc::new(Float32Array::new(values.into(), nulls))
        }
        (CellValues::Decimals(values), DataType::Decimal128(precision, scale)) => {
            let array = Decimal128Array::new(values.clone().into(), nulls);
            decimals(array, *precision, *scale, call)?
        }
        // Types of MIN and MAX that are rarer.
        _ => {
            let mut column = Vec::with_capacity(accumulators.len());
            let mut row = Vec::new();
            for group in 0..accumulators.len() {
                row.clear();
                cell.store(group, &mut row);
                column.push(row.swap_remove(0));
            }
            column_of(&call.output, &column)?
        }
    })
}

fn average(call: &AggregateCall, cells: CallCells, accumulators: &Accumulators) -> Result<ArrayRef> {
    let Some(value) = cells.value else { return Err(Error::internal("an average lacks its sum")) };
    let counts = (0..accumulators.len()).map(|group| accumulators.count(cells.count, group));
    Ok(match (&accumulators.cells[value].values, &call.output) {
        // Of whole numbers it is one, cut off as a quotient is.
        (CellValues::Integers(sums), _) => {
            let counts: Vec<i64> = counts.collect();
            let nulls = NullBuffer::from_iter(counts.iter().map(|count| *count != 0));
            let averages = sums.iter().zip(&counts).map(|(sum, count)| sum.checked_div(*count).unwrap_or(0));
            return whole(&averages.collect::<Vec<_>>(), Some(nulls), false, call);
        }
        (CellValues::Floats { sums, lost }, DataType::Float32) => {
            let averages = sums.iter().zip(lost).zip(counts);
            let averages =
                averages.map(|((sum, lost), count)| (count != 0).then(|| ((sum + lost) / count as f64) as f32));
            Arc::new(averages.collect::<Float32Array>())
        }
        (CellValues::Exact(sums), DataType::Float32) => {
            let averages = sums.iter().zip(counts);
            let averages = averages.map(|(sum, count)| (count != 0).then(|| (sum.value() / count as f64) as f32));
            Arc::new(averages.collect::<Float32Array>())
        }
        (CellValues::Floats { sums, lost }, DataType::Float64) => {
            let averages = sums.iter().zip(lost).zip(counts);
            let averages = averages.map(|((sum, lost), count)| (count != 0).then(|| (sum + lost) / count as f64));
            Arc::new(averages.collect::<Float64Array>())
        }
        (CellValues::Exact(sums), DataType::Float64) => {
            let averages = sums.iter().zip(counts);
            let averages = averages.map(|(sum, count)| (count != 0).then(|| sum.value() / count as f64));
            Arc::new(averages.collect::<Float64Array>())
        }
        (CellValues::Decimals(sums), DataType::Decimal128(precision, scale)) => {
            let sum_scale = match &accumulators.cells[value].decimal_scale() {
                Some(scale) => i32::from(*scale),
                None => return Err(Error::internal("an average of decimals lacks its scale")),
            };
            let factor =
                u32::try_from(i32::from(*scale) - sum_scale).ok().and_then(|digits| 10i128.checked_pow(digits));
            let mut averages: Vec<Option<i128>> = Vec::with_capacity(sums.len());
            for (sum, count) in sums.iter().zip(counts) {
                if count == 0 {
                    averages.push(None);
                    continue;
                }
                let scaled = factor.and_then(|factor| sum.checked_mul(factor)).ok_or_else(|| beyond(call))?;
                averages.push(Some(rounded_quotient(scaled, i128::from(count))));
            }
            decimals(averages.into_iter().collect(), *precision, *scale, call)?
        }
        _ => return Err(Error::internal("an average has an unexpected type")),
    })
}

/// Whole numbers in the result's type.
fn whole(values: &[i64], nulls: Option<NullBuffer>, wraps: bool, call: &AggregateCall) -> Result<ArrayRef> {
    fn narrow<T: ArrowPrimitiveType>(
        values: &[i64],
        nulls: Option<NullBuffer>,
        last_bits: impl Fn(i64) -> T::Native,
    ) -> (ArrayRef, bool)
    where
        i64: From<T::Native>,
    {
        let narrow: Vec<T::Native> = values.iter().map(|value| last_bits(*value)).collect();
        let is_valid = |index: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(index));
        let mut pairs = narrow.iter().zip(values).enumerate();
        let fits = pairs.all(|(index, (narrow, value))| i64::from(*narrow) == *value || !is_valid(index));
        (Arc::new(PrimitiveArray::<T>::new(narrow.into(), nulls)), fits)
    }
    let (column, fits) = match &call.output {
        DataType::Int8 => narrow::<Int8Type>(values, nulls, |value| value as i8),
        DataType::Int16 => narrow::<Int16Type>(values, nulls, |value| value as i16),
        DataType::Int32 => narrow::<Int32Type>(values, nulls, |value| value as i32),
        _ => narrow::<Int64Type>(values, nulls, |value| value),
    };
    if fits || wraps { Ok(column) } else { Err(beyond(call)) }
}

/// The quotient, rounded half away from zero.
fn rounded_quotient(dividend: i128, divisor: i128) -> i128 {
    let (quotient, remainder) = (dividend / divisor, dividend % divisor);
    if remainder.unsigned_abs() * 2 >= divisor.unsigned_abs() {
        quotient + dividend.signum() * divisor.signum()
    } else {
        quotient
    }
}

fn decimals(array: PrimitiveArray<Decimal128Type>, precision: u8, scale: i8, call: &AggregateCall) -> Result<ArrayRef> {
    let array = array.with_precision_and_scale(precision, scale).map_err(arrow_error)?;
    array.validate_decimal_precision(precision).map_err(|_| beyond(call))?;
    Ok(Arc::new(array))
}

#[cold]
fn beyond(call: &AggregateCall) -> Error {
    Error::invalid(format!(
        "the result of an aggregate of `{}` does not fit {}",
        call.text,
        crate::script::type_name(&call.output)
    ))
    .hint(match call.output {
        DataType::Int8 | DataType::Int16 | DataType::Int32 => {
            "cast the argument to BIGINT; SET 'table.exec.integer-overflow' = 'wrap' makes sums wrap around, as Flink's do"
        }
        _ => "cast the argument to a DECIMAL of more digits, or to DOUBLE",
    })
}
