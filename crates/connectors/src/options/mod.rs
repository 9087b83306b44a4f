//! The options of tables: what may stand in `WITH (…)`.
//!
//! Each option is declared once, with its type, its default and what it means, as a job's options are
//! ([`ConfigOption`](headpond_config::ConfigOption)); the declarations are in [`declared`]. They feed the check that
//! refuses what nobody knows and names the nearest option, the typed reads of the connectors ([`Options`]), and the
//! [`reference`](mod@reference) page. Connectors of one's own declare theirs in the same way.

pub mod declared;
mod option_group;
mod read;
pub mod reference;

pub use option_group::OptionGroup;
pub(crate) use option_group::key_of;
pub use read::Options;

use crate::table::TableDescription;
use headpond_config::nearest_key;
use headpond_runtime::{Error, Result};
use headpond_state::Context;

/// Checks that every option of the table is one of `groups` and can be read.
///
/// # Errors
/// [`Invalid`](headpond_runtime::ErrorKind::Invalid), naming the option and the nearest one there is.
pub(crate) fn check(table: &TableDescription, groups: &[&OptionGroup]) -> Result<()> {
    let options = Options::new(table);
    // Which connectors there are, who has chosen the groups has checked.
    for key in table.options.keys().filter(|key| *key != declared::CONNECTOR.key()) {
        match groups.iter().find_map(|group| group.find(key, table)) {
            Some(option) => options.check(option, key)?,
            None => return Err(unknown(key, table, groups)),
        }
    }
    Ok(())
}

#[cold]
fn unknown(key: &str, table: &TableDescription, groups: &[&OptionGroup]) -> Error {
    let names: Vec<&str> = groups[1..].iter().map(|group| group.name).collect();
    let error = Error::invalid(format!(
        "table {} has an option that {} does not know",
        table.name,
        names.join(" with format ")
    ))
    .with(Context::Option, key);
    let elsewhere = declared::groups().filter(|group| !groups.iter().any(|mine| mine.name == group.name));
    for group in elsewhere {
        if group.find(key, table).is_some() {
            return error.hint(format!("it is an option of {}; leave it out here", group.name));
        }
    }
    let known: Vec<String> = groups.iter().flat_map(|group| group.keys(table)).collect();
    match nearest_key(key, known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean '{near}'?")),
        None => error.hint(format!("the options of {} are in docs/reference/connectors.md", names.join(" and "))),
    }
}
