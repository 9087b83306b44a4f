//! What can be told about a running job at one moment.

use headpond_runtime::JobMetrics;
use headpond_runtime::metrics::{CheckpointFigures, CompletedCheckpoint, JobBacklog};
use headpond_runtime::source::{Backlog, BacklogUnit};
use headpond_state::StateUsage;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The figures of a job.
#[derive(Debug, Clone)]
pub struct Figures {
    /// How long this run has lasted.
    pub elapsed: Duration,
    /// Rows that were read before the checkpoint this run began at.
    pub rows_before: u64,
    /// Rows read in this run.
    pub rows_read: u64,
    /// Malformed rows left out in this run.
    pub rows_skipped: u64,
    /// Rows and changes written in this run.
    pub rows_written: u64,
    /// Rows read per second, lately or over the whole run.
    pub rows_per_second: u64,
    /// The watermark.
    pub event_time_ms: Option<i64>,
    /// What the state takes.
    pub state: StateUsage,
    /// What the state of each operator takes, all workers together.
    pub operators: BTreeMap<String, StateUsage>,
    /// Bytes of files that are left to read, where a source reads files.
    pub backlog_bytes: Option<u64>,
    /// Rows or messages that are left to read, where a source knows.
    pub backlog_rows: Option<u64>,
    /// The share of the input that was read, of a job whose input ends: of what is read most slowly.
    pub share_read: Option<f64>,
    /// How long reading the rest takes, at the rate of this run.
    pub time_left: Option<Duration>,
    /// The operators' counters, summed over operators and workers: late rows, …
    pub counters: BTreeMap<String, u64>,
    /// Checkpoints of this run.
    pub checkpoints: CheckpointFigures,
    /// Lines for people that could not be written.
    pub dropped_lines: u64,
}

impl Figures {
    /// The figures now; the rate is that of the whole run.
    pub fn of(metrics: &JobMetrics, rows_before: u64) -> Self {
        let mut counters = BTreeMap::new();
        let mut operators: BTreeMap<String, StateUsage> = BTreeMap::new();
        for ((id, _), figures) in metrics.operators() {
            let usage = operators.entry(id.to_string()).or_default();
            *usage = usage.plus(&figures.state);
            for (name, count) in figures.counters {
                *counters.entry(name).or_insert(0) += count;
            }
        }
        let (elapsed, rows_read) = (metrics.elapsed(), metrics.rows_read());
        let backlogs = metrics.backlogs();
        let left = |unit| backlogs.iter().map(|it| it.backlog).find(|it| it.unit == unit).map(|it| it.left);
        let known = backlogs.iter().filter(|_| metrics.knows_end());
        Figures {
            elapsed,
            rows_before,
            rows_read,
            rows_skipped: metrics.rows_skipped(),
            rows_written: metrics.rows_written(),
            rows_per_second: per_second(rows_read, elapsed),
            event_time_ms: metrics.event_time_ms(),
            backlog_bytes: left(BacklogUnit::Bytes),
            backlog_rows: left(BacklogUnit::Rows),
            share_read: known.clone().map(|it| share_read(it.backlog)).min_by(f64::total_cmp),
            time_left: known.filter_map(|it| time_left(it, elapsed)).max(),
            state: metrics.state(),
            operators,
            counters,
            checkpoints: metrics.checkpoints(),
            dropped_lines: 0,
        }
    }

    /// The figures with the lines for people that could not be written.
    #[must_use]
    pub fn with_dropped_lines(self, dropped_lines: u64) -> Self {
        Figures { dropped_lines, ..self }
    }

    /// The figures with the rate since earlier ones.
    #[must_use]
    pub fn since(mut self, earlier: &Figures) -> Self {
        let rows = self.rows_read.saturating_sub(earlier.rows_read);
        self.rows_per_second = per_second(rows, self.elapsed.saturating_sub(earlier.elapsed));
        self
    }

    /// Everything, by name.
    pub fn to_json(&self) -> Value {
        json!({
            "time": chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            "elapsed_s": self.elapsed.as_secs_f64(),
            "rows": self.rows_before + self.rows_read,
            "rows_read": self.rows_read,
            "rows_per_second": self.rows_per_second,
            "rows_skipped": self.rows_skipped,
            "rows_written": self.rows_written,
            "event_time": self.event_time_ms.map(time),
            "backlog_bytes": self.backlog_bytes,
            "backlog_rows": self.backlog_rows,
            "share_read": self.share_read,
            "time_left_s": self.time_left.map(|left| left.as_secs_f64()),
            "state": state_to_json(&self.state),
            "operators": self.operators.iter().map(|(id, usage)| (id.clone(), state_to_json(usage)))
                .collect::<BTreeMap<_, _>>(),
            "counters": self.counters,
            "dropped_lines": self.dropped_lines,
            "checkpoints": {
                "completed": self.checkpoints.completed,
                "failed": self.checkpoints.failed,
                "failing": self.checkpoints.failing,
                "retained_bytes": self.checkpoints.retained.bytes,
                "retained_files": self.checkpoints.retained.files,
                "uploaded_bytes": self.checkpoints.uploaded_bytes,
                "sync_max_ms": milliseconds(self.checkpoints.sync_max),
                "sync_total_ms": milliseconds(self.checkpoints.sync_total),
                "last": self.checkpoints.last.as_ref().map(last_to_json),
            },
        })
    }
}

/// The share that was read of what there is.
fn share_read(backlog: Backlog) -> f64 {
    match backlog.total {
        0 => 1.0,
        total => 1.0 - backlog.left as f64 / total as f64,
    }
}

/// How long what is left takes at the rate of the run; `None` while nothing was read.
fn time_left(of_job: &JobBacklog, elapsed: Duration) -> Option<Duration> {
    let seconds = elapsed.as_secs_f64() * of_job.backlog.left as f64 / of_job.read as f64;
    Duration::try_from_secs_f64(seconds).ok()
}

fn state_to_json(state: &StateUsage) -> Value {
    json!({
        "entries": state.entries,
        "memory_bytes": state.memory_bytes,
        "disk_bytes": state.disk_bytes,
        "expired_bytes": state.expired_bytes,
        "reclaimed_bytes": state.reclaimed_bytes,
    })
}

fn last_to_json(last: &CompletedCheckpoint) -> Value {
    json!({
        "checkpoint": last.id.0,
        "age_s": last.at.elapsed().as_secs_f64(),
        "duration_ms": milliseconds(last.duration),
        "uploaded_bytes": last.uploaded_bytes,
        "reused_bytes": last.reused_bytes,
        "state_bytes": last.state_bytes,
        "requests": last.requests,
        "sync_ms": milliseconds(last.sync),
    })
}

fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}

/// A time in milliseconds since 1970 as `2013-01-31T23:00:00`, with milliseconds if it has any.
pub fn time(ms: i64) -> String {
    match chrono::DateTime::from_timestamp_millis(ms) {
        Some(time) if ms % 1000 == 0 => time.format("%Y-%m-%dT%H:%M:%S").to_string(),
        Some(time) => time.format("%Y-%m-%dT%H:%M:%S%.3f").to_string(),
        None => format!("{ms} ms"),
    }
}

/// How many of something there are per second; nothing when no time has passed.
pub fn per_second(count: u64, time: Duration) -> u64 {
    if time.is_zero() { 0 } else { (count as f64 / time.as_secs_f64()).round() as u64 }
}
