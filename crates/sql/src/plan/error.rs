//! Errors of DataFusion as ours.

use crate::position::{At, Position};
use crate::words::in_sql;
use arrow_schema::ArrowError;
use datafusion_common::{DataFusionError, SchemaError};
use headpond_state::names::{listed, nearest};
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
        DataFusionError::NotImplemented(message) => Error::unsupported(in_sql(without_debug(first_line(&message)))),
        DataFusionError::Internal(message) => Error::internal(message),
        DataFusionError::SQL(error, _) => Error::invalid(error.to_string()),
        DataFusionError::ArrowError(error, _) => arrow_error(*error),
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
        other => Error::invalid(in_sql(first_line(&other.to_string()))),
    }
}

/// The error of a value that an expression does not have, without its place.
pub(crate) fn value_error(error: DataFusionError) -> Error {
    match error {
        DataFusionError::ArrowError(error, _) => arrow_error(*error),
        DataFusionError::Context(_, inner) => value_error(*inner),
        DataFusionError::Execution(message) => Error::invalid(in_sql(&message)),
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) => Error::invalid(other.to_string()),
        },
        other => Error::invalid(in_sql(&other.strip_backtrace())),
    }
}

fn arrow_error(error: ArrowError) -> Error {
    match error {
        ArrowError::DivideByZero => {
            Error::invalid("division by zero").hint("make it NULL where the divisor is zero: a / NULLIF(b, 0)")
        }
        ArrowError::ArithmeticOverflow(_) => Error::invalid("a number grows beyond its type")
            .hint("cast it to a wider type first, such as CAST(… AS DECIMAL(38, 0)) or CAST(… AS DOUBLE)"),
        ArrowError::CastError(message) | ArrowError::ParseError(message) => {
            Error::invalid(in_sql(&message)).hint("TRY_CAST gives NULL for what does not fit")
        }
        other => Error::invalid(in_sql(&other.to_string())),
    }
}

/// DataFusion puts what it suggests into further lines of the message.
fn invalid(message: &str) -> Error {
    let message = message.strip_prefix("Error during planning: ").unwrap_or(message);
    if let Some(error) = ungrouped(message).or_else(|| same_name(message)) {
        return error;
    }
    let mut lines = message.lines();
    let first = without_debug(lines.next().unwrap_or_default()).trim_end_matches('.');
    let kind = if first.starts_with("Unsupported") { ErrorKind::Unsupported } else { ErrorKind::Invalid };
    let error = Error::new(kind, in_sql(first));
    match lines.find(|line| line.trim_start().starts_with("Did you mean")) {
        Some(hint) => error.hint(hint.trim().replace("Did you mean", "did you mean")),
        None => error,
    }
}

/// The error for a column outside of aggregates that is not grouped by.
fn ungrouped(message: &str) -> Option<Error> {
    let (before, _) = message.split_once("\" must appear in the GROUP BY clause")?;
    let (_, column) = before.split_once("column \"")?;
    let column = in_sql(column);
    Some(
        Error::invalid(format!("`{column}` is neither grouped by nor within an aggregate"))
            .hint(format!("add it to GROUP BY, or aggregate it: MIN({column})")),
    )
}

/// The error for two columns of one name.
fn same_name(message: &str) -> Option<Error> {
    let (_, places) = message.split_once("require unique expression names but the expression \"")?;
    let (first, behind) = places.split_once("\" at position ")?;
    let (_, second) = behind.split_once(" and \"")?;
    let (second, _) = second.split_once("\" at position ")?;
    Some(
        Error::invalid(format!("the columns `{}` and `{}` have the same name", in_sql(first), in_sql(second)))
            .hint("give each a name of its own: … AS a"),
    )
}

/// The message without a syntax tree that it ends with.
fn without_debug(message: &str) -> &str {
    const BEGINNINGS: [&str; 5] = ["Identifier(", "Ident {", "Function(", "ValueWithSpan", "Value("];
    let begin = BEGINNINGS.iter().filter_map(|beginning| message.find(beginning)).min();
    begin.map_or(message, |begin| message[..begin].trim_end_matches([' ', ':', '(', '[']))
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

/// Our error on its way through DataFusion.
pub(super) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
