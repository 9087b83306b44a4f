//! Errors of functions of texts, and the whole numbers that they take.

use crate::text::TextError;
use headpond_state::Error;

/// The error of a text function as ours.
#[cold]
pub(super) fn failed(error: TextError) -> Error {
    Error::invalid(error.0)
}

/// A `BIGINT` argument as the `INT` that a function takes: beyond it, the nearest.
pub(super) fn int(number: i64) -> i32 {
    number.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}
