//! What the scenarios share: a storage in a temporary directory.

use headpond_checkpoint::{CheckpointStorage, LocalStores};
use headpond_state::StateFile;
pub(crate) use headpond_store_conformance::jobs::*;
use std::path::{Path, PathBuf};

/// A directory of the test's own; in memory where the system has such a place, because `fsync` takes its time on a
/// disk.
pub(crate) fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

pub(crate) fn open(dir: &Path) -> CheckpointStorage {
    CheckpointStorage::open(dir.to_str().unwrap(), JOB, options()).unwrap()
}

pub(crate) fn local() -> LocalStores {
    LocalStores::default()
}

pub(crate) fn shared(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir.join(JOB).join("shared")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

pub(crate) fn shared_file(dir: &Path, file: &StateFile) -> PathBuf {
    shared(dir).into_iter().find(|path| path.to_str().unwrap().contains(&file.hash.to_string())).unwrap()
}

pub(crate) fn flip_byte(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}
