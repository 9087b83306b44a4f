//! A directory of a local or mounted file system as a checkpoint store.
//!
//! Nothing below it is written, locked or deleted through a symbolic link: a link in the place of a directory is
//! refused, one in the place of a file is replaced or deleted itself. What is read may be a link, and must be a regular
//! file.

use super::disk::{copy, failed, is_absent, sync_all};
use super::owner_lock::OwnerLock;
use super::{CheckpointStore, Creation, Incoming, Opened, Ownership, Staged};
use crate::failpoints::{self, Failpoints};
use crate::layout::{SHARED, STAGING, parse_checkpoint};
use headpond_files::{EntryKind, RegularFile, RelativeName, Root, is_not_regular};
use headpond_state::{Context, Error, Result};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind as Io};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Staged files from this length on are synced as they come, on the thread that uploads them; smaller ones together
/// when they get their names, which costs the disk fewer flushes.
const SYNC_AT_ONCE_BYTES: u64 = 4 << 20;

/// Threads that read and hash files; more of them wait for the disk.
const READERS_MAX: usize = 4;

/// A directory. Nothing is created before the first write.
#[derive(Debug)]
pub struct DirectoryStore {
    root: Root,
    failpoints: Failpoints,
    /// Directories known to exist and to be durable.
    directories: Mutex<HashSet<RelativeName>>,
    /// Begins the names of the files that this store stages: other stores, in whatever process, stage beside it.
    prefix: u64,
    staged: AtomicU64,
}

impl DirectoryStore {
    /// The store in the directory `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        DirectoryStore {
            root: Root::new(root),
            failpoints: Failpoints::default(),
            directories: Mutex::default(),
            // Keyed anew, at random, each time.
            prefix: RandomState::new().build_hasher().finish(),
            staged: AtomicU64::new(0),
        }
    }

    /// Sets the hook for crash tests.
    #[must_use]
    pub fn with_failpoints(mut self, failpoints: Failpoints) -> Self {
        self.failpoints = failpoints;
        self
    }

    fn path(&self, key: &str) -> PathBuf {
        self.root.path().join(key)
    }

    /// Creates a directory and those above it, durably. Returns at once when it did so before.
    fn ensure(&self, directory: &RelativeName) -> Result<()> {
        if self.known().contains(directory) {
            return Ok(());
        }
        sync_all(&self.create(directory)?)?;
        self.known().insert(directory.clone());
        Ok(())
    }

    /// Creates a directory and those above it, and returns those to sync to make that durable.
    fn create(&self, directory: &RelativeName) -> Result<Vec<PathBuf>> {
        self.root
            .create_directories(Some(directory))
            .map_err(|e| failed("the checkpoint directory cannot be created", &self.root.locate(directory), e))
    }

    fn give_names(&self, batch: &[(Staged, String)]) -> Result<()> {
        let mut directories: Vec<PathBuf> = Vec::new();
        for (staged, key) in batch {
            let (from, to) = (name_of(&staged.token)?, name_of(key)?);
            let directory = self.ensure_above(&to)?;
            self.root
                .rename(&from, &to)
                .map_err(|e| failed("a checkpoint file cannot be given its name", &self.root.locate(&to), e))?;
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        sync_all(&directories)
    }

    /// Sees that there is the directory that something is in, and returns its path.
    fn ensure_above(&self, name: &RelativeName) -> Result<PathBuf> {
        match name.split().0 {
            Some(directory) => {
                self.ensure(&directory)?;
                Ok(self.root.locate(&directory))
            }
            None => Ok(self.root.path().to_path_buf()),
        }
    }

    fn link(&self, staged: &Staged, key: &str) -> Result<Creation> {
        let (from, to) = (name_of(&staged.token)?, name_of(key)?);
        let directory = to.split().0.ok_or_else(|| Error::internal("a manifest lies in a directory of its own"))?;
        let created = self.create(&directory)?;
        self.failpoints.reach(failpoints::DURING_MANIFEST);
        // A hard link, unlike a rename, fails when the name is taken.
        match self.root.hard_link(&from, &to) {
            Ok(()) => {}
            Err(e) if e.kind() == Io::AlreadyExists => return Ok(Creation::Exists),
            Err(e) => {
                return Err(failed("a checkpoint's manifest cannot be linked to its name", &self.root.locate(&to), e));
            }
        }
        // The directory above is synced even if this call did not create the checkpoint's: an earlier one may have
        // failed.
        let directory = self.root.locate(&directory);
        let above = directory.parent().map(Path::to_path_buf).filter(|above| !created.contains(above));
        sync_all(&[created, above.into_iter().chain([directory]).collect()].concat())?;
        Ok(Creation::Created)
    }

    fn known(&self) -> MutexGuard<'_, HashSet<RelativeName>> {
        // The set holds facts only; it is right whatever a panicking thread was doing.
        self.directories.lock()
    }

    /// Runs `write` on a new file of the job's staging directory and removes the file if that fails.
    fn write_staged<T>(&self, job: &str, write: impl FnOnce(&mut File, &Path) -> Result<T>) -> Result<(String, T)> {
        self.ensure(&name_of(&format!("{job}/{STAGING}"))?)?;
        let number = self.staged.fetch_add(1, Ordering::Relaxed);
        let token = format!("{job}/{STAGING}/{:016x}-{number}", self.prefix);
        let (name, path) = (name_of(&token)?, self.path(&token));
        let file = self.root.create_new(&name);
        let mut file = file.map_err(|e| failed("a checkpoint file cannot be created", &path, e))?;
        match write(&mut file, &path) {
            Ok(value) => Ok((token, value)),
            Err(error) => {
                drop(file);
                // The first error is the one to report; the next owner clears what stays.
                self.root.remove_file(&name).ok();
                Err(error)
            }
        }
    }

    /// Sees that no link stands for a directory of the job: what would come later is refused at once.
    fn check_no_links(&self, job: &RelativeName) -> Result<()> {
        let entries = self.root.entries(Some(job));
        let entries =
            entries.map_err(|e| failed("a checkpoint directory cannot be read", &self.root.locate(job), e))?;
        let is_ours = |name: &str| name == SHARED || name == STAGING || parse_checkpoint(name).is_some();
        match entries.iter().find(|entry| entry.kind == EntryKind::Link && is_ours(&entry.name)) {
            None => Ok(()),
            Some(link) => Err(Error::invalid("a symbolic link is in the way, which is not followed here")
                .with(Context::Path, self.root.locate(job).join(&link.name).display())
                .hint(super::disk::LINK)),
        }
    }
}

fn name_of(key: &str) -> Result<RelativeName> {
    RelativeName::parse(key)
        .map_err(|cause| Error::invalid("a checkpoint's file is not below its directory").because(cause))
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
        if let Ok(name) = name_of(&staged.token) {
            self.root.remove_file(&name).ok();
        }
    }

    fn clear_staging(&self, job: &str) -> Result<()> {
        let directory = name_of(&format!("{job}/{STAGING}"))?;
        let entries = match self.root.entries(Some(&directory)) {
            Ok(entries) => entries,
            Err(e) if is_absent(&e) => return Ok(()),
            Err(e) => return Err(failed("a checkpoint directory cannot be read", &self.root.locate(&directory), e)),
        };
        let keys: Vec<String> = entries.iter().map(|entry| format!("{directory}/{}", entry.name)).collect();
        self.delete(&keys)
    }

    fn put_exclusive(&self, staged: Staged, key: &str) -> Result<Creation> {
        let linked = self.link(&staged, key);
        self.discard(staged);
        linked
    }

    fn open(&self, key: &str) -> Result<Option<Opened>> {
        let path = self.path(key);
        match RegularFile::open(&path) {
            Ok(RegularFile { file, length }) => Ok(Some(Opened { length, content: Box::new(file) })),
            Err(e) if is_absent(&e) => Ok(None),
            // As good as a file with other bytes: what was written is not there.
            Err(e) if is_not_regular(&e) => {
                Err(Error::corrupt("a file of the checkpoint is none").with(Context::Path, path.display()).because(e))
            }
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
        for key in keys {
            match self.root.remove_file(&name_of(key)?) {
                Err(e) if !is_absent(&e) => {
                    return Err(failed("a checkpoint file cannot be deleted", &self.path(key), e));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn remove_directory(&self, directory: &str) -> Result<()> {
        let name = name_of(directory)?;
        self.known().remove(&name);
        match self.root.remove_directory(&name) {
            Err(e) if !is_absent(&e) && e.kind() != Io::DirectoryNotEmpty => {
                Err(failed("a checkpoint directory cannot be deleted", &self.path(directory), e))
            }
            _ => Ok(()),
        }
    }

    fn acquire(&self, key: &str, owner: &str, patience: Duration) -> Result<Box<dyn Ownership>> {
        let name = name_of(key)?;
        self.ensure_above(&name)?;
        if let Some(job) = name.split().0 {
            self.check_no_links(&job)?;
        }
        Ok(Box::new(OwnerLock::acquire(&self.root, &name, owner, patience)?))
    }
}
