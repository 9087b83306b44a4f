//! Where something stands in a SQL file, and errors that say so.

use datafusion_sql::sqlparser::tokenizer::Location;
use headpond_state::{Context, Error};
use std::fmt;

/// A place in a text. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The beginning of a text.
    pub const START: Position = Position { line: 1, column: 1 };
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

impl From<Location> for Position {
    fn from(location: Location) -> Self {
        let at_least_one = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).max(1);
        Position { line: at_least_one(location.line), column: at_least_one(location.column) }
    }
}

/// Adds a place to errors that have none.
pub(crate) trait At {
    /// The error with this place, unless it names a line already.
    fn at(self, position: Position) -> Self;
}

impl At for Error {
    fn at(self, position: Position) -> Self {
        if self.place(Context::Line).is_some() {
            return self;
        }
        self.with(Context::Line, position.line).with(Context::Column, position.column)
    }
}

impl<T> At for Result<T, Error> {
    fn at(self, position: Position) -> Self {
        self.map_err(|error| error.at(position))
    }
}
