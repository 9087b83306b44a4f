//! Every path and key of a checkpoint directory, made and read in this one place.
//!
//! A *key* is a path relative to the checkpoint directory, with `/` between its parts, as an object store has it.

use headpond_state::{CheckpointId, ContentHash, Context, Error, Result, StateFile};
use std::fmt;
use std::path::{Path, PathBuf};

/// The name of the file whose existence commits a checkpoint.
pub const MANIFEST: &str = "manifest.json";
/// The name of the directory of state files.
pub const SHARED: &str = "shared";
/// The name of the directory of bytes that have no name yet.
pub const STAGING: &str = "staging";

const CHECKPOINT_PREFIX: &str = "chk-";
/// Leaves room below the 255 bytes file systems allow.
const SEGMENT_LEN_MAX: usize = 240;

/// The local directory a location names: `file:///…`, `file:/…` or a plain path.
///
/// # Errors
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for other schemes and for a host,
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for an empty location.
pub fn parse_location(location: &str) -> Result<PathBuf> {
    let supported = "use a local directory: `file:///path` or a plain path";
    if location.trim().is_empty() {
        return Err(Error::invalid("the checkpoint directory is empty").hint(supported));
    }
    let scheme = location.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| is_scheme(scheme));
    match scheme {
        None => Ok(PathBuf::from(location)),
        Some(scheme) if scheme.eq_ignore_ascii_case("file") => {
            let rest = &location["file:".len()..];
            let path = match rest.strip_prefix("//") {
                None => rest,
                Some(rest) => rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest),
            };
            if !path.starts_with('/') {
                return Err(Error::unsupported("a file URI needs an absolute path and no host")
                    .with(Context::Text, location)
                    .hint("write `file:///path`, or a plain path if it is relative"));
            }
            percent_decode(path).map(PathBuf::from).ok_or_else(|| {
                Error::invalid("a `%` in a file URI must begin two hexadecimal digits").with(Context::Text, location)
            })
        }
        Some(scheme) => Err(Error::unsupported(format!("checkpoints cannot be stored on `{scheme}:` yet"))
            .with(Context::Text, location)
            .hint(supported)),
    }
}

/// A scheme has at least two characters, so that `C:\checkpoints` has none.
fn is_scheme(text: &str) -> bool {
    text.len() >= 2
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push((digit()? * 16 + digit()?) as u8);
    }
    String::from_utf8(bytes).ok()
}

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

/// What a path given by a user points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A directory of jobs.
    Jobs(PathBuf),
    /// One job's directory: the directory of jobs and the job's directory's name.
    Job(PathBuf, String),
    /// One checkpoint of a job.
    Checkpoint(PathBuf, String, CheckpointId),
}

impl Target {
    /// Finds out from names, and for a directory from what is in it, what `location` is.
    ///
    /// # Errors
    /// As [`parse_location`]; [`Invalid`](headpond_state::ErrorKind::Invalid) when there is no such directory.
    pub fn parse(location: &str) -> Result<Self> {
        let mut path = parse_location(location)?;
        if path.file_name().is_some_and(|name| name == MANIFEST) {
            path.pop();
        }
        let path = std::path::absolute(&path).map_err(|e| Error::io("the path cannot be resolved", &path, e))?;
        if let Some(id) = path.file_name().and_then(|name| name.to_str()).and_then(parse_checkpoint)
            && let Some((root, job)) = path.parent().and_then(split_job)
        {
            return Ok(Target::Checkpoint(root, job, id));
        }
        let entries = std::fs::read_dir(&path).map_err(|e| {
            Error::io("the checkpoint directory cannot be read", &path, e)
                .hint("give a checkpoint directory, a job's directory in it, or one `chk-<n>` of a job")
        })?;
        let is_job = entries.flatten().any(|entry| {
            entry.file_name().to_str().is_some_and(|name| name == SHARED || parse_checkpoint(name).is_some())
        });
        match split_job(&path).filter(|_| is_job) {
            Some((root, job)) => Ok(Target::Job(root, job)),
            None => Ok(Target::Jobs(path)),
        }
    }
}

fn split_job(path: &Path) -> Option<(PathBuf, String)> {
    Some((path.parent()?.to_path_buf(), path.file_name()?.to_str()?.to_owned()))
}

/// The name of a state file on the store: `<blake3>.<ext>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SharedName(String);

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
