//! Codecs whose formats are other people's: Protobuf messages, Avro data, and whatever serde knows.
//!
//! | codec | values |
//! |---|---|
//! | [`ProstCodec`] | Protobuf messages |
//! | [`AvroCodec`] | Avro data, resolved to the reader's schema |
//! | [`SerdeCodec`] | any type serde knows, under an explicit name and version |
//!
//! What a codec promises is said by [`headpond_state::codec`], which has those of numbers, text and bytes.

mod avro;
mod message;
mod serde;

pub use avro::AvroCodec;
pub use message::ProstCodec;
pub use serde::SerdeCodec;
