//! The contract of a state backend: bytes, synchronous, one writer, object-safe.
//!
//! A [`StateBackend`] is a factory that holds settings and what its instances share (caches, threads). A
//! [`KeyedStateBackend`] is the state of one operator on one worker: it is read and written by that operator only, in
//! batches, and keeps exactly the entries of its key-group range.
//!
//! # Contract
//!
//! - An *entry key* is the whole encoded key (`key group | key | namespace | user key`, see [`crate::encoding`]);
//!   entries of a state are ordered by its bytes. A backend never looks inside beyond the key-group prefix.
//! - Reads see every earlier write of the same instance.
//! - [`write`](KeyedStateBackend::write) is atomic across states. After a failed write the instance is poisoned: every
//!   later call fails with [`Closed`](crate::ErrorKind::Closed).
//! - A visitor's error ends the call with that error; the instance stays as good as it was.
//! - Which declarations are taken is decided by [`StateRegistry`](crate::StateRegistry), and whether the instance is
//!   poisoned by [`PoisonGuard`](crate::PoisonGuard): backends hold one of each.
//! - No method has a default body: a backend that wraps another one does not compile until it forwards all of them.
//! - [`snapshot`](KeyedStateBackend::snapshot) fixes what the snapshot holds; later writes are not in it. It does not
//!   wait for I/O. Snapshots may overlap, be uploaded in any order from other threads, and be dropped.
//! - States that were restored but never registered by the job are carried into every snapshot until
//!   [`drop_restored`](KeyedStateBackend::drop_restored).
//!
//! The suite in `headpond-state-conformance` tests all of it; a backend passes it or it is not a backend.

pub use crate::entry::Entry;
pub use crate::snapshot::RestoredState;

use crate::clock::OperatorClock;
use crate::descriptor::StateDescriptor;
use crate::error::Result;
use crate::id::{CheckpointId, OperatorId, StateId};
use crate::key_group::{KeyGroupRange, MaxParallelism};
use crate::snapshot::{KeyedStateHandle, Snapshot, SnapshotOptions};
use crate::state_reader::StateReader;
use crate::write_batch::WriteBatch;
use std::fmt::{Debug, Display};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A state backend: settings, and the components its instances share.
pub trait StateBackend: Debug + Display + Send + Sync {
    /// What this backend can do and likes best.
    fn capabilities(&self) -> Capabilities;

    /// Opens the state of one operator on one worker, restored from what `restore` holds of the key groups of `params`.
    ///
    /// Handles may come from other parallelisms (their ranges overlap the wanted one in part) and, where the handle is
    /// [canonical](crate::canonical), from other backends.
    ///
    /// # Errors
    /// [`Incompatible`](crate::ErrorKind::Incompatible) for a handle this backend cannot read,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) for one that is damaged; nothing is left behind on either.
    fn open_keyed(
        &self,
        params: KeyedBackendParams,
        restore: &[RestoredState<'_>],
    ) -> Result<Box<dyn KeyedStateBackend>>;

    /// Whether this backend can restore the handle into a job with this many key groups, as far as the handle alone
    /// tells.
    ///
    /// # Errors
    /// [`Incompatible`](crate::ErrorKind::Incompatible), with the way out.
    fn check_handle(&self, handle: &KeyedStateHandle, max_parallelism: MaxParallelism) -> Result<()>;

    /// Opens a handle for reading only: its own ones, and [canonical](crate::canonical) ones. `local_dir` is a
    /// directory of this reader's own on local disk, made on demand and removed with it.
    ///
    /// # Errors
    /// As [`open_keyed`](Self::open_keyed).
    fn open_reader<'a>(
        &self,
        restored: RestoredState<'a>,
        max_parallelism: MaxParallelism,
        local_dir: &Path,
    ) -> Result<Box<dyn StateReader + 'a>>;
}

/// What a backend can do and likes best: one member for each decision that someone takes by it. The default is a
/// backend of which nothing is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether a snapshot uploads only what changed since the last one: whether a job may ask for incremental
    /// checkpoints.
    pub incremental_checkpoints: bool,
    /// Whether the state is in files and memory only caches it: whether what it takes is measured on disk.
    pub state_on_disk: bool,
    /// Whether a batch of keys in ascending order is cheaper than in any other: whether operators sort the keys of a
    /// batch.
    pub sorted_keys_are_cheaper: bool,
    /// Whether entries of one key group lie together in memory: whether the rows of a tick are applied key group by key
    /// group.
    pub key_groups_are_local: bool,
    /// Whether an entry by itself costs a multiple of one in a batch: whether what a function reads and writes one by
    /// one is held until the end of a batch of records.
    pub single_entries_are_dear: bool,
    /// Whether deleting a range costs no more than deleting the entries in it: whether a few entries are deleted as one
    /// range.
    pub range_deletes_are_cheap: bool,
}

/// What a keyed state backend is opened with.
#[derive(Debug, Clone)]
pub struct KeyedBackendParams {
    /// The operator whose state it is.
    pub operator: OperatorId,
    /// The worker's index.
    pub subtask: usize,
    /// The key groups to hold.
    pub key_groups: KeyGroupRange,
    /// The job's number of key groups.
    pub max_parallelism: MaxParallelism,
    /// The operator's clock, for expiry.
    pub clock: Arc<OperatorClock>,
    /// A directory of this instance's own on local disk, created on demand and removed at close. Backends without local
    /// files ignore it.
    pub local_dir: PathBuf,
}

/// Is given a value. An error ends the read with it, and changes nothing about the backend; so it does with the others.
pub type ReadVisitor<'a> = dyn FnMut(&[u8]) -> Result<()> + 'a;

/// Is given the index of a key and its value.
pub type ReadManyVisitor<'a> = dyn FnMut(usize, Option<&[u8]>) -> Result<()> + 'a;

/// Is given an entry, and says whether the scan goes on.
pub type ScanVisitor<'a> = dyn FnMut(Entry<'_>) -> Result<ControlFlow<()>> + 'a;

/// Is given the index of a range and an entry of it, and says whether the scan of that range goes on.
pub type ScanManyVisitor<'a> = dyn FnMut(usize, Entry<'_>) -> Result<ControlFlow<()>> + 'a;

/// The state of one operator on one worker. See the [module](self) for the contract.
pub trait KeyedStateBackend: Debug + Send {
    /// The key groups held.
    fn key_groups(&self) -> KeyGroupRange;

    /// The job's number of key groups.
    fn max_parallelism(&self) -> MaxParallelism;

    /// Registers a state, new or restored, and returns its id. Registering a name again with an equal descriptor
    /// returns the same id.
    ///
    /// # Errors
    /// [`Incompatible`](crate::ErrorKind::Incompatible) when a state of that name was restored with another kind, key,
    /// codec, merge operator or value schema; [`Invalid`](crate::ErrorKind::Invalid) for a TTL with a merge operator.
    fn register(&mut self, descriptor: &StateDescriptor) -> Result<StateId>;

    /// The states restored and not yet registered.
    fn unregistered(&self) -> Vec<StateDescriptor>;

    /// Drops a restored state that the job does not register, with its entries.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when there is no such state.
    fn drop_restored(&mut self, name: &str) -> Result<()>;

    /// Calls `visit` with the value of `key`, if there is one, and says whether there was.
    ///
    /// # Errors
    /// As the store's: [`Corrupt`](crate::ErrorKind::Corrupt), [`Unavailable`](crate::ErrorKind::Unavailable), and
    /// [`Closed`](crate::ErrorKind::Closed) for a poisoned instance. The same holds for the calls below.
    fn read(&mut self, state: StateId, key: &[u8], visit: &mut ReadVisitor<'_>) -> Result<bool>;

    /// Calls `visit` once for each key of the batch, in the batch's order, with its index and its value.
    fn read_many(&mut self, state: StateId, keys: &KeyBatch, visit: &mut ReadManyVisitor<'_>) -> Result<()>;

    /// Visits entries in ascending order of their keys until the range or its limit ends or `visit` breaks. To go on
    /// later, scan again after the last key seen, as a [`StateCursor`](crate::StateCursor) does.
    fn scan(&mut self, state: StateId, range: &ScanRange<'_>, visit: &mut ScanVisitor<'_>) -> Result<()>;

    /// Scans many ranges, best in ascending order of where they begin. `visit` gets each entry with its range's index;
    /// where it breaks, that range ends and the next one follows.
    ///
    /// A batch's scans are worth telling together, since a store can walk through them with one cursor. A backend to
    /// which that means nothing calls [`scan_one_by_one`].
    fn scan_many(&mut self, state: StateId, ranges: &[ScanRange<'_>], visit: &mut ScanManyVisitor<'_>) -> Result<()>;

    /// Applies the batch atomically and clears it, keeping its allocations.
    ///
    /// # Errors
    /// [`ResourceExhausted`](crate::ErrorKind::ResourceExhausted) beyond a limit; the instance is poisoned by any
    /// failure.
    fn write(&mut self, batch: &mut WriteBatch) -> Result<()>;

    /// Says that the operator's clock may have moved on: a time to give back what has expired, and to plan, when
    /// nothing is written. The runtime calls it once a tick; it must be cheap when there is little to do.
    ///
    /// Nothing depends on it for being right: a read never returns what has expired, unless its state says so.
    fn time_passed(&mut self) -> Result<()>;

    /// The synchronous part of a checkpoint: fixes the state as it is now.
    fn snapshot(&mut self, id: CheckpointId, options: &SnapshotOptions) -> Result<Box<dyn Snapshot>>;

    /// The checkpoint is durable: its files are the base the next may reuse.
    fn checkpoint_completed(&mut self, id: CheckpointId) -> Result<()>;

    /// The checkpoint came to nothing.
    fn checkpoint_aborted(&mut self, id: CheckpointId) -> Result<()>;

    /// What the state takes.
    fn usage(&self) -> StateUsage;

    /// Releases everything, local files included.
    fn close(self: Box<Self>) -> Result<()>;
}

/// [`KeyedStateBackend::scan_many`] for backends that scan one range after the other.
///
/// # Errors
/// As [`KeyedStateBackend::scan`].
pub fn scan_one_by_one(
    backend: &mut dyn KeyedStateBackend,
    state: StateId,
    ranges: &[ScanRange<'_>],
    visit: &mut ScanManyVisitor<'_>,
) -> Result<()> {
    ranges
        .iter()
        .enumerate()
        .try_for_each(|(index, range)| backend.scan(state, range, &mut |entry| visit(index, entry)))
}

/// Many keys in one allocation.
#[derive(Debug, Clone, Default)]
pub struct KeyBatch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a key.
    #[inline]
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// Appends the key that `build` writes to the end of the buffer. `build` must only append.
    #[inline]
    pub fn push_with(&mut self, build: impl FnOnce(&mut Vec<u8>)) {
        build(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// The number of keys.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The `index`th key.
    ///
    /// # Panics
    /// If `index >= self.len()`.
    #[inline]
    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// The keys in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Removes all keys and keeps the allocations.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Which entries a scan visits: those whose key begins with `prefix`, from `start` on, below `end`, at most `limit`.
#[derive(Debug, Clone, Copy)]
pub struct ScanRange<'a> {
    /// What every visited key begins with. At least a key-group prefix, so that a scan stays within a group; or empty
    /// for all groups.
    pub prefix: &'a [u8],
    /// Where to begin, if not at the prefix. A whole key.
    pub start: Option<ScanStart<'a>>,
    /// Where to end: the first key not to visit.
    pub end: Option<&'a [u8]>,
    /// The most entries to visit.
    pub limit: usize,
}

/// Where a scan begins.
#[derive(Debug, Clone, Copy)]
pub enum ScanStart<'a> {
    /// At this key, if present.
    At(&'a [u8]),
    /// After this key: how a scan resumes.
    After(&'a [u8]),
}

impl<'a> ScanRange<'a> {
    /// All entries whose key begins with `prefix`.
    pub fn prefix(prefix: &'a [u8]) -> Self {
        ScanRange { prefix, start: None, end: None, limit: usize::MAX }
    }

    /// All entries.
    pub fn all() -> Self {
        Self::prefix(&[])
    }

    /// The same range, beginning after `key`.
    #[must_use]
    pub fn after(mut self, key: &'a [u8]) -> Self {
        self.start = Some(ScanStart::After(key));
        self
    }

    /// The same range, beginning at `key`.
    #[must_use]
    pub fn at(mut self, key: &'a [u8]) -> Self {
        self.start = Some(ScanStart::At(key));
        self
    }

    /// The same range, ending before `key`.
    #[must_use]
    pub fn below(mut self, key: &'a [u8]) -> Self {
        self.end = Some(key);
        self
    }

    /// The same range, at most `limit` entries of it.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

/// What a keyed state backend holds and takes. Estimates where a backend cannot know cheaply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateUsage {
    /// Entries of all states.
    pub entries: u64,
    /// Bytes of keys and values in memory, with the structures that hold them.
    pub memory_bytes: u64,
    /// Bytes on local disk.
    pub disk_bytes: u64,
    /// Bytes of entries that have expired and are not yet reclaimed: an estimate, since nobody looks at each.
    pub expired_bytes: u64,
    /// Bytes of the keys and values that cleaners have given back since opening because they had expired.
    pub reclaimed_bytes: u64,
}

impl StateUsage {
    /// What both take together.
    #[must_use]
    pub fn plus(&self, other: &StateUsage) -> StateUsage {
        StateUsage {
            entries: self.entries + other.entries,
            memory_bytes: self.memory_bytes + other.memory_bytes,
            disk_bytes: self.disk_bytes + other.disk_bytes,
            expired_bytes: self.expired_bytes + other.expired_bytes,
            reclaimed_bytes: self.reclaimed_bytes + other.reclaimed_bytes,
        }
    }
}
