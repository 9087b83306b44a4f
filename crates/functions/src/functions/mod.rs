//! The functions, by chapter of the reference.

mod arithmetic;
mod clock;
mod collection;
mod conditional;
mod hash;
mod json;
mod pattern;
mod printf;
mod text;
mod text_error;
mod time;

pub use clock::{is_processing_time, is_random};

use crate::bind::Function;

/// All functions, in the order of the reference.
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    let chapters = [
        arithmetic::FUNCTIONS,
        text::FUNCTIONS,
        pattern::FUNCTIONS,
        time::FUNCTIONS,
        clock::FUNCTIONS,
        conditional::FUNCTIONS,
        collection::FUNCTIONS,
        json::FUNCTIONS,
        hash::FUNCTIONS,
    ];
    chapters.into_iter().flatten()
}
