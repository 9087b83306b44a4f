//! What a user hears when a job has ended.

use crate::figures::{Figures, State};
use crate::format::{Bytes, Count, Span, per_second};
use crate::process;
use crate::progress::Style;
use headpond_runtime::Ending;
use headpond_runtime::operator::Counters;
use headpond_state_rocksdb::CompactionTotals;
use serde_json::{Value, json};
use std::fmt;
use std::time::Duration;

/// The width of the names of figures.
const NAME_WIDTH: usize = 12;

/// From which share of late rows on their owner is told what to do: one of so many.
const MANY_LATE: u64 = 100;

/// How a job ended, what it did and what that took.
#[derive(Debug)]
pub(super) struct Summary {
    ending: Ending,
    figures: Figures,
    compaction: Option<CompactionTotals>,
    has_checkpoints: bool,
    cpu: Option<Duration>,
    peak_bytes: Option<u64>,
}

impl Summary {
    /// The summary of a job that has just ended in this process.
    pub(super) fn new(
        ending: Ending,
        figures: Figures,
        compaction: Option<CompactionTotals>,
        has_checkpoints: bool,
    ) -> Self {
        let (cpu, peak_bytes) = (process::cpu_time(), process::peak_resident_bytes());
        Summary { ending, figures, compaction, has_checkpoints, cpu, peak_bytes }
    }

    /// Shows it.
    pub(super) fn show(&self, style: Style) {
        match style {
            Style::Quiet => {}
            Style::Json => style.say("ended", "", self.to_json()),
            Style::Status | Style::Lines => style.say("ended", &self.to_string(), Value::Null),
        }
    }

    fn first_line(&self) -> String {
        let last = self.figures.checkpoints.last.as_ref().map(|last| last.id);
        match (self.ending, last) {
            (Ending::Finished, Some(id)) => format!("finished (checkpoint {id})"),
            (Ending::Finished, None) => "finished".to_owned(),
            (Ending::Stopped, Some(id)) => format!("stopped after checkpoint {id}; the next run goes on from there"),
            (Ending::Stopped, None) if self.has_checkpoints => {
                "stopped; the next run goes on from the last checkpoint".to_owned()
            }
            (Ending::Stopped, None) => "stopped; without checkpoints the next run begins anew".to_owned(),
        }
    }

    fn rows_read(&self) -> String {
        let Figures { rows_read, rows_before, elapsed, .. } = self.figures;
        let rate = Count(per_second(rows_read, elapsed));
        match rows_before {
            0 => format!("{}, {rate} per second", Count(rows_read)),
            before => format!("{} behind the {} before, {rate} per second", Count(rows_read), Count(before)),
        }
    }

    fn time(&self) -> String {
        let elapsed = Span(self.figures.elapsed);
        match self.cpu {
            Some(cpu) => {
                let rate = Count(per_second(self.figures.rows_read, cpu));
                format!("{elapsed}, {} of CPU: {rate} rows per CPU second", Span(cpu))
            }
            None => elapsed.to_string(),
        }
    }

    fn to_json(&self) -> Value {
        let mut object = self.figures.to_json();
        object["ending"] = Value::from(match self.ending {
            Ending::Finished => "finished",
            Ending::Stopped => "stopped",
        });
        object["cpu_s"] = json!(self.cpu.map(|cpu| cpu.as_secs_f64()));
        object["peak_memory_bytes"] = json!(self.peak_bytes);
        object["compaction"] = json!(self.compaction.map(|totals| json!({
            "merges": totals.merges,
            "bytes_read": totals.bytes_read,
            "bytes_written": totals.bytes_written,
            "elapsed_ms": totals.elapsed_us as f64 / 1000.0,
        })));
        object
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.first_line())?;
        let mut line = |name: &str, figure: &dyn fmt::Display| write!(f, "\n  {name:NAME_WIDTH$} {figure}");
        let figures = &self.figures;
        line("rows read", &self.rows_read())?;
        if figures.rows_skipped > 0 {
            line("skipped", &format_args!("{} malformed rows", Count(figures.rows_skipped)))?;
        }
        line("rows written", &Count(figures.rows_written))?;
        for (name, count) in &figures.counters {
            line(name, &Count(*count))?;
            if name == Counters::LATE_ROWS && count.saturating_mul(MANY_LATE) >= figures.rows_before + figures.rows_read
            {
                line("", &"rows are missing from the result: they came when their windows were over")?;
                line("", &"a longer delay in `WATERMARK FOR … AS … - INTERVAL …` takes them in;")?;
                line("", &"'table.exec.late-rows.table' names a table that gets them")?;
            }
        }
        line("time", &self.time())?;
        line("state", &State(&figures.state))?;
        if figures.operators.len() > 1 || figures.state.reclaimed_bytes > 0 {
            for (id, usage) in &figures.operators {
                line("", &format_args!("{id}: {}", State(usage)))?;
            }
        }
        if self.has_checkpoints {
            let taken = &figures.checkpoints;
            let (completed, failed) = (Count(taken.completed), Count(taken.failed));
            let uploaded = Bytes(taken.uploaded_bytes);
            line("checkpoints", &format_args!("{completed} completed, {failed} failed, {uploaded} uploaded"))?;
            let (bytes, files) = (Bytes(taken.retained.bytes), Count(taken.retained.files));
            line("", &format_args!("{bytes} in {files} files are kept"))?;
            let (all, most) = (Span(taken.sync_total), Span(taken.sync_max));
            line("", &format_args!("workers were held up for {all} in all, {most} at most at once"))?;
        }
        if let Some(totals) = &self.compaction {
            let (read, written) = (Bytes(totals.bytes_read), Bytes(totals.bytes_written));
            let took = Span(Duration::from_micros(totals.elapsed_us));
            line(
                "compaction",
                &format_args!("{} merges, {read} read, {written} written, {took}", Count(totals.merges)),
            )?;
        }
        if let Some(peak) = self.peak_bytes {
            line("peak memory", &Bytes(peak))?;
        }
        Ok(())
    }
}
