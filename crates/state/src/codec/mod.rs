//! How values become bytes.
//!
//! A [`Codec`] writes and reads the values of a state. Every value begins with one byte, the version of its codec, so
//! that a reader of old bytes knows what it has. What a codec reads may be anything: it answers
//! [`Incompatible`](crate::ErrorKind::Incompatible) to a version it does not know and
//! [`Corrupt`](crate::ErrorKind::Corrupt) to bytes that are no value, and never panics.
//!
//! | codec | values |
//! |---|---|
//! | [`FixedWidth`] | integers, floating-point numbers, truth values |
//! | [`Counter`] | an `i64` that a merge operator adds to |
//! | [`Utf8`], [`Bytes`] | text, bytes |
//!
//! Those of other crates: Protobuf messages, Avro data and whatever serde knows in `headpond-codecs`, SQL rows in
//! `headpond-rows`.

mod evolution;
mod fixed;
mod text;

pub use fixed::{Counter, FixedWidth};
pub use text::{Bytes, Utf8};

pub(crate) use evolution::reads;

use crate::descriptor::CodecId;
use crate::error::{Error, Result};
use std::fmt::Debug;

/// Writes and reads the values of a state.
pub trait Codec<T>: Debug + Send + Sync {
    /// The codec's name and version, for the state's descriptor.
    fn id(&self) -> CodecId;

    /// A description of the values, for the state's descriptor.
    fn schema(&self) -> String;

    /// Appends the bytes of `value`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the value cannot be written.
    fn encode(&self, value: &T, out: &mut Vec<u8>) -> Result<()>;

    /// The value that `bytes` hold.
    ///
    /// # Errors
    /// [`Incompatible`](crate::ErrorKind::Incompatible) for a version or schema this codec does not read,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) for bytes that are no value.
    fn decode(&self, bytes: &[u8]) -> Result<T>;
}

/// The error for a value that another version of a codec wrote.
#[cold]
pub fn unknown_version(codec: &str, found: u8, known: u8) -> Error {
    Error::incompatible(format!(
        "a value was written with version {found} of the codec `{codec}`; this is version {known}"
    ))
    .hint("read the state with the release that wrote it, or a later one")
}

/// The error for bytes after a value.
#[cold]
pub fn trailing(more: usize) -> Error {
    Error::corrupt(format!("a value is followed by {more} more bytes"))
}
