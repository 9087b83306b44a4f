//! Settings from `headpond.toml`.
//!
//! Tables and dotted keys are the same: `[state.backend]` with `type = "rocksdb"` sets `state.backend.type`. Numbers
//! and booleans may stand without quotes; an array is a list.

use crate::{ConfigError, Origin};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A setting of a file.
#[derive(Debug)]
pub(crate) struct FileSetting {
    pub(crate) key: String,
    pub(crate) text: String,
    pub(crate) origin: Origin,
}

/// The settings of a TOML text, in the order in which they stand.
pub(crate) fn settings(path: &Path, text: &str) -> Result<Vec<FileSetting>, ConfigError> {
    let document = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        ConfigError::invalid(format!("not valid TOML: {}", error.message())).at(place(path, text, offset))
    })?;
    let mut found = Vec::new();
    flatten(document.get_ref(), "", &mut |key, value| {
        let origin = place(path, text, value.span().start);
        let Some(written) = written(value.get_ref()) else {
            let message = format!("option '{key}' cannot be a {}", value.get_ref().type_str());
            return Err(ConfigError::invalid(message)
                .with_hint("write a text, a number, true or false, or an array of these")
                .with_key(key)
                .at(origin));
        };
        found.push((value.span().start, FileSetting { key, text: written, origin }));
        Ok(())
    })?;
    found.sort_by_key(|(offset, _)| *offset);
    Ok(found.into_iter().map(|(_, setting)| setting).collect())
}

type Visit<'v> = dyn FnMut(String, &Spanned<DeValue<'_>>) -> Result<(), ConfigError> + 'v;

fn flatten(table: &DeTable<'_>, prefix: &str, visit: &mut Visit<'_>) -> Result<(), ConfigError> {
    for (name, value) in table.iter() {
        let name = name.get_ref();
        let key = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
        match value.get_ref() {
            DeValue::Table(table) => flatten(table, &key, visit)?,
            _ => visit(key, value)?,
        }
    }
    Ok(())
}

/// The value as text, if it is one that an option can have.
fn written(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Array(elements) => {
            let texts: Option<Vec<String>> = elements.iter().map(|element| written(element.get_ref())).collect();
            texts.map(|texts| texts.join(";"))
        }
        DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

fn place(path: &Path, text: &str, offset: usize) -> Origin {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Origin::File {
        path: path.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}
