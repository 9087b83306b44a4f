//! What can be told about a running job at one moment: as a line, and as JSON.

use crate::console;
use crate::format::{Bytes, Count, Span, per_second, time};
use headpond_runtime::JobMetrics;
use headpond_runtime::metrics::{CheckpointFigures, CompletedCheckpoint};
use headpond_state::StateUsage;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The figures of a job.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    /// How long this run has lasted.
    pub(crate) elapsed: Duration,
    /// Rows that were read before the checkpoint this run began at.
    pub(crate) rows_before: u64,
    /// Rows read in this run.
    pub(crate) rows_read: u64,
    /// Malformed rows left out in this run.
    pub(crate) rows_skipped: u64,
    /// Rows and changes written in this run.
    pub(crate) rows_written: u64,
    /// Rows read per second, lately or over the whole run.
    pub(crate) rows_per_second: u64,
    /// The watermark.
    pub(crate) event_time_ms: Option<i64>,
    /// What the state takes.
    pub(crate) state: StateUsage,
    /// What the state of each operator takes, all workers together.
    pub(crate) operators: BTreeMap<String, StateUsage>,
    /// The operators' counters, summed over operators and workers: late rows, …
    pub(crate) counters: BTreeMap<String, u64>,
    /// Checkpoints of this run.
    pub(crate) checkpoints: CheckpointFigures,
}

impl Figures {
    /// The figures now; the rate is that of the whole run.
    pub(crate) fn of(metrics: &JobMetrics, rows_before: u64) -> Self {
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
        Figures {
            elapsed,
            rows_before,
            rows_read,
            rows_skipped: metrics.rows_skipped(),
            rows_written: metrics.rows_written(),
            rows_per_second: per_second(rows_read, elapsed),
            event_time_ms: metrics.event_time_ms(),
            state: metrics.state(),
            operators,
            counters,
            checkpoints: metrics.checkpoints(),
        }
    }

    /// The figures with the rate since earlier ones.
    #[must_use]
    pub(crate) fn since(mut self, earlier: &Figures) -> Self {
        let rows = self.rows_read.saturating_sub(earlier.rows_read);
        self.rows_per_second = per_second(rows, self.elapsed.saturating_sub(earlier.elapsed));
        self
    }

    /// Everything, by name.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "elapsed_s": self.elapsed.as_secs_f64(),
            "rows": self.rows_before + self.rows_read,
            "rows_read": self.rows_read,
            "rows_per_second": self.rows_per_second,
            "rows_skipped": self.rows_skipped,
            "rows_written": self.rows_written,
            "event_time": self.event_time_ms.map(time),
            "state": state_to_json(&self.state),
            "operators": self.operators.iter().map(|(id, usage)| (id.clone(), state_to_json(usage)))
                .collect::<BTreeMap<_, _>>(),
            "counters": self.counters,
            "dropped_lines": console::dropped_lines(),
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

/// One line of progress.
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = Count(self.rows_before + self.rows_read);
        write!(f, "{rows} rows, {} rows/s", Count(self.rows_per_second))?;
        if let Some(ms) = self.event_time_ms {
            write!(f, " | event time {}", time(ms))?;
        }
        write!(f, " | {} written", Count(self.rows_written))?;
        write!(f, " | state {}", State(&self.state))?;
        if let Some(last) = &self.checkpoints.last {
            let (age, size) = (Span(last.at.elapsed()), Bytes(last.state_bytes));
            write!(f, " | checkpoint {}, {age} ago, {size}", last.id)?;
        }
        if self.checkpoints.failing.is_some() {
            f.write_str(" | checkpoints fail")?;
        }
        Ok(())
    }
}

/// What state takes: `16 entries, 1.2 KiB in memory`.
#[derive(Debug)]
pub(crate) struct State<'a>(pub(crate) &'a StateUsage);

impl fmt::Display for State<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entries, {} in memory", Count(self.0.entries), Bytes(self.0.memory_bytes))?;
        if self.0.disk_bytes > 0 {
            write!(f, ", {} on disk", Bytes(self.0.disk_bytes))?;
        }
        if self.0.expired_bytes > 0 {
            write!(f, ", {} of it expired", Bytes(self.0.expired_bytes))?;
        }
        if self.0.reclaimed_bytes > 0 {
            write!(f, ", {} reclaimed", Bytes(self.0.reclaimed_bytes))?;
        }
        Ok(())
    }
}
