//! The checkpoints of one job: decisions carried out.
//!
//! A run of the job calls, in this order: [`own`](CheckpointStorage::own) (it is the only attempt now),
//! [`latest_verified`](CheckpointStorage::latest_verified) (what to restore), then for each checkpoint
//! [`begin`](CheckpointStorage::begin), uploads through the [sink](PendingCheckpoint::sink) on any threads,
//! [`commit`](CheckpointStorage::commit) and [`collect`](CheckpointStorage::collect). Those who only look, like
//! `headpond checkpoint list`, need not own it.
//!
//! All calls but `begin` block on I/O and do not belong on a worker's thread.

mod collect;
mod commit;
mod inspect;
mod intake;
mod owned;
mod ownership;
mod pending;
mod prune;
mod recovered;
mod rewind;
mod source;
mod verifier;

pub use collect::{Collected, Hold};
pub use inspect::{CheckpointSummary, Found, find_checkpoints, open_checkpoint};
pub use intake::{Claims, Intake, StateFiles, TakenFiles};
pub use pending::PendingCheckpoint;
pub use recovered::Recovered;
pub use rewind::Resume;
pub(crate) use verifier::Verifier;
pub use verifier::{Damage, Problem};

use crate::decisions::Record;
use crate::decisions::references::{Names, References, Retained};
use crate::failpoints::Failpoints;
use crate::layout::{JobLayout, SharedName};
use crate::location::Location;
use crate::manifest::Manifest;
use crate::store::{CheckpointStore, LocalStores, Stores};
use headpond_state::{CheckpointId, Result};
use owned::Owned;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;

/// How a [`CheckpointStorage`] behaves.
#[derive(Debug, Clone)]
pub struct StorageOptions {
    /// How long to wait for an attempt before this one to let go of the job: a killed process takes a moment to be
    /// gone.
    pub ownership_patience: Duration,
    /// The hook for crash tests.
    pub failpoints: Failpoints,
}

impl Default for StorageOptions {
    fn default() -> Self {
        StorageOptions { ownership_patience: Duration::from_secs(10), failpoints: Failpoints::default() }
    }
}

/// The checkpoints of one job. Clones share everything.
#[derive(Debug, Clone)]
pub struct CheckpointStorage {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Arc<dyn CheckpointStore>,
    job: String,
    layout: JobLayout,
    options: StorageOptions,
    owned: Mutex<Option<Owned>>,
    references: Mutex<References>,
    /// Told when files have been deleted.
    deletion_ended: Condvar,
}

impl CheckpointStorage {
    /// The checkpoints of `job` in the local directory `location`: `file:///…` or a plain path. Creates nothing. For
    /// other stores see [`over`](Self::over).
    ///
    /// # Errors
    /// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for another scheme,
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a bad location or job name.
    pub fn open(location: &str, job: &str, options: StorageOptions) -> Result<Self> {
        let stores = LocalStores { failpoints: options.failpoints.clone() };
        CheckpointStorage::over(stores.open(&Location::parse(location)?)?, job, options)
    }

    /// The checkpoints of `job` in `store`.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a bad job name.
    pub fn over(store: Arc<dyn CheckpointStore>, job: &str, options: StorageOptions) -> Result<Self> {
        Ok(CheckpointStorage::with_layout(store, job, JobLayout::new(job)?, options))
    }

    fn with_layout(store: Arc<dyn CheckpointStore>, job: &str, layout: JobLayout, options: StorageOptions) -> Self {
        let inner = Inner {
            store,
            job: job.to_owned(),
            layout,
            options,
            owned: Mutex::default(),
            references: Mutex::default(),
            deletion_ended: Condvar::new(),
        };
        CheckpointStorage { inner: Arc::new(inner) }
    }

    /// The job's name.
    pub fn job(&self) -> &str {
        &self.inner.job
    }

    /// Where the job's checkpoints are.
    pub fn location(&self) -> String {
        self.inner.store.locate(self.inner.layout.directory())
    }

    /// Where a checkpoint is.
    pub fn locate(&self, id: CheckpointId) -> String {
        self.inner.store.locate(&self.inner.layout.checkpoint(id))
    }

    /// What the checkpoints of this job take that its owner keeps, those with an unreadable manifest not counted.
    pub fn retained(&self) -> Retained {
        self.inner.references().retained()
    }
}

impl Inner {
    fn references(&self) -> MutexGuard<'_, References> {
        // Each change of it is one call that does not panic halfway.
        self.references.lock()
    }

    /// Claims a name for a plan. Waits while a file of that name is being deleted.
    fn claim(&self, id: CheckpointId, name: &SharedName) {
        let mut references = self.references();
        self.deletion_ended.wait_while(&mut references, |references| references.is_being_deleted(name));
        references.claim(id, name.clone());
    }

    /// Deletes those of these files that nothing names, and says how many.
    fn delete_unnamed(&self, names: &[SharedName]) -> Result<u64> {
        let unnamed = self.references().begin_deletion(names);
        // Without the lock: a store that does not answer must not hold up who begins a checkpoint.
        let keys: Vec<String> = unnamed.iter().map(|name| self.layout.shared_file(name)).collect();
        let deleted = if keys.is_empty() { Ok(()) } else { self.store.delete(&keys) };
        self.references().end_deletion(&unnamed);
        self.deletion_ended.notify_all();
        deleted.map(|()| keys.len() as u64)
    }

    fn owned(&self) -> MutexGuard<'_, Option<Owned>> {
        self.owned.lock()
    }
}

fn record_of(manifest: &Manifest) -> Record {
    Record { attempt: manifest.attempt.clone(), base: manifest.base }
}

fn names_of(manifest: &Manifest) -> Names {
    manifest.files().map(|file| (SharedName::of(file), file.length)).collect()
}
