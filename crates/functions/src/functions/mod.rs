//! The functions, by chapter of the reference.

/// A function of the chapter that the module has as `CHAPTER`.
macro_rules! function {
    ($names:expr, $syntax:expr, $doc:expr, $examples:expr, $bind:expr) => {
        Function { names: $names, category: CHAPTER, syntax: $syntax, doc: $doc, examples: $examples, bind: $bind }
    };
}

mod arithmetic;
mod clock;
mod collection;
mod conditional;
mod hash;
mod json;
mod json_values;
mod pattern;
mod printf;
mod random;
mod rounding;
mod text;
mod text_calls;
mod text_error;
mod time;
mod time_texts;
mod whole_number;

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
