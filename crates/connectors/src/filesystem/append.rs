//! The sink of a table without primary key: files to which nothing is ever added.
//!
//! Each checkpoint publishes the files of every worker that had rows, or [holds them back](super::compaction). Falling
//! back removes the files of later checkpoints, which their names tell.

use super::compaction::CompactionPolicy;
use super::directory::Directory;
use super::output_claim::OwnersWriter;
use super::rolling::{RollingPolicy, policies};
use super::row_writer::RowWriter;
use super::staged_file::{ClosedFile, StagedFile};
use crate::table::TableDescription;
use headpond_runtime::sink::{Committable, OutputClaim, Sink, SinkContext, SinkJob, SinkSetup, SinkWriter};
use headpond_runtime::{ChangeBatch, Error, Keys, Result};
use headpond_state::{AttemptId, CheckpointId};
use serde_json::Value;
use std::time::Instant;

/// How much is written at once.
const WRITE_BYTES: usize = 1 << 20;
/// In a committable: no file comes behind it, so none is held back.
const LAST: &str = "last";

/// Writes rows, or changes of rows, one behind the other.
#[derive(Debug)]
pub(super) struct AppendSink {
    table: TableDescription,
    directory: Directory,
    insert: String,
    changelog: bool,
    rolling: RollingPolicy,
    compaction: Option<CompactionPolicy>,
}

#[derive(Debug)]
struct AppendWriter {
    table: TableDescription,
    directory: Directory,
    changelog: bool,
    attempt: AttemptId,
    subtask: usize,
    rows: RowWriter,
    /// What the lines look like.
    form: String,
    rolling: RollingPolicy,
    /// The file that is written, and when it was begun.
    open: Option<(StagedFile, Instant)>,
    closed: Vec<ClosedFile>,
    unwritten: Vec<u8>,
}

impl AppendSink {
    /// # Errors
    /// [`Invalid`](headpond_runtime::ErrorKind::Invalid) for options that do not go together.
    pub(super) fn new(table: TableDescription, directory: Directory, insert: String, changelog: bool) -> Result<Self> {
        let (rolling, compaction) = policies(&table)?;
        Ok(AppendSink { table, directory, insert, changelog, rolling, compaction })
    }
}

impl Sink for AppendSink {
    fn claim(&self, job: &SinkJob) -> Result<Box<dyn OutputClaim>> {
        self.directory.claim_output(job)
    }

    fn can_rewind(&self) -> bool {
        true
    }

    fn check(&self, job: &SinkJob) -> Result<()> {
        self.directory.check(job, &self.insert)
    }

    fn check_restored(&self, job: &SinkJob, committables: &[Committable]) -> Result<()> {
        self.directory.check_restored(job, &self.insert, committables)
    }

    fn check_staged(&self, job: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()> {
        self.directory.check_has_restored(job)?;
        let prepared = self.directory.prepared(committables)?;
        prepared.iter().try_for_each(|prepared| self.directory.check_staged(&prepared.file))?;
        self.directory.check_held_back(checkpoint)
    }

    fn rewind(&self, job: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()> {
        self.directory.claim(job, &self.insert)?;
        self.directory.take_over(job, checkpoint)?;
        self.directory.abort_compaction()?;
        let committed = self.directory.committed_up_to(checkpoint)?;
        self.directory.unstage_after(checkpoint)?;
        for name in self.directory.published()? {
            if Some(name.checkpoint) > checkpoint {
                self.directory.cut_behind(checkpoint, name)?;
            }
        }
        self.directory.forget_members_of_absent()?;
        self.directory.settle(&job.attempt, committed.as_ref())
    }

    fn open(&self, setup: SinkSetup<'_>) -> Result<Box<dyn SinkWriter>> {
        self.table.check_schema(&setup.schema)?;
        let writer = AppendWriter {
            table: self.table.clone(),
            directory: self.directory.clone(),
            changelog: self.changelog,
            attempt: setup.job.attempt.clone(),
            subtask: setup.subtask,
            rows: RowWriter::of(&self.table)?,
            form: form(&self.table, self.changelog),
            rolling: self.rolling,
            open: None,
            closed: Vec::new(),
            unwritten: Vec::new(),
        };
        Ok(Box::new(OwnersWriter::new(writer, &self.directory, setup.job)))
    }

    fn commit(&self, job: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()> {
        self.directory.check_newest(job)?;
        let publish = || {
            let prepared = self.directory.prepared(committables)?;
            let last = committables.iter().any(|committable| committable.data.get(LAST) == Some(&Value::Bool(true)));
            let committed = self.directory.commit(checkpoint, prepared, self.compaction, last)?;
            self.directory.settle(&job.attempt, Some(&committed))
        };
        publish().map_err(|error| self.directory.why(job, error))
    }
}

/// What lines of a table look like, so that files with other lines are told apart.
fn form(table: &TableDescription, changelog: bool) -> String {
    let mut hasher = blake3::Hasher::new();
    let columns = table.schema.fields().iter().map(|field| format!("{} {}", field.name(), field.data_type()));
    let formats = table.options.iter().filter(|(key, _)| key.starts_with("csv.") || key.starts_with("json."));
    for text in columns.chain(formats.map(|(key, value)| format!("{key}={value}"))).chain([changelog.to_string()]) {
        hasher.update(text.as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

impl AppendWriter {
    /// Hands on what was written, and closes the file when it is large or old enough.
    fn write_through(&mut self) -> Result<()> {
        let (file, begun) = match &mut self.open {
            Some(open) => open,
            none => {
                let mut file = self.directory.begin(&self.attempt, self.subtask, self.closed.len())?;
                self.directory.write(&mut file, &self.rows.header(&self.table, self.changelog)?)?;
                file.end_header();
                none.insert((file, Instant::now()))
            }
        };
        self.directory.write(file, &self.unwritten)?;
        self.unwritten.clear();
        if file.length >= self.rolling.file_size || begun.elapsed() >= self.rolling.rollover_interval {
            self.roll()?;
        }
        Ok(())
    }

    /// Closes the file.
    fn roll(&mut self) -> Result<()> {
        if let Some((file, _)) = self.open.take() {
            self.closed.push(self.directory.close(file)?);
        }
        Ok(())
    }
}

impl SinkWriter for AppendWriter {
    fn write(&mut self, batch: &ChangeBatch, _keys: Option<&Keys>, _cx: &mut SinkContext<'_>) -> Result<()> {
        if !self.changelog && !batch.is_insert_only() {
            return Err(Error::internal(format!(
                "changes come to table {}, whose input was said to be rows",
                self.table.name
            )));
        }
        self.table.check_not_null(batch.rows())?;
        let write_bytes = WRITE_BYTES.min(usize::try_from(self.rolling.file_size).unwrap_or(WRITE_BYTES));
        for row in 0..batch.num_rows() {
            let kind = self.changelog.then(|| batch.kind(row));
            self.rows.write(batch.rows(), row, kind, &mut self.unwritten)?;
            if self.unwritten.len() >= write_bytes {
                self.write_through()?;
            }
        }
        Ok(())
    }

    fn prepare(&mut self, checkpoint: CheckpointId, last: bool, _cx: &mut SinkContext<'_>) -> Result<Option<Value>> {
        if !self.unwritten.is_empty() {
            self.write_through()?;
        }
        self.roll()?;
        let closed = std::mem::take(&mut self.closed);
        let mut committable = if closed.is_empty() {
            let Some(committable) = self.directory.committable_without_file(self.subtask)? else { return Ok(None) };
            committable
        } else {
            let files = self.directory.prepare(closed, &self.attempt, self.subtask, checkpoint, &self.form)?;
            self.directory.committable(&files)?
        };
        if last {
            committable[LAST] = Value::Bool(true);
        }
        Ok(Some(committable))
    }
}
