//! Errors for what Flink knows and we do not run.

use crate::position::{At, Position};
use headpond_state::Error;

/// The error for something that is known and not supported; `instead` is what to do.
pub(crate) fn not_supported(what: &str, instead: Option<&str>) -> Error {
    let error = Error::unsupported(format!("{what} is not supported"));
    match instead {
        Some(instead) => error.hint(instead),
        None => error,
    }
}

/// The error for something that is known and not supported.
pub(super) fn refused(what: &str, position: Position, instead: Option<&str>) -> Error {
    not_supported(what, instead).at(position)
}
