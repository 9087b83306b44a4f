//! Snapshots and what they leave on a store.
//!
//! A checkpoint of a keyed state backend has two parts. The *synchronous* part,
//! [`KeyedStateBackend::snapshot`](crate::KeyedStateBackend::snapshot), fixes what is in it and returns a [`Snapshot`].
//! The *asynchronous* part, [`Snapshot::upload`], runs on an I/O thread while the operator goes on: it hands files to a
//! [`CheckpointSink`] and returns a [`KeyedStateHandle`], the durable description that the checkpoint's manifest keeps.
//! At restore the handle's files come from a [`CheckpointSource`].
//!
//! Files are content-addressed: a [`StateFile`] is known by the BLAKE3 hash of its bytes, so the same bytes have the
//! same name, and a file that was tampered with, torn or swapped cannot be taken for the right one.

use crate::descriptor::StateDescriptor;
use crate::error::{Error, Result};
use crate::handle_details::{HandleDetails, StateSize};
use crate::id::CheckpointId;
use crate::key_group::KeyGroupRange;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A state fixed at a cut, not yet durable. Dropping it cancels.
pub trait Snapshot: Debug + Send {
    /// Makes the snapshot durable. Blocks; called on an I/O thread. A cancelled sink fails its calls with
    /// [`Closed`](crate::ErrorKind::Closed), and so does this.
    fn upload(self: Box<Self>, sink: &dyn CheckpointSink) -> Result<KeyedStateHandle>;
}

/// How a snapshot is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// Whether files of the base checkpoint may be reused. `false` makes a full checkpoint.
    pub incremental: bool,
    /// Whether the backend compacts its files first (`state.backend.rocksdb.compact-on-checkpoint`).
    pub compact: bool,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        SnapshotOptions { incremental: true, compact: false }
    }
}

/// Where a snapshot's files go.
pub trait CheckpointSink: Debug + Send + Sync {
    /// Stores a copy of the local file at `path` under its content's hash. `name` is what the backend calls it.
    fn put_file(&self, name: &str, path: &Path) -> Result<StateFile>;

    /// Stores what `content` yields until its end.
    fn put_stream(&self, name: &str, content: &mut dyn Read) -> Result<StateFile>;

    /// Whether the file can be referenced without being stored again: true only when the base of this checkpoint, the
    /// last committed one, names it (and the checkpoint is incremental). A file is never reused because it happens to
    /// exist.
    fn reuse(&self, file: &StateFile) -> Result<bool>;
}

/// Where a handle's files come from at restore.
pub trait CheckpointSource: Debug + Send + Sync {
    /// Copies or links the file to `to`, which must not exist, after checking its length and hash.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) when the file is missing or differs.
    fn fetch(&self, file: &StateFile, to: &Path) -> Result<()>;

    /// Fetches each file to its path; sources that are far away fetch several at once. After an error any of them may
    /// be there.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    fn fetch_all(&self, files: &[(&StateFile, PathBuf)]) -> Result<()>;

    /// A reader over the file's content that fails with an error of kind `InvalidData` at the end when length or hash
    /// differ.
    fn open(&self, file: &StateFile) -> Result<Box<dyn Read + Send>>;
}

/// The BLAKE3 hash of a file's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash(pub [u8; 32]);

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> String {
        hash.to_string()
    }
}

impl TryFrom<String> for ContentHash {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        let bad = || Error::corrupt(format!("`{text}` is not a BLAKE3 hash (64 hexadecimal digits)"));
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(bad());
        }
        let mut hash = [0u8; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |d: u8| char::from(d).to_digit(16).ok_or_else(bad);
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Ok(ContentHash(hash))
    }
}

/// A file of a state handle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFile {
    /// What the backend calls it.
    pub name: String,
    /// The hash of its bytes, and its name on the store.
    pub hash: ContentHash,
    /// Its length in bytes.
    pub length: u64,
}

/// The durable state of one operator on one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyedStateHandle {
    /// The name of the files' format: [`canonical`](crate::canonical::FORMAT) or a backend's own.
    pub format: String,
    /// The version of that format.
    pub format_version: u32,
    /// The key groups whose entries the files hold.
    pub key_groups: KeyGroupRange,
    /// The states in it, by index as the files number them.
    pub states: Vec<StateDescriptor>,
    /// The files.
    pub files: Vec<StateFile>,
    /// Entries of all states, an estimate where the backend cannot know cheaply.
    pub entries: u64,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "HandleDetails::is_empty")]
    pub details: HandleDetails,
    /// The handles of other backends that hold a part of this state: what a backend that is built on others leaves.
    /// They are its own to read; their files are kept, checked and counted as this handle's are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<KeyedStateHandle>,
}

impl KeyedStateHandle {
    /// Notes the size of each state, in the order of the states.
    #[must_use]
    pub fn with_state_sizes(mut self, sizes: &[StateSize]) -> Self {
        let mut sizes = sizes.to_vec();
        sizes.resize(self.states.len(), StateSize::default());
        self.details.state_sizes = Some(sizes);
        self
    }

    /// The size of each state, in the order of the states; `None` for handles of releases that did not note it.
    pub fn state_sizes(&self) -> Option<&[StateSize]> {
        self.details.state_sizes.as_deref().filter(|sizes| sizes.len() == self.states.len())
    }

    /// Whether its numbers of entries are estimates: only who writes entries one by one counts them.
    pub fn estimates_entries(&self) -> bool {
        self.format != crate::canonical::FORMAT
    }

    /// Its files and those of its parts, and of theirs.
    pub fn all_files(&self) -> impl Iterator<Item = &StateFile> {
        let mut files = Vec::new();
        self.collect_files(&mut files);
        files.into_iter()
    }

    fn collect_files<'a>(&'a self, files: &mut Vec<&'a StateFile>) {
        files.extend(&self.files);
        self.parts.iter().for_each(|part| part.collect_files(files));
    }

    /// The bytes of all files.
    pub fn byte_len(&self) -> u64 {
        self.all_files().map(|file| file.length).sum()
    }
}

/// Names a checkpoint in messages: `checkpoint 7`.
impl From<CheckpointId> for u64 {
    fn from(id: CheckpointId) -> u64 {
        id.0
    }
}

/// A handle with the store its files can be read from.
#[derive(Debug, Clone, Copy)]
pub struct RestoredState<'a> {
    /// What a snapshot left.
    pub handle: &'a KeyedStateHandle,
    /// Where its files are.
    pub source: &'a dyn CheckpointSource,
}
