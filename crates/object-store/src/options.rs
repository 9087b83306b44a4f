//! How object stores are reached.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How object stores are reached, and how hard.
#[derive(Debug, Clone)]
pub struct ObjectStoreOptions {
    /// What only S3 has.
    pub s3: S3Options,
    /// The size of a part: files beyond it are uploaded in parts, and everything is downloaded in ranges of that size.
    /// S3 allows no less than 5 MiB, and 10,000 parts: larger files have larger parts.
    pub part_bytes: u64,
    /// How many parts, files and ranges are on their way at once, of all threads together. Each takes up to
    /// [`part_bytes`](Self::part_bytes) of memory.
    pub transfers_max: usize,
    /// How long one request may take, with its body.
    pub request_timeout: Duration,
    /// How long a request that fails is repeated.
    pub retry_timeout: Duration,
    /// Where state is written that is larger than a part and comes without a local file of its own; `None`: the
    /// directory the system has for that.
    pub spool_dir: Option<PathBuf>,
}

impl Default for ObjectStoreOptions {
    fn default() -> Self {
        ObjectStoreOptions {
            s3: S3Options::default(),
            part_bytes: 8 << 20,
            transfers_max: 8,
            request_timeout: Duration::from_secs(60),
            retry_timeout: Duration::from_secs(120),
            spool_dir: None,
        }
    }
}

/// Where S3 is, and who we are there. What is not set comes from the environment (`AWS_…`), the shared credentials
/// file, or the machine's role.
#[derive(Debug, Clone, Default)]
pub struct S3Options {
    /// The server: `https://…`, or `http://…` for one without encryption. `None`: Amazon's.
    pub endpoint: Option<String>,
    /// The region; by default `us-east-1`.
    pub region: Option<String>,
    /// Who we are.
    pub access_key: Option<Secret>,
    /// Proves it.
    pub secret_key: Option<Secret>,
    /// The third part of temporary credentials.
    pub session_token: Option<Secret>,
    /// Whether the bucket is a part of the path (`endpoint/bucket/key`) or of the host's name (`bucket.endpoint/key`).
    /// `None`: of the path if there is an endpoint.
    pub path_style: Option<bool>,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("******")
    }
}
