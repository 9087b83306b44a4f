//! Keys of rows: Arrow columns to the encoded keys that state is addressed by, and back.

use crate::batch::ChangeBatch;
use crate::numbers::{column_of_numbers, is_number};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, BooleanArray, StringArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use headpond_rows::arrow::{column_of, datum_at, field_type};
use headpond_state::backend::KeyBatch;
use headpond_state::encoding::{
    KeyReader, KeySchema, put_bool, put_datum, put_decimal, put_f64, put_i32, put_i64, put_null, put_present, put_str,
};
use headpond_state::schema::{Datum, FieldType};
use headpond_state::{Context, Error, KeyGroup, MaxParallelism, Result};
use std::sync::Arc;

/// The encoded keys of a batch's rows. Each is an entry key's beginning, `key group | key`, so a state without
/// namespace and user key is addressed by it as it is.
#[derive(Debug, Clone)]
pub struct Keys {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    max_parallelism: MaxParallelism,
}

impl Keys {
    /// No keys, for `max_parallelism` key groups.
    pub fn new(max_parallelism: MaxParallelism) -> Self {
        Keys { bytes: Vec::new(), ends: Vec::new(), max_parallelism }
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The `row`th key, key group first.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.bytes[start..self.ends[row] as usize]
    }

    /// The `row`th key's group.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn key_group(&self, row: usize) -> KeyGroup {
        self.max_parallelism.key_group_of_entry(self.get(row))
    }

    /// The job's number of key groups.
    pub fn max_parallelism(&self) -> MaxParallelism {
        self.max_parallelism
    }

    /// The bytes of all keys.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a key as [`get`](Self::get) gives it.
    ///
    /// # Panics
    /// If the batch's keys together exceed 4 GiB.
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.end_key();
    }

    /// Appends all keys of `other`.
    ///
    /// # Panics
    /// If the batch's keys together exceed 4 GiB.
    pub fn extend(&mut self, other: &Keys) {
        let base = u32::try_from(self.bytes.len()).expect("a batch's keys stay below 4 GiB");
        self.bytes.extend_from_slice(&other.bytes);
        u32::try_from(self.bytes.len()).expect("a batch's keys stay below 4 GiB");
        self.ends.extend(other.ends.iter().map(|end| base + end));
    }

    fn end_key(&mut self) {
        self.ends.push(u32::try_from(self.bytes.len()).expect("a batch's keys stay below 4 GiB"));
    }

    /// The keys at `rows`, in that order.
    ///
    /// # Panics
    /// If a row is out of bounds.
    #[must_use]
    pub fn take(&self, rows: &UInt32Array) -> Self {
        let mut taken = Keys::new(self.max_parallelism);
        taken.ends.reserve(rows.len());
        for row in rows.values() {
            taken.push(self.get(*row as usize));
        }
        taken
    }
}

/// Rows with their keys.
#[derive(Debug, Clone)]
pub struct KeyedBatch {
    /// The rows.
    pub changes: ChangeBatch,
    /// Their keys, one each.
    pub keys: Keys,
}

/// Encodes the key columns of batches of one schema.
#[derive(Debug, Clone)]
pub struct KeyEncoder {
    columns: Vec<(usize, FieldType)>,
    max_parallelism: MaxParallelism,
}

impl KeyEncoder {
    /// An encoder for the key made of `columns` of `schema`, in that order.
    ///
    /// # Errors
    /// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a column whose type cannot be a key's.
    pub fn new(schema: &Schema, columns: &[usize], max_parallelism: MaxParallelism) -> Result<Self> {
        let typed = |&column: &usize| {
            let field = schema.fields().get(column).ok_or_else(|| {
                Error::internal(format!("there is no column {column} for a key")).with(Context::Column, column)
            })?;
            Ok((column, field_type(field)?))
        };
        Ok(KeyEncoder { columns: columns.iter().map(typed).collect::<Result<_>>()?, max_parallelism })
    }

    /// The types of the key's components.
    pub fn schema(&self) -> KeySchema {
        KeySchema::new(self.columns.iter().map(|(_, ty)| ty.clone()).collect())
    }

    /// The keys of all rows.
    ///
    /// # Errors
    /// [`Internal`](headpond_state::ErrorKind::Internal) when the rows are of another schema.
    pub fn encode(&self, changes: &ChangeBatch) -> Result<Keys> {
        let rows = changes.rows();
        let columns: Vec<Component<'_>> =
            self.columns.iter().map(|(column, ty)| Component::new(rows.column(*column).as_ref(), ty)).collect();
        let mut keys = Keys::new(self.max_parallelism);
        keys.ends.reserve(rows.num_rows());
        keys.bytes.reserve(rows.num_rows() * (self.max_parallelism.prefix_len() + 9 * self.columns.len()));
        let prefix = self.max_parallelism.prefix_len();
        for row in 0..rows.num_rows() {
            let start = keys.bytes.len();
            keys.bytes.extend_from_slice(&[0; 2][..prefix]);
            for column in &columns {
                column.encode(row, &mut keys.bytes)?;
            }
            let group = self.max_parallelism.key_group(&keys.bytes[start + prefix..]).0.to_be_bytes();
            keys.bytes[start..start + prefix].copy_from_slice(&group[2 - prefix..]);
            keys.end_key();
        }
        Ok(keys)
    }
}

/// The columns of encoded keys, which have no key group in front.
///
/// # Errors
/// [`Corrupt`](headpond_state::ErrorKind::Corrupt) when bytes are no key of the schema.
pub fn columns_of_keys(schema: &KeySchema, fields: &[Arc<Field>], keys: &KeyBatch) -> Result<Vec<ArrayRef>> {
    enum Column {
        Numbers(Vec<Option<i64>>),
        Datums(Vec<Datum>),
    }
    let mut columns: Vec<Column> = Vec::with_capacity(fields.len());
    columns.extend(fields.iter().map(|field| match is_number(field.data_type()) {
        true => Column::Numbers(Vec::with_capacity(keys.len())),
        false => Column::Datums(Vec::with_capacity(keys.len())),
    }));
    for key in keys.iter() {
        let mut reader = KeyReader::new(key);
        for (column, ty) in columns.iter_mut().zip(schema.types()) {
            match (column, reader.datum(ty)?) {
                (Column::Numbers(numbers), Datum::Int64(number)) => numbers.push(Some(number)),
                (Column::Numbers(numbers), Datum::Float64(number)) => numbers.push(Some(number.to_bits() as i64)),
                (Column::Numbers(numbers), _) => numbers.push(None),
                (Column::Datums(datums), datum) => datums.push(datum),
            }
        }
        if !reader.rest().is_empty() {
            return Err(Error::corrupt(format!(
                "a key of `{schema}` is followed by {} more bytes",
                reader.rest().len()
            )));
        }
    }
    let column = |(column, field): (&Column, &Arc<Field>)| match column {
        Column::Numbers(numbers) => column_of_numbers(field.data_type(), numbers),
        Column::Datums(datums) => column_of(field.data_type(), datums),
    };
    columns.iter().zip(fields).map(column).collect()
}

/// A key column of one batch, its type resolved once and not for every row.
#[derive(Debug)]
struct Component<'a> {
    values: Values<'a>,
    /// What says which rows are NULL, for a nullable column.
    nullable: Option<&'a dyn Array>,
}

#[derive(Debug)]
enum Values<'a> {
    Bool(&'a BooleanArray),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Float64(&'a [f64]),
    Decimal(&'a [i128]),
    Utf8(&'a StringArray),
    Other(&'a dyn Array, FieldType),
}

impl<'a> Component<'a> {
    fn new(array: &'a dyn Array, ty: &FieldType) -> Self {
        let values = match array.data_type() {
            DataType::Boolean => Values::Bool(array.as_boolean()),
            DataType::Int32 => Values::Int32(array.as_primitive::<Int32Type>().values()),
            DataType::Date32 => Values::Int32(array.as_primitive::<Date32Type>().values()),
            DataType::Int64 => Values::Int64(array.as_primitive::<Int64Type>().values()),
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                Values::Int64(array.as_primitive::<TimestampMillisecondType>().values())
            }
            DataType::Float64 => Values::Float64(array.as_primitive::<Float64Type>().values()),
            DataType::Decimal128(_, _) => Values::Decimal(array.as_primitive::<Decimal128Type>().values()),
            DataType::Utf8 => Values::Utf8(array.as_string()),
            _ => Values::Other(array, FieldType { kind: ty.kind.clone(), nullable: false }),
        };
        Component { values, nullable: ty.nullable.then_some(array) }
    }

    #[inline]
    fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        if let Some(nulls) = self.nullable {
            if nulls.null_count() > 0 && nulls.is_null(row) {
                put_null(out);
                return Ok(());
            }
            put_present(out);
        }
        match &self.values {
            Values::Bool(values) => put_bool(values.value(row), out),
            Values::Int32(values) => put_i32(values[row], out),
            Values::Int64(values) => put_i64(values[row], out),
            Values::Float64(values) => put_f64(values[row], out),
            Values::Decimal(values) => put_decimal(values[row], out),
            Values::Utf8(values) => put_str(values.value(row), out),
            Values::Other(array, ty) => put_datum(ty, &datum_at(*array, row)?, out)?,
        }
        Ok(())
    }
}
