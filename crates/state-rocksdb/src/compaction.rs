//! Compaction: which files are merged, and when.
//!
//! An incremental checkpoint uploads every file it has not uploaded before, so a merge costs its output once more.
//! RocksDB's own leveled compaction merges level 0 with all it overlaps as soon as four files are there; where changed
//! keys are spread over the key space that rewrites the whole state, every few checkpoints. The planner (`plan`) instead
//! lets files gather and chooses between three merges by what they rewrite. This part reads the database's layout, runs
//! the chosen merges on a thread of the pool, one at a time per database, and counts.

mod plan;

use crate::database::{Database, lock};
use headpond_state::{Context, Error, Result};
use plan::{Layout, Merge, plan, plan_everything};
use rust_rocksdb::CompactionOptions as RocksCompaction;
use std::sync::Arc;

/// What compactions have read and written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactionTotals {
    /// Merges.
    pub merges: u64,
    /// Bytes of the merged files.
    pub bytes_read: u64,
    /// Bytes of the files made of them.
    pub bytes_written: u64,
    /// The time merges took, in microseconds.
    pub elapsed_us: u64,
}

impl CompactionTotals {
    fn add(&mut self, other: CompactionTotals) {
        self.merges += other.merges;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.elapsed_us += other.elapsed_us;
    }
}

impl Database {
    /// Merges what the planner wants merged. Leaves a cut whose files are not listed alone: the merge follows after it.
    pub(crate) fn compact_level0(&self) -> Result<()> {
        let run_limit = self.shared.options.compaction.run_limit.max(2) as u64;
        let _one_at_a_time = lock(&self.compacting);
        for name in self.column_families() {
            while !self.is_closed()
                && self.unlisted_cut().is_none()
                && self.property(&name, "rocksdb.num-files-at-level0")? >= run_limit
            {
                let layout = Layout::of(&name, self.live_files()?);
                let Some(merge) = plan(&layout, &self.shared.options.compaction) else { break };
                self.merge(&name, &merge)?;
            }
        }
        Ok(())
    }

    /// Merges all files of every column family into its base.
    pub(crate) fn compact_all(&self) -> Result<CompactionTotals> {
        let _one_at_a_time = lock(&self.compacting);
        let mut totals = CompactionTotals::default();
        for name in self.column_families() {
            self.check()?;
            let layout = Layout::of(&name, self.live_files()?);
            if let Some(merge) = plan_everything(&layout, &self.shared.options.compaction) {
                totals.add(self.merge(&name, &merge)?);
            }
        }
        Ok(totals)
    }

    fn merge(&self, column_family: &str, merge: &Merge) -> Result<CompactionTotals> {
        let mut options = RocksCompaction::default();
        options.set_output_file_size_limit(merge.file_size);
        options.set_canceled(Arc::clone(&self.cancel));
        let family = self.column_family(column_family)?;
        let done = self
            .rocks
            .compact_files_cf(&family, &options, merge.files.iter().map(String::as_str), merge.output_level)
            .map_err(|cause| match self.is_closed() {
                true => Error::closed("the state backend is closed"),
                false => self.error("cannot merge files", cause).with(Context::State, column_family),
            })?;
        let totals = done.job_info.map_or_else(CompactionTotals::default, |job| CompactionTotals {
            merges: 1,
            bytes_read: job.info().total_input_bytes(),
            bytes_written: job.info().total_output_bytes(),
            elapsed_us: job.info().elapsed_micros(),
        });
        tracing::debug!(
            column_family,
            reason = merge.reason,
            files = merge.files.len(),
            level = merge.output_level,
            bytes_read = totals.bytes_read,
            bytes_written = totals.bytes_written,
            ms = totals.elapsed_us / 1000,
            "merged files"
        );
        lock(&self.shared.compacted).add(totals);
        Ok(totals)
    }
}
