//! Reads of a table's options.

use super::{TableOption, ValueType};
use crate::table::TableDescription;
use headpond_config::units::parse_duration;
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use headpond_state::names::nearest;
use std::time::Duration;

/// The options of a table, read by declaration.
///
/// # Errors
/// Each read fails with [`Invalid`](headpond_runtime::ErrorKind::Invalid) for a text that is not of the declared type,
/// naming option, table and text.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    table: &'a TableDescription,
}

impl<'a> Options<'a> {
    /// The options of a table.
    pub fn new(table: &'a TableDescription) -> Self {
        Options { table }
    }

    /// The text of an option, or its default.
    pub fn text(&self, option: &TableOption) -> Option<&'a str> {
        self.table.options.get(option.key).map(String::as_str).or(option.default)
    }

    /// The text of an option that must be set, or its default.
    pub fn required(&self, option: &TableOption) -> Result<&'a str> {
        self.text(option).ok_or_else(|| {
            Error::invalid(format!("table {} lacks the option '{}'", self.table.name, option.key))
                .with(Context::Option, option.key)
                .hint(format!("add '{}' = '…': {}", option.key, option.doc))
        })
    }

    /// A truth value; false without a default.
    pub fn bool(&self, option: &TableOption) -> Result<bool> {
        self.read(option, bool_value).map(|value| value.unwrap_or(false))
    }

    /// A whole number.
    pub fn int(&self, option: &TableOption) -> Result<Option<i64>> {
        self.read(option, |text| int_value(text, option.value_type))
    }

    /// A duration.
    pub fn duration(&self, option: &TableOption) -> Result<Option<Duration>> {
        self.read(option, parse_duration)
    }

    /// A character.
    pub fn char(&self, option: &TableOption) -> Result<Option<u8>> {
        self.read(option, char_value)
    }

    /// One of the option's words, as they are declared. An option without a default must be set.
    pub fn word(&self, option: &TableOption) -> Result<&'static str> {
        let ValueType::Word(words) = option.value_type else {
            return Err(Error::internal(format!("'{}' is not declared as a choice of words", option.key)));
        };
        self.required(option)?;
        let value = self.read(option, |text| word_value(text, words))?;
        value.ok_or_else(|| Error::internal(format!("'{}' has no value", option.key)))
    }

    /// The text of an option about a column.
    pub fn field_text(&self, option: &TableOption, field: &str) -> Option<&'a str> {
        let key = option.key.replace("<field>", field);
        self.table.options.get(&key).map(String::as_str).or(option.default)
    }

    /// A number about a column.
    pub fn field_float(&self, option: &TableOption, field: &str) -> Result<Option<f64>> {
        self.read_field(option, field, float_value)
    }

    /// A whole number about a column.
    pub fn field_int(&self, option: &TableOption, field: &str) -> Result<Option<i64>> {
        self.read_field(option, field, |text| int_value(text, option.value_type))
    }

    /// A duration about a column.
    pub fn field_duration(&self, option: &TableOption, field: &str) -> Result<Option<Duration>> {
        self.read_field(option, field, parse_duration)
    }

    fn read_field<T>(
        &self,
        option: &TableOption,
        field: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>> {
        let parsed = self.field_text(option, field).map(|text| (text, parse(text)));
        parsed
            .map(|(text, value)| value.map_err(|why| self.refuse(&option.key.replace("<field>", field), text, &why)))
            .transpose()
    }

    fn read<T>(&self, option: &TableOption, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>> {
        let parsed = self.text(option).map(|text| (text, parse(text)));
        parsed.map(|(text, value)| value.map_err(|why| self.refuse(option.key, text, &why))).transpose()
    }

    /// Checks the value that stands at `key`.
    pub(super) fn check(&self, option: &TableOption, key: &str) -> Result<()> {
        let Some(text) = self.table.options.get(key) else { return Ok(()) };
        let outcome = match option.value_type {
            ValueType::Bool => bool_value(text).map(drop),
            ValueType::Int(_) => int_value(text, option.value_type).map(drop),
            ValueType::Float => float_value(text).map(drop),
            ValueType::Duration => parse_duration(text).map(drop),
            ValueType::Char => char_value(text).map(drop),
            ValueType::Word(words) => word_value(text, words).map(drop),
            ValueType::Text => Ok(()),
        };
        outcome.map_err(|why| self.refuse(key, text, &why))
    }

    /// The error for an option with a value that it cannot have.
    pub fn refuse(&self, key: &str, text: &str, why: &str) -> Error {
        Error::invalid(format!("option '{key}' of table {} cannot be '{text}'", self.table.name))
            .with(Context::Option, key)
            .hint(why.to_owned())
    }
}

fn bool_value(text: &str) -> Result<bool, String> {
    match text.trim() {
        text if text.eq_ignore_ascii_case("true") => Ok(true),
        text if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

fn int_value(text: &str, value_type: ValueType) -> Result<i64, String> {
    let least = if let ValueType::Int(least) = value_type { least } else { i64::MIN };
    match text.trim().replace('_', "").parse::<i64>() {
        Ok(number) if number >= least => Ok(number),
        _ => Err(format!("expected a whole number from {least} on")),
    }
}

fn float_value(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("expected a number from 0 on".to_owned()),
    }
}

fn char_value(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
        _ => Err("expected one ASCII character, or \\t for a tab".to_owned()),
    }
}

fn word_value(text: &str, words: &'static [&'static str]) -> Result<&'static str, String> {
    let text = text.trim();
    if let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
        return Ok(word);
    }
    let near = nearest(text, words.iter().copied()).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    Err(format!("expected one of {}{near}", words.join(", ")))
}
