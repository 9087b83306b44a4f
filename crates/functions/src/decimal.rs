//! Precision and scale of decimal results, as Flink derives them (`LogicalTypeMerging` and Calcite's type system).

use arrow_schema::DataType;

/// The most digits of a decimal.
pub const PRECISION_MAX: u8 = 38;

/// Digits that a quotient keeps behind the point where there is not room for all.
const SCALE_KEPT: i32 = 6;

/// Precision and scale of a decimal or a whole number; `None` for other types.
pub fn precision_and_scale(data_type: &DataType) -> Option<(u8, i8)> {
    Some(match data_type {
        DataType::Int8 => (3, 0),
        DataType::Int16 => (5, 0),
        DataType::Int32 => (10, 0),
        DataType::Int64 => (19, 0),
        DataType::Decimal128(precision, scale) => (*precision, *scale),
        _ => return None,
    })
}

/// Takes digits behind the point away until the number has room.
fn adjusted(precision: i32, scale: i32) -> DataType {
    let most = i32::from(PRECISION_MAX);
    let (precision, scale) = if precision <= most {
        (precision, scale)
    } else {
        let whole = precision - scale;
        (most, (most - whole).max(scale.min(SCALE_KEPT)))
    };
    decimal(precision, scale)
}

fn decimal(precision: i32, scale: i32) -> DataType {
    let scale = scale.clamp(0, i32::from(PRECISION_MAX));
    let precision = precision.clamp(1, i32::from(PRECISION_MAX)).max(scale);
    DataType::Decimal128(precision as u8, scale as i8)
}

fn parts((precision, scale): (u8, i8)) -> (i32, i32) {
    (i32::from(precision), i32::from(scale))
}

/// The type of a sum or a difference.
pub fn sum(left: (u8, i8), right: (u8, i8)) -> DataType {
    let ((p1, s1), (p2, s2)) = (parts(left), parts(right));
    let scale = s1.max(s2);
    adjusted((p1 - s1).max(p2 - s2) + scale + 1, scale)
}

/// The type of a product.
pub fn product(left: (u8, i8), right: (u8, i8)) -> DataType {
    let ((p1, s1), (p2, s2)) = (parts(left), parts(right));
    adjusted(p1 + p2 + 1, s1 + s2)
}

/// The type of a quotient.
pub fn quotient(left: (u8, i8), right: (u8, i8)) -> DataType {
    let ((p1, s1), (p2, s2)) = (parts(left), parts(right));
    let scale = (s1 + p2 + 1).max(SCALE_KEPT);
    adjusted(p1 - s1 + s2 + scale, scale)
}

/// The type of a remainder.
pub fn remainder(left: (u8, i8), right: (u8, i8)) -> DataType {
    let ((p1, s1), (p2, s2)) = (parts(left), parts(right));
    let scale = s1.max(s2);
    adjusted((p1 - s1).min(p2 - s2) + scale, scale)
}

/// The type that holds the values of both.
pub fn common(left: (u8, i8), right: (u8, i8)) -> DataType {
    let ((p1, s1), (p2, s2)) = (parts(left), parts(right));
    let scale = s1.max(s2);
    decimal((p1 - s1).max(p2 - s2) + scale, scale)
}

/// The type of a number rounded or cut to `digits` behind the point.
pub fn rounded(number: (u8, i8), digits: i64) -> DataType {
    let (precision, scale) = parts(number);
    if digits >= i64::from(scale) {
        return decimal(precision, scale);
    }
    let kept = digits.max(0) as i32;
    decimal(1 + precision - scale + kept, kept)
}

/// The type of a decimal's sum over many rows.
pub fn total(number: (u8, i8)) -> DataType {
    DataType::Decimal128(PRECISION_MAX, number.1)
}

/// The type of a decimal's average.
pub fn average(number: (u8, i8)) -> DataType {
    DataType::Decimal128(PRECISION_MAX, number.1.max(SCALE_KEPT as i8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_flink() {
        let is = |found: DataType, precision, scale| assert_eq!(found, DataType::Decimal128(precision, scale));
        is(quotient((10, 2), (10, 0)), 21, 13);
        is(quotient((10, 0), (10, 2)), 23, 11);
        is(quotient((10, 0), (2, 1)), 17, 6);
        is(quotient((2, 1), (10, 0)), 13, 12);
        is(quotient((38, 18), (10, 0)), 38, 18);
        is(quotient((15, 1), (19, 0)), 35, 21);
        is(product((10, 2), (10, 2)), 21, 4);
        is(product((38, 19), (38, 19)), 38, 6);
        is(quotient((38, 19), (38, 19)), 38, 6);
        is(sum((2, 1), (2, 1)), 3, 1);
        is(sum((10, 2), (10, 0)), 13, 2);
        is(remainder((10, 2), (10, 0)), 10, 2);
        is(common((10, 0), (2, 1)), 11, 1);
        is(rounded((4, 3), 2), 4, 2);
        is(rounded((10, 2), 0), 9, 0);
        is(rounded((10, 2), -1), 9, 0);
        is(rounded((2, 1), 0), 2, 0);
    }
}
