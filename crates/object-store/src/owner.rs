//! Who runs a job, on a store without locks: an object names the newest attempt.
//!
//! Nobody can tell whether the attempt before is dead, so it is not asked: the newest attempt writes its name, and an
//! older one that is still alive finds it before its next commit and stops. That is a check and then an act, with time
//! between. What decides is the manifest's exclusive creation: of two attempts that go on from one checkpoint, one
//! creates the next manifest, and the other finds it and stops. The check makes it the older one that stops, but for
//! that moment.

use crate::failure::Failure;
use crate::objects::Objects;
use bytes::Bytes;
use headpond_checkpoint::store::Ownership;
use headpond_state::{Context, Error, Result};
use object_store::{ObjectStoreExt, PutMode, PutPayload};
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// An attempt that has written its name.
pub(crate) struct Owner {
    objects: Arc<Objects>,
    key: String,
    note: Bytes,
}

impl Owner {
    pub(crate) fn acquire(objects: &Arc<Objects>, key: &str, owner: &str) -> Result<Self> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        // No two runs write the same, also if they have one name and one process id.
        let note = Bytes::from(format!("{owner} (process {}, {since})\n", std::process::id()));
        let owner = Owner { objects: Arc::clone(objects), key: key.to_owned(), note };
        objects.wait(owner.take())?;
        Ok(owner)
    }

    async fn take(&self) -> Result<()> {
        let failed = |e: &object_store::Error| self.objects.failed("the job cannot be taken over", &self.key, e);
        let path = self.objects.path(&self.key)?;
        if let Some(before) = self.objects.read(&self.key).await.map_err(|e| failed(&e))? {
            let before = String::from_utf8_lossy(&before);
            tracing::info!(
                before = before.trim(),
                "taking the job over; if that run is alive, it stops at its next checkpoint"
            );
        }
        let note = || PutPayload::from_bytes(self.note.clone());
        self.objects.store.put(&path, note()).await.map_err(|e| failed(&e))?;
        // The object is there now. A store that creates it again would let two attempts commit one checkpoint.
        match self.objects.store.put_opts(&path, note(), PutMode::Create.into()).await {
            Err(cause) if Failure::of(&cause).is_exists() => Ok(()),
            Err(cause) => Err(failed(&cause)),
            Ok(_) => Err(Error::unsupported("this store ignores conditions: it replaces an object that exists")
                .with(Context::Path, self.objects.locate(&self.key))
                .hint("take a store that has S3's conditional puts (`If-None-Match: *`)")),
        }
    }
}

impl Ownership for Owner {
    fn check(&self) -> Result<()> {
        let found = self.objects.wait(self.objects.read(&self.key));
        let found = found.map_err(|e| self.objects.failed("who runs the job cannot be found out", &self.key, &e))?;
        let place = self.objects.locate(&self.key);
        match found {
            Some(note) if note == self.note => Ok(()),
            Some(note) => {
                let newer = String::from_utf8_lossy(&note);
                Err(Error::fenced(format!("the job has been taken over by {}", newer.trim()))
                    .with(Context::Path, place)
                    .hint(
                        "let one of the two run; this one stops, and nothing it has not committed is lost to the other",
                    ))
            }
            None => Err(Error::fenced("nothing says any more that this attempt runs the job")
                .with(Context::Path, place)
                .hint("were the job's checkpoints removed while it ran? Start it again")),
        }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owner").field(&self.note).finish()
    }
}
