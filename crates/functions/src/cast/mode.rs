//! How casts are made.

use crate::settings::Settings;
use arrow_array::ArrayRef;
use headpond_state::Error;
use std::sync::Arc;

/// What converts a column.
pub(crate) type Converter = Arc<dyn Fn(&ArrayRef) -> Result<ArrayRef, Error> + Send + Sync>;

/// How a cast is made.
#[derive(Debug, Clone)]
pub(crate) struct Mode {
    /// What cannot be converted is NULL.
    pub(crate) tries: bool,
    pub(crate) settings: Arc<Settings>,
}

impl Mode {
    /// A value that cannot be converted: NULL, or the error.
    pub(crate) fn failed<T>(&self, error: impl FnOnce() -> Error) -> Result<Option<T>, Error> {
        if self.tries { Ok(None) } else { Err(error()) }
    }
}
