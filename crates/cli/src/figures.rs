//! A job's figures as people read them.

use crate::console;
use crate::format::{Bytes, Count, Span, time};
pub(crate) use headpond_launch::figures::Figures;
use headpond_runtime::JobMetrics;
use headpond_state::StateUsage;
use std::fmt;

/// The figures now.
pub(crate) fn now(metrics: &JobMetrics, rows_before: u64) -> Figures {
    Figures::of(metrics, rows_before).with_dropped_lines(console::dropped_lines())
}

/// One line of progress.
#[derive(Debug)]
pub(crate) struct Line<'a>(pub(crate) &'a Figures);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line(figures) = self;
        let rows = Count(figures.rows_before + figures.rows_read);
        write!(f, "{rows} rows, {} rows/s", Count(figures.rows_per_second))?;
        if let Some(ms) = figures.event_time_ms {
            write!(f, " | event time {}", time(ms))?;
        }
        write!(f, " | {} written", Count(figures.rows_written))?;
        write!(f, " | state {}", State(&figures.state))?;
        if let Some(last) = &figures.checkpoints.last {
            let (age, size) = (Span(last.at.elapsed()), Bytes(last.state_bytes));
            write!(f, " | checkpoint {}, {age} ago, {size}", last.id)?;
        }
        if figures.checkpoints.failing.is_some() {
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
