//! How an option is declared.

use crate::ConfigError;
use crate::secret_words::{MASK, has_word, mask_urls};
use crate::value::{OptionValue, Rejection, Value, ValueType};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// An option with the Rust type of its value.
///
/// Options are declared in [`options`](crate::options); [`Config::get`](crate::Config::get) reads them.
pub struct ConfigOption<T> {
    definition: Definition,
    value: PhantomData<fn() -> T>,
}

/// What the registry knows about an option.
#[derive(Debug)]
pub struct Definition {
    key: &'static str,
    value_type: ValueType,
    default: Option<&'static str>,
    without_default: &'static str,
    doc: &'static str,
    range: Range,
    support: Support,
    aliases: &'static [Alias],
}

/// The values that an option of a type with an order may have: a number, milliseconds or bytes, by type.
#[derive(Debug, Clone, Copy)]
struct Range {
    least: Option<i64>,
    greatest: Option<i64>,
}

/// Whether an option has an effect.
#[derive(Debug, Clone, Copy)]
pub enum Support {
    /// It has.
    Full,
    /// It is accepted and changes nothing; the text says why.
    NoEffect(&'static str),
    /// These values are accepted (they are what happens anyway); any other is refused, the text says why.
    Only(&'static [&'static str], &'static str),
    /// It is known and refused; the text says why, and what to do instead.
    Refused(&'static str),
}

/// Another key for an option.
#[derive(Debug, Clone, Copy)]
pub struct Alias {
    /// The other key.
    pub key: &'static str,
    /// The unit that the other key implies: it is appended to a bare number.
    pub unit: &'static str,
}

impl Alias {
    /// Another key with the same values.
    pub const fn new(key: &'static str) -> Self {
        Alias { key, unit: "" }
    }

    /// Another key whose bare numbers count `unit`.
    pub const fn in_unit(key: &'static str, unit: &'static str) -> Self {
        Alias { key, unit }
    }
}

impl<T: OptionValue> ConfigOption<T> {
    /// An option without a default; `without_default` says what happens then.
    pub const fn unset(key: &'static str, without_default: &'static str, doc: &'static str) -> Self {
        ConfigOption {
            definition: Definition {
                key,
                value_type: T::TYPE,
                default: None,
                without_default,
                doc,
                range: Range { least: None, greatest: None },
                support: Support::Full,
                aliases: &[],
            },
            value: PhantomData,
        }
    }

    /// An option with a default, written as a user would write it.
    pub const fn new(key: &'static str, default: &'static str, doc: &'static str) -> Self {
        let mut option = ConfigOption::unset(key, "", doc);
        option.definition.default = Some(default);
        option
    }

    /// The option with its least and greatest value: a number, milliseconds or bytes, by type.
    pub const fn within(mut self, least: i64, greatest: i64) -> Self {
        self.definition.range = Range { least: Some(least), greatest: Some(greatest) };
        self
    }

    /// The option with its least value: a number, milliseconds or bytes, by type.
    pub const fn at_least(mut self, least: i64) -> Self {
        self.definition.range = Range { least: Some(least), greatest: None };
        self
    }

    /// The option with other keys.
    pub const fn aliases(mut self, aliases: &'static [Alias]) -> Self {
        self.definition.aliases = aliases;
        self
    }

    /// The option with another support than full.
    pub const fn support(mut self, support: Support) -> Self {
        self.definition.support = support;
        self
    }

    /// What the registry knows about the option.
    pub const fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The option's key.
    pub const fn key(&self) -> &'static str {
        self.definition.key
    }
}

impl<T> fmt::Debug for ConfigOption<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConfigOption").field(&self.definition.key).finish()
    }
}

impl Definition {
    /// The key.
    pub fn key(&self) -> &'static str {
        self.key
    }

    /// The type.
    pub fn value_type(&self) -> ValueType {
        self.value_type
    }

    /// The default as a user would write it.
    pub fn default_text(&self) -> Option<&'static str> {
        self.default
    }

    /// What happens while an option without a default is not set.
    pub fn without_default(&self) -> &'static str {
        self.without_default
    }

    /// What the option is for.
    pub fn doc(&self) -> &'static str {
        self.doc
    }

    /// Whether the option has an effect.
    pub fn support(&self) -> Support {
        self.support
    }

    /// Other keys for it.
    pub fn aliases(&self) -> &'static [Alias] {
        self.aliases
    }

    /// Whether its value must not be shown.
    pub fn is_secret(&self) -> bool {
        has_word(self.key)
    }

    /// The values that are allowed, in words, if not all of the type are.
    pub(crate) fn allowed(&self) -> Option<String> {
        let least = self.range.least.map(|least| self.bound(least));
        let greatest = self.range.greatest.map(|greatest| self.bound(greatest));
        match (least, greatest) {
            (Some(least), Some(greatest)) => Some(format!("from {least} to {greatest}")),
            (Some(least), None) => Some(format!("at least {least}")),
            (None, Some(greatest)) => Some(format!("at most {greatest}")),
            (None, None) => None,
        }
    }

    /// The default's value.
    pub(crate) fn default_value(&self) -> Option<Value> {
        let text = self.default?;
        Some(self.value_type.parse(text).expect("a test reads every default of the registry"))
    }

    /// Reads a value that the option's type and range allow.
    ///
    /// # Errors
    /// With what is expected instead.
    pub fn value(&self, text: &str) -> Result<Value, Rejection> {
        let value = self.value_type.parse(text)?;
        self.check_range(&value)?;
        Ok(value)
    }

    /// Reads a value that is allowed for this option.
    pub(crate) fn parse(&self, text: &str) -> Result<Value, ConfigError> {
        let value = match self.value(text) {
            Ok(value) => value,
            Err(Rejection::Invalid(why)) => return Err(self.error(ConfigError::invalid, text, &why)),
            Err(Rejection::Refused(why)) => return Err(self.error(ConfigError::unsupported, text, &why)),
        };
        match self.support {
            Support::Full | Support::NoEffect(_) => Ok(value),
            Support::Only(accepted, why) => {
                let is = |text: &&str| self.value_type.parse(text).is_ok_and(|accepted| accepted == value);
                if accepted.iter().any(is) { Ok(value) } else { Err(self.error(ConfigError::unsupported, text, why)) }
            }
            Support::Refused(why) => {
                Err(ConfigError::unsupported(format!("option '{}' is not supported", self.key)).with_hint(why))
            }
        }
    }

    fn check_range(&self, value: &Value) -> Result<(), Rejection> {
        use std::cmp::Ordering;
        let compared = |bound: Option<i64>| bound.and_then(|bound| value.compare(&self.bound(bound)));
        let too_small = compared(self.range.least) == Some(Ordering::Less);
        let too_great = compared(self.range.greatest) == Some(Ordering::Greater);
        match self.allowed() {
            Some(allowed) if too_small || too_great => Err(Rejection::Invalid(format!("expected {allowed}"))),
            _ => Ok(()),
        }
    }

    fn bound(&self, bound: i64) -> Value {
        let unsigned = bound.unsigned_abs();
        match self.value_type {
            ValueType::Duration => Value::Duration(std::time::Duration::from_millis(unsigned)),
            ValueType::Memory => Value::Memory(crate::MemorySize::from_bytes(unsigned)),
            ValueType::Float => Value::Float(bound as f64),
            _ => Value::Int(bound),
        }
    }

    fn error(&self, kind: fn(String) -> ConfigError, text: &str, why: &str) -> ConfigError {
        let shown = if self.is_secret() { Cow::Borrowed(MASK) } else { mask_urls(text.trim()) };
        kind(format!("option '{}' cannot be '{shown}': {why}", self.key))
    }
}
