//! The error of text functions: one plain sentence.

use std::fmt;

/// Why a function has no answer, in plain words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError(pub String);

impl TextError {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TextError {}

/// The result of a text function that can fail.
pub type TextResult<T> = Result<T, TextError>;

/// The largest text, in bytes, that one call may build.
pub const MAX_RESULT_BYTES: usize = 128 * 1024 * 1024;

/// Refuses a result of more bytes than one call may build.
pub(crate) fn check_size(function: &str, bytes: u128) -> TextResult<usize> {
    match usize::try_from(bytes) {
        Ok(n) if n <= MAX_RESULT_BYTES => Ok(n),
        _ => Err(TextError::new(format!(
            "{function}: the result would have {bytes} bytes, at most {MAX_RESULT_BYTES} are allowed"
        ))),
    }
}
