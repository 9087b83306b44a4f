//! Headpond for Rust programs: what a program depends on.
//!
//! [`stream`] is where to begin, [`prelude`] what most programs use, [`testing`] how functions are tested without a job.

pub mod prelude;
pub mod stream;
pub mod testing;

pub use headpond_runtime::{Ending, Error, ErrorKind, JobControl, Restore, Result};
pub use headpond_state::codec;
pub use headpond_state_memory::HashMapStateBackend;
