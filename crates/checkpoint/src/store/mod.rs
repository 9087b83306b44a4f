//! All I/O of checkpoints, behind one trait.
//!
//! The trait has what the commit protocol needs and no more: bytes come in *staged*; all of them are made durable
//! together; a batch has its names; one file is created exclusively. A directory does this with temporary files,
//! `fsync`, `rename` and hard links. An object store cannot rename: it asks the content for its key first, puts it
//! there at once, and creates the one exclusive file by a conditional put
//! ([decision 10](https://github.com/headpond/headpond/blob/main/docs/decisions/0010-stores-learn-the-key-first.md)).

mod directory;
mod disk;
mod hashing;
mod owner_lock;
mod stores;

pub use directory::DirectoryStore;
pub(crate) use hashing::{HashingReader, VerifyingReader};
pub use stores::{LocalStores, Stores};

use headpond_state::Result;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// Where checkpoints are.
///
/// # Contract
///
/// - Keys are relative, with `/` between their parts; the first part is the job's directory.
/// - [`publish`](Self::publish) and [`put_exclusive`](Self::put_exclusive) return when what they made survives a crash
///   of the machine. A key appears whole or not at all.
/// - Calls come from several threads at once.
/// - No call waits for ever: a store that does not answer ends it with
///   [`Unavailable`](headpond_state::ErrorKind::Unavailable).
/// - Errors say what to do: [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted) for a full disk,
///   [`Invalid`](headpond_state::ErrorKind::Invalid) for a place that cannot be read or written, else
///   [`Unavailable`](headpond_state::ErrorKind::Unavailable). Each names the path.
pub trait CheckpointStore: Debug + Send + Sync {
    /// Where a key is, for messages.
    fn locate(&self, key: &str) -> String;

    /// Takes in what `content` yields, for the job of that directory. When it has read all of it, and before anything
    /// appears under a key, it asks for [the key](Incoming::key), once.
    ///
    /// The key may appear from then on, and has appeared when [`publish`](Self::publish) returns. A content without a
    /// key is small, and appears with [`put_exclusive`](Self::put_exclusive) only. On an error nothing is staged; what
    /// stays of it is nobody's and goes with [`clear_staging`](Self::clear_staging) or the next collection.
    fn stage(&self, job: &str, content: &mut dyn Incoming) -> Result<Staged>;

    /// Makes the bytes of staged files durable, all of a checkpoint's together: a disk folds many syncs into few
    /// flushes, an object store waits for what is on its way.
    fn sync(&self, staged: &[&Staged]) -> Result<()>;

    /// Each staged and synced file has its key, replacing what had it, durably. After an error none of them is
    /// staged any more; some may have their keys.
    fn publish(&self, batch: Vec<(Staged, String)>) -> Result<()>;

    /// Forgets a staged file. What cannot be removed is removed by [`clear_staging`](Self::clear_staging) later, what
    /// has its key already by the next collection: another checkpoint may name it.
    fn discard(&self, staged: Staged);

    /// Removes all staged files of a job. Only its owner may, before it stages any itself.
    fn clear_staging(&self, job: &str) -> Result<()>;

    /// Gives a staged and synced file its key, durably, unless the key exists. In any case it is staged no more.
    fn put_exclusive(&self, staged: Staged, key: &str) -> Result<Creation>;

    /// The content with its length, or `None` if there is no such key. It is read as it is needed, never held whole.
    fn open(&self, key: &str) -> Result<Option<Opened>>;

    /// The content's length in bytes, or `None` if there is no such key.
    fn length(&self, key: &str) -> Result<Option<u64>>;

    /// How many contents are worth reading at once: a disk keeps a few threads busy, a store far away many.
    fn readers(&self) -> usize;

    /// The names immediately below a directory, in no order; none if there is no such directory.
    fn list(&self, directory: &str) -> Result<Vec<String>>;

    /// Deletes files, in as few requests as possible. What is not there is deleted already. After an error any of them
    /// may be there.
    fn delete(&self, keys: &[String]) -> Result<()>;

    /// Deletes an empty directory; one that is not empty stays. Stores without directories do nothing.
    fn remove_directory(&self, directory: &str) -> Result<()>;

    /// Whether [`acquire`](Self::acquire) waits for a living owner and refuses, or takes ownership away.
    fn has_locks(&self) -> bool;

    /// Makes `owner` the one owner of what `key` guards until the result is dropped or the process dies.
    ///
    /// A store with locks waits up to `patience` for the owner before it, and refuses while that one lives. A store
    /// without locks cannot tell the living from the dead: it takes ownership away, and the owner before it learns that
    /// from [`Ownership::check`].
    ///
    /// # Errors
    /// [`Fenced`](headpond_state::ErrorKind::Fenced), naming the other owner.
    fn acquire(&self, key: &str, owner: &str, patience: Duration) -> Result<Box<dyn Ownership>>;
}

/// Held as long as it lives.
pub trait Ownership: Debug + Send + Sync {
    /// Whether it still is: asked before a commit and before a collection.
    ///
    /// # Errors
    /// [`Fenced`](headpond_state::ErrorKind::Fenced), naming the newer owner; else as the store's.
    fn check(&self) -> Result<()>;
}

/// Content on its way into a store. Reading it fails once nobody wants it any more.
pub trait Incoming: Read {
    /// A local file that has the same bytes, for a store that must know the key before it begins: it reads them twice.
    /// Its bytes do not change while the content is staged.
    fn file(&self) -> Option<&Path>;

    /// The key it will have, asked once it was read to its end. `None`: [`CheckpointStore::put_exclusive`] names it.
    ///
    /// # Errors
    /// [`Closed`](headpond_state::ErrorKind::Closed) when nobody wants it any more.
    fn key(&mut self) -> Result<Option<String>>;

    /// Whether it is still wanted, while the store works on it and does not read.
    ///
    /// # Errors
    /// [`Closed`](headpond_state::ErrorKind::Closed) when nobody wants it any more.
    fn wanted(&self) -> Result<()>;
}

/// Bytes a store has taken in.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// What the store knows it by.
    pub token: String,
    /// Its length in bytes.
    pub length: u64,
    /// Whether the bytes were made durable as they came.
    pub durable: bool,
}

/// A content that is being read.
pub struct Opened {
    /// Its length in bytes.
    pub length: u64,
    /// Its bytes.
    pub content: Box<dyn Read + Send>,
}

impl Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("length", &self.length).finish_non_exhaustive()
    }
}

/// How an exclusive creation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// The key is ours.
    Created,
    /// Somebody created it before.
    Exists,
}
