//! Columns to Arrow arrays.

use super::{Bytes, Column, Values};
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, ListArray, MapArray, PrimitiveArray, StringArray,
    StructArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, TimeUnit};
use headpond_runtime::batch::arrow_error;
use headpond_runtime::{Error, Result};
use std::sync::Arc;

impl Column {
    /// The values as an array. The column is empty afterwards.
    pub(crate) fn finish(&mut self) -> Result<ArrayRef> {
        let nulls = self.validity.take().map(|mut bits| bits.finish());
        let len = std::mem::take(&mut self.len);
        array(&mut self.values, len, nulls, &self.field)
    }
}

fn array(values: &mut Values, len: usize, validity: Option<BooleanBuffer>, field: &FieldRef) -> Result<ArrayRef> {
    let nulls = validity.map(NullBuffer::new);
    Ok(match values {
        Values::Bool(values) => Arc::new(BooleanArray::new(BooleanBuffer::from(taken(values)), nulls)),
        Values::Int8(values) => primitive::<Int8Type>(values, nulls),
        Values::Int16(values) => primitive::<Int16Type>(values, nulls),
        Values::Int32(values) => primitive::<Int32Type>(values, nulls),
        Values::Int64(values) => primitive::<Int64Type>(values, nulls),
        Values::Float32(values) => primitive::<Float32Type>(values, nulls),
        Values::Float64(values) => primitive::<Float64Type>(values, nulls),
        Values::Date(values) => primitive::<Date32Type>(values, nulls),
        Values::Decimal { values, .. } => typed::<Decimal128Type>(values, nulls, field),
        Values::Timestamp { unit, values, .. } => match unit {
            TimeUnit::Second => typed::<TimestampSecondType>(values, nulls, field),
            TimeUnit::Millisecond => typed::<TimestampMillisecondType>(values, nulls, field),
            TimeUnit::Microsecond => typed::<TimestampMicrosecondType>(values, nulls, field),
            TimeUnit::Nanosecond => typed::<TimestampNanosecondType>(values, nulls, field),
        },
        Values::Text(bytes) => {
            let (offsets, bytes) = parts(bytes);
            Arc::new(StringArray::try_new(offsets, bytes, nulls).map_err(arrow_error)?)
        }
        Values::Binary(bytes) => {
            let (offsets, bytes) = parts(bytes);
            Arc::new(BinaryArray::try_new(offsets, bytes, nulls).map_err(arrow_error)?)
        }
        Values::List { offsets, element } => {
            let elements = element.finish()?;
            let list = ListArray::try_new(element.field.clone(), taken_offsets(offsets), elements, nulls);
            Arc::new(list.map_err(arrow_error)?)
        }
        Values::Struct(columns) => Arc::new(structure(columns, len, nulls).map_err(arrow_error)?),
        Values::Map { offsets, key, value } => {
            let DataType::Map(entries, sorted) = field.data_type() else {
                return Err(Error::internal("a map's column has another type"));
            };
            let fields = Fields::from(vec![key.field.clone(), value.field.clone()]);
            let pairs =
                StructArray::try_new(fields, vec![key.finish()?, value.finish()?], None).map_err(arrow_error)?;
            let map = MapArray::try_new(entries.clone(), taken_offsets(offsets), pairs, nulls, *sorted);
            Arc::new(map.map_err(arrow_error)?)
        }
    })
}

fn structure(columns: &mut [Column], len: usize, nulls: Option<NullBuffer>) -> Result<StructArray, ArrowError> {
    let fields: Fields = columns.iter().map(|column| column.field.clone()).collect();
    let arrays = columns.iter_mut().map(Column::finish).collect::<Result<Vec<_>>>();
    let arrays = arrays.map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
    StructArray::try_new_with_length(fields, arrays, nulls, len)
}

fn primitive<T: ArrowPrimitiveType>(values: &mut Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(taken(values)), nulls))
}

/// An array of a type with parameters, which are the field's.
fn typed<T: ArrowPrimitiveType>(values: &mut Vec<T::Native>, nulls: Option<NullBuffer>, field: &FieldRef) -> ArrayRef {
    let array = PrimitiveArray::<T>::new(ScalarBuffer::from(taken(values)), nulls);
    Arc::new(array.with_data_type(field.data_type().clone()))
}

fn parts(bytes: &mut Bytes) -> (OffsetBuffer<i32>, Buffer) {
    (taken_offsets(&mut bytes.offsets), Buffer::from_vec(taken(&mut bytes.bytes)))
}

/// The values; as many will probably follow.
fn taken<T>(values: &mut Vec<T>) -> Vec<T> {
    let next = Vec::with_capacity(values.len());
    std::mem::replace(values, next)
}

fn taken_offsets(offsets: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let mut next = Vec::with_capacity(offsets.len());
    next.push(0);
    OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(offsets, next)))
}
