//! Settings from environment variables.

use crate::options::registry;

/// What the name of a variable begins with.
pub(crate) const PREFIX: &str = "HEADPOND_";

/// The environment variable of a key: `HEADPOND_` and the key in capitals, with `_` for every dot and dash.
///
/// ```
/// # use headpond_config::variable_name;
/// assert_eq!(variable_name("pipeline.max-parallelism"), "HEADPOND_PIPELINE_MAX_PARALLELISM");
/// ```
pub fn variable_name(key: &str) -> String {
    let plain = key.chars().map(|c| if c == '.' || c == '-' { '_' } else { c.to_ascii_uppercase() });
    PREFIX.chars().chain(plain).collect()
}

/// The key, or the alias, whose variable this is.
pub(crate) fn key_of(variable: &str) -> Option<&'static str> {
    known_keys().find(|key| variable_name(key) == variable)
}

/// Every key and alias.
pub(crate) fn known_keys() -> impl Iterator<Item = &'static str> {
    registry().flat_map(|option| std::iter::once(option.key()).chain(option.aliases().iter().map(|alias| alias.key)))
}
