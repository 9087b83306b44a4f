//! A store that fails at random, from a seed.

use headpond_checkpoint::CheckpointStore;
use headpond_checkpoint::store::{Creation, Incoming, Opened, Ownership, Staged};
use headpond_state::{Error, Result};
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What goes wrong, each in so many of 1,000 calls.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// A call fails and has had no effect.
    pub refused: u32,
    /// A call fails and has had its effect.
    pub unanswered: u32,
    /// A content ends before it was taken in: a connection that is cut.
    pub torn: u32,
    /// A file is published twice.
    pub repeated: u32,
    /// A listing shows what was there some changes ago, but not before this process began: what a store must list is in
    /// `docs/operations/object-stores.md`.
    pub stale: u32,
    /// A call takes longer than others.
    pub late: u32,
}

/// Numbers that look random and are the same for the same seed ([SplitMix64](https://prng.di.unimi.it/splitmix64.c)).
#[derive(Debug)]
pub(crate) struct Chance(Mutex<u64>);

impl Chance {
    /// The numbers of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Chance(Mutex::new(seed))
    }

    /// The next number below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Whether this time is one of so many in 1,000.
    pub(crate) fn hits(&self, per_mille: u32) -> bool {
        self.below(1_000) < u64::from(per_mille)
    }
}

/// A store that fails as [`Faults`] say.
#[derive(Debug)]
pub struct Faulty {
    store: Arc<dyn CheckpointStore>,
    faults: Faults,
    chance: Chance,
    healthy: AtomicBool,
    /// The last listings of each directory.
    listings: Mutex<HashMap<String, Vec<Vec<String>>>>,
}

impl Faulty {
    /// The faults of this seed.
    pub fn new(store: Arc<dyn CheckpointStore>, faults: Faults, seed: u64) -> Self {
        Faulty { store, faults, chance: Chance::new(seed), healthy: AtomicBool::new(false), listings: Mutex::default() }
    }

    /// Nothing goes wrong any more.
    pub fn recover(&self) {
        self.healthy.store(true, Ordering::SeqCst);
    }

    fn hits(&self, per_mille: u32) -> bool {
        !self.healthy.load(Ordering::SeqCst) && self.chance.hits(per_mille)
    }

    fn call<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.hits(self.faults.late) {
            std::thread::sleep(Duration::from_micros(200));
        }
        if self.hits(self.faults.refused) {
            return Err(Error::unavailable("the store refuses the call"));
        }
        let done = call()?;
        match self.hits(self.faults.unanswered) {
            true => Err(Error::unavailable("the store does not answer")),
            false => Ok(done),
        }
    }
}

impl CheckpointStore for Faulty {
    fn locate(&self, key: &str) -> String {
        self.store.locate(key)
    }
    fn stage(&self, job: &str, content: &mut dyn Incoming) -> Result<Staged> {
        if self.hits(self.faults.torn) {
            let mut torn = Torn { content, left: self.chance.below(64) };
            return match self.store.stage(job, &mut torn) {
                Ok(staged) => {
                    self.store.discard(staged);
                    Err(Error::unavailable("the connection was cut"))
                }
                Err(error) => Err(error),
            };
        }
        let staged = self.call(|| self.store.stage(job, content).map(Some));
        staged.and_then(|staged| staged.ok_or_else(|| Error::internal("nothing was staged")))
    }
    fn publish(&self, batch: Vec<(Staged, String)>) -> Result<()> {
        let copies: Vec<(Staged, String)> = match self.hits(self.faults.repeated) {
            true => batch.iter().map(|(staged, key)| (copy_of(staged), key.clone())).collect(),
            false => Vec::new(),
        };
        self.call(|| self.store.publish(batch))?;
        // A repeated request finds its work done: whatever the store says to it, the files are there.
        if !copies.is_empty() {
            let _ = self.store.publish(copies);
        }
        Ok(())
    }
    fn discard(&self, staged: Staged) {
        self.store.discard(staged);
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
    fn readers(&self) -> usize {
        self.store.readers()
    }
    fn has_locks(&self) -> bool {
        self.store.has_locks()
    }
    fn list(&self, directory: &str) -> Result<Vec<String>> {
        let fresh = self.call(|| self.store.list(directory))?;
        let mut listings = self.listings.lock().unwrap();
        let known = listings.entry(directory.to_owned()).or_default();
        if known.last() != Some(&fresh) {
            known.push(fresh.clone());
        }
        let stale = self.hits(self.faults.stale).then(|| known.len().saturating_sub(2));
        Ok(stale.map_or(fresh, |index| known[index].clone()))
    }
    fn delete(&self, keys: &[String]) -> Result<()> {
        self.call(|| self.store.delete(keys))
    }
    fn remove_directory(&self, directory: &str) -> Result<()> {
        self.call(|| self.store.remove_directory(directory))
    }
    fn acquire(&self, key: &str, owner: &str, patience: Duration) -> Result<Box<dyn Ownership>> {
        self.call(|| self.store.acquire(key, owner, patience))
    }
}

fn copy_of(staged: &Staged) -> Staged {
    Staged { token: staged.token.clone(), length: staged.length, durable: staged.durable }
}

/// A content that breaks off.
struct Torn<'a> {
    content: &'a mut dyn Incoming,
    left: u64,
}

impl Read for Torn<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("the connection was cut"));
        }
        let most = buffer.len().min(self.left as usize);
        let read = self.content.read(&mut buffer[..most])?;
        self.left -= read as u64;
        Ok(read)
    }
}

impl Incoming for Torn<'_> {
    fn file(&self) -> Option<&Path> {
        None
    }
    fn key(&mut self) -> Result<Option<String>> {
        self.content.key()
    }
    fn wanted(&self) -> Result<()> {
        self.content.wanted()
    }
}
