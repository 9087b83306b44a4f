//! Any type serde knows, in the compact form of `postcard`.

use ::serde::Serialize;
use ::serde::de::DeserializeOwned;
use headpond_state::CodecId;
use headpond_state::bytes::ByteReader;
use headpond_state::codec::{Codec, trailing, unknown_version};
use headpond_state::{Error, Result};
use std::fmt;
use std::marker::PhantomData;

/// A value in [postcard's wire format](https://postcard.jamesmunns.com/wire-format), after the version byte.
///
/// That form has neither names nor types, so a changed type would read old bytes wrongly. Hence a name and a version:
/// change the version with the type.
pub struct SerdeCodec<T> {
    name: String,
    version: u8,
    values: PhantomData<fn() -> T>,
}

impl<T> SerdeCodec<T> {
    /// A codec for the schema `name` in its `version`, which is the version byte.
    pub fn new(name: impl Into<String>, version: u8) -> Self {
        SerdeCodec { name: name.into(), version, values: PhantomData }
    }
}

impl<T> fmt::Debug for SerdeCodec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SerdeCodec").field("name", &self.name).field("version", &self.version).finish()
    }
}

impl<T: Serialize + DeserializeOwned> Codec<T> for SerdeCodec<T> {
    fn id(&self) -> CodecId {
        CodecId::new("serde", self.version)
    }

    fn schema(&self) -> String {
        self.name.clone()
    }

    fn encode(&self, value: &T, out: &mut Vec<u8>) -> Result<()> {
        out.push(self.version);
        postcard::to_io(value, out)
            .map(drop)
            .map_err(|cause| Error::invalid(format!("a `{}` cannot be written", self.name)).because(cause))
    }

    fn decode(&self, bytes: &[u8]) -> Result<T> {
        let mut input = ByteReader(bytes);
        let version = input.byte()?;
        if version != self.version {
            return Err(unknown_version(&format!("serde `{}`", self.name), version, self.version));
        }
        match postcard::take_from_bytes(input.0) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => Err(trailing(rest.len())),
            Err(cause) => Err(Error::corrupt(format!("a value is no `{}`", self.name)).because(cause)),
        }
    }
}
