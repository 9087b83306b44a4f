//! A checkpoint store in memory, for tests.

use headpond_state::{
    CheckpointSink, CheckpointSource, ContentHash, Context, Error, KeyedStateHandle, Result, StateFile,
};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A store of content-addressed files in memory. Clones share it.
///
/// It behaves as a checkpoint store does: what it returns is checked against the file's length and hash, and a
/// [sink](Self::sink_on) reuses only what its base names.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    files: Arc<Mutex<HashMap<ContentHash, Arc<[u8]>>>>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A sink for a checkpoint without a base: nothing is reused.
    pub fn sink(&self) -> MemorySink {
        self.sink_on([])
    }

    /// A sink for a checkpoint whose base consists of these handles: their files may be reused.
    pub fn sink_on<'a>(&self, base: impl IntoIterator<Item = &'a KeyedStateHandle>) -> MemorySink {
        let base = base.into_iter().flat_map(KeyedStateHandle::all_files).map(|file| file.hash).collect();
        MemorySink {
            store: self.clone(),
            base,
            cancelled: AtomicBool::new(false),
            uploaded_bytes: AtomicU64::new(0),
            reused_bytes: AtomicU64::new(0),
        }
    }

    /// Stores `bytes`.
    pub fn insert(&self, name: &str, bytes: &[u8]) -> StateFile {
        let hash = ContentHash(*blake3::hash(bytes).as_bytes());
        self.files().insert(hash, bytes.into());
        StateFile { name: name.to_owned(), hash, length: bytes.len() as u64 }
    }

    /// Flips one bit in the middle of a file.
    ///
    /// # Panics
    /// If there is no such file, or it is empty.
    pub fn damage(&self, file: &StateFile) {
        let mut files = self.files();
        let mut bytes = files[&file.hash].to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        files.insert(file.hash, bytes.into());
    }

    /// Removes a file.
    pub fn remove(&self, file: &StateFile) {
        self.files().remove(&file.hash);
    }

    /// Removes every file that none of the handles names, as a store does with checkpoints it no longer retains.
    pub fn retain<'a>(&self, handles: impl IntoIterator<Item = &'a KeyedStateHandle>) {
        let named: HashSet<_> =
            handles.into_iter().flat_map(KeyedStateHandle::all_files).map(|file| file.hash).collect();
        self.files().retain(|hash, _| named.contains(hash));
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.files().len()
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.files().is_empty()
    }

    fn files(&self) -> MutexGuard<'_, HashMap<ContentHash, Arc<[u8]>>> {
        self.files.lock()
    }

    fn find(&self, file: &StateFile) -> Result<Arc<[u8]>> {
        let found = self.files().get(&file.hash).cloned();
        found.ok_or_else(|| Error::corrupt("a file of the state is missing").with(Context::Path, &file.name))
    }
}

impl CheckpointSource for MemoryStore {
    fn fetch(&self, file: &StateFile, to: &Path) -> Result<()> {
        let bytes = self.find(file)?;
        if !is_content_of(&bytes, file) {
            return Err(
                Error::corrupt("a file of the state differs from what was written").with(Context::Path, to.display())
            );
        }
        let mut local = std::fs::File::create_new(to).map_err(|cause| Error::io("cannot create a file", to, cause))?;
        io::copy(&mut &bytes[..], &mut local).map_err(|cause| Error::io("cannot write a file", to, cause))?;
        Ok(())
    }

    fn fetch_all(&self, files: &[(&StateFile, PathBuf)]) -> Result<()> {
        files.iter().try_for_each(|(file, to)| self.fetch(file, to))
    }

    fn open(&self, file: &StateFile) -> Result<Box<dyn Read + Send>> {
        let bytes = self.find(file)?;
        let intact = is_content_of(&bytes, file);
        Ok(Box::new(Content { bytes, position: 0, intact }))
    }
}

fn is_content_of(bytes: &[u8], file: &StateFile) -> bool {
    bytes.len() as u64 == file.length && blake3::hash(bytes).as_bytes() == &file.hash.0
}

/// A file's content. Only its end tells whether it was what was asked for.
struct Content {
    bytes: Arc<[u8]>,
    position: usize,
    intact: bool,
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = (&self.bytes[self.position..]).read(buffer)?;
        self.position += read;
        if read == 0 && !buffer.is_empty() && !self.intact {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "length or hash differs"));
        }
        Ok(read)
    }
}

/// The files of one checkpoint on their way into a [`MemoryStore`]. It counts what it takes.
#[derive(Debug)]
pub struct MemorySink {
    store: MemoryStore,
    base: HashSet<ContentHash>,
    cancelled: AtomicBool,
    uploaded_bytes: AtomicU64,
    reused_bytes: AtomicU64,
}

impl MemorySink {
    /// Bytes of the files that were stored.
    pub fn uploaded_bytes(&self) -> u64 {
        self.uploaded_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of the files that were taken from the base.
    pub fn reused_bytes(&self) -> u64 {
        self.reused_bytes.load(Ordering::Relaxed)
    }

    /// Makes every later call fail with [`Closed`](headpond_state::ErrorKind::Closed).
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    fn check(&self) -> Result<()> {
        match self.cancelled.load(Ordering::Relaxed) {
            true => Err(Error::closed("the checkpoint was cancelled")),
            false => Ok(()),
        }
    }

    fn put(&self, name: &str, content: &mut dyn Read) -> Result<StateFile> {
        self.check()?;
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(|cause| Error::io("cannot read a state file", name, cause))?;
        self.check()?;
        self.uploaded_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(self.store.insert(name, &bytes))
    }
}

impl CheckpointSink for MemorySink {
    fn put_file(&self, name: &str, path: &Path) -> Result<StateFile> {
        let mut file = std::fs::File::open(path).map_err(|cause| Error::io("cannot open a state file", path, cause))?;
        self.put(name, &mut file)
    }

    fn put_stream(&self, name: &str, content: &mut dyn Read) -> Result<StateFile> {
        self.put(name, content)
    }

    fn reuse(&self, file: &StateFile) -> Result<bool> {
        self.check()?;
        let reused = self.base.contains(&file.hash);
        if reused {
            self.reused_bytes.fetch_add(file.length, Ordering::Relaxed);
        }
        Ok(reused)
    }
}
