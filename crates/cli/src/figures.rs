//! A job's figures as people read them.

use crate::console;
use crate::format::{Bytes, Count, Remaining, Span, time};
pub(crate) use headpond_launch::figures::Figures;
use headpond_runtime::JobMetrics;
use headpond_state::StateUsage;
use std::fmt;

/// The figures now.
pub(crate) fn now(metrics: &JobMetrics, rows_before: u64) -> Figures {
    Figures::of(metrics, rows_before).with_dropped_lines(console::dropped_lines())
}

/// One line of progress, whole.
#[derive(Debug)]
pub(crate) struct Line<'a>(pub(crate) &'a Figures);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.within(usize::MAX))
    }
}

impl Line<'_> {
    /// The line, at most `width` characters wide: what matters least is left out where there is no room.
    pub(crate) fn within(&self, width: usize) -> String {
        let Line(figures) = self;
        // In the order in which they stand; a lower rank matters more.
        let mut pieces: Vec<(u8, String)> = Vec::new();
        let rows = Count(figures.rows_before + figures.rows_read);
        pieces.push((0, format!("{rows} rows, {} rows/s", Count(figures.rows_per_second))));
        if let Some(share) = figures.share_read {
            let left = figures.time_left.map(|left| format!(", {} left", Remaining(left))).unwrap_or_default();
            pieces.push((1, format!("{:.0} %{left}", (share * 100.0).floor())));
        } else if let Some(bytes) = figures.backlog_bytes {
            pieces.push((4, format!("{} to read", Bytes(bytes))));
        }
        if figures.checkpoints.failing.is_some() {
            pieces.push((1, "checkpoints fail".to_owned()));
        }
        if let Some(last) = &figures.checkpoints.last {
            pieces.push((2, format!("checkpoint {}, {} ago", last.id, Span(last.at.elapsed()))));
        }
        pieces.push((3, format!("state {}", Bytes(figures.state.memory_bytes + figures.state.disk_bytes))));
        if let Some(ms) = figures.event_time_ms {
            pieces.push((4, format!("event time {}", time(ms))));
        }
        pieces.push((5, format!("{} written", Count(figures.rows_written))));
        pieces.push((6, format!("{} entries", Count(figures.state.entries))));
        let mut ranks: Vec<u8> = pieces.iter().map(|(rank, _)| *rank).collect();
        ranks.sort_unstable();
        loop {
            let kept = pieces.iter().filter(|(rank, _)| ranks.contains(rank)).map(|(_, text)| text.as_str());
            let line = kept.collect::<Vec<_>>().join(" | ");
            if line.chars().count() <= width || ranks.len() <= 1 {
                return line;
            }
            ranks.pop();
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use headpond_runtime::metrics::CompletedCheckpoint;
    use headpond_state::CheckpointId;
    use std::time::{Duration, Instant};

    #[test]
    fn a_narrow_terminal_gets_what_matters_most() {
        let mut figures = Figures::of(&JobMetrics::default(), 1_234_567);
        figures.event_time_ms = Some(1_359_673_200_000);
        (figures.share_read, figures.time_left) = (Some(0.4299), Some(Duration::from_secs(84)));
        figures.state.memory_bytes = 3 << 30;
        figures.checkpoints.last = Some(CompletedCheckpoint {
            id: CheckpointId(4711),
            at: Instant::now(),
            duration: Duration::ZERO,
            uploaded_bytes: 0,
            reused_bytes: 0,
            state_bytes: 0,
            requests: 0,
            sync: Duration::ZERO,
        });
        let whole = Line(&figures).to_string();
        assert!(whole.ends_with(" | event time 2013-01-31T23:00:00 | 0 written | 0 entries"), "{whole}");
        let narrow = Line(&figures).within(100);
        assert!(narrow.starts_with("1,234,567 rows, 0 rows/s | 42 %, 1 min 24 s left | checkpoint 4711, "), "{narrow}");
        assert!(narrow.contains("state 3.0 GiB") && narrow.chars().count() <= 100, "{narrow}");
        assert_eq!(Line(&figures).within(10), "1,234,567 rows, 0 rows/s");
    }
}
