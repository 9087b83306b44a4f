//! The directory of one database on local disk.

use headpond_state::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A directory that goes when the last user of it does. It lies in the directory an instance was given, under a name no
/// other instance or attempt has, so that what a killed attempt left behind can be told from what is in use.
#[derive(Debug)]
pub(crate) struct LocalDir {
    parent: PathBuf,
    path: PathBuf,
}

/// Tells this process from an earlier one that had the same process id.
static PROCESS: LazyLock<String> = LazyLock::new(|| {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{}-{started:x}", std::process::id())
});
static NEXT: AtomicU64 = AtomicU64::new(0);

impl LocalDir {
    /// Creates a new directory in `parent` and removes what earlier processes left there.
    pub(crate) fn create(parent: &Path) -> Result<LocalDir> {
        let failed = |cause| Error::io("cannot use the local directory of the state", parent, cause);
        fs::create_dir_all(parent).map_err(failed)?;
        for entry in fs::read_dir(parent).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with("db-") && !name.starts_with(&format!("db-{}-", *PROCESS)) {
                tracing::info!(path = %entry.path().display(), "removing the local state of an earlier attempt");
                fs::remove_dir_all(entry.path()).map_err(failed)?;
            }
        }
        let path = parent.join(format!("db-{}-{}", *PROCESS, NEXT.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir(&path).map_err(failed)?;
        Ok(LocalDir { parent: parent.to_owned(), path })
    }

    /// Where the database lies.
    pub(crate) fn database(&self) -> PathBuf {
        self.path.join("db")
    }

    /// A path for `name` beside the database, on the same file system.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for LocalDir {
    fn drop(&mut self) {
        if let Err(cause) = fs::remove_dir_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %cause, "cannot remove local state");
        }
        // Gone only if nothing else is in it.
        let _ = fs::remove_dir(&self.parent);
    }
}
