//! Reading a checkpoint's files back, each checked as it is read.

use super::CheckpointStorage;
use super::intake::StateFiles;
use crate::layout::SharedName;
use crate::parallel::in_parallel;
use crate::store::VerifyingReader;
use headpond_state::{CheckpointSource, Context, Error, Result, StateFile};
use std::fs::OpenOptions;
use std::io::{self, BufReader, ErrorKind as Io, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const READ_BUFFER_BYTES: usize = 256 << 10;

/// The files of one job.
#[derive(Debug)]
struct SharedFiles {
    files: StateFiles,
}

impl StateFiles {
    /// Where the files come from, each checked as it is read.
    pub fn source(&self) -> Arc<dyn CheckpointSource> {
        Arc::new(SharedFiles { files: self.clone() })
    }
}

impl CheckpointStorage {
    /// Where the files of this job's checkpoints come from, each checked as it is read.
    pub fn source(&self) -> Arc<dyn CheckpointSource> {
        self.files().source()
    }
}

impl SharedFiles {
    fn reader(&self, file: &StateFile) -> Result<VerifyingReader<Box<dyn Read + Send>>> {
        let StateFiles { store, layout, .. } = &self.files;
        let key = layout.shared_file(&SharedName::of(file));
        let location = store.locate(&key);
        let opened = store.open(&key)?.ok_or_else(|| {
            Error::corrupt(format!("a file of the checkpoint is missing: {} ({} bytes)", file.name, file.length))
                .with(Context::Path, &location)
        })?;
        Ok(VerifyingReader::new(opened.content, file.clone(), location))
    }
}

impl CheckpointSource for SharedFiles {
    fn fetch(&self, file: &StateFile, to: &Path) -> Result<()> {
        // Copied, not linked: whatever happens to the local file, the checkpoint's stays as it is.
        let mut content = BufReader::with_capacity(READ_BUFFER_BYTES, self.reader(file)?);
        let mut target = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(to)
            .map_err(|e| Error::io("a file to restore cannot be created", to, e))?;
        io::copy(&mut content, &mut target).map(drop).map_err(|e| {
            std::fs::remove_file(to).ok();
            match e.kind() {
                Io::InvalidData => Error::corrupt("a file of the checkpoint is damaged").because(e),
                _ => Error::io("a file of the checkpoint cannot be restored", to, e),
            }
        })
    }

    fn fetch_all(&self, files: &[(&StateFile, PathBuf)]) -> Result<()> {
        in_parallel(self.files.store.readers().max(1), files, |(file, to)| self.fetch(file, to)).map(drop)
    }

    fn open(&self, file: &StateFile) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(BufReader::with_capacity(READ_BUFFER_BYTES, self.reader(file)?)))
    }
}
