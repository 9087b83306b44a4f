//! Every path and key of a checkpoint directory, made and read in this one place.
//!
//! A *key* is a path relative to the checkpoint directory, with `/` between its parts, as an object store has it.

use headpond_state::{CheckpointId, ContentHash, Context, Error, Result, StateFile};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of the file whose existence commits a checkpoint.
pub const MANIFEST: &str = "manifest.json";
/// The name of the directory of state files.
pub const SHARED: &str = "shared";
/// The name of the directory of bytes that have no name yet.
pub const STAGING: &str = "staging";

const CHECKPOINT_PREFIX: &str = "chk-";
/// Leaves room below the 255 bytes file systems allow.
const SEGMENT_LEN_MAX: usize = 240;

/// The keys of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobLayout {
    segment: String,
}

impl JobLayout {
    /// The layout of `job`. A job's name is its directory's; bytes beyond `A-Z a-z 0-9 . _ -`, and a leading dot, are
    /// written as `%` and two hexadecimal digits, so different names never share a directory.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a name that is empty or too long.
    pub fn new(job: &str) -> Result<Self> {
        let mut segment = String::with_capacity(job.len());
        for (index, byte) in job.bytes().enumerate() {
            let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || (byte == b'.' && index > 0);
            if plain {
                segment.push(char::from(byte));
            } else {
                segment.push_str(&escape(byte));
            }
        }
        // A job's directory must not look like a part of one.
        if segment == SHARED || segment == STAGING || parse_checkpoint(&segment).is_some() {
            segment = format!("{}{}", escape(segment.as_bytes()[0]), &segment[1..]);
        }
        let way_out = "set `pipeline.name` to a name of 1 to 240 bytes";
        match segment.len() {
            0 => Err(Error::invalid("a job that takes checkpoints needs a name").hint(way_out)),
            len if len > SEGMENT_LEN_MAX => {
                Err(Error::invalid("the job's name is too long for a directory").with(Context::Text, job).hint(way_out))
            }
            _ => Ok(JobLayout { segment }),
        }
    }

    /// The layout of the job whose directory has this name.
    pub fn of_directory(segment: &str) -> Self {
        JobLayout { segment: segment.to_owned() }
    }

    /// The job's directory.
    pub fn directory(&self) -> &str {
        &self.segment
    }

    /// The directory of a checkpoint.
    pub fn checkpoint(&self, id: CheckpointId) -> String {
        format!("{}/{CHECKPOINT_PREFIX}{id}", self.segment)
    }

    /// A checkpoint's manifest.
    pub fn manifest(&self, id: CheckpointId) -> String {
        format!("{}/{MANIFEST}", self.checkpoint(id))
    }

    /// The directory of state files.
    pub fn shared(&self) -> String {
        format!("{}/{SHARED}", self.segment)
    }

    /// A state file.
    pub fn shared_file(&self, name: &SharedName) -> String {
        format!("{}/{SHARED}/{name}", self.segment)
    }

    /// The lock that the running attempt holds.
    pub fn owner(&self) -> String {
        format!("{}/owner.lock", self.segment)
    }

    /// Where the newest run began that left checkpoints behind.
    pub fn rewind(&self) -> String {
        format!("{}/rewind.json", self.segment)
    }
}

fn escape(byte: u8) -> String {
    format!("%{byte:02X}")
}

/// The checkpoint a directory's name stands for.
pub fn parse_checkpoint(directory: &str) -> Option<CheckpointId> {
    let digits = directory.strip_prefix(CHECKPOINT_PREFIX)?;
    let id = digits.parse().ok().map(CheckpointId)?;
    // One spelling per id: `chk-007` is not ours.
    (id.to_string() == digits).then_some(id)
}

/// The name of a state file on the store: `<blake3>.<ext>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SharedName(String);

impl TryFrom<String> for SharedName {
    type Error = Error;
    fn try_from(entry: String) -> Result<Self> {
        SharedName::parse(&entry).ok_or_else(|| Error::corrupt(format!("`{entry}` is not the name of a state file")))
    }
}

impl From<SharedName> for String {
    fn from(name: SharedName) -> String {
        name.0
    }
}

impl SharedName {
    /// The name of `file`: the hash of its bytes, and the extension the backend gave it, for the eyes of people.
    pub fn of(file: &StateFile) -> Self {
        SharedName::new(&file.hash, &file.name)
    }

    fn new(hash: &ContentHash, name: &str) -> Self {
        let extension = name
            .rsplit_once('.')
            .map(|(_, extension)| extension)
            .filter(|ext| (1..=16).contains(&ext.len()) && ext.bytes().all(|b| b.is_ascii_alphanumeric()));
        SharedName(format!("{hash}.{}", extension.unwrap_or("bin")))
    }

    /// The name a directory entry stands for, if it is one of ours.
    pub fn parse(entry: &str) -> Option<Self> {
        let (hash, extension) = entry.split_once('.')?;
        let hash = ContentHash::try_from(hash.to_owned()).ok()?;
        let name = SharedName::new(&hash, entry);
        (name.0 == entry && !extension.is_empty()).then_some(name)
    }
}

impl fmt::Display for SharedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
