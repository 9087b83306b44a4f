//! Headpond for Rust programs: what a program depends on.
//!
//! [`stream`] is where to begin, [`prelude`] what most programs use, [`testing`] how functions are tested without a
//! job. [`run`] is a whole `main`.
//!
//! | feature | what is there |
//! |---|---|
//! | `rocksdb` (on) | the backend `rocksdb`, and `EmbeddedRocksDbStateBackend` |
//! | `s3` (on) | checkpoints on object stores |

pub mod connector;
pub mod prelude;
mod program;
pub mod stream;
pub mod testing;

pub use headpond_runtime::{Ending, Error, ErrorKind, JobControl, Restore, Result};
/// How values of state are written.
pub mod codec {
    pub use headpond_codecs::{AvroCodec, ProstCodec, SerdeCodec};
    pub use headpond_state::codec::{Bytes, Codec, Counter, FixedWidth, Utf8};
}
pub use headpond_state_memory::HashMapStateBackend;
#[cfg(feature = "rocksdb")]
pub use headpond_state_rocksdb::EmbeddedRocksDbStateBackend;
pub use program::run;
pub use stream::ProgramOptions;
// What records, states and command lines are made with, in the versions that fit.
pub use clap;
pub use prost;
pub use serde;

/// The guide's examples are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/stream-api.md")]
pub struct Guide;
