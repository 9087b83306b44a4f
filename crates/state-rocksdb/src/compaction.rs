//! Compaction: which files are merged, and when.
//!
//! An incremental checkpoint uploads every file it has not uploaded before, so a merge costs its output once more.
//! RocksDB's own leveled compaction merges level 0 with all it overlaps as soon as four files are there; where changed
//! keys are spread over the key space that rewrites the whole state, every few checkpoints. The planner (`plan`)
//! instead lets files gather and chooses between three merges by what they rewrite; a fourth kind gives back what has
//! expired or was deleted, once there is more of it than the settings allow. This part reads the database's layout,
//! runs the chosen merges on a thread of the pool, one at a time per database, and counts.

mod plan;

use crate::database::Database;
use crate::expiry::ClockTimes;
use headpond_state::{Context, Error, Result};
use plan::{Layout, Merge, excess, plan, plan_everything, plan_flushed, reclaim};
use rust_rocksdb::{CompactionOptions as RocksCompaction, LiveFile, Range};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What may be dead, as a multiple of what is allowed, before writes wait for a merge.
const OVERDUE: f64 = 1.5;

/// Deleted ranges whose extent is asked for at a time.
const RANGES_MEASURED: usize = 256;

/// Bytes of a state that are merged before a checkpoint's files are listed: a second's work or two.
const FLUSHED_MAX: u64 = 128 << 20;

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
    /// Merges what the planner wants merged, and says whether that was anything. Leaves a cut whose files are not
    /// listed alone: the merge follows after it.
    pub(crate) fn compact_where_due(&self) -> Result<bool> {
        let _one_at_a_time = self.compacting.lock();
        let mut expired_bytes = 0;
        let mut merged = false;
        for name in self.column_families() {
            while !self.is_closed() {
                // The time is taken first: what is merged now must have expired by the cut that may follow.
                let moment = ClockTimes::now(&self.clock);
                if self.unlisted_cut().is_some() {
                    return Ok(merged);
                }
                let Some(layout) = self.layout_if_due(&name, moment)? else {
                    self.ledger.lock().family(&name).overdue = false;
                    break;
                };
                let options = &self.shared.options.compaction;
                self.ledger.lock().family(&name).overdue = excess(&layout, options) > OVERDUE;
                let Some(merge) = reclaim(&layout, options).or_else(|| plan(&layout, options)) else {
                    self.ledger.lock().family(&name).overdue = false;
                    expired_bytes += layout.expired();
                    break;
                };
                if let Err(error) = self.merge(&name, &layout, &merge, moment) {
                    // Whoever waits would wait for ever.
                    self.ledger.lock().family(&name).overdue = false;
                    return Err(error);
                }
                merged = true;
            }
        }
        self.expired_bytes.store(expired_bytes, Ordering::Relaxed);
        Ok(merged)
    }

    /// Merges what was flushed for a cut into the base, where that is little work and no other merge is under way: so
    /// it is uploaded once, by the checkpoint, and not a second time after a merge. Leaves out what has expired at
    /// `moment`, that of the cut.
    pub(crate) fn compact_flushed(&self, moment: ClockTimes) -> Result<()> {
        let Some(_one_at_a_time) = self.compacting.try_lock() else { return Ok(()) };
        for name in self.column_families() {
            let mut bytes_left = FLUSHED_MAX;
            while !self.is_closed() && self.property(&name, "rocksdb.num-files-at-level0")? > 0 {
                let layout = self.layout(&name, moment)?;
                let Some((merge, bytes)) = plan_flushed(&layout, &self.shared.options.compaction, bytes_left) else {
                    break;
                };
                self.merge(&name, &layout, &merge, moment)?;
                bytes_left -= bytes;
            }
        }
        Ok(())
    }

    /// Merges all files of every column family into its base, and leaves out what has expired at `moment`.
    pub(crate) fn compact_all(&self, moment: ClockTimes) -> Result<CompactionTotals> {
        let _one_at_a_time = self.compacting.lock();
        let mut totals = CompactionTotals::default();
        for name in self.column_families() {
            self.check()?;
            let layout = self.layout(&name, moment)?;
            if let Some(merge) = plan_everything(&layout, &self.shared.options.compaction) {
                totals.add(self.merge(&name, &layout, &merge, moment)?);
            }
        }
        Ok(totals)
    }

    /// The layout of a column family, if there may be something to do.
    fn layout_if_due(&self, column_family: &str, moment: ClockTimes) -> Result<Option<Layout>> {
        let run_limit = self.shared.options.compaction.run_limit.max(2) as u64;
        let expires = self.expiry(column_family).is_some_and(|expiry| expiry.at(moment).is_some());
        let due = expires
            || self.ledger.lock().family(column_family).has_deletions()
            || self.property(column_family, "rocksdb.num-files-at-level0")? >= run_limit;
        due.then(|| self.layout(column_family, moment)).transpose()
    }

    /// The files of a column family, with what of them is dead.
    fn layout(&self, column_family: &str, moment: ClockTimes) -> Result<Layout> {
        let files: Vec<LiveFile> =
            self.live_files()?.into_iter().filter(|file| file.column_family_name == column_family).collect();
        let expires = self.expiry(column_family);
        let expiry = expires.as_ref().and_then(|expiry| expiry.at(moment));
        let mut ledger = self.ledger.lock();
        let known = ledger.family(column_family);
        known.observe(&files, expires.and_then(|expiry| expiry.restored_ages()));
        let expired = |file: &LiveFile| {
            let share = expiry.zip(known.ages(&file.name)).map(|((ttl, now), ages)| ages.expired_share(ttl, now));
            (file.size as f64 * share.unwrap_or(0.0)) as u64
        };
        let mut layout = Layout::of(&files, expired);
        layout.hidden = known.hidden_by_deletes();
        let (ranges, each_stands_for) = known.deleted_ranges();
        layout.has_ranges = !ranges.is_empty();
        if layout.has_ranges {
            let step = ranges.len().div_ceil(RANGES_MEASURED);
            let sample: Vec<_> = ranges.iter().step_by(step).map(|(start, end)| Range::new(start, end)).collect();
            let sizes = self
                .rocks
                .get_approximate_sizes_cf(&self.column_family(column_family)?, &sample)
                .map_err(|cause| self.error("cannot measure the local database", cause))?;
            let measured = sizes.iter().fold(0.0, |sum, size| sum + *size as f64);
            layout.hidden += (measured * ranges.len() as f64 / sample.len() as f64 * each_stands_for) as u64;
        }
        Ok(layout)
    }

    fn merge(
        &self,
        column_family: &str,
        layout: &Layout,
        merge: &Merge,
        moment: ClockTimes,
    ) -> Result<CompactionTotals> {
        let mut options = RocksCompaction::default();
        options.set_output_file_size_limit(merge.file_size);
        options.set_canceled(Arc::clone(&self.cancel));
        let family = self.column_family(column_family)?;
        let expiry = self.expiry(column_family);
        expiry.iter().for_each(|expiry| expiry.begin_merge(moment));
        let done = self
            .rocks
            .compact_files_cf(&family, &options, merge.files.iter().map(String::as_str), merge.output_level)
            .map_err(|cause| match self.is_closed() {
                true => Error::closed("the state backend is closed"),
                false => self.error("cannot merge files", cause).with(Context::State, column_family),
            });
        let kept = expiry.and_then(|expiry| expiry.end_merge());
        let done = done?;
        let everything = merge.files.len() == layout.file_count();
        self.ledger.lock().family(column_family).merged(&done.output_files, kept, everything);
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
        self.shared.compacted.lock().add(totals);
        Ok(totals)
    }
}
