//! The two sides of an operator: columns, or values for all rows.

use crate::bound::{Arguments, internal};
use arrow_array::{Array, ArrayRef, Datum};
use arrow_schema::ArrowError;
use datafusion_expr::ColumnarValue;
use headpond_state::Error;

/// Applies an Arrow kernel to two columns or values.
pub(super) fn of_both(
    values: &[ColumnarValue],
    compute: impl Fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError>,
) -> Result<Result<ArrayRef, ArrowError>, Error> {
    let scalar = |value: &datafusion_common::ScalarValue| value.to_scalar().map_err(internal);
    Ok(match values {
        [ColumnarValue::Array(left), ColumnarValue::Array(right)] => compute(left, right),
        [ColumnarValue::Array(left), ColumnarValue::Scalar(right)] => compute(left, &scalar(right)?),
        [ColumnarValue::Scalar(left), ColumnarValue::Array(right)] => compute(&scalar(left)?, right),
        [ColumnarValue::Scalar(left), ColumnarValue::Scalar(right)] => compute(&scalar(left)?, &scalar(right)?),
        _ => return Err(Error::internal("an operator has not two arguments")),
    })
}

/// The result for all rows, where it was computed for one because all arguments are constants.
pub(super) fn repeated(array: ArrayRef, arguments: &Arguments<'_>) -> Result<ArrayRef, Error> {
    if array.len() == arguments.rows || array.len() != 1 {
        return Ok(array);
    }
    let scalar = datafusion_common::ScalarValue::try_from_array(&array, 0).map_err(internal)?;
    scalar.to_array_of_size(arguments.rows).map_err(internal)
}
