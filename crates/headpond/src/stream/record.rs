//! Records as bytes: the column in which they travel.

use super::stamp::{Stamp, Stamps};
use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeBinaryArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use headpond_runtime::batch::arrow_error;
use headpond_state::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::type_name;
use std::sync::Arc;

/// What streams are made of: any type serde knows.
///
/// Between the steps of a job a record is written in [postcard's wire
/// format](https://postcard.jamesmunns.com/wire-format), which has no names. So serde's attributes that leave fields
/// out or look at what follows (`skip_serializing_if`, `flatten`, `untagged`) do not work: a record of such a type
/// cannot be read back, and the job fails with a message that says so. Nothing of this form outlives a run, so types
/// may change between two runs of a program; what is kept in state has the form of the state's
/// [`Codec`](headpond_state::codec::Codec).
pub trait Record: Serialize + DeserializeOwned + Send + 'static {}

impl<T: Serialize + DeserializeOwned + Send + 'static> Record for T {}

/// The columns of a stream: the record, then `more`.
pub(super) fn schema(more: impl IntoIterator<Item = Field>) -> SchemaRef {
    let record = Field::new("record", DataType::LargeBinary, false);
    Arc::new(Schema::new(std::iter::once(record).chain(more).collect::<Vec<_>>()))
}

/// Records being written.
#[derive(Debug, Default)]
pub(super) struct RecordColumn {
    column: LargeBinaryBuilder,
    record: Vec<u8>,
    len: usize,
    bytes: usize,
}

impl RecordColumn {
    pub(super) fn push<T: Serialize>(&mut self, record: &T) -> Result<()> {
        self.record.clear();
        postcard::to_io(record, &mut self.record).map_err(|cause| unfit::<T>("written").because(cause))?;
        self.column.append_value(&self.record);
        self.len += 1;
        self.bytes += self.record.len();
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn byte_len(&self) -> usize {
        self.bytes
    }

    /// The records written since the last call, with the columns `more`.
    pub(super) fn finish(&mut self, schema: &SchemaRef, more: Vec<ArrayRef>) -> Result<RecordBatch> {
        (self.len, self.bytes) = (0, 0);
        let record: ArrayRef = Arc::new(self.column.finish());
        let columns = std::iter::once(record).chain(more).collect();
        RecordBatch::try_new(schema.clone(), columns).map_err(arrow_error)
    }
}

/// The records of a batch, still as bytes.
pub(crate) fn records(rows: &RecordBatch) -> Result<&LargeBinaryArray> {
    let record = rows.columns().first().and_then(|column| column.as_binary_opt::<i64>());
    record.ok_or_else(|| Error::internal("rows of a stream have no column of records"))
}

/// Gives all records of a batch.
pub(super) fn read_all<T: DeserializeOwned>(
    rows: &RecordBatch,
    give: &mut dyn FnMut(T, Stamp) -> Result<()>,
) -> Result<()> {
    let (records, stamps) = (records(rows)?, Stamps::of(rows));
    (0..records.len()).try_for_each(|row| give(read(records.value(row))?, stamps.at(row)))
}

/// A copy of a record, by way of its bytes.
pub(super) fn copy<T: Record>(record: &T) -> Result<T> {
    let bytes = postcard::to_stdvec(record).map_err(|cause| unfit::<T>("written").because(cause))?;
    read(&bytes)
}

/// Reads a record.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((record, [])) => Ok(record),
        Ok(_) => Err(unfit::<T>("read back")),
        Err(cause) => Err(unfit::<T>("read back").because(cause)),
    }
}

#[cold]
fn unfit<T>(what: &str) -> Error {
    Error::invalid(format!("a record of type `{}` cannot be {what}", type_name::<T>())).hint(
        "take attributes such as `skip_serializing_if`, `flatten` and `untagged` from the type: records travel without \
         the names of their fields",
    )
}
