//! The types of a key's components.

use super::component::KeyComponent;
use super::read::KeyReader;
use super::write::put_datum;
use crate::error::{Context, Error, Result};
use crate::schema::{Datum, FieldType, display_types, parse_types};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The types of a key's components. Its text form, which descriptors keep, is `int64,utf8?`, a `?` marking what may be
/// NULL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeySchema {
    types: Vec<FieldType>,
}

impl KeySchema {
    /// A schema of these components.
    pub fn new(types: Vec<FieldType>) -> Self {
        KeySchema { types }
    }

    /// The schema of a Rust type.
    pub fn of<K: KeyComponent>() -> Self {
        let mut types = Vec::new();
        K::types(&mut types);
        KeySchema { types }
    }

    /// The components' types.
    pub fn types(&self) -> &[FieldType] {
        &self.types
    }

    /// Appends the components.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the data do not fit the types; `out` is then as before.
    pub fn encode(&self, key: &[Datum], out: &mut Vec<u8>) -> Result<()> {
        if key.len() != self.types.len() {
            return Err(Error::invalid(format!("a key of {} components does not fit `{self}`", key.len())));
        }
        let before = out.len();
        for (index, (ty, datum)) in self.types.iter().zip(key).enumerate() {
            if let Err(error) = put_datum(ty, datum, out) {
                out.truncate(before);
                return Err(error.with(Context::Column, format_args!("{} of the key", index + 1)));
            }
        }
        Ok(())
    }

    /// Reads a key that takes all of `bytes`.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) when the bytes are no such key.
    pub fn decode(&self, bytes: &[u8]) -> Result<Vec<Datum>> {
        let mut reader = KeyReader::new(bytes);
        let key = self.read(&mut reader)?;
        match reader.rest().len() {
            0 => Ok(key),
            more => Err(Error::corrupt(format!("a key of `{self}` is followed by {more} more bytes"))),
        }
    }

    /// Reads the components, leaving what follows them.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) when the bytes begin with no such key.
    pub fn read(&self, reader: &mut KeyReader<'_>) -> Result<Vec<Datum>> {
        self.types.iter().map(|ty| reader.datum(ty)).collect()
    }

    /// Splits bytes that begin with a key after it.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) when the bytes begin with no such key.
    pub fn split<'a>(&self, bytes: &'a [u8]) -> Result<(&'a [u8], &'a [u8])> {
        let mut reader = KeyReader::new(bytes);
        self.types.iter().try_for_each(|ty| reader.skip(ty))?;
        Ok(bytes.split_at(bytes.len() - reader.rest().len()))
    }
}

impl fmt::Display for KeySchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display_types(&self.types, f)
    }
}

impl FromStr for KeySchema {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        parse_types(text).map(KeySchema::new)
    }
}

impl TryFrom<String> for KeySchema {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<KeySchema> for String {
    fn from(schema: KeySchema) -> String {
        schema.to_string()
    }
}
