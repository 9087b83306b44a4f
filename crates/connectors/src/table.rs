//! A table outside of Headpond, as a `CREATE TABLE` statement describes it.

use arrow_array::{Array, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The description of a table: all that a connector gets to know of it.
///
/// Columns have the Arrow types of their SQL types: `STRING` is `Utf8`; `TINYINT` to `BIGINT` are `Int8` to `Int64`;
/// `FLOAT` and `DOUBLE` are `Float32` and `Float64`; `DECIMAL(p, s)` is `Decimal128`; `DATE` is `Date32`; `TIMESTAMP`
/// is a `Timestamp` without and `TIMESTAMP_LTZ` one with the zone `UTC`; `BYTES` is `Binary`; `ROW`, `ARRAY` and `MAP`
/// are `Struct`, `List` and `Map`.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDescription {
    /// The table's name.
    pub name: String,
    /// Its physical columns: those that the rows outside have.
    pub schema: SchemaRef,
    /// The columns of its primary key, by index; none: there is no key.
    pub primary_key: Vec<usize>,
    /// The options of its `WITH` clause.
    pub options: BTreeMap<String, String>,
    /// The value of `table.local-time-zone`: how a text without a zone is read as a `TIMESTAMP_LTZ`. A name such as
    /// `Europe/Berlin`, or an offset such as `+02:00`.
    pub local_time_zone: String,
}

impl TableDescription {
    /// A table without primary key and options, in UTC.
    pub fn new(name: impl Into<String>, schema: SchemaRef) -> Self {
        TableDescription {
            name: name.into(),
            schema,
            primary_key: Vec::new(),
            options: BTreeMap::new(),
            local_time_zone: "UTC".to_owned(),
        }
    }

    /// The table with an option set.
    #[must_use]
    pub fn with_option(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.insert(key.into(), value.into());
        self
    }

    /// The table with a primary key.
    #[must_use]
    pub fn with_primary_key(mut self, columns: impl Into<Vec<usize>>) -> Self {
        self.primary_key = columns.into();
        self
    }

    /// Checks that rows to be written have no NULL in a column that is NOT NULL.
    pub(crate) fn check_not_null(&self, rows: &RecordBatch) -> Result<()> {
        for (field, column) in self.schema.fields().iter().zip(rows.columns()) {
            if !field.is_nullable() && column.null_count() > 0 {
                return Err(Error::invalid(format!(
                    "a row for table {} has NULL in a column that is NOT NULL",
                    self.name
                ))
                .with(Context::Column, field.name())
                .hint("leave out such rows with WHERE … IS NOT NULL, give a value with COALESCE, or drop NOT NULL"));
            }
        }
        Ok(())
    }

    /// Checks that rows of `schema` can be written to the table: as many columns, each of the same type.
    pub(crate) fn check_schema(&self, schema: &Schema) -> Result<()> {
        let same = schema.fields().len() == self.schema.fields().len()
            && schema
                .fields()
                .iter()
                .zip(self.schema.fields())
                .all(|(a, b)| a.data_type().equals_datatype(b.data_type()));
        if same {
            return Ok(());
        }
        Err(Error::internal(format!(
            "rows of {schema:?} come to table {}, whose columns are {:?}",
            self.name, self.schema
        )))
    }

    /// The columns that `projection` selects, in its order; all of them without one.
    pub(crate) fn projected(&self, projection: Option<&[usize]>) -> Result<SchemaRef> {
        let Some(projection) = projection else { return Ok(Arc::clone(&self.schema)) };
        let fields = self.schema.fields();
        let selected = projection.iter().map(|&index| {
            fields.get(index).cloned().ok_or_else(|| {
                Error::internal(format!(
                    "the projection asks for column {index} of table {}, which has {}",
                    self.name,
                    fields.len()
                ))
            })
        });
        Ok(Arc::new(Schema::new(selected.collect::<Result<Vec<_>>>()?)))
    }
}
