//! What RocksDB's errors mean to the caller.

use headpond_state::{Context, Error, ErrorKind};
use std::path::Path;

/// The error for `cause`, which happened in the database at `dir` while doing what `message` says.
pub(crate) fn from_rocksdb(message: impl Into<String>, dir: &Path, cause: rust_rocksdb::Error) -> Error {
    from_text(message, dir, cause.into_string())
}

/// The same for a cause of which only the text is left.
pub(crate) fn from_text(message: impl Into<String>, dir: &Path, cause: String) -> Error {
    let (kind, hint) = classify(&cause);
    let error = Error::new(kind, message).with(Context::Path, dir.display()).because(cause);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

fn classify(cause: &str) -> (ErrorKind, Option<&'static str>) {
    let has = |part: &str| cause.contains(part);
    if has("No space left")
        || has("NoSpace")
        || has("Disk quota exceeded")
        || has("File too large")
        || has("Space limit")
    {
        return (
            ErrorKind::ResourceExhausted,
            Some("free space on that disk or set `state.backend.rocksdb.localdir` to a larger one; then run again"),
        );
    }
    if has("Too many open files") {
        let hint = "raise the limit (`ulimit -n`) or lower `state.backend.rocksdb.files.open`";
        return (ErrorKind::ResourceExhausted, Some(hint));
    }
    if has("Permission denied") || has("Read-only file system") {
        return (ErrorKind::Invalid, Some("set `state.backend.rocksdb.localdir` to a directory that can be written"));
    }
    let kind = match cause.split(':').next().unwrap_or_default() {
        "Corruption" => ErrorKind::Corrupt,
        "Invalid argument" | "Not implemented" => ErrorKind::Internal,
        "Shutdown in progress" => ErrorKind::Closed,
        _ => ErrorKind::Unavailable,
    };
    (kind, None)
}
