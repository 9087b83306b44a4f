//! Errors of DataFusion as ours.

use crate::nearest::{listed, nearest};
use crate::position::{At, Position};
use datafusion_common::{DataFusionError, SchemaError};
use headpond_state::{Error, ErrorKind};

/// The error of a plan or an expression, with its place if DataFusion knows it.
pub(crate) fn planning_error(error: DataFusionError) -> Error {
    match error {
        DataFusionError::Diagnostic(diagnostic, inner) => {
            let inner = planning_error(*inner);
            match diagnostic.span {
                Some(span) => inner.at(Position { line: span.start.line as usize, column: span.start.column as usize }),
                None => inner,
            }
        }
        DataFusionError::Context(_, inner) => planning_error(*inner),
        DataFusionError::Collection(errors) => match errors.into_iter().next() {
            Some(first) => planning_error(first),
            None => Error::internal("a query failed without an error"),
        },
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) => Error::internal("a query cannot be planned").because(other),
        },
        DataFusionError::SchemaError(inner, _) => schema_error(*inner),
        DataFusionError::NotImplemented(message) => Error::unsupported(first_line(&message)),
        DataFusionError::Internal(message) => Error::internal(message),
        DataFusionError::SQL(error, _) => Error::invalid(error.to_string()),
        DataFusionError::ArrowError(error, _) => Error::invalid(error.to_string()),
        other => invalid(&other.strip_backtrace()),
    }
}

fn schema_error(error: SchemaError) -> Error {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let names: Vec<&str> = valid_fields.iter().map(|field| field.name.as_str()).collect();
            let error = Error::invalid(format!("there is no column `{}`", field.flat_name().replace('"', "")));
            match nearest(&field.name, names.iter().copied()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None if names.is_empty() => error,
                None => error.hint(format!("the columns are {}", listed(names.iter().copied()))),
            }
        }
        other => Error::invalid(first_line(&other.to_string())),
    }
}

/// DataFusion puts what it suggests into further lines of the message.
fn invalid(message: &str) -> Error {
    let message = message.strip_prefix("Error during planning: ").unwrap_or(message);
    let mut lines = message.lines();
    let first = lines.next().unwrap_or_default().trim_end_matches('.');
    let kind = if first.starts_with("Unsupported") { ErrorKind::Unsupported } else { ErrorKind::Invalid };
    let error = Error::new(kind, first);
    match lines.find(|line| line.trim_start().starts_with("Did you mean")) {
        Some(hint) => error.hint(hint.trim().replace("Did you mean", "did you mean")),
        None => error,
    }
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}
