//! A bucket as a checkpoint store.

use crate::download::Download;
use crate::failure::Failure;
use crate::objects::Objects;
use crate::options::ObjectStoreOptions;
use crate::owner::Owner;
use crate::upload::Uploads;
use futures_util::{StreamExt, stream};
use headpond_checkpoint::CheckpointStore;
use headpond_checkpoint::store::{Creation, Incoming, Opened, Ownership, Staged};
use headpond_state::Result;
use object_store::{ObjectStore, ObjectStoreExt};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A bucket, or what is below a prefix of one.
///
/// Its calls block; they must not be made on a thread of a tokio runtime.
pub struct BucketStore {
    objects: Arc<Objects>,
    uploads: Uploads,
}

impl BucketStore {
    /// The part of `store` that is below `prefix`, which is written as `location` in messages.
    ///
    /// # Errors
    /// [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted) when its threads cannot be started,
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a prefix that no key can have.
    pub fn new(store: Arc<dyn ObjectStore>, location: &str, prefix: &str, options: ObjectStoreOptions) -> Result<Self> {
        Objects::new(store, location.to_owned(), prefix.to_owned(), Vec::new(), options).and_then(BucketStore::over)
    }

    pub(crate) fn over(objects: Objects) -> Result<Self> {
        objects.path("")?;
        let objects = Arc::new(objects);
        Ok(BucketStore { uploads: Uploads::new(Arc::clone(&objects)), objects })
    }
}

impl fmt::Debug for BucketStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The client has credentials in it.
        f.debug_tuple("BucketStore").field(&self.objects.locate("")).finish()
    }
}

impl CheckpointStore for BucketStore {
    fn locate(&self, key: &str) -> String {
        self.objects.locate(key)
    }

    fn stage(&self, _: &str, content: &mut dyn Incoming) -> Result<Staged> {
        self.uploads.stage(content)
    }

    fn sync(&self, staged: &[&Staged]) -> Result<()> {
        staged.iter().try_for_each(|staged| self.uploads.finish(staged))
    }

    fn publish(&self, _: Vec<(Staged, String)>) -> Result<()> {
        // What is synced has its key.
        Ok(())
    }

    fn discard(&self, staged: Staged) {
        self.uploads.discard(&staged);
    }

    fn clear_staging(&self, _: &str) -> Result<()> {
        // What an upload in parts left behind has no key, and no interface of ours lists it: a rule of the bucket
        // removes it.
        Ok(())
    }

    fn put_exclusive(&self, staged: Staged, key: &str) -> Result<Creation> {
        let content = self.uploads.held(&staged)?;
        self.objects.wait(self.objects.create(key, content))
    }

    fn open(&self, key: &str) -> Result<Option<Opened>> {
        let download = Download::open(&self.objects, key)?;
        Ok(download.map(|download| Opened { length: download.length(), content: Box::new(download) }))
    }

    fn length(&self, key: &str) -> Result<Option<u64>> {
        let path = self.objects.path(key)?;
        match self.objects.wait(self.objects.store.head(&path)) {
            Ok(meta) => Ok(Some(meta.size)),
            Err(cause) => self.objects.absent(key, "an object cannot be looked at", &cause),
        }
    }

    fn has_locks(&self) -> bool {
        false
    }

    fn readers(&self) -> usize {
        self.objects.options.transfers_max
    }

    fn list(&self, directory: &str) -> Result<Vec<String>> {
        let path = self.objects.path(directory)?;
        let listed = self.objects.wait(self.objects.store.list_with_delimiter(Some(&path)));
        let listed =
            listed.map_err(|e| self.objects.failed("the checkpoint directory cannot be listed", directory, &e))?;
        let objects = listed.objects.iter().map(|object| &object.location);
        let names = listed.common_prefixes.iter().chain(objects).filter_map(|path| path.filename());
        Ok(names.map(str::to_owned).collect())
    }

    fn delete(&self, keys: &[String]) -> Result<()> {
        let paths: Vec<_> = keys.iter().map(|key| self.objects.path(key)).collect::<Result<_>>()?;
        if paths.is_empty() {
            return Ok(());
        }
        let deleted = self.objects.store.delete_stream(stream::iter(paths.into_iter().map(Ok)).boxed());
        let results: Vec<_> = self.objects.wait(deleted.collect());
        for cause in results.into_iter().filter_map(Result::err) {
            let failure = Failure::of(&cause);
            if !failure.is_absent() {
                let place = if keys.len() == 1 { keys[0].as_str() } else { "" };
                return Err(self.objects.explain("objects cannot be deleted", place, &failure));
            }
        }
        Ok(())
    }

    fn remove_directory(&self, _: &str) -> Result<()> {
        // There are no directories.
        Ok(())
    }

    fn acquire(&self, key: &str, owner: &str, _: Duration) -> Result<Box<dyn Ownership>> {
        Ok(Box::new(Owner::acquire(&self.objects, key, owner)?))
    }
}
