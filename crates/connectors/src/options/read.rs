//! Reads of a table's options.

use super::option_group::key_of;
use crate::table::TableDescription;
use headpond_config::{ConfigOption, Definition, OptionValue, Rejection, Value};
use headpond_runtime::{Error, Result};
use headpond_state::Context;

/// The options of a table, read by declaration.
///
/// # Errors
/// Each read fails with [`Invalid`](headpond_runtime::ErrorKind::Invalid) for a text that is not of the declared type,
/// naming option, table and text, and for an option that is missing and has no default, unless its type is an `Option`.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    table: &'a TableDescription,
}

impl<'a> Options<'a> {
    /// The options of a table.
    pub fn new(table: &'a TableDescription) -> Self {
        Options { table }
    }

    /// The value of an option, or its default.
    pub fn get<T: OptionValue>(&self, option: &ConfigOption<T>) -> Result<T> {
        self.read(option.definition(), option.key())
    }

    /// The value of an option about a column, or its default.
    pub fn get_of<T: OptionValue>(&self, option: &ConfigOption<T>, field: &str) -> Result<T> {
        self.read(option.definition(), &key_of(option.definition(), field))
    }

    fn read<T: OptionValue>(&self, option: &Definition, key: &str) -> Result<T> {
        let text = self.table.options.get(key).map(String::as_str).or(option.default_text());
        let value = text.map(|text| self.value(option, key, text)).transpose()?;
        T::from_value(value.as_ref()).ok_or_else(|| {
            Error::invalid(format!("table {} lacks the option '{key}'", self.table.name))
                .with(Context::Option, key)
                .hint(format!("add '{key}' = '…': {}", option.doc()))
        })
    }

    /// Checks the value that stands at `key`.
    pub(super) fn check(&self, option: &Definition, key: &str) -> Result<()> {
        let text = self.table.options.get(key);
        text.map_or(Ok(()), |text| self.value(option, key, text).map(drop))
    }

    fn value(&self, option: &Definition, key: &str, text: &str) -> Result<Value> {
        option.value(text).map_err(|rejection| match rejection {
            Rejection::Invalid(why) => self.refuse(key, text, &why),
            Rejection::Refused(why) => {
                let message = format!("option '{key}' of table {} does not support '{text}'", self.table.name);
                Error::unsupported(message).with(Context::Option, key).hint(why)
            }
        })
    }

    /// The error for an option with a value that it cannot have.
    pub fn refuse(&self, key: &str, text: &str, why: &str) -> Error {
        Error::invalid(format!("option '{key}' of table {} cannot be '{text}'", self.table.name))
            .with(Context::Option, key)
            .hint(why.to_owned())
    }
}
