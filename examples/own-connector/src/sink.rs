//! Writing ledgers: a file of each worker and checkpoint, seen by readers once the checkpoint is committed.
//!
//! A writer *prepares* a file under a name that begins with a dot. A commit renames it, so repeating a commit changes
//! nothing, and falling back removes the files of later checkpoints: their names tell.

use headpond::Error;
use headpond::connector::arrow_array::Array;
use headpond::connector::arrow_array::cast::AsArray;
use headpond::connector::arrow_array::types::Int64Type;
use headpond::connector::serde_json::{Value, json};
use headpond::connector::{
    ChangeBatch, CheckpointId, Committable, Keys, Result, Sink, SinkContext, SinkJob, SinkSetup, SinkWriter,
};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes to a directory.
#[derive(Debug)]
pub struct LedgerSink {
    directory: PathBuf,
}

impl LedgerSink {
    /// A sink that writes below `directory`.
    pub fn new(directory: impl AsRef<Path>) -> Self {
        LedgerSink { directory: directory.as_ref().to_owned() }
    }

    /// The checkpoint that a file is of, if it is one of ours.
    fn checkpoint_of(name: &str) -> Option<u64> {
        name.trim_start_matches('.').strip_suffix(".ledger")?.split_once('-')?.0.parse().ok()
    }
}

impl Sink for LedgerSink {
    fn can_rewind(&self) -> bool {
        true
    }

    fn check(&self, _: &SinkJob) -> Result<()> {
        fs::create_dir_all(&self.directory)
            .map_err(|cause| failed("cannot create the directory", &self.directory, cause))
    }

    fn rewind(&self, _: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()> {
        let listed = |cause| failed("cannot list the directory", &self.directory, cause);
        for entry in fs::read_dir(&self.directory).map_err(listed)? {
            let path = entry.map_err(listed)?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let of = LedgerSink::checkpoint_of(&name);
            if of.is_some_and(|of| checkpoint.is_none_or(|checkpoint| of > checkpoint.0)) {
                fs::remove_file(&path).map_err(|cause| failed("cannot take back the file", &path, cause))?;
            }
        }
        Ok(())
    }

    fn open(&self, setup: SinkSetup<'_>) -> Result<Box<dyn SinkWriter>> {
        Ok(Box::new(LedgerWriter { directory: self.directory.clone(), subtask: setup.subtask, lines: Vec::new() }))
    }

    fn commit(&self, _: &SinkJob, _: CheckpointId, committables: &[Committable]) -> Result<()> {
        for name in committables.iter().filter_map(|committable| committable.data.as_str()) {
            let (staged, published) = (self.directory.join(format!(".{name}")), self.directory.join(name));
            match fs::rename(&staged, &published) {
                // It was committed before.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound && published.exists() => {}
                renamed => renamed.map_err(|cause| failed("cannot publish the file", &published, cause))?,
            }
        }
        Ok(())
    }
}

/// The lines of one worker since the last checkpoint.
#[derive(Debug)]
struct LedgerWriter {
    directory: PathBuf,
    subtask: usize,
    lines: Vec<u8>,
}

impl SinkWriter for LedgerWriter {
    fn write(&mut self, batch: &ChangeBatch, _: Option<&Keys>, _: &mut SinkContext<'_>) -> Result<()> {
        let (keys, numbers) =
            (batch.rows().column(0).as_string::<i32>(), batch.rows().column(1).as_primitive::<Int64Type>());
        for row in 0..batch.num_rows() {
            if keys.is_null(row) || numbers.is_null(row) {
                return Err(Error::invalid("a ledger has no NULL").hint("leave such rows out: WHERE … IS NOT NULL"));
            }
            let (key, number) = (keys.value(row), numbers.value(row));
            // The new form of a row follows at once, and replaces the old one.
            let written = match batch.kind(row).short() {
                "-U" => Ok(()),
                "-D" => writeln!(self.lines, "delete {key}"),
                _ => writeln!(self.lines, "put {key} {number}"),
            };
            written.map_err(|cause| failed("cannot write a line", &self.directory, cause))?;
        }
        Ok(())
    }

    fn prepare(&mut self, checkpoint: CheckpointId, _last: bool, _: &mut SinkContext<'_>) -> Result<Option<Value>> {
        if self.lines.is_empty() {
            return Ok(None);
        }
        let name = format!("{:08}-{}.ledger", checkpoint.0, self.subtask);
        let staged = self.directory.join(format!(".{name}"));
        let write = || {
            let mut file = File::create(&staged)?;
            file.write_all(&self.lines)?;
            file.sync_all()
        };
        write().map_err(|cause| failed("cannot stage the file", &staged, cause))?;
        self.lines.clear();
        Ok(Some(json!(name)))
    }
}

fn failed(message: &str, path: &Path, cause: io::Error) -> Error {
    Error::io(message, path, cause)
}
