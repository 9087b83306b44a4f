//! A panic becomes an error: it ends the job with its text, and no thread waits for one that is gone.

use headpond_state::{Error, Result};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; a panic in it is an error that says where and why.
///
/// What `work` has touched may be half done, so whoever gets the error uses none of it any more.
pub(crate) fn caught<T>(place: impl fmt::Display, work: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| error(place, panic.as_ref()))
}

/// The error of a panic with this payload.
pub(crate) fn error(place: impl fmt::Display, panic: &(dyn Any + Send)) -> Error {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        (None, None) => "it left no text",
    };
    Error::internal(format!("{place} panicked: {text}"))
}
