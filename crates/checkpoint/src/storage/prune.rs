//! Clearing up after a job that does not run.

use super::{CheckpointStorage, Collected};
use crate::decisions::retention;
use crate::decisions::rewind::considered;
use headpond_state::{AttemptId, CheckpointId, Context, Error, Remedy, Result};
use std::time::{SystemTime, UNIX_EPOCH};

impl CheckpointStorage {
    /// Deletes what no restart of a job needs that does not run: checkpoints beyond the newest `keep` (`None`: all are
    /// kept), directories without a manifest, bytes on their way, and state files that no remaining manifest names.
    /// Owns the job meanwhile.
    ///
    /// On a store without locks nobody can tell whether the job runs; there it needs `take_over`, and a job that runs
    /// stops at its next checkpoint.
    ///
    /// # Errors
    /// [`Fenced`](headpond_state::ErrorKind::Fenced) when the job runs, [`Invalid`](headpond_state::ErrorKind::Invalid)
    /// without `take_over` where it is needed, [`Corrupt`](headpond_state::ErrorKind::Corrupt) when a manifest cannot
    /// be read and so nobody knows which files it needs; else as the store's.
    pub fn prune(&self, keep: Option<usize>, take_over: bool) -> Result<Collected> {
        if !take_over && !self.inner.store.has_locks() {
            return Err(Error::invalid("this store cannot tell whether the job runs")
                .with(Context::Path, self.location())
                .remedy(Remedy::TakeOver));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        self.own(&AttemptId(format!("prune-{now:x}-{:x}", std::process::id())))?;
        let pruned = self.prune_owned(keep);
        self.release();
        pruned
    }

    fn prune_owned(&self, keep: Option<usize>) -> Result<Collected> {
        let observed = self.inner.references().observed();
        if let Some(unreadable) = observed.iter().find(|found| found.record.is_none()) {
            return Err(Error::corrupt("a manifest cannot be read, so nobody knows which files it needs")
                .with(Context::Path, self.locate(unreadable.id))
                .hint(
                    "`headpond checkpoint verify` says what is wrong; remove that directory if nothing can be saved",
                ));
        }
        // What a restore left behind goes with the first checkpoint after it.
        let newest = considered(&observed, self.rewind()?.as_ref()).last().map(|found| found.id);
        let beyond: Vec<CheckpointId> = match (newest, keep) {
            (Some(newest), Some(keep)) => retention::beyond(&observed, newest, keep),
            _ => Vec::new(),
        };
        let candidates = self.shared_files()?;
        self.delete_beyond(beyond, &candidates)
    }
}
