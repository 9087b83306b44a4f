//! What people look at while a job runs, and what its summary says.

use crate::source::{Backlog, BacklogUnit};
use headpond_checkpoint::decisions::references::Retained;
use headpond_state::{CheckpointId, Error, OperatorId, StateUsage};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Figures of a running job. Cheap to update, safe to read from any thread, for display only: nothing depends on them.
#[derive(Debug)]
pub struct JobMetrics {
    started: Instant,
    rows_read: AtomicU64,
    rows_written: AtomicU64,
    rows_skipped: AtomicU64,
    ticks: AtomicU64,
    event_time_ms: AtomicI64,
    operators: Mutex<BTreeMap<(OperatorId, usize), OperatorFigures>>,
    backlogs: Mutex<Backlogs>,
    checkpoints: Mutex<CheckpointFigures>,
}

/// Figures of one operator on one worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorFigures {
    /// What its state takes.
    #[serde(with = "SentUsage")]
    pub state: StateUsage,
    /// Its counters, restored ones included.
    pub counters: BTreeMap<String, u64>,
}

/// Rows that an operator has read or written, for display.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    pub(crate) read: u64,
    pub(crate) skipped: u64,
    pub(crate) written: u64,
    /// The watermark of a source, in milliseconds.
    pub(crate) event_time_ms: Option<i64>,
    /// What a source has left to read.
    pub(crate) backlog: Option<Backlog>,
}

impl Progress {
    /// Whether there is nothing to tell.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Progress::default()
    }
}

/// What the sources have left to read.
#[derive(Debug, Default)]
struct Backlogs {
    /// The nodes of sources that end, if all do.
    bounded: Option<BTreeSet<usize>>,
    /// By node and worker: the first that was told in this run, and the last.
    told: BTreeMap<(usize, usize), (Backlog, Backlog)>,
}

/// What a job's sources have left to read in one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobBacklog {
    /// How much there is in all, and how much of it is left.
    pub backlog: Backlog,
    /// How much was read of it in this run.
    pub read: u64,
}

/// How [`StateUsage`] is sent.
#[derive(Serialize, Deserialize)]
#[serde(remote = "StateUsage")]
struct SentUsage {
    entries: u64,
    memory_bytes: u64,
    disk_bytes: u64,
    expired_bytes: u64,
    reclaimed_bytes: u64,
}

/// Figures of a job's checkpoints since it started.
#[derive(Debug, Clone, Default)]
pub struct CheckpointFigures {
    /// Checkpoints that became durable.
    pub completed: u64,
    /// Checkpoints that came to nothing.
    pub failed: u64,
    /// Why the last one came to nothing; `None` when none has failed since the last durable one.
    pub failing: Option<String>,
    /// The last durable one.
    pub last: Option<CompletedCheckpoint>,
    /// What the checkpoints take that are kept.
    pub retained: Retained,
    /// Bytes uploaded by all completed ones.
    pub uploaded_bytes: u64,
    /// The longest synchronous phase of any operator.
    pub sync_max: Duration,
    /// The time workers spent in synchronous phases, compaction at checkpoints included.
    pub sync_total: Duration,
}

/// A checkpoint that became durable.
#[derive(Debug, Clone)]
pub struct CompletedCheckpoint {
    /// Its number.
    pub id: CheckpointId,
    /// When it became durable.
    pub at: Instant,
    /// From the cut to durable.
    pub duration: Duration,
    /// Bytes uploaded.
    pub uploaded_bytes: u64,
    /// Bytes of files that the checkpoint before it had uploaded.
    pub reused_bytes: u64,
    /// Bytes of the state it holds, reused files included.
    pub state_bytes: u64,
    /// Calls to the store.
    pub requests: u64,
    /// The longest synchronous part of a worker.
    pub sync: Duration,
}

impl Default for JobMetrics {
    fn default() -> Self {
        JobMetrics {
            started: Instant::now(),
            rows_read: AtomicU64::new(0),
            rows_written: AtomicU64::new(0),
            rows_skipped: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            event_time_ms: AtomicI64::new(i64::MIN),
            operators: Mutex::default(),
            backlogs: Mutex::default(),
            checkpoints: Mutex::default(),
        }
    }
}

impl JobMetrics {
    /// How long the job has run.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Rows sources have given in this run.
    pub fn rows_read(&self) -> u64 {
        self.rows_read.load(Ordering::Relaxed)
    }

    /// Rows and changes sinks have taken in this run.
    pub fn rows_written(&self) -> u64 {
        self.rows_written.load(Ordering::Relaxed)
    }

    /// Malformed rows left out in this run.
    pub fn rows_skipped(&self) -> u64 {
        self.rows_skipped.load(Ordering::Relaxed)
    }

    /// Ticks opened in this run.
    pub fn ticks(&self) -> u64 {
        self.ticks.load(Ordering::Relaxed)
    }

    /// The latest watermark of any source in milliseconds since the epoch, if there is one yet.
    pub fn event_time_ms(&self) -> Option<i64> {
        let time = self.event_time_ms.load(Ordering::Relaxed);
        (time != i64::MIN).then_some(time)
    }

    /// The figures of each operator on each worker.
    pub fn operators(&self) -> BTreeMap<(OperatorId, usize), OperatorFigures> {
        self.operators.lock().clone()
    }

    /// What the sources have left to read, one for each unit in which they count it; a source that does not say is
    /// not in it.
    pub fn backlogs(&self) -> Vec<JobBacklog> {
        let backlogs = self.backlogs.lock();
        let mut of_units: BTreeMap<BacklogUnit, JobBacklog> = BTreeMap::new();
        for (first, last) in backlogs.told.values() {
            let read = first.left.saturating_sub(last.left);
            of_units
                .entry(last.unit)
                .and_modify(|sum| *sum = JobBacklog { backlog: sum.backlog.plus(*last), read: sum.read + read })
                .or_insert(JobBacklog { backlog: *last, read });
        }
        of_units.into_values().collect()
    }

    /// Whether the job's input ends, and every source says how much it has left.
    pub fn knows_end(&self) -> bool {
        let backlogs = self.backlogs.lock();
        let has_told = |node: &usize| backlogs.told.keys().any(|(told, _)| told == node);
        backlogs.bounded.as_ref().is_some_and(|nodes| !nodes.is_empty() && nodes.iter().all(has_told))
    }

    /// The figures of checkpoints.
    pub fn checkpoints(&self) -> CheckpointFigures {
        self.checkpoints.lock().clone()
    }

    /// What the state of all operators takes.
    pub fn state(&self) -> StateUsage {
        self.operators.lock().values().fold(StateUsage::default(), |sum, figures| sum.plus(&figures.state))
    }

    pub(crate) fn add(&self, progress: &Progress) {
        self.rows_read.fetch_add(progress.read, Ordering::Relaxed);
        self.rows_skipped.fetch_add(progress.skipped, Ordering::Relaxed);
        self.rows_written.fetch_add(progress.written, Ordering::Relaxed);
        // MAX, the end of an input, is no time to show.
        if let Some(time_ms) = progress.event_time_ms.filter(|time_ms| *time_ms != i64::MAX) {
            self.event_time_ms.fetch_max(time_ms, Ordering::Relaxed);
        }
    }

    /// Says which nodes are sources, when all of them end.
    pub(crate) fn ends_with(&self, sources: BTreeSet<usize>) {
        self.backlogs.lock().bounded = Some(sources);
    }

    pub(crate) fn set_backlog(&self, node: usize, worker: usize, backlog: Backlog) {
        let mut backlogs = self.backlogs.lock();
        backlogs.told.entry((node, worker)).or_insert((backlog, backlog)).1 = backlog;
    }

    pub(crate) fn add_tick(&self) {
        self.ticks.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_operator(&self, id: &OperatorId, worker: usize, figures: OperatorFigures) {
        self.operators.lock().insert((id.clone(), worker), figures);
    }

    pub(crate) fn sync_phase(&self, took: Duration) {
        let mut checkpoints = self.checkpoints.lock();
        checkpoints.sync_max = checkpoints.sync_max.max(took);
        checkpoints.sync_total += took;
    }

    pub(crate) fn checkpoint_completed(&self, completed: CompletedCheckpoint) {
        let mut checkpoints = self.checkpoints.lock();
        checkpoints.completed += 1;
        checkpoints.uploaded_bytes += completed.uploaded_bytes;
        checkpoints.failing = None;
        checkpoints.last = Some(completed);
    }

    pub(crate) fn checkpoints_retained(&self, retained: Retained) {
        self.checkpoints.lock().retained = retained;
    }

    pub(crate) fn checkpoint_failed(&self, error: &Error) {
        let mut checkpoints = self.checkpoints.lock();
        checkpoints.failed += 1;
        checkpoints.failing = Some(error.to_string());
    }
}
