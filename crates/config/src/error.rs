//! What is wrong with an option, where it was written, and the way out.

use crate::Origin;
use std::fmt;

/// An error about an option: its key, a message, the place and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    kind: ConfigErrorKind,
    key: Option<String>,
    message: String,
    hint: Option<String>,
    origin: Option<Origin>,
}

/// What sort of mistake an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigErrorKind {
    /// No option has this key.
    UnknownKey,
    /// The value, the file or the way it is written is wrong.
    Invalid,
    /// The option or the value is known, and Headpond does not support it.
    Unsupported,
    /// The file could not be read.
    Unreadable,
}

impl ConfigError {
    pub(crate) fn new(kind: ConfigErrorKind, message: impl Into<String>) -> Self {
        ConfigError(Box::new(Inner { kind, key: None, message: message.into(), hint: None, origin: None }))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        ConfigError::new(ConfigErrorKind::Invalid, message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        ConfigError::new(ConfigErrorKind::Unsupported, message)
    }

    pub(crate) fn with_key(mut self, key: impl Into<String>) -> Self {
        self.0.key = Some(key.into());
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    pub(crate) fn at(mut self, origin: Origin) -> Self {
        self.0.origin = Some(origin);
        self
    }

    pub(crate) fn rewritten(mut self, with: impl Fn(&str) -> String) -> Self {
        self.0.message = with(&self.0.message);
        self.0.hint = self.0.hint.as_deref().map(with);
        self
    }

    /// What sort of mistake this is.
    pub fn kind(&self) -> ConfigErrorKind {
        self.0.kind
    }

    /// The option's key as the user wrote it, if the error is about one option.
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// What is wrong, without the place and without the way out.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The way out.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Where the setting was written, if known.
    pub fn origin(&self) -> Option<&Origin> {
        self.0.origin.as_ref()
    }

    /// The line in the configuration file or SQL file, counted from 1, if known.
    pub fn line(&self) -> Option<usize> {
        self.origin().and_then(Origin::line)
    }

    /// The column in the configuration file or SQL file, counted from 1, if known.
    pub fn column(&self) -> Option<usize> {
        self.origin().and_then(Origin::column)
    }
}

/// The message and the place; the way out is [`ConfigError::hint`].
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match &self.0.origin {
            Some(origin) => write!(f, " ({origin})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConfigError {}
