//! The codec of rows.

use super::numbers::NumberFields;
use super::{avro, native, protobuf};
use headpond_state::CodecId;
use headpond_state::bytes::ByteReader;
use headpond_state::schema::Datum;
use headpond_state::schema::RowSchema;
use headpond_state::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The version of all three formats, and the first byte of every value.
pub(crate) const VERSION: u8 = 1;

/// How rows are kept: the values of `state.serialization.format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowFormat {
    /// Headpond's own: compact and fast.
    #[default]
    Row,
    /// A Protobuf message.
    Protobuf,
    /// An Avro record.
    Avro,
}

impl RowFormat {
    /// All formats.
    pub const ALL: [RowFormat; 3] = [RowFormat::Row, RowFormat::Protobuf, RowFormat::Avro];

    /// The format's name, also of its codec.
    pub fn name(self) -> &'static str {
        match self {
            RowFormat::Row => "row",
            RowFormat::Protobuf => "protobuf",
            RowFormat::Avro => "avro",
        }
    }
}

impl fmt::Display for RowFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RowFormat {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        RowFormat::ALL.into_iter().find(|format| format.name().eq_ignore_ascii_case(text)).ok_or_else(|| {
            Error::invalid(format!("`{text}` is not a serialization format; it is one of row, protobuf, avro"))
        })
    }
}

/// Writes and reads rows of one schema in one format.
#[derive(Debug, Clone)]
pub struct RowCodec {
    format: RowFormat,
    schema: RowSchema,
    numbers: NumberFields,
}

impl RowCodec {
    /// A codec.
    pub fn new(format: RowFormat, schema: RowSchema) -> Self {
        let numbers = NumberFields::new(format, schema.fields());
        RowCodec { format, schema, numbers }
    }

    /// The format.
    pub fn format(&self) -> RowFormat {
        self.format
    }

    /// The rows' schema. Its text form is the descriptor's value schema.
    pub fn schema(&self) -> &RowSchema {
        &self.schema
    }

    #[inline]
    pub(crate) fn number_fields(&self) -> &NumberFields {
        &self.numbers
    }

    /// The codec's id for a descriptor.
    pub fn codec_id(&self) -> CodecId {
        CodecId::new(self.format.name(), VERSION)
    }

    /// Appends the bytes of a row.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when the row does not fit the schema, naming the field; `out` is
    /// then as before.
    #[inline]
    pub fn encode(&self, row: &[Datum], out: &mut Vec<u8>) -> Result<()> {
        if row.len() != self.schema.len() {
            return Err(Error::invalid(format!(
                "a row of {} fields does not fit its schema, which has {}: `{}`",
                row.len(),
                self.schema.len(),
                self.schema
            )));
        }
        let before = out.len();
        out.push(VERSION);
        let fields = self.schema.fields();
        let result = match self.format {
            RowFormat::Row => native::encode_fields(fields, row, out),
            RowFormat::Protobuf => protobuf::encode_fields(fields, row, out),
            RowFormat::Avro => avro::encode_fields(fields, row, out),
        };
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    /// Appends the fields of the row that `bytes` hold to `row`; fields that the bytes lack at the end are NULL.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) for another version or schema,
    /// [`Corrupt`](headpond_state::ErrorKind::Corrupt) for bytes that are no row; `row` is then as before.
    #[inline]
    pub fn decode(&self, bytes: &[u8], row: &mut Vec<Datum>) -> Result<()> {
        let mut input = ByteReader(bytes);
        let version = input.byte()?;
        if version != VERSION {
            return Err(headpond_state::codec::unknown_version(self.format.name(), version, VERSION));
        }
        let before = row.len();
        let fields = self.schema.fields();
        let result = match self.format {
            RowFormat::Row => native::decode_fields(fields, &mut input, row),
            RowFormat::Protobuf => protobuf::decode_fields(fields, &mut input, row),
            RowFormat::Avro => avro::decode_fields(fields, &mut input, row),
        }
        .and_then(|()| if input.is_empty() { Ok(()) } else { Err(headpond_state::codec::trailing(input.len())) });
        if result.is_err() {
            row.truncate(before);
        }
        result
    }
}

impl headpond_state::codec::Codec<Vec<Datum>> for RowCodec {
    fn id(&self) -> CodecId {
        self.codec_id()
    }

    fn schema(&self) -> String {
        self.schema.to_string()
    }

    fn encode(&self, value: &Vec<Datum>, out: &mut Vec<u8>) -> Result<()> {
        RowCodec::encode(self, value, out)
    }

    fn decode(&self, bytes: &[u8]) -> Result<Vec<Datum>> {
        let mut row = Vec::with_capacity(self.schema.len());
        RowCodec::decode(self, bytes, &mut row)?;
        Ok(row)
    }
}
