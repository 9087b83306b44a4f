//! A bucket, as the other parts use it: paths, the runtime, the bound on what is on its way.

use crate::failure::Failure;
use crate::options::{ObjectStoreOptions, Secret};
use headpond_state::{Context, Error, Result};
use object_store::ObjectStore;
use object_store::path::Path;
use std::future::Future;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Threads that drive requests; they wait most of the time.
const RUNTIME_THREADS: usize = 2;

/// A bucket, or a part of one.
pub(crate) struct Objects {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) options: ObjectStoreOptions,
    /// The location of the empty key.
    location: String,
    /// What keys begin with, without `/` at its end.
    prefix: String,
    /// What must not be in a message.
    secrets: Vec<Secret>,
    transfers: Arc<Semaphore>,
    runtime: Runtime,
}

impl Objects {
    pub(crate) fn new(
        store: Arc<dyn ObjectStore>,
        location: String,
        prefix: String,
        secrets: Vec<Secret>,
        options: ObjectStoreOptions,
    ) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(RUNTIME_THREADS)
            .thread_name("object-store")
            .enable_all()
            .build()
            .map_err(|e| Error::exhausted("the threads of an object store cannot be started").because(e))?;
        let transfers = Arc::new(Semaphore::new(options.transfers_max.max(1)));
        Ok(Objects { store, options, location, prefix, secrets, transfers, runtime })
    }

    /// The object of a key.
    pub(crate) fn path(&self, key: &str) -> Result<Path> {
        let path = match (self.prefix.is_empty(), key.is_empty()) {
            (true, _) => key.to_owned(),
            (false, true) => self.prefix.clone(),
            (false, false) => format!("{}/{key}", self.prefix),
        };
        // Parsed, not encoded: a job's directory has `%` in it.
        Path::parse(&path)
            .map_err(|e| Error::invalid("this is no key of an object store").with(Context::Path, path).because(e))
    }

    pub(crate) fn locate(&self, key: &str) -> String {
        if key.is_empty() { self.location.clone() } else { format!("{}/{key}", self.location) }
    }

    /// Waits for `work`. The caller's thread must not be one of a tokio runtime.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.runtime.spawn(work)
    }

    /// Room for one more transfer, which has it as long as the result lives.
    pub(crate) async fn room(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes the semaphore.
        Arc::clone(&self.transfers).acquire_owned().await.ok()
    }

    /// The error of a request about `key`.
    pub(crate) fn failed(&self, what: &str, key: &str, cause: &object_store::Error) -> Error {
        self.explain(what, key, &Failure::of(cause))
    }

    /// The error of a request about `key` that failed in this way.
    pub(crate) fn explain(&self, what: &str, key: &str, failure: &Failure) -> Error {
        failure.error(what, &self.locate(key), &self.secrets, &self.options)
    }
}
