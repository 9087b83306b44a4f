//! Protobuf messages of types known at compile time.

use headpond_state::CodecId;
use headpond_state::bytes::ByteReader;
use headpond_state::codec::{Codec, unknown_version};
use headpond_state::{Error, Result};
use prost::Message;
use std::fmt;
use std::marker::PhantomData;

const VERSION: u8 = 1;

/// A Protobuf message, after the version byte. How the message may change is Protobuf's rule: numbers and types of
/// fields stay, fields may be added.
pub struct ProstCodec<M> {
    message: String,
    values: PhantomData<fn() -> M>,
}

impl<M> ProstCodec<M> {
    /// A codec for the message of this full name, such as `shop.Order`. The name is the state's value schema.
    pub fn new(message: impl Into<String>) -> Self {
        ProstCodec { message: message.into(), values: PhantomData }
    }
}

impl<M> fmt::Debug for ProstCodec<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProstCodec").field(&self.message).finish()
    }
}

impl<M: Message + Default> Codec<M> for ProstCodec<M> {
    fn id(&self) -> CodecId {
        CodecId::new("protobuf-message", VERSION)
    }

    fn schema(&self) -> String {
        self.message.clone()
    }

    fn encode(&self, value: &M, out: &mut Vec<u8>) -> Result<()> {
        out.push(VERSION);
        value
            .encode(out)
            .map_err(|cause| Error::invalid(format!("a message `{}` cannot be written", self.message)).because(cause))
    }

    fn decode(&self, bytes: &[u8]) -> Result<M> {
        let mut input = ByteReader(bytes);
        match input.byte()? {
            VERSION => {}
            other => return Err(unknown_version("protobuf-message", other, VERSION)),
        }
        M::decode(input.0)
            .map_err(|cause| Error::corrupt(format!("a value is no message `{}`", self.message)).because(cause))
    }
}
