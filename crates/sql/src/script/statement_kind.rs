//! What a statement says.

use super::create_table::CreateTable;
use super::hint::Hints;
use crate::position::Position;
use datafusion_sql::sqlparser::ast::Query;
use datafusion_sql::sqlparser::tokenizer::TokenWithSpan;

/// What a statement says.
#[derive(Debug, Clone)]
pub enum StatementKind {
    /// `SET key = value`.
    Set {
        /// The option's key.
        key: String,
        /// The value as it was written, without quotes.
        value: String,
    },
    /// `SET` or `SET key`: show the settings.
    Show {
        /// The one to show; `None` for all.
        key: Option<String>,
    },
    /// `RESET` or `RESET key`.
    Reset {
        /// The one to reset; `None` for all.
        key: Option<String>,
    },
    /// `CREATE TABLE`.
    CreateTable(Box<CreateTable>),
    /// `CREATE VIEW name AS query`.
    CreateView {
        /// The view's name.
        name: String,
        /// Whether a second view of that name is to be ignored.
        if_not_exists: bool,
        /// Whether it takes the place of one of that name.
        or_replace: bool,
        /// The names of its columns, if they are given.
        columns: Vec<String>,
        /// Its query.
        query: SourceQuery,
    },
    /// `DROP TABLE name` or `DROP VIEW name`.
    Drop {
        /// Whether it is a view.
        view: bool,
        /// Its name.
        name: String,
        /// Where the name stands.
        position: Position,
        /// Whether it need not be there.
        if_exists: bool,
    },
    /// `SHOW TABLES` or `SHOW VIEWS`.
    ShowTables {
        /// Whether only views are shown.
        views: bool,
    },
    /// `DESCRIBE name`: its columns.
    Describe {
        /// The table or view.
        name: String,
        /// Where the name stands.
        position: Position,
    },
    /// `INSERT INTO table query`.
    Insert(Box<Insert>),
    /// A query by itself, whose rows are printed.
    Query(SourceQuery),
    /// `EXPLAIN INSERT INTO …` or `EXPLAIN query`.
    Explain(Explained),
}

impl StatementKind {
    /// Whether a query stands in the statement, and hints may, too.
    pub(super) fn has_query(&self) -> bool {
        matches!(self, Self::CreateView { .. } | Self::Insert(_) | Self::Query(_) | Self::Explain(_))
    }
}

/// An `INSERT INTO`.
#[derive(Debug, Clone)]
pub struct Insert {
    /// The table to insert into.
    pub table: String,
    /// Where its name stands.
    pub table_position: Position,
    /// The columns to fill, if they are listed.
    pub columns: Vec<(String, Position)>,
    /// What to insert.
    pub query: SourceQuery,
}

/// What an `EXPLAIN` explains.
#[derive(Debug, Clone)]
pub enum Explained {
    /// An insert.
    Insert(Box<Insert>),
    /// A query.
    Query(SourceQuery),
}

/// A query with its words, which tell where something stands that the syntax tree has no place for.
#[derive(Debug, Clone)]
pub struct SourceQuery {
    /// The query.
    pub query: Box<Query>,
    /// Where it begins.
    pub position: Position,
    pub(crate) tokens: Vec<TokenWithSpan>,
    pub(crate) hints: Hints,
}
