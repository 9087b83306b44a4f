//! A sink that writes records as lines of text files, exactly once.

use headpond::stream::{RecordSink, RecordWriter};
use headpond_runtime::sink::{Committable, SinkJob};
use headpond_runtime::{Error, Result};
use headpond_state::{CheckpointId, Context};
use serde_json::Value;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A directory of text files, one for each checkpoint and worker that had records.
///
/// A file is staged under a hidden name, durable before the checkpoint is complete, and renamed afterwards. The name
/// says which checkpoint it belongs to, so a restart knows what to take back.
#[derive(Debug, Clone)]
pub struct LineFiles {
    directory: PathBuf,
}

impl LineFiles {
    /// Files in this directory, which is made if need be.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        LineFiles { directory: directory.into() }
    }

    /// All lines that are published.
    ///
    /// # Errors
    /// [`Unavailable`](headpond_runtime::ErrorKind::Unavailable) for a file that cannot be read.
    pub fn lines(&self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for (path, _) in self.files()?.into_iter().filter(|(path, _)| !is_staged(path)) {
            let text = fs::read_to_string(&path).map_err(|error| failed("read", &path, error))?;
            lines.extend(text.lines().map(str::to_owned));
        }
        Ok(lines)
    }

    /// The files, with the checkpoints they belong to.
    fn files(&self) -> Result<Vec<(PathBuf, u64)>> {
        let entries = fs::read_dir(&self.directory).map_err(|error| failed("list", &self.directory, error))?;
        let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        Ok(paths.filter_map(|path| checkpoint_of(&path).map(|checkpoint| (path, checkpoint))).collect())
    }
}

/// The checkpoint of `part-<checkpoint>-<worker>.csv` or `.part-<checkpoint>-<worker>.csv`.
fn checkpoint_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let (checkpoint, _) = name.trim_start_matches('.').strip_prefix("part-")?.split_once('-')?;
    checkpoint.parse().ok()
}

fn is_staged(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with('.'))
}

fn failed(what: &str, path: &Path, cause: std::io::Error) -> Error {
    Error::unavailable(format!("cannot {what} a result")).with(Context::Path, path.display()).because(cause)
}

impl<T: Display + 'static> RecordSink<T> for LineFiles {
    fn can_rewind(&self) -> bool {
        true
    }

    fn check(&self, _: &SinkJob) -> Result<()> {
        fs::create_dir_all(&self.directory).map_err(|error| failed("make the directory of", &self.directory, error))
    }

    fn rewind(&self, _: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()> {
        let kept = checkpoint.map_or(0, |checkpoint| checkpoint.0);
        for (path, _) in self.files()?.into_iter().filter(|(_, of)| *of > kept) {
            fs::remove_file(&path).map_err(|error| failed("take back", &path, error))?;
        }
        Ok(())
    }

    fn open(&self, _: &SinkJob, subtask: usize) -> Result<Box<dyn RecordWriter<T>>> {
        Ok(Box::new(LineWriter { directory: self.directory.clone(), subtask, lines: String::new() }))
    }

    fn commit(&self, _: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()> {
        for name in committables.iter().filter_map(|committable| committable.data.as_str()) {
            let (staged, published) = (self.directory.join(format!(".{name}")), self.directory.join(name));
            // A commit that is repeated finds its work done.
            if !published.exists() {
                fs::rename(&staged, &published)
                    .map_err(|error| failed("publish", &staged, error).with(Context::Checkpoint, checkpoint))?;
            }
        }
        let synced = File::open(&self.directory).and_then(|directory| directory.sync_all());
        synced.map_err(|error| failed("sync the directory of", &self.directory, error))
    }
}

/// The lines of one worker since the last checkpoint.
struct LineWriter {
    directory: PathBuf,
    subtask: usize,
    lines: String,
}

impl<T: Display> RecordWriter<T> for LineWriter {
    fn write(&mut self, record: T) -> Result<()> {
        self.lines.push_str(&format!("{record}\n"));
        Ok(())
    }

    fn prepare(&mut self, checkpoint: CheckpointId) -> Result<Option<Value>> {
        if self.lines.is_empty() {
            return Ok(None);
        }
        let name = format!("part-{}-{}.csv", checkpoint.0, self.subtask);
        let path = self.directory.join(format!(".{name}"));
        let staged = File::create(&path).and_then(|mut file| {
            file.write_all(self.lines.as_bytes())?;
            file.sync_all()
        });
        staged.map_err(|error| failed("stage", &path, error))?;
        self.lines.clear();
        Ok(Some(name.into()))
    }
}
