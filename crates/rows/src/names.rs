//! Names of fields where a format allows letters, digits and `_` only.

use std::collections::HashSet;

/// The names as they are where the format allows it and none came before; else with `_` for what it does not allow, and
/// the field's number (counted from 1) behind.
pub(crate) fn identifiers<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = HashSet::new();
    names
        .enumerate()
        .map(|(index, name)| {
            let mut identifier: String =
                name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            if identifier.as_bytes().first().is_none_or(u8::is_ascii_digit) {
                identifier.insert(0, '_');
            }
            let mut tried = identifier.clone();
            if identifier != name || seen.contains(&tried) {
                tried = format!("{identifier}_{}", index + 1);
            }
            while !seen.insert(tried.clone()) {
                tried.push('_');
            }
            tried
        })
        .collect()
}
