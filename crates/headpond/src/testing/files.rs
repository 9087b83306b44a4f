//! The files of a snapshot, in memory.

use headpond_state::{
    CheckpointSink, CheckpointSource, ContentHash, Context, Error, KeyedStateHandle, Result, StateFile,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

/// What a harness has taken of its function's state, to begin another one with.
#[derive(Debug)]
pub struct HarnessSnapshot {
    pub(super) handle: KeyedStateHandle,
    pub(super) files: Files,
    pub(super) event_time_ms: i64,
    pub(super) processing_time_ms: i64,
}

/// Files by the hash of their bytes.
#[derive(Debug, Default)]
pub(super) struct Files(Mutex<BTreeMap<ContentHash, Vec<u8>>>);

impl Files {
    fn put(&self, name: &str, bytes: Vec<u8>) -> StateFile {
        let hash = ContentHash(*blake3::hash(&bytes).as_bytes());
        let length = bytes.len() as u64;
        self.0.lock().insert(hash, bytes);
        StateFile { name: name.to_owned(), hash, length }
    }

    fn get(&self, file: &StateFile) -> Result<Vec<u8>> {
        let found = self.0.lock().get(&file.hash).cloned();
        found.ok_or_else(|| Error::corrupt("a file of the snapshot is missing").with(Context::Text, &file.name))
    }
}

impl CheckpointSink for Files {
    fn put_file(&self, name: &str, path: &Path) -> Result<StateFile> {
        let bytes = fs::read(path).map_err(|cause| Error::io("cannot read a file of the state", path, cause))?;
        Ok(self.put(name, bytes))
    }

    fn put_stream(&self, name: &str, content: &mut dyn Read) -> Result<StateFile> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(|cause| Error::io("cannot read the state", name, cause))?;
        Ok(self.put(name, bytes))
    }

    fn reuse(&self, _: &StateFile) -> Result<bool> {
        Ok(false)
    }
}

impl CheckpointSource for Files {
    fn fetch(&self, file: &StateFile, to: &Path) -> Result<()> {
        let bytes = self.get(file)?;
        let written = File::create_new(to).and_then(|mut local| local.write_all(&bytes));
        written.map_err(|cause| Error::io("cannot write a file of the state", to, cause))
    }

    fn fetch_all(&self, files: &[(&StateFile, PathBuf)]) -> Result<()> {
        files.iter().try_for_each(|(file, to)| self.fetch(file, to))
    }

    fn open(&self, file: &StateFile) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(Cursor::new(self.get(file)?)))
    }
}
