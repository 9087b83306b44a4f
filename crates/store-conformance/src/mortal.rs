//! A store of a process that dies.

use headpond_checkpoint::CheckpointStore;
use headpond_checkpoint::store::{Creation, Incoming, Opened, Ownership, Staged};
use headpond_state::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// When the call that is refused fails.
#[derive(Debug, Clone, Copy)]
pub enum Crash {
    /// It had no effect.
    Before,
    /// It took effect and nobody learned of it.
    After,
}

/// A store that works for some calls and then for none, as for a process that died.
#[derive(Debug)]
pub struct Mortal {
    store: Arc<dyn CheckpointStore>,
    left: AtomicU32,
    crash: Crash,
}

impl Mortal {
    /// Dies at the call of this number, counted from 1.
    pub fn new(store: Arc<dyn CheckpointStore>, calls: u32, crash: Crash) -> Self {
        Mortal { store, left: AtomicU32::new(calls), crash }
    }

    /// Dies at another call, counted from now.
    pub fn live_for(&self, calls: u32) {
        self.left.store(calls, Ordering::SeqCst);
    }

    fn call<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let dead = || Error::unavailable("the process is dead");
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Err(_) => Err(dead()),
            Ok(1) => match self.crash {
                Crash::Before => Err(dead()),
                Crash::After => call().and_then(|_| Err(dead())),
            },
            Ok(_) => call(),
        }
    }
}

impl CheckpointStore for Mortal {
    fn locate(&self, key: &str) -> String {
        self.store.locate(key)
    }
    fn stage(&self, job: &str, content: &mut dyn Incoming) -> Result<Staged> {
        self.call(|| self.store.stage(job, content))
    }
    fn publish(&self, batch: Vec<(Staged, String)>) -> Result<()> {
        // File by file: a crash between two of them is a crash too.
        batch.into_iter().try_for_each(|one| self.call(|| self.store.publish(vec![one])))
    }
    fn discard(&self, staged: Staged) {
        // Nobody learns whether a discard worked.
        self.call(|| {
            self.store.discard(staged);
            Ok(())
        })
        .ok();
    }
    fn clear_staging(&self, job: &str) -> Result<()> {
        self.call(|| self.store.clear_staging(job))
    }
    fn put_exclusive(&self, staged: Staged, key: &str) -> Result<Creation> {
        self.call(|| self.store.put_exclusive(staged, key))
    }
    fn sync(&self, staged: &[&Staged]) -> Result<()> {
        self.call(|| self.store.sync(staged))
    }
    fn open(&self, key: &str) -> Result<Option<Opened>> {
        self.call(|| self.store.open(key))
    }
    fn length(&self, key: &str) -> Result<Option<u64>> {
        self.call(|| self.store.length(key))
    }
    fn has_locks(&self) -> bool {
        self.store.has_locks()
    }
    fn readers(&self) -> usize {
        self.store.readers()
    }
    fn list(&self, directory: &str) -> Result<Vec<String>> {
        self.call(|| self.store.list(directory))
    }
    fn delete(&self, keys: &[String]) -> Result<()> {
        // File by file, as `publish`.
        keys.iter().try_for_each(|key| self.call(|| self.store.delete(std::slice::from_ref(key))))
    }
    fn remove_directory(&self, directory: &str) -> Result<()> {
        self.call(|| self.store.remove_directory(directory))
    }
    fn acquire(&self, key: &str, owner: &str, patience: Duration) -> Result<Box<dyn Ownership>> {
        self.call(|| self.store.acquire(key, owner, patience))
    }
}
