//! The type that holds the values of several: of CASE, COALESCE, IN, UNION, arrays and comparisons.

use crate::decimal;
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use std::sync::Arc;

/// Whether a type is a whole number's.
pub fn is_integer(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64)
}

/// Whether a type is `FLOAT` or `DOUBLE`.
pub fn is_floating(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

/// Whether a type is a number's.
pub fn is_number(data_type: &DataType) -> bool {
    is_integer(data_type) || is_floating(data_type) || matches!(data_type, DataType::Decimal128(_, _))
}

/// Whether a type is that of texts.
pub fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Whether a type is `TIMESTAMP` or `TIMESTAMP_LTZ`.
pub fn is_timestamp(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, _))
}

/// The type that holds the values of all, as Calcite finds it; `None` if there is none. NULL alone has no type.
pub fn common_type<'t>(types: impl IntoIterator<Item = &'t DataType>) -> Option<DataType> {
    types.into_iter().try_fold(DataType::Null, |common, next| of_two(&common, next))
}

/// The type that holds the values of both.
pub fn of_two(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::{Binary, Date32, Decimal128, Float64, Interval, List, Map, Null, Struct, Timestamp, Utf8};
    Some(match (left, right) {
        (Null, other) | (other, Null) => other.clone(),
        _ if left == right => left.clone(),
        _ if is_text(left) && is_text(right) => Utf8,
        _ if is_number(left) && is_number(right) => numbers(left, right)?,
        (Binary | DataType::FixedSizeBinary(_) | DataType::LargeBinary | DataType::BinaryView, Binary)
        | (Binary, DataType::FixedSizeBinary(_) | DataType::LargeBinary | DataType::BinaryView) => Binary,
        (Timestamp(a, zone), Timestamp(b, other)) => Timestamp(finer(*a, *b), zone.clone().or_else(|| other.clone())),
        (Date32, Timestamp(unit, zone)) | (Timestamp(unit, zone), Date32) => Timestamp(*unit, zone.clone()),
        (Interval(_), Interval(_)) => Interval(arrow_schema::IntervalUnit::MonthDayNano),
        (List(a), List(b)) => List(Arc::new(Field::new("item", of_two(a.data_type(), b.data_type())?, true))),
        (Struct(a), Struct(b)) if a.len() == b.len() => {
            let field = |(a, b): (&Arc<Field>, &Arc<Field>)| {
                Some(Field::new(a.name(), of_two(a.data_type(), b.data_type())?, a.is_nullable() || b.is_nullable()))
            };
            Struct(a.iter().zip(b).map(field).collect::<Option<Fields>>()?)
        }
        (Map(a, _), Map(b, _)) => {
            let (DataType::Struct(a), DataType::Struct(b)) = (a.data_type(), b.data_type()) else { return None };
            let ([ka, va], [kb, vb]) = (&a[..], &b[..]) else { return None };
            map_type(of_two(ka.data_type(), kb.data_type())?, of_two(va.data_type(), vb.data_type())?)
        }
        (Decimal128(_, _), Float64) => Float64,
        _ => return None,
    })
}

fn finer(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    a.max(b)
}

/// The type of maps from `key` to `value`.
pub fn map_type(key: DataType, value: DataType) -> DataType {
    let entry = Fields::from(vec![Field::new("key", key, false), Field::new("value", value, true)]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entry), false)), false)
}

/// The type of arrays of `item`.
pub fn array_type(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

/// The number type that holds both. Of `FLOAT` and `DOUBLE` it is the first, as Flink has it; a decimal beside either
/// is a `DOUBLE`.
fn numbers(left: &DataType, right: &DataType) -> Option<DataType> {
    let is_decimal = |data_type: &DataType| matches!(data_type, DataType::Decimal128(_, _));
    if is_floating(left) || is_floating(right) {
        return Some(match (is_floating(left), is_floating(right)) {
            (true, true) => left.clone(),
            _ if is_decimal(left) || is_decimal(right) => DataType::Float64,
            (true, false) => left.clone(),
            _ => right.clone(),
        });
    }
    if is_decimal(left) || is_decimal(right) {
        return Some(decimal::common(decimal::precision_and_scale(left)?, decimal::precision_and_scale(right)?));
    }
    let width = |data_type: &DataType| decimal::precision_and_scale(data_type).map(|(precision, _)| precision);
    Some(if width(left)? >= width(right)? { left.clone() } else { right.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_widen() {
        let common = |types: &[DataType]| common_type(types);
        assert_eq!(common(&[DataType::Int8, DataType::Int32]), Some(DataType::Int32));
        assert_eq!(common(&[DataType::Int32, DataType::Decimal128(2, 1)]), Some(DataType::Decimal128(11, 1)));
        assert_eq!(common(&[DataType::Float32, DataType::Float64]), Some(DataType::Float32));
        assert_eq!(common(&[DataType::Float64, DataType::Float32]), Some(DataType::Float64));
        assert_eq!(common(&[DataType::Int64, DataType::Null, DataType::Float64]), Some(DataType::Float64));
        assert_eq!(common(&[DataType::Int64, DataType::Utf8]), None);
        assert_eq!(common(&[DataType::Null]), Some(DataType::Null));
    }
}
