//! Headpond for Rust programs: what a program depends on.
//!
//! [`stream`] is where to begin.

pub mod stream;

pub use headpond_runtime::{Error, ErrorKind, Result};
