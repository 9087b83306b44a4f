//! The sink of a table without primary key: files to which nothing is ever added.
//!
//! Each checkpoint publishes one file of every worker that had rows. Falling back removes the files of later
//! checkpoints, which their names tell.

use super::directory::{Directory, FileName};
use super::output_claim::OwnersWriter;
use super::row_writer::RowWriter;
use super::staged_file::StagedFile;
use crate::table::TableDescription;
use headpond_runtime::sink::{Committable, OutputClaim, Sink, SinkContext, SinkJob, SinkSetup, SinkWriter};
use headpond_runtime::{ChangeBatch, Error, Keys, Result};
use headpond_state::{AttemptId, CheckpointId};
use serde_json::Value;

/// How much is written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Writes rows, or changes of rows, one behind the other.
#[derive(Debug)]
pub(super) struct AppendSink {
    table: TableDescription,
    directory: Directory,
    insert: String,
    changelog: bool,
}

#[derive(Debug)]
struct AppendWriter {
    table: TableDescription,
    directory: Directory,
    changelog: bool,
    attempt: AttemptId,
    subtask: usize,
    rows: RowWriter,
    file: Option<StagedFile>,
    unwritten: Vec<u8>,
}

impl AppendSink {
    pub(super) fn new(table: TableDescription, directory: Directory, insert: String, changelog: bool) -> Self {
        AppendSink { table, directory, insert, changelog }
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

    fn check_staged(&self, job: &SinkJob, _checkpoint: CheckpointId, committables: &[Committable]) -> Result<()> {
        self.directory.check_has_restored(job)?;
        let staged_files = committables.iter().filter(|committable| committable.data.get("staged").is_some());
        staged_files.into_iter().try_for_each(|file| self.directory.check_staged(file))
    }

    fn rewind(&self, job: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()> {
        self.directory.claim(job, &self.insert)?;
        self.directory.take_over(job, checkpoint)?;
        self.directory.unstage_after(checkpoint)?;
        for name in self.directory.published()? {
            if Some(name.checkpoint) > checkpoint {
                self.directory.remove(name)?;
            }
        }
        self.directory.settle(&job.attempt, self.directory.committed()?.min(checkpoint))
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
            file: None,
            unwritten: Vec::new(),
        };
        Ok(Box::new(OwnersWriter::new(writer, &self.directory, setup.job)))
    }

    fn commit(&self, job: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()> {
        self.directory.check_newest(job)?;
        let publish = || {
            for committable in self.directory.prepared(committables)? {
                self.directory.publish(committable)?;
            }
            self.directory.settle(&job.attempt, Some(checkpoint))
        };
        publish().map_err(|error| self.directory.why(job, error))
    }
}

impl AppendWriter {
    fn write_through(&mut self) -> Result<()> {
        if self.file.is_none() {
            let mut file = self.directory.begin(&self.attempt, self.subtask)?;
            self.directory.write(&mut file, &self.rows.header(&self.table, self.changelog)?)?;
            self.file = Some(file);
        }
        if let Some(file) = &mut self.file {
            self.directory.write(file, &self.unwritten)?;
        }
        self.unwritten.clear();
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
        for row in 0..batch.num_rows() {
            let kind = self.changelog.then(|| batch.kind(row));
            self.rows.write(batch.rows(), row, kind, &mut self.unwritten)?;
            if self.unwritten.len() >= WRITE_BYTES {
                self.write_through()?;
            }
        }
        Ok(())
    }

    fn prepare(&mut self, checkpoint: CheckpointId, _last: bool, _cx: &mut SinkContext<'_>) -> Result<Option<Value>> {
        if !self.unwritten.is_empty() {
            self.write_through()?;
        }
        let Some(file) = self.file.take() else { return self.directory.committable_without_file(self.subtask) };
        let name = FileName { subtask: self.subtask, checkpoint };
        let staged = self.directory.prepare(file, &self.attempt, name)?;
        self.directory.committable(Some(&staged)).map(Some)
    }
}
