//! A value of a row.

use std::sync::Arc;

/// A value of a row or of a key, whose type a [`FieldType`](super::FieldType) declares. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Datum {
    /// NULL.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer of any width, a date (days since 1970-01-01) or a timestamp (milliseconds since the epoch). The
    /// declared type `uint64` keeps its 64 bits here, reinterpreted.
    Int64(i64),
    /// A floating-point number of either width.
    Float64(f64),
    /// The unscaled value of a decimal whose scale the type declares.
    Decimal(i128),
    /// Text.
    Utf8(Arc<str>),
    /// Bytes.
    Binary(Arc<[u8]>),
    /// A list.
    List(Vec<Datum>),
    /// A row within the row.
    Struct(Vec<Datum>),
}

impl Datum {
    /// Text.
    pub fn utf8(text: impl Into<Arc<str>>) -> Self {
        Datum::Utf8(text.into())
    }

    /// Bytes.
    pub fn binary(bytes: impl Into<Arc<[u8]>>) -> Self {
        Datum::Binary(bytes.into())
    }

    /// Whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// What it holds, for messages.
    pub fn variant_name(&self) -> &'static str {
        match self {
            Datum::Null => "NULL",
            Datum::Bool(_) => "a boolean",
            Datum::Int64(_) => "an integer",
            Datum::Float64(_) => "a floating-point number",
            Datum::Decimal(_) => "a decimal",
            Datum::Utf8(_) => "text",
            Datum::Binary(_) => "bytes",
            Datum::List(_) => "a list",
            Datum::Struct(_) => "a row",
        }
    }
}

impl From<bool> for Datum {
    fn from(value: bool) -> Self {
        Datum::Bool(value)
    }
}

impl From<i64> for Datum {
    fn from(value: i64) -> Self {
        Datum::Int64(value)
    }
}

impl From<f64> for Datum {
    fn from(value: f64) -> Self {
        Datum::Float64(value)
    }
}

impl From<&str> for Datum {
    fn from(value: &str) -> Self {
        Datum::Utf8(value.into())
    }
}

impl<T: Into<Datum>> From<Option<T>> for Datum {
    fn from(value: Option<T>) -> Self {
        value.map_or(Datum::Null, Into::into)
    }
}
