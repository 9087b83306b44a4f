//! The types of rows and keys.

use super::datum::Datum;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A type without its nullability.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DataKind {
    /// `bool`
    Bool,
    /// `int8`
    Int8,
    /// `int16`
    Int16,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `uint64`, kept as the same 64 bits in a [`Datum::Int64`]
    UInt64,
    /// `float32`
    Float32,
    /// `float64`
    Float64,
    /// `decimal(precision,scale)`: at most 38 digits, `scale` of them behind the point
    Decimal {
        /// The number of digits, 1 to 38.
        precision: u8,
        /// The digits behind the point, at most `precision`.
        scale: u8,
    },
    /// `date`: days since 1970-01-01, in 32 bits
    Date,
    /// `timestamp`: milliseconds since 1970-01-01T00:00:00 in no time zone
    Timestamp,
    /// `timestamp_ltz`: milliseconds since the epoch, shown in the session's time zone
    TimestampLtz,
    /// `utf8`
    Utf8,
    /// `binary`
    Binary,
    /// `list<type>`
    List(Box<FieldType>),
    /// `struct<name type,…>`
    Struct(Vec<Field>),
}

impl DataKind {
    /// The type with NULL.
    pub fn nullable(self) -> FieldType {
        FieldType { kind: self, nullable: true }
    }

    /// The type without NULL.
    pub fn required(self) -> FieldType {
        FieldType { kind: self, nullable: false }
    }

    /// The least and the greatest integer of the type, for types that a [`Datum::Int64`] holds.
    #[inline]
    pub fn integer_range(&self) -> Option<(i64, i64)> {
        match self {
            DataKind::Int8 => Some((i64::from(i8::MIN), i64::from(i8::MAX))),
            DataKind::Int16 => Some((i64::from(i16::MIN), i64::from(i16::MAX))),
            DataKind::Int32 | DataKind::Date => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
            DataKind::Int64 | DataKind::UInt64 | DataKind::Timestamp | DataKind::TimestampLtz => {
                Some((i64::MIN, i64::MAX))
            }
            _ => None,
        }
    }

    /// The error for a datum that is not of this type.
    #[cold]
    pub fn mismatch(&self, datum: &Datum) -> Error {
        match (self.integer_range(), datum) {
            (Some((least, greatest)), Datum::Int64(value)) => {
                Error::invalid(format!("{value} is out of range for {self}, which holds {least} to {greatest}"))
            }
            (_, Datum::Struct(fields)) if matches!(self, DataKind::Struct(_)) => {
                Error::invalid(format!("a row of {} fields does not fit {self}", fields.len()))
            }
            _ => Error::invalid(format!("{} does not fit {self}", datum.variant_name())),
        }
    }
}

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FieldType {
    /// What it holds.
    pub kind: DataKind,
    /// Whether it may be NULL.
    pub nullable: bool,
}

/// A named type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Field {
    /// The field's name.
    pub name: String,
    /// The field's type.
    pub ty: FieldType,
}

impl Field {
    /// A field.
    pub fn new(name: impl Into<String>, ty: FieldType) -> Self {
        Field { name: name.into(), ty }
    }
}

/// The fields of a row. Its text form is `name type, name type?`, a `?` marking what may be NULL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RowSchema {
    fields: Vec<Field>,
}

impl RowSchema {
    /// A schema of these fields. Names need not differ; a nested struct needs at least one field to be encoded.
    pub fn new(fields: Vec<Field>) -> Self {
        RowSchema { fields }
    }

    /// The fields.
    #[inline]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The number of fields.
    #[inline]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Checks that values written under `written` can be read under this schema: the same fields in the same order,
    /// plus nullable fields at the end.
    ///
    /// # Errors
    /// [`Incompatible`](crate::ErrorKind::Incompatible), naming the first field that differs.
    pub fn reads(&self, written: &RowSchema) -> Result<()> {
        let differ = |was: &str, is: &str| {
            Error::incompatible(format!("the row was written as `{was}` and is to be read as `{is}`"))
                .hint("fields can only be added at the end, and must be nullable")
        };
        if written.len() > self.len() {
            return Err(differ(&written.to_string(), &self.to_string()));
        }
        for (was, is) in written.fields.iter().zip(&self.fields) {
            if was != is {
                return Err(differ(&format!("{} {}", was.name, was.ty), &format!("{} {}", is.name, is.ty)));
            }
        }
        match self.fields[written.len()..].iter().find(|added| !added.ty.nullable) {
            Some(added) => Err(Error::incompatible(format!(
                "the field `{}` was added to the row as {}, which older rows cannot give",
                added.name, added.ty
            ))
            .hint("a field added to a row must be nullable")),
            None => Ok(()),
        }
    }
}
