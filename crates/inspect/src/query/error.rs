//! Errors of DataFusion as ours.

use datafusion_common::{DataFusionError, SchemaError};
use headpond_state::Error;
use headpond_state::names::{listed, nearest};

/// Our error on its way through DataFusion.
pub(super) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The error of a query.
pub(super) fn query_error(error: DataFusionError) -> Error {
    match error {
        DataFusionError::Diagnostic(_, inner) | DataFusionError::Context(_, inner) => query_error(*inner),
        DataFusionError::Collection(errors) => match errors.into_iter().next() {
            Some(first) => query_error(first),
            None => Error::internal("a query failed without an error"),
        },
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) => Error::invalid(other.to_string()),
        },
        DataFusionError::Shared(shared) => match std::sync::Arc::try_unwrap(shared) {
            Ok(inner) => query_error(inner),
            Err(shared) => Error::invalid(shared.to_string()),
        },
        DataFusionError::SchemaError(inner, _) => schema_error(*inner),
        DataFusionError::NotImplemented(message) => Error::unsupported(first_line(&message)),
        DataFusionError::ResourcesExhausted(message) => {
            Error::exhausted(format!("the query needs more memory than it may have: {}", first_line(&message)))
                .hint("ask for less at once: fewer columns, a condition, a LIMIT")
        }
        DataFusionError::Internal(message) => Error::internal(message),
        DataFusionError::ArrowError(error, _) => Error::invalid(error.to_string()),
        other => Error::invalid(first_line(&other.strip_backtrace())),
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

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
