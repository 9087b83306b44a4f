//! All I/O of checkpoints, behind one trait.
//!
//! The trait has what the commit protocol needs and no more: bytes come in *staged*, without a name; all of them are synced
//! together; a batch gets its names; one file is created exclusively. A directory does this with temporary files, `fsync`,
//! `rename` and hard links. An object store would do it with a spooled or multipart upload and a conditional put.

mod directory;
mod disk;
mod hashing;
mod owner_lock;

pub use directory::DirectoryStore;
pub(crate) use hashing::{HashingReader, VerifyingReader};

use headpond_state::Result;
use std::fmt::Debug;
use std::io::Read;
use std::time::Duration;

/// Where checkpoints are.
///
/// # Contract
///
/// - Keys are relative, with `/` between their parts; the first part is the job's directory.
/// - [`publish`](Self::publish) and [`put_exclusive`](Self::put_exclusive) return when what they made survives a crash of the
///   machine. A key appears whole or not at all.
/// - Calls come from several threads at once.
/// - Errors say what to do: [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted) for a full disk,
///   [`Invalid`](headpond_state::ErrorKind::Invalid) for a place that cannot be read or written, else
///   [`Unavailable`](headpond_state::ErrorKind::Unavailable). Each names the path.
pub trait CheckpointStore: Debug + Send + Sync {
    /// Where a key is, for messages.
    fn locate(&self, key: &str) -> String;

    /// Takes in what `content` yields, for the job of that directory, under no name yet. Nothing is left on an error.
    fn stage(&self, job: &str, content: &mut dyn Read) -> Result<Staged>;

    /// Makes the bytes of staged files durable, all of a checkpoint's together: a disk folds many syncs into few flushes.
    fn sync(&self, staged: &[&Staged]) -> Result<()>;

    /// Gives each staged and synced file its key, replacing what has it, durably. After an error none of them is
    /// staged any more; some may have their keys.
    fn publish(&self, batch: Vec<(Staged, String)>) -> Result<()>;

    /// Forgets a staged file. What cannot be removed is removed by [`clear_staging`](Self::clear_staging) later.
    fn discard(&self, staged: Staged);

    /// Removes all staged files of a job. Only its owner may, before it stages any itself.
    fn clear_staging(&self, job: &str) -> Result<()>;

    /// Gives a staged and synced file its key, durably, unless the key exists. In any case it is staged no more.
    fn put_exclusive(&self, staged: Staged, key: &str) -> Result<Creation>;

    /// A reader of the content, or `None` if there is no such key.
    fn open(&self, key: &str) -> Result<Option<Box<dyn Read + Send>>>;

    /// The content's length in bytes, or `None` if there is no such key.
    fn length(&self, key: &str) -> Result<Option<u64>>;

    /// The names immediately below a directory, in no order; none if there is no such directory.
    fn list(&self, directory: &str) -> Result<Vec<String>>;

    /// Deletes a file or an empty directory. What is not there is deleted already; a directory that is not empty stays.
    fn delete(&self, key: &str) -> Result<()>;

    /// Makes `owner` the one owner of what `key` guards until the result is dropped or the process dies. Waits up to
    /// `patience` for the owner before it.
    ///
    /// # Errors
    /// [`Fenced`](headpond_state::ErrorKind::Fenced), naming the other owner.
    fn acquire(&self, key: &str, owner: &str, patience: Duration) -> Result<Box<dyn Ownership>>;
}

/// Held as long as it lives.
pub trait Ownership: Debug + Send + Sync {}

/// Bytes a store has taken in and not yet named.
#[derive(Debug, PartialEq, Eq)]
pub struct Staged {
    /// What the store knows it by.
    pub token: String,
    /// Its length in bytes.
    pub length: u64,
    /// Whether the bytes were made durable as they came.
    pub durable: bool,
}

/// How an exclusive creation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// The key is ours.
    Created,
    /// Somebody created it before.
    Exists,
}
