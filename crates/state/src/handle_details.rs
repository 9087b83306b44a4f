//! What a state handle says besides its files.

use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a handle says besides its files: the sizes of its states, in every format, and what only the code of its format
/// reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandleDetails {
    /// The size of each state, in the order of the states.
    #[serde(rename = "state-sizes", default, skip_serializing_if = "Option::is_none")]
    pub(crate) state_sizes: Option<Vec<StateSize>>,
    #[serde(flatten)]
    of_format: Map<String, Value>,
}

impl HandleDetails {
    /// What the code of a format will [read](Self::read) again: a struct, or another type that is an object in JSON.
    ///
    /// # Errors
    /// [`Internal`](crate::ErrorKind::Internal) for a type that is none.
    pub fn of_format(details: &impl Serialize) -> Result<Self> {
        match serde_json::to_value(details) {
            Ok(Value::Object(of_format)) => Ok(HandleDetails { state_sizes: None, of_format }),
            Ok(_) => Err(Error::internal("the details of a state handle are no JSON object")),
            Err(cause) => Err(Error::internal("the details of a state handle are not JSON").because(cause)),
        }
    }

    /// Reads what the code of the format has written.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) when it is something else.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(&Value::Object(self.of_format.clone()))
            .map_err(|cause| Error::corrupt("bad details of a state handle").because(cause))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.state_sizes.is_none() && self.of_format.is_empty()
    }
}

/// What one state of a handle takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateSize {
    /// Entries, an estimate where the backend cannot know cheaply.
    pub entries: u64,
    /// Bytes: of its files where a state has files of its own, else of its keys and values.
    pub bytes: u64,
}

impl StateSize {
    /// Adds the sizes of a part to those of the whole, state by state.
    pub fn add(whole: &mut Vec<StateSize>, part: &[StateSize]) {
        whole.resize(whole.len().max(part.len()), StateSize::default());
        for (whole, part) in whole.iter_mut().zip(part) {
            whole.entries += part.entries;
            whole.bytes += part.bytes;
        }
    }
}
