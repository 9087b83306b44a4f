//! A directory of a local or mounted file system as a checkpoint store.

use super::disk::{copy, failed, is_absent, sync_all};
use super::owner_lock::OwnerLock;
use super::{CheckpointStore, Creation, Incoming, Opened, Ownership, Staged};
use crate::failpoints::{self, Failpoints};
use crate::layout::STAGING;
use headpond_state::Result;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind as Io};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Staged files from this length on are synced as they come, on the thread that uploads them; smaller ones together when
/// they get their names, which costs the disk fewer flushes.
const SYNC_AT_ONCE_BYTES: u64 = 4 << 20;

/// Threads that read and hash files; more of them wait for the disk.
const READERS_MAX: usize = 4;

/// Numbers staged files across all stores of the process, so that none takes another's name.
static STAGED: AtomicU64 = AtomicU64::new(0);

/// A directory. Nothing is created before the first write.
#[derive(Debug)]
pub struct DirectoryStore {
    root: PathBuf,
    failpoints: Failpoints,
    /// Directories known to exist and to be durable.
    directories: Mutex<HashSet<PathBuf>>,
}

impl DirectoryStore {
    /// The store in the directory `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        DirectoryStore { root: root.into(), failpoints: Failpoints::default(), directories: Mutex::default() }
    }

    /// Sets the hook for crash tests.
    #[must_use]
    pub fn with_failpoints(mut self, failpoints: Failpoints) -> Self {
        self.failpoints = failpoints;
        self
    }

    fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    /// Creates a directory and those above it, durably. Returns at once when it did so before.
    fn ensure(&self, directory: &Path) -> Result<()> {
        if self.known().contains(directory) {
            return Ok(());
        }
        sync_all(&self.create(directory)?)?;
        self.known().insert(directory.to_path_buf());
        Ok(())
    }

    /// Creates a directory and those above it, and returns those to sync to make that durable.
    fn create(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        let missing: Vec<&Path> = directory.ancestors().take_while(|path| !path.exists()).collect();
        fs::create_dir_all(directory)
            .map_err(|e| failed("the checkpoint directory cannot be created", directory, e))?;
        let parents = missing.into_iter().filter_map(Path::parent);
        // A relative path's last parent is the empty one: the working directory.
        Ok(parents.map(|path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.into() }).collect())
    }

    fn give_names(&self, batch: &[(Staged, String)]) -> Result<()> {
        let mut directories: Vec<PathBuf> = Vec::new();
        for (staged, key) in batch {
            let (from, to) = (self.path(&staged.token), self.path(key));
            let directory = to.parent().unwrap_or(&self.root).to_path_buf();
            self.ensure(&directory)?;
            fs::rename(&from, &to).map_err(|e| failed("a checkpoint file cannot be given its name", &to, e))?;
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        sync_all(&directories)
    }

    fn link(&self, staged: &Staged, key: &str) -> Result<Creation> {
        let (from, to) = (self.path(&staged.token), self.path(key));
        let directory = to.parent().unwrap_or(&self.root);
        let created = self.create(directory)?;
        self.failpoints.reach(failpoints::DURING_MANIFEST);
        // A hard link, unlike a rename, fails when the name is taken.
        match fs::hard_link(&from, &to) {
            Ok(()) => {}
            Err(e) if e.kind() == Io::AlreadyExists => return Ok(Creation::Exists),
            Err(e) => return Err(failed("a checkpoint's manifest cannot be linked to its name", &to, e)),
        }
        // The directory above is synced even if this call did not create the checkpoint's: an earlier one may have failed.
        let above = directory.parent().map(Path::to_path_buf).filter(|above| !created.contains(above));
        sync_all(&[created, above.into_iter().chain([directory.to_path_buf()]).collect()].concat())?;
        Ok(Creation::Created)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashSet<PathBuf>> {
        // The set holds facts only; it is right whatever a panicking thread was doing.
        self.directories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `write` on a new file of the job's staging directory and removes the file if that fails.
    fn write_staged<T>(&self, job: &str, write: impl FnOnce(&mut File, &Path) -> Result<T>) -> Result<(String, T)> {
        let directory = self.path(job).join(STAGING);
        self.ensure(&directory)?;
        let number = STAGED.fetch_add(1, Ordering::Relaxed);
        let token = format!("{job}/{STAGING}/{}-{number}", std::process::id());
        let path = self.path(&token);
        let mut file = File::create_new(&path).map_err(|e| failed("a checkpoint file cannot be created", &path, e))?;
        match write(&mut file, &path) {
            Ok(value) => Ok((token, value)),
            Err(error) => {
                drop(file);
                // The first error is the one to report; the next owner clears what stays.
                fs::remove_file(&path).ok();
                Err(error)
            }
        }
    }
}

impl CheckpointStore for DirectoryStore {
    fn locate(&self, key: &str) -> String {
        self.path(key).display().to_string()
    }

    fn stage(&self, job: &str, content: &mut dyn Incoming) -> Result<Staged> {
        let (token, (length, durable)) = self.write_staged(job, |file, path| {
            let length = copy(content, file, path)?;
            // The name comes with `publish`; that it will come must be known before.
            content.key()?;
            let durable = length >= SYNC_AT_ONCE_BYTES;
            if durable {
                file.sync_data().map_err(|e| failed("a checkpoint file cannot be written", path, e))?;
            }
            Ok((length, durable))
        })?;
        Ok(Staged { token, length, durable })
    }

    fn sync(&self, staged: &[&Staged]) -> Result<()> {
        let unsynced: Vec<PathBuf> =
            staged.iter().filter(|staged| !staged.durable).map(|staged| self.path(&staged.token)).collect();
        sync_all(&unsynced)
    }

    fn publish(&self, batch: Vec<(Staged, String)>) -> Result<()> {
        let published = self.give_names(&batch);
        if published.is_err() {
            // On a full disk every byte counts. Those that have their names already are not found here.
            batch.into_iter().for_each(|(staged, _)| self.discard(staged));
        }
        published
    }

    fn discard(&self, staged: Staged) {
        fs::remove_file(self.path(&staged.token)).ok();
    }

    fn clear_staging(&self, job: &str) -> Result<()> {
        let directory = format!("{job}/{STAGING}");
        let keys: Vec<String> = self.list(&directory)?.iter().map(|name| format!("{directory}/{name}")).collect();
        self.delete(&keys)
    }

    fn put_exclusive(&self, staged: Staged, key: &str) -> Result<Creation> {
        let linked = self.link(&staged, key);
        self.discard(staged);
        linked
    }

    fn open(&self, key: &str) -> Result<Option<Opened>> {
        let path = self.path(key);
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((length, file)) => Ok(Some(Opened { length, content: Box::new(file) })),
            Err(e) if is_absent(&e) => Ok(None),
            Err(e) => Err(failed("a checkpoint file cannot be opened", &path, e)),
        }
    }

    fn length(&self, key: &str) -> Result<Option<u64>> {
        let path = self.path(key);
        match fs::metadata(&path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(e) if is_absent(&e) => Ok(None),
            Err(e) => Err(failed("a checkpoint file cannot be looked at", &path, e)),
        }
    }

    fn has_locks(&self) -> bool {
        true
    }

    fn readers(&self) -> usize {
        thread::available_parallelism().map_or(1, usize::from).min(READERS_MAX)
    }

    fn list(&self, directory: &str) -> Result<Vec<String>> {
        let path = self.path(directory);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(e) if is_absent(&e) => return Ok(Vec::new()),
            Err(e) => return Err(failed("a checkpoint directory cannot be read", &path, e)),
        };
        let names = entries.map(|entry| entry.map(|entry| entry.file_name().into_string().ok()));
        // A name that is not UTF-8 is none of ours.
        let names: io::Result<Vec<Option<String>>> = names.collect();
        let names = names.map_err(|e| failed("a checkpoint directory cannot be read", &path, e))?;
        Ok(names.into_iter().flatten().collect())
    }

    fn delete(&self, keys: &[String]) -> Result<()> {
        // Not synced: a deletion that a crash undoes leaves garbage, which the next collection finds.
        for path in keys.iter().map(|key| self.path(key)) {
            match fs::remove_file(&path) {
                Err(e) if !is_absent(&e) => return Err(failed("a checkpoint file cannot be deleted", &path, e)),
                _ => {}
            }
        }
        Ok(())
    }

    fn remove_directory(&self, directory: &str) -> Result<()> {
        let path = self.path(directory);
        self.known().remove(&path);
        match fs::remove_dir(&path) {
            Err(e) if !is_absent(&e) && e.kind() != Io::DirectoryNotEmpty => {
                Err(failed("a checkpoint directory cannot be deleted", &path, e))
            }
            _ => Ok(()),
        }
    }

    fn acquire(&self, key: &str, owner: &str, patience: Duration) -> Result<Box<dyn Ownership>> {
        let path = self.path(key);
        self.ensure(path.parent().unwrap_or(&self.root))?;
        Ok(Box::new(OwnerLock::acquire(&path, owner, patience)?))
    }
}
