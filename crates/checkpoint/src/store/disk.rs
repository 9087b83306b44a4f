//! Calls to the file system, with errors that say what to do.

use headpond_files::is_link;
use headpond_state::{Context, Error, Result};
use std::fs::File;
use std::io::{self, ErrorKind as Io, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;

/// Threads that sync one batch; file systems fold concurrent syncs into one flush.
const SYNC_THREADS_MAX: usize = 4;
const COPY_BUFFER_BYTES: usize = 256 << 10;

/// The way out where a symbolic link is.
pub(super) const LINK: &str = "headpond follows no links below a checkpoint directory: remove it, or set \
     `execution.checkpointing.dir` to the directory it leads to";

/// A path through a file leads nowhere, just as one through nothing.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), Io::NotFound | Io::NotADirectory)
}

/// Copies and tells errors of the two sides apart.
pub(super) fn copy(from: &mut (impl Read + ?Sized), to: &mut File, path: &Path) -> Result<u64> {
    let mut buffer = vec![0; COPY_BUFFER_BYTES];
    let mut length = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(length),
            Ok(read) => read,
            Err(e) if e.kind() == Io::Interrupted => continue,
            Err(e) => return Err(Error::unavailable("the state to be stored cannot be read").because(e)),
        };
        to.write_all(&buffer[..read]).map_err(|e| failed("a checkpoint file cannot be written", path, e))?;
        length += read as u64;
    }
}

/// Syncs files and directories, a few at a time.
pub(super) fn sync_all(paths: &[PathBuf]) -> Result<()> {
    let sync = |path: &PathBuf| {
        let synced = File::open(path).and_then(|file| file.sync_all());
        synced.map_err(|e| failed("a checkpoint file or directory cannot be synced", path, e))
    };
    if paths.len() <= 1 {
        return paths.iter().try_for_each(sync);
    }
    let share = paths.len().div_ceil(SYNC_THREADS_MAX);
    thread::scope(|scope| {
        let threads: Vec<_> =
            paths.chunks(share).map(|chunk| scope.spawn(move || chunk.iter().try_for_each(sync))).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(Error::internal("a thread that syncs checkpoint files panicked")))
        })
    })
}

/// An error about a path, with the way out where there is one.
pub(super) fn failed(what: &str, path: &Path, cause: io::Error) -> Error {
    let way_out = match cause.kind() {
        Io::StorageFull | Io::QuotaExceeded => {
            Some("free space there, keep fewer checkpoints, or set `execution.checkpointing.dir` to a larger disk")
        }
        Io::FileTooLarge => {
            Some("a limit of the system forbids files of this size (`ulimit -f`): raise it and run the job again")
        }
        _ if is_link(&cause) => Some(LINK),
        Io::PermissionDenied | Io::ReadOnlyFilesystem => {
            Some("make it accessible to this user, or set `execution.checkpointing.dir` to a directory that is")
        }
        Io::NotADirectory | Io::AlreadyExists => {
            Some("a file is in the way: move it, or set `execution.checkpointing.dir` to another directory")
        }
        Io::NotFound => Some(
            "was the checkpoint directory removed while the job ran? Without its checkpoints the next run begins anew",
        ),
        Io::Unsupported => {
            Some("the file system lacks hard links: set `execution.checkpointing.dir` to one that has them")
        }
        _ => None,
    };
    let error = if cause.kind() == Io::AlreadyExists {
        Error::invalid(what).with(Context::Path, path.display()).because(cause)
    } else {
        Error::io(what, path, cause)
    };
    way_out.into_iter().fold(error, Error::hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headpond_state::ErrorKind;

    #[test]
    fn errors_of_the_disk_name_the_path_and_the_way_out() {
        for (cause, kind) in [
            (Io::StorageFull, ErrorKind::ResourceExhausted),
            (Io::QuotaExceeded, ErrorKind::ResourceExhausted),
            (Io::PermissionDenied, ErrorKind::Invalid),
            (Io::ReadOnlyFilesystem, ErrorKind::Invalid),
            (Io::AlreadyExists, ErrorKind::Invalid),
        ] {
            let error = failed("it cannot be written", Path::new("/data/checkpoints"), cause.into());
            assert_eq!(error.kind(), kind, "{cause}");
            assert_eq!(error.place(Context::Path), Some("/data/checkpoints"));
            assert!(error.way_out().is_some_and(|way_out| way_out.contains("execution.checkpointing.dir")), "{cause}");
        }
    }
}
