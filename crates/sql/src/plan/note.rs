//! What an operator keeps, for `EXPLAIN`.

use std::fmt;

/// A line about an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Note {
    /// Its key, a state, or when that expires.
    Line(String),
    /// The state of the line before is kept for every key for ever.
    Unbounded,
}

impl From<String> for Note {
    fn from(line: String) -> Self {
        Note::Line(line)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Line(line) => f.write_str(line),
            Note::Unbounded => f.write_str("expiry: never; unbounded: no window, no TTL"),
        }
    }
}
