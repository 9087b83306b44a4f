//! The commit: an object that is created only if it is not there.
//!
//! A conditional put is not repeated blindly: when its answer is lost, the next one would find the object of the first.
//! So what is there is compared with what was sent. A manifest names its attempt and its time, no two are equal.

use crate::failure::Failure;
use crate::objects::Objects;
use bytes::Bytes;
use headpond_checkpoint::store::Creation;
use headpond_state::{Error, Result};
use object_store::{ObjectStoreExt, PutMode, PutPayload};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

impl Objects {
    /// Creates an object unless there is one.
    pub(crate) async fn create(&self, key: &str, content: Bytes) -> Result<Creation> {
        let path = self.path(key)?;
        let (begun, mut pause) = (Instant::now(), PAUSE);
        loop {
            let payload = PutPayload::from_bytes(content.clone());
            let failure = match self.store.put_opts(&path, payload, PutMode::Create.into()).await {
                Ok(_) => return Ok(Creation::Created),
                Err(cause) => Failure::of(&cause),
            };
            let failure = if failure.is_exists() {
                match self.read(key).await {
                    Ok(Some(there)) if there == content => return Ok(Creation::Created),
                    Ok(Some(_)) => return Ok(Creation::Exists),
                    // Two requests met, and neither was carried out.
                    Ok(None) => failure,
                    Err(cause) => Failure::of(&cause),
                }
            } else {
                failure
            };
            if !(failure.is_transient() || failure.is_exists()) || begun.elapsed() >= self.options.retry_timeout {
                return Err(self.explain("a checkpoint's manifest cannot be created", key, &failure));
            }
            tokio::time::sleep(pause).await;
            pause = PAUSE_MAX.min(pause * 2);
        }
    }

    /// The whole content of a small object, if there is one.
    pub(crate) async fn read(&self, key: &str) -> Result<Option<Bytes>, object_store::Error> {
        let path = self.path(key).map_err(|e| object_store::Error::Generic { store: "key", source: e.into() })?;
        let read = match self.store.get(&path).await {
            Ok(found) => found.bytes().await,
            Err(cause) => Err(cause),
        };
        match read {
            Ok(content) => Ok(Some(content)),
            Err(cause) if Failure::of(&cause).is_absent() => Ok(None),
            Err(cause) => Err(cause),
        }
    }

    /// `None` if the object is just not there.
    pub(crate) fn absent<T>(&self, key: &str, what: &str, cause: &object_store::Error) -> Result<Option<T>, Error> {
        let failure = Failure::of(cause);
        if failure.is_absent() { Ok(None) } else { Err(self.explain(what, key, &failure)) }
    }
}
