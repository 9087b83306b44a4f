//! Arguments read row by row, and results written row by row.

use crate::bound::{Arguments, internal};
use arrow_array::builder::{BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, Datum, PrimitiveArray, StringArray};
use arrow_schema::DataType;
use headpond_state::Error;
use std::sync::Arc;

/// A column, or one value for all rows.
#[derive(Debug)]
pub struct Column<A> {
    array: A,
    constant: bool,
}

impl<A: Array> Column<A> {
    fn index(&self, row: usize) -> Option<usize> {
        let index = if self.constant { 0 } else { row };
        self.array.is_valid(index).then_some(index)
    }

    /// Whether all rows have one value.
    pub fn is_constant(&self) -> bool {
        self.constant
    }
}

fn column<A: Array + Clone + 'static>(
    arguments: &Arguments<'_>,
    index: usize,
    wanted: &str,
) -> Result<Column<A>, Error> {
    let (array, constant) = match arguments.scalar(index) {
        Some(scalar) => (scalar.to_scalar().map_err(internal)?.get().0.slice(0, 1), true),
        None => (arguments.column(index)?, false),
    };
    match array.as_any().downcast_ref::<A>() {
        Some(typed) => Ok(Column { array: typed.clone(), constant }),
        None => Err(Error::internal(format!("an argument is {} where {wanted} was expected", array.data_type()))),
    }
}

/// The argument as texts.
pub(crate) type Texts = Column<StringArray>;
/// The argument as bytes.
pub(crate) type Bytes = Column<BinaryArray>;
/// The argument as truth values.
pub(crate) type Booleans = Column<BooleanArray>;
/// The argument as numbers, dates or times of one Arrow type.
pub(crate) type Numbers<T> = Column<PrimitiveArray<T>>;

impl Arguments<'_> {
    /// The argument as texts.
    ///
    /// # Errors
    /// [`Internal`](headpond_state::ErrorKind::Internal) when it has another type; so the other readers here.
    pub fn texts(&self, index: usize) -> Result<Texts, Error> {
        column(self, index, "STRING")
    }

    /// The argument as bytes.
    pub fn bytes(&self, index: usize) -> Result<Bytes, Error> {
        column(self, index, "BYTES")
    }

    /// The argument as truth values.
    pub fn booleans(&self, index: usize) -> Result<Booleans, Error> {
        column(self, index, "BOOLEAN")
    }

    /// The argument as values of an Arrow type.
    pub fn numbers<T: ArrowPrimitiveType>(&self, index: usize) -> Result<Numbers<T>, Error> {
        column(self, index, "a number")
    }

    /// The argument as `BIGINT`s.
    pub fn longs(&self, index: usize) -> Result<Numbers<Int64Type>, Error> {
        column(self, index, "BIGINT")
    }

    /// The argument as `DOUBLE`s.
    pub fn doubles(&self, index: usize) -> Result<Numbers<Float64Type>, Error> {
        column(self, index, "DOUBLE")
    }
}

impl Texts {
    /// The row's text; `None` for NULL.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.index(row).map(|index| self.array.value(index))
    }
}

impl Bytes {
    /// The row's bytes; `None` for NULL.
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        self.index(row).map(|index| self.array.value(index))
    }
}

impl Booleans {
    /// The row's truth value; `None` for NULL.
    pub fn get(&self, row: usize) -> Option<bool> {
        self.index(row).map(|index| self.array.value(index))
    }
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    /// The row's number; `None` for NULL.
    pub fn get(&self, row: usize) -> Option<T::Native> {
        self.index(row).map(|index| self.array.value(index))
    }
}

/// A column of texts: `write` appends a row's text and says whether there is one.
///
/// # Errors
/// The first of `write`; so the other builders here.
pub(crate) fn build_texts(
    rows: usize,
    mut write: impl FnMut(usize, &mut String) -> Result<bool, Error>,
) -> Result<ArrayRef, Error> {
    let mut texts = StringBuilder::with_capacity(rows, rows * 16);
    let mut text = String::new();
    for row in 0..rows {
        text.clear();
        if write(row, &mut text)? {
            texts.append_value(&text);
        } else {
            texts.append_null();
        }
    }
    Ok(Arc::new(texts.finish()))
}

/// A column of texts that are parts of others.
pub(crate) fn build_slices<'t>(
    rows: usize,
    mut value: impl FnMut(usize) -> Result<Option<&'t str>, Error>,
) -> Result<ArrayRef, Error> {
    let mut texts = StringBuilder::with_capacity(rows, rows * 16);
    for row in 0..rows {
        texts.append_option(value(row)?);
    }
    Ok(Arc::new(texts.finish()))
}

/// A column of bytes.
pub(crate) fn build_bytes(
    rows: usize,
    mut value: impl FnMut(usize) -> Result<Option<Vec<u8>>, Error>,
) -> Result<ArrayRef, Error> {
    let mut bytes = BinaryBuilder::new();
    for row in 0..rows {
        bytes.append_option(value(row)?);
    }
    Ok(Arc::new(bytes.finish()))
}

/// A column of truth values.
pub(crate) fn build_booleans(
    rows: usize,
    mut value: impl FnMut(usize) -> Result<Option<bool>, Error>,
) -> Result<ArrayRef, Error> {
    let mut booleans = BooleanBuilder::with_capacity(rows);
    for row in 0..rows {
        booleans.append_option(value(row)?);
    }
    Ok(Arc::new(booleans.finish()))
}

/// A column of an Arrow type, as `data_type` where that says more.
pub(crate) fn build_numbers<T: ArrowPrimitiveType>(
    rows: usize,
    data_type: &DataType,
    mut value: impl FnMut(usize) -> Result<Option<T::Native>, Error>,
) -> Result<ArrayRef, Error> {
    let mut numbers = PrimitiveBuilder::<T>::with_capacity(rows);
    for row in 0..rows {
        numbers.append_option(value(row)?);
    }
    Ok(Arc::new(numbers.finish().with_data_type(data_type.clone())))
}

/// A column of `INT`s.
pub(crate) fn build_ints(
    rows: usize,
    value: impl FnMut(usize) -> Result<Option<i32>, Error>,
) -> Result<ArrayRef, Error> {
    build_numbers::<Int32Type>(rows, &DataType::Int32, value)
}

/// A column of `BIGINT`s.
pub(crate) fn build_longs(
    rows: usize,
    value: impl FnMut(usize) -> Result<Option<i64>, Error>,
) -> Result<ArrayRef, Error> {
    build_numbers::<Int64Type>(rows, &DataType::Int64, value)
}

/// A column of `DOUBLE`s.
pub(crate) fn build_doubles(
    rows: usize,
    value: impl FnMut(usize) -> Result<Option<f64>, Error>,
) -> Result<ArrayRef, Error> {
    build_numbers::<Float64Type>(rows, &DataType::Float64, value)
}

/// A decimal column's values, and how many digits they have behind the point.
pub(crate) fn decimals(array: &ArrayRef) -> Result<(&PrimitiveArray<Decimal128Type>, i8), Error> {
    match (array.as_primitive_opt::<Decimal128Type>(), array.data_type()) {
        (Some(values), DataType::Decimal128(_, scale)) => Ok((values, *scale)),
        _ => Err(Error::internal(format!("a {} is read as a decimal", array.data_type()))),
    }
}

/// A float column's values as `f64`.
pub(crate) fn floats(array: &ArrayRef) -> Option<PrimitiveArray<Float64Type>> {
    match array.data_type() {
        DataType::Float64 => array.as_primitive_opt::<Float64Type>().cloned(),
        DataType::Float32 => array.as_primitive_opt::<Float32Type>().map(|array| array.unary(f64::from)),
        _ => None,
    }
}
