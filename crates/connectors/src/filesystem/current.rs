//! The sink of a table with a primary key: files that together are its current rows.
//!
//! Each worker keeps the current line of every key of its key groups as state. At a cut it writes them all to a file,
//! unless nothing changed since the last one; the commit publishes it and removes its predecessor. The first cut of a
//! run writes a file in any case: with another parallelism the old files have other key groups, and only a full set of
//! new ones replaces them.

use super::committed::Committed;
use super::current_lines::CurrentLines;
use super::directory::Directory;
use super::output_claim::OwnersWriter;
use super::prepared_file::Prepared;
use super::row_writer::RowWriter;
use crate::table::TableDescription;
use headpond_runtime::sink::{Committable, OutputClaim, Sink, SinkContext, SinkJob, SinkSetup, SinkWriter};
use headpond_runtime::{ChangeBatch, Error, Keys, Result};
use headpond_state::{AttemptId, CheckpointId, Migration, StateDescriptor};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How much is written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Writes the current rows.
#[derive(Debug)]
pub(super) struct CurrentSink {
    table: TableDescription,
    directory: Directory,
    insert: String,
    upsert: bool,
}

#[derive(Debug)]
struct CurrentWriter {
    table: TableDescription,
    directory: Directory,
    attempt: AttemptId,
    subtask: usize,
    parallelism: usize,
    rows: RowWriter,
    lines: CurrentLines,
    changed: bool,
}

impl CurrentSink {
    pub(super) fn new(table: TableDescription, directory: Directory, insert: String, upsert: bool) -> Self {
        CurrentSink { table, directory, insert, upsert }
    }
}

impl Sink for CurrentSink {
    fn claim(&self, job: &SinkJob) -> Result<Box<dyn OutputClaim>> {
        self.directory.claim_output(job)
    }

    fn states(&self) -> Result<Vec<StateDescriptor>> {
        Ok(vec![CurrentLines::descriptor(&self.table)?])
    }

    fn migration(&self, restored: &StateDescriptor, _declared: &StateDescriptor) -> Result<Migration> {
        CurrentLines::migration(&self.table, self.upsert, &RowWriter::of(&self.table)?.line_form(), restored)
    }

    fn check_restored(&self, job: &SinkJob, committables: &[Committable]) -> Result<()> {
        self.directory.check_restored(job, &self.insert, committables)
    }

    fn check_staged(&self, job: &SinkJob, _checkpoint: CheckpointId, committables: &[Committable]) -> Result<()> {
        self.directory.check_has_restored(job)?;
        let newest = newest_of(self.directory.prepared(committables)?).newest;
        newest.into_values().try_for_each(|prepared| self.directory.check_staged(&prepared.file))
    }

    fn can_rewind(&self) -> bool {
        true
    }

    fn check(&self, job: &SinkJob) -> Result<()> {
        self.directory.check(job, &self.insert)
    }

    /// The files of a later checkpoint stay until the next commit, which replaces them all: their predecessors are
    /// gone.
    fn rewind(&self, job: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()> {
        self.directory.claim(job, &self.insert)?;
        self.directory.take_over(job, checkpoint)?;
        self.directory.unstage_after(checkpoint)?;
        if checkpoint.is_none() {
            self.directory.published()?.into_iter().try_for_each(|name| self.directory.remove(name))?;
        }
        self.directory.settle(&job.attempt, self.directory.committed_up_to(checkpoint)?.as_ref())
    }

    fn open(&self, setup: SinkSetup<'_>) -> Result<Box<dyn SinkWriter>> {
        self.table.check_schema(&setup.schema)?;
        let state = setup.state.ok_or_else(no_state)?;
        let writer = CurrentWriter {
            directory: self.directory.clone(),
            attempt: setup.job.attempt.clone(),
            subtask: setup.subtask,
            parallelism: setup.parallelism,
            rows: RowWriter::of(&self.table)?,
            lines: CurrentLines::register(&self.table, self.upsert, state)?,
            table: self.table.clone(),
            changed: true,
        };
        Ok(Box::new(OwnersWriter::new(writer, &self.directory, setup.job)))
    }

    fn commit(&self, job: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()> {
        self.directory.check_newest(job)?;
        self.publish(job, checkpoint, committables).map_err(|error| self.directory.why(job, error))
    }
}

/// The files of each worker.
struct OfWorkers<'a> {
    newest: BTreeMap<usize, Prepared<'a>>,
    older: Vec<Prepared<'a>>,
}

/// Of a worker's files only the newest counts; earlier ones are of checkpoints that came to nothing.
fn newest_of(files: Vec<Prepared<'_>>) -> OfWorkers<'_> {
    let mut of_workers = OfWorkers { newest: BTreeMap::new(), older: Vec::new() };
    for file in files {
        let known = of_workers.newest.get(&file.name.subtask);
        if known.is_some_and(|known| known.name > file.name) {
            of_workers.older.push(file);
        } else {
            of_workers.older.extend(of_workers.newest.insert(file.name.subtask, file));
        }
    }
    of_workers
}

impl CurrentSink {
    fn publish(&self, job: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()> {
        let OfWorkers { newest, older } = newest_of(self.directory.prepared(committables)?);
        older.iter().try_for_each(|older| self.directory.unstage(&older.file))?;
        newest.values().try_for_each(|prepared| self.directory.publish(&prepared.file))?;
        self.remove_replaced(&newest)?;
        self.directory.settle(&job.attempt, Some(&Committed::new(checkpoint)))
    }

    /// Removes the files that the published ones replace.
    fn remove_replaced(&self, newest: &BTreeMap<usize, Prepared<'_>>) -> Result<()> {
        let published = self.directory.published()?;
        // Where a commit is repeated after falling back, later files are there and its own are gone.
        if !newest.values().all(|prepared| published.contains(&prepared.name)) {
            return Ok(());
        }
        let workers: BTreeSet<u64> =
            newest.values().filter_map(|prepared| prepared.committable.data.get("of")?.as_u64()).collect();
        let is_full_set = workers.len() == 1 && workers.first() == Some(&(newest.len() as u64));
        for name in published {
            let replaced = match newest.get(&name.subtask) {
                Some(prepared) if name == prepared.name => false,
                Some(_) => true,
                None => is_full_set,
            };
            if replaced {
                self.directory.remove(name)?;
            }
        }
        Ok(())
    }
}

impl SinkWriter for CurrentWriter {
    fn write(&mut self, batch: &ChangeBatch, keys: Option<&Keys>, cx: &mut SinkContext<'_>) -> Result<()> {
        self.table.check_not_null(batch.rows())?;
        let state = cx.state.as_deref_mut().ok_or_else(no_state)?;
        let rows = &mut self.rows;
        self.lines.apply(batch, keys, state, |row, out| rows.write(batch.rows(), row, None, out))?;
        self.changed |= !batch.is_empty();
        Ok(())
    }

    fn prepare(&mut self, checkpoint: CheckpointId, _last: bool, cx: &mut SinkContext<'_>) -> Result<Option<Value>> {
        if !self.changed {
            return self.directory.committable_without_file(self.subtask);
        }
        let state = cx.state.as_deref_mut().ok_or_else(no_state)?;
        let mut file = self.directory.begin(&self.attempt, self.subtask, 0)?;
        let mut unwritten = self.rows.header(&self.table, false)?;
        self.lines.visit(state, |_key, line| {
            unwritten.extend_from_slice(line);
            if unwritten.len() >= WRITE_BYTES {
                self.directory.write(&mut file, &unwritten)?;
                unwritten.clear();
            }
            Ok(())
        })?;
        self.directory.write(&mut file, &unwritten)?;
        let closed = vec![self.directory.close(file)?];
        let files = self.directory.prepare(closed, &self.attempt, self.subtask, checkpoint, "")?;
        let mut committable = self.directory.committable(&files)?;
        committable["of"] = json!(self.parallelism);
        self.changed = false;
        Ok(Some(committable))
    }
}

#[cold]
pub(crate) fn no_state() -> Error {
    Error::internal("the sink of a table with a primary key was opened without state")
}
