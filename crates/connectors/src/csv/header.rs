//! The line that names the columns.

use headpond_runtime::{Error, Result};
use headpond_state::Context;
use headpond_state::names::nearest;
use std::path::Path;

/// The place of each declared column in the file.
///
/// # Errors
/// [`Invalid`](headpond_runtime::ErrorKind::Invalid) for a column that the header lacks: file, column, and what there
/// is.
pub(super) fn places<'a>(names: &[String], declared: impl Iterator<Item = &'a str>, path: &Path) -> Result<Vec<usize>> {
    declared
        .map(|column| names.iter().position(|name| name == column).ok_or_else(|| missing(column, names, path)))
        .collect()
}

#[cold]
fn missing(column: &str, names: &[String], path: &Path) -> Error {
    const SHOWN: usize = 30;
    let mut found = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        found.push_str(", …");
    }
    let error = Error::invalid(format!("the file has no column '{column}'; its first line names: {found}"))
        .with(Context::Path, path.display())
        .with(Context::Line, 1)
        .with(Context::Column, column);
    match nearest(column, names.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean '{near}'?")),
        None => {
            error.hint("declare the columns that the file has, or leave out 'csv.header' if its first line is a row")
        }
    }
}
