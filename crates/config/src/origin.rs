//! Where a setting was written.

use std::fmt;
use std::path::PathBuf;

/// A layer of settings; a later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The registry's default.
    Default,
    /// The configuration file.
    File,
    /// The environment.
    Environment,
    /// A `SET` statement.
    Statement,
    /// The command line: whoever types it sees more than whoever wrote the file.
    CommandLine,
}

/// Where a setting was written. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere: it is the registry's default.
    Default,
    /// In a configuration file.
    File {
        /// The file as the user named it.
        path: PathBuf,
        /// The line of the value.
        line: usize,
        /// The column of the value.
        column: usize,
    },
    /// In an environment variable.
    Environment {
        /// The variable's name.
        variable: String,
    },
    /// On the command line.
    CommandLine {
        /// The flag that says so: `-D`, `--parallelism`, …
        flag: String,
    },
    /// In a `SET` statement.
    Statement {
        /// The line where the statement begins.
        line: usize,
        /// The column where the statement begins.
        column: usize,
    },
    /// In a Rust program; it counts as the command line.
    Program,
}

impl Origin {
    /// A `SET` statement that begins at this line and column.
    pub fn statement(line: usize, column: usize) -> Self {
        Origin::Statement { line, column }
    }

    /// A flag of the command line.
    pub fn flag(flag: impl Into<String>) -> Self {
        Origin::CommandLine { flag: flag.into() }
    }

    /// The layer that the place belongs to.
    pub fn layer(&self) -> Layer {
        match self {
            Origin::Default => Layer::Default,
            Origin::File { .. } => Layer::File,
            Origin::Environment { .. } => Layer::Environment,
            Origin::CommandLine { .. } | Origin::Program => Layer::CommandLine,
            Origin::Statement { .. } => Layer::Statement,
        }
    }

    /// The line, if the place is a text.
    pub fn line(&self) -> Option<usize> {
        match self {
            Origin::File { line, .. } | Origin::Statement { line, .. } => Some(*line),
            _ => None,
        }
    }

    /// The column, if the place is a text.
    pub fn column(&self) -> Option<usize> {
        match self {
            Origin::File { column, .. } | Origin::Statement { column, .. } => Some(*column),
            _ => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line, column } => write!(f, "{}, line {line}, column {column}", path.display()),
            Origin::Environment { variable } => write!(f, "environment variable {variable}"),
            Origin::CommandLine { flag } => write!(f, "command line, {flag}"),
            Origin::Statement { line, column } => write!(f, "SET at line {line}, column {column}"),
            Origin::Program => f.write_str("program"),
        }
    }
}
