//! An error on its way between leader and process.

use headpond_state::{Error, ErrorKind, Remedy};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An error that can be sent. Over bytes its kind, its text and its way out arrive; places and causes are in the text
/// then.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) Error);

#[derive(Serialize, Deserialize)]
struct Sent {
    kind: u8,
    message: String,
    hint: Option<String>,
    remedies: Vec<Remedy>,
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Failure(error) = self;
        let sent = Sent {
            kind: error.kind().exit_code(),
            message: error.to_string(),
            hint: error.way_out().map(str::to_owned),
            remedies: error.remedies().to_vec(),
        };
        sent.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Failure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Sent { kind, message, hint, remedies } = Sent::deserialize(deserializer)?;
        let mut error = Error::new(ErrorKind::of_exit_code(kind).unwrap_or(ErrorKind::Internal), message);
        if let Some(hint) = hint {
            error = error.hint(hint);
        }
        Ok(Failure(remedies.into_iter().fold(error, Error::remedy)))
    }
}
