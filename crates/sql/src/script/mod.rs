//! A SQL file: its statements, each with its place.
//!
//! A thin parser of our own cuts the text into statements and reads settings and table definitions, because no dialect
//! of `sqlparser` knows `WATERMARK FOR`, computed columns, `ROW<…>` or a setting without quotes. Queries inside are
//! parsed by `sqlparser` in a dialect of ours. Anything else is refused by name before anything starts.
//!
//! In reading order: `scan` (text to statements), `setting` (`SET`, `RESET`), `statement` (all others), `create_table`,
//! `data_type`.

mod chains;
mod create_table;
mod data_type;
mod hint;
mod refusal;
mod scan;
mod setting;
mod statement;
mod statement_kind;
mod tokens;
mod words;

pub use create_table::{CreateTable, TableColumn, TableOption, Watermark};
pub use statement_kind::{Explained, Insert, SourceQuery, StatementKind};

pub(crate) use data_type::parse_type_text;
pub(crate) use headpond_functions::type_name;
pub(crate) use hint::{StateTtlHint, StateUidHint};
pub(crate) use refusal::not_supported;

use crate::faults::Faults;
use crate::planning_stack::on_planning_stack;
use crate::position::{At, Position};
use headpond_config::Secrets;
use headpond_state::{Context, Error, ErrorKind, Result};

/// A parsed SQL file.
#[derive(Debug, Clone)]
pub struct Script {
    /// The file's name, for messages and, without `pipeline.name`, the job's name.
    pub file: String,
    /// Its statements.
    pub statements: Vec<Statement>,
}

/// A statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Where it begins.
    pub position: Position,
    /// How it begins, for messages.
    pub beginning: String,
    /// What it says.
    pub kind: StatementKind,
    /// All of it.
    pub(crate) text: String,
}

/// Parses the text of a SQL file; `file` is for messages.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for a text that is no SQL,
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a statement or a clause that Headpond does not know;
/// either names file, line and column.
///
/// ```
/// let script = headpond_sql::parse("SET 'state.backend.type' = 'rocksdb';", "job.sql")?;
/// assert_eq!(script.statements.len(), 1);
/// let error = headpond_sql::parse("SET 'a' = 'b';\n  ALTER TABLE t RENAME TO u;", "job.sql").unwrap_err();
/// assert!(error.to_string().starts_with("ALTER is not supported (line 2, column 3, statement `ALTER TABLE t"));
/// # Ok::<(), headpond_state::Error>(())
/// ```
pub fn parse(text: &str, file: &str) -> Result<Script> {
    let (script, faults) = on_planning_stack(|| read(text, file))?;
    faults.into_result().map(|()| script)
}

/// The statements of a text that can be understood, and the faults of the others.
pub(crate) fn read(text: &str, file: &str) -> (Script, Faults) {
    let mut statements = Vec::new();
    let mut faults = Faults::default();
    let mut set_begun = None;
    let texts = scan::statement_texts(text).unwrap_or_else(|error| {
        faults.add_of_script(error.with(Context::Path, file));
        Vec::new()
    });
    for statement in texts {
        let beginning = statement.beginning();
        let position = statement.position;
        let parsed = statement::parse_statement_text(&statement, &mut set_begun);
        match parsed {
            Ok(kind) => {
                let text = statement.text.to_owned();
                statements.extend(kind.map(|kind| Statement { position, beginning, kind, text }));
            }
            Err(error) => {
                let secrets = Secrets::of(statement.text);
                let error = error.rewritten(|text| secrets.hide_quoted(text));
                faults.add(position, statement.text, in_statement(error, file, position, &beginning));
            }
        }
    }
    if let Some(position) = set_begun {
        let error = Error::invalid("a statement set has no END").hint("close it with END;").at(position);
        faults.add(position, "", error.with(Context::Path, file));
    }
    (Script { file: file.to_owned(), statements }, faults)
}

/// The error of a statement, with its places, and where to read on if it names no way out.
pub(crate) fn in_statement(error: Error, file: &str, position: Position, beginning: &str) -> Error {
    let names_a_way_out = error.way_out().is_some() || error.place(Context::Option).is_some();
    let error = if error.kind() == ErrorKind::Unsupported && !names_a_way_out {
        error.hint("docs/reference/sql.md lists what is supported")
    } else {
        error
    };
    error.at(position).with(Context::Statement, format_args!("`{beginning}`")).with(Context::Path, file)
}
