//! Rows into Arrow, value by value.
//!
//! A [`Column`] grows by one value per row and can be cut back to an earlier length, which is how a malformed row is
//! left out after some of its values were taken. [`append_text`](Column::append_text) reads a value from the bytes of
//! a field, straight into the buffer that becomes the Arrow array.

mod finish;
mod text;

use crate::values::{Problem, sql_type};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::{DataType, FieldRef, TimeUnit};
use headpond_runtime::{Error, Result};
use headpond_state::Context;

/// A column of a batch that is being read.
#[derive(Debug)]
pub(crate) struct Column {
    field: FieldRef,
    len: usize,
    /// Which values are there; `None` as long as all are.
    validity: Option<BooleanBufferBuilder>,
    values: Values,
}

/// The values of a column, NULLs included (as zeros or empty).
#[derive(Debug)]
pub(crate) enum Values {
    Bool(Vec<bool>),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal { precision: u8, scale: u8, values: Vec<i128> },
    Date(Vec<i32>),
    Timestamp { unit: TimeUnit, local: bool, values: Vec<i64> },
    Text(Bytes),
    Binary(Bytes),
    List { offsets: Vec<i32>, element: Box<Column> },
    Struct(Vec<Column>),
    Map { offsets: Vec<i32>, key: Box<Column>, value: Box<Column> },
}

/// Values of any length, end to end.
#[derive(Debug)]
pub(crate) struct Bytes {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl Column {
    /// An empty column.
    ///
    /// # Errors
    /// [`Unsupported`](headpond_runtime::ErrorKind::Unsupported) for a type that text cannot be read as.
    pub(crate) fn new(field: FieldRef) -> Result<Self> {
        let values = Values::new(&field)?;
        Ok(Column { field, len: 0, validity: None, values })
    }

    pub(crate) fn field(&self) -> &FieldRef {
        &self.field
    }

    pub(crate) fn name(&self) -> &str {
        self.field.name()
    }

    pub(crate) fn data_type(&self) -> &DataType {
        self.field.data_type()
    }

    /// Whether it is a `STRING`, for which an empty text is a value.
    #[inline]
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.values, Values::Text(_))
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn values_mut(&mut self) -> &mut Values {
        &mut self.values
    }

    /// Appends NULL.
    pub(crate) fn append_null(&mut self) -> Result<(), Problem> {
        if !self.field.is_nullable() {
            return Err(Problem::new("NULL in a column that is NOT NULL"));
        }
        self.values.append_filler()?;
        self.validity_mut().append(false);
        self.len += 1;
        Ok(())
    }

    /// Says that a value was appended to [`values_mut`](Self::values_mut).
    #[inline]
    pub(crate) fn appended(&mut self) {
        if let Some(validity) = &mut self.validity {
            validity.append(true);
        }
        self.len += 1;
    }

    /// Cuts the column back to `len` values, along with parts of a value that was begun.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        if let Some(validity) = &mut self.validity {
            validity.truncate(len.min(validity.len()));
        }
        self.len = self.len.min(len);
    }

    fn validity_mut(&mut self) -> &mut BooleanBufferBuilder {
        self.validity.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(self.len + 1);
            bits.append_n(self.len, true);
            bits
        })
    }
}

impl Values {
    fn new(field: &FieldRef) -> Result<Self> {
        let unsupported = || {
            Error::unsupported(format!("text cannot be read as the type {}", sql_type(field.data_type())))
                .with(Context::Column, field.name())
        };
        Ok(match field.data_type() {
            DataType::Boolean => Values::Bool(Vec::new()),
            DataType::Int8 => Values::Int8(Vec::new()),
            DataType::Int16 => Values::Int16(Vec::new()),
            DataType::Int32 => Values::Int32(Vec::new()),
            DataType::Int64 => Values::Int64(Vec::new()),
            DataType::Float32 => Values::Float32(Vec::new()),
            DataType::Float64 => Values::Float64(Vec::new()),
            DataType::Decimal128(precision, scale) => {
                let scale = u8::try_from(*scale).map_err(|_| unsupported())?;
                Values::Decimal { precision: *precision, scale, values: Vec::new() }
            }
            DataType::Date32 => Values::Date(Vec::new()),
            DataType::Timestamp(unit, zone) => {
                Values::Timestamp { unit: *unit, local: zone.is_some(), values: Vec::new() }
            }
            DataType::Utf8 => Values::Text(Bytes::new()),
            DataType::Binary => Values::Binary(Bytes::new()),
            DataType::List(element) => {
                Values::List { offsets: vec![0], element: Box::new(Column::new(element.clone())?) }
            }
            DataType::Struct(fields) => {
                Values::Struct(fields.iter().map(|field| Column::new(field.clone())).collect::<Result<_>>()?)
            }
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 && *fields[0].data_type() == DataType::Utf8 => {
                    Values::Map {
                        offsets: vec![0],
                        key: Box::new(Column::new(fields[0].clone())?),
                        value: Box::new(Column::new(fields[1].clone())?),
                    }
                }
                _ => return Err(unsupported().hint("keys of a MAP are STRING")),
            },
            _ => return Err(unsupported()),
        })
    }

    /// Appends what stands in the place of NULL.
    fn append_filler(&mut self) -> Result<(), Problem> {
        match self {
            Values::Bool(values) => values.push(false),
            Values::Int8(values) => values.push(0),
            Values::Int16(values) => values.push(0),
            Values::Int32(values) | Values::Date(values) => values.push(0),
            Values::Int64(values) | Values::Timestamp { values, .. } => values.push(0),
            Values::Float32(values) => values.push(0.0),
            Values::Float64(values) => values.push(0.0),
            Values::Decimal { values, .. } => values.push(0),
            Values::Text(bytes) | Values::Binary(bytes) => bytes.end_value(),
            Values::List { offsets, .. } | Values::Map { offsets, .. } => offsets.push(offsets[offsets.len() - 1]),
            Values::Struct(columns) => {
                for column in columns {
                    // Below NULL even a NOT NULL field holds nothing.
                    column.values.append_filler()?;
                    column.validity_mut().append(false);
                    column.len += 1;
                }
            }
        }
        Ok(())
    }

    fn truncate(&mut self, len: usize) {
        match self {
            Values::Bool(values) => values.truncate(len),
            Values::Int8(values) => values.truncate(len),
            Values::Int16(values) => values.truncate(len),
            Values::Int32(values) | Values::Date(values) => values.truncate(len),
            Values::Int64(values) | Values::Timestamp { values, .. } => values.truncate(len),
            Values::Float32(values) => values.truncate(len),
            Values::Float64(values) => values.truncate(len),
            Values::Decimal { values, .. } => values.truncate(len),
            Values::Text(bytes) | Values::Binary(bytes) => bytes.truncate(len),
            Values::List { offsets, element } => {
                offsets.truncate(len + 1);
                element.truncate(last(offsets));
            }
            Values::Map { offsets, key, value } => {
                offsets.truncate(len + 1);
                key.truncate(last(offsets));
                value.truncate(last(offsets));
            }
            Values::Struct(columns) => columns.iter_mut().for_each(|column| column.truncate(len)),
        }
    }
}

fn last(offsets: &[i32]) -> usize {
    offsets.last().map_or(0, |&end| end as usize)
}

impl Bytes {
    fn new() -> Self {
        Bytes { offsets: vec![0], bytes: Vec::new() }
    }

    #[inline]
    pub(crate) fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.end_value();
    }

    /// Ends a value whose bytes were appended. Batches are bounded well below 2 GB by their reader.
    #[inline]
    fn end_value(&mut self) {
        self.offsets.push(self.bytes.len() as i32);
    }

    fn truncate(&mut self, len: usize) {
        self.offsets.truncate(len + 1);
        self.bytes.truncate(last(&self.offsets));
    }
}
