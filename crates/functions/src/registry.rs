//! All functions by name, and what a call of one becomes.

pub use crate::bind::{Bind, Bound, Category, Function, Parameter};

use crate::functions;
use headpond_state::Error;
use headpond_state::names::nearest;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static FUNCTIONS: LazyLock<BTreeMap<&'static str, &'static Function>> = LazyLock::new(|| {
    let all = functions::all();
    all.flat_map(|function| function.names.iter().map(move |name| (*name, function))).collect()
});

/// All functions, in the order of the reference.
pub fn all() -> impl Iterator<Item = &'static Function> {
    functions::all()
}

/// The function of this name, in any case.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.get(name.to_uppercase().as_str()).copied()
}

/// Whether a function gives another value each time.
pub fn is_volatile(name: &str) -> bool {
    matches!(
        name.to_uppercase().as_str(),
        "RAND"
            | "RAND_INTEGER"
            | "UUID"
            | "UNIX_TIMESTAMP"
            | "NOW"
            | "CURRENT_TIMESTAMP"
            | "CURRENT_ROW_TIMESTAMP"
            | "CURRENT_DATE"
            | "CURRENT_TIME"
            | "LOCALTIME"
            | "LOCALTIMESTAMP"
            | "PROCTIME"
    )
}

/// What a call becomes.
///
/// # Errors
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a name that no function has, and for arguments that the
/// function does not take.
pub fn bind(call: &Bind<'_>) -> Result<Bound, Error> {
    if let Some(bound) = crate::operators::bind(call) {
        return bound;
    }
    match function(call.name) {
        Some(function) => (function.bind)(&Bind { syntax: Some(function.syntax), ..*call }),
        None => Err(unknown(call.name)),
    }
}

/// The error for a name that no function has.
#[cold]
pub fn unknown(name: &str) -> Error {
    let upper = name.to_uppercase();
    let error = Error::unsupported(format!("function {upper} is not supported"));
    match nearest(&upper, FUNCTIONS.keys().copied()) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint("docs/reference/functions.md has all functions"),
    }
}
