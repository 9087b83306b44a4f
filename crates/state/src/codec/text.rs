//! Text and bytes.

use super::{Codec, unknown_version};
use crate::bytes::{ByteReader, text};
use crate::descriptor::CodecId;
use crate::error::Result;

const VERSION: u8 = 1;

/// Text as UTF-8, after the version byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Utf8;

impl Codec<String> for Utf8 {
    fn id(&self) -> CodecId {
        CodecId::new("utf8", VERSION)
    }

    fn schema(&self) -> String {
        "utf8".to_owned()
    }

    fn encode(&self, value: &String, out: &mut Vec<u8>) -> Result<()> {
        out.push(VERSION);
        out.extend_from_slice(value.as_bytes());
        Ok(())
    }

    fn decode(&self, bytes: &[u8]) -> Result<String> {
        text(content("utf8", bytes)?).map(str::to_owned)
    }
}

/// Bytes as they are, after the version byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bytes;

impl Codec<Vec<u8>> for Bytes {
    fn id(&self) -> CodecId {
        CodecId::new("bytes", VERSION)
    }

    fn schema(&self) -> String {
        "bytes".to_owned()
    }

    fn encode(&self, value: &Vec<u8>, out: &mut Vec<u8>) -> Result<()> {
        out.push(VERSION);
        out.extend_from_slice(value);
        Ok(())
    }

    fn decode(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        content("bytes", bytes).map(<[u8]>::to_vec)
    }
}

/// What follows the version byte.
fn content<'a>(codec: &str, bytes: &'a [u8]) -> Result<&'a [u8]> {
    let mut input = ByteReader(bytes);
    match input.byte()? {
        VERSION => Ok(input.0),
        other => Err(unknown_version(codec, other, VERSION)),
    }
}
