//! The error for a column that a table lacks.

use headpond_state::Error;
use headpond_state::names::{listed, nearest};

/// The error for a column that a table lacks.
pub(crate) fn no_column<'a>(column: &str, table: &str, columns: impl Iterator<Item = &'a str> + Clone) -> Error {
    let error = Error::invalid(format!("table `{table}` has no column `{column}`"));
    match nearest(column, columns.clone()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("its columns are {}", listed(columns))),
    }
}
