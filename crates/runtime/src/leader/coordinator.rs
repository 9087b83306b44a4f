//! When ticks open, when a checkpoint is cut, when the job ends: the leader's decisions, without I/O.
//!
//! The coordinator sees reports, the oldest unfinished tick and the outcome of commits, and answers with control
//! messages. It opens a tick only for a reason: a source has rows, a checkpoint is due, an operator waits for a
//! processing time that has come, someone must be told of a commit or of new splits, or the job ends.

use crate::control::{Control, Cut, NewSplit, ReportBody, Standing};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The longest the coordinator sleeps because of a processing time, in milliseconds: the machine's clock may be set
/// meanwhile.
const LONGEST_WAIT_MS: i64 = 60_000;

/// The pause after a failed checkpoint; doubled with each further one that fails, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How the coordinator paces a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// The most ticks that may be unfinished.
    pub(crate) ticks_in_flight: u64,
    /// The least time between two ticks that read or wake.
    pub(crate) tick_interval: Duration,
    /// The time between the cuts of two checkpoints; `None`: no periodic checkpoints.
    pub(crate) checkpoint_interval: Option<Duration>,
    /// The least time between a checkpoint's end and the next one's cut.
    pub(crate) checkpoint_min_pause: Duration,
    /// The time after which a checkpoint has failed.
    pub(crate) checkpoint_timeout: Duration,
    /// Whether checkpoints are kept: without, cuts only make sinks publish.
    pub(crate) persist: bool,
}

/// A checkpoint whose parts are being collected or committed.
#[derive(Debug)]
pub(crate) struct PendingParts {
    pub(crate) cut: Cut,
    pub(crate) begun: Instant,
    /// The participants (node, worker) still to report.
    awaiting: BTreeSet<(usize, usize)>,
    /// The parts by participant, as JSON.
    pub(crate) parts: BTreeMap<(usize, usize), String>,
    committing: bool,
}

/// What somebody outside wants of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobRequest {
    /// Nothing: the job runs.
    None,
    /// A checkpoint, now.
    Checkpoint,
    /// A last checkpoint, and the end.
    Stop,
}

/// What a report led to.
#[derive(Debug)]
pub(crate) enum Step {
    /// Nothing to do now.
    None,
    /// All parts are here: commit them.
    Commit { cut: Cut, begun: Instant, parts: BTreeMap<(usize, usize), String> },
    /// A participant failed: give the checkpoint up.
    Abort { cut: Cut, kind: u8, message: String },
}

/// The state of the leader's decisions.
#[derive(Debug)]
pub(crate) struct Coordinator {
    pace: Pace,
    participants: BTreeSet<(usize, usize)>,
    sources: BTreeMap<(usize, usize), Source>,
    /// The processing times, in milliseconds, at which operators want a tick.
    wakes_ms: BTreeMap<(usize, usize), i64>,
    next_tick: u64,
    oldest_unfinished: u64,
    /// When the last tick opened that read or woke.
    paced_at: Option<Instant>,
    next_checkpoint: u64,
    checkpoint_due: Option<Instant>,
    /// Checkpoints that failed since the last one that did not.
    failures: u32,
    /// Last cuts after the end of all input that came to nothing.
    failed_ends: u32,
    /// After a failure, when the next checkpoint may begin.
    paused_until: Option<Instant>,
    pending: Option<PendingParts>,
    completed: Vec<u64>,
    aborted: Vec<u64>,
    /// Splits that nobody was told of yet.
    splits: Vec<NewSplit>,
    last_cut_sent: bool,
    over: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Source {
    ready: bool,
    ended: bool,
    /// Set for a source whose workers are aligned.
    standing: Option<Standing>,
}

impl Coordinator {
    /// A coordinator for these participants of every checkpoint, of which `sources` are sources, as (node, worker).
    pub(crate) fn new(
        pace: Pace,
        participants: BTreeSet<(usize, usize)>,
        sources: impl IntoIterator<Item = (usize, usize)>,
        next_checkpoint: u64,
        now: Instant,
    ) -> Self {
        Coordinator {
            pace,
            participants,
            sources: sources.into_iter().map(|source| (source, Source::default())).collect(),
            wakes_ms: BTreeMap::new(),
            next_tick: 0,
            oldest_unfinished: 0,
            paced_at: None,
            next_checkpoint,
            checkpoint_due: pace.checkpoint_interval.filter(|_| pace.persist).map(|interval| now + interval),
            failures: 0,
            failed_ends: 0,
            paused_until: None,
            pending: None,
            completed: Vec::new(),
            aborted: Vec::new(),
            splits: Vec::new(),
            last_cut_sent: false,
            over: false,
        }
    }

    /// How many checkpoints have failed since the last one that did not.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// How often the checkpoint at the end of all input has failed.
    pub(crate) fn failed_ends(&self) -> u32 {
        self.failed_ends
    }

    /// Whether the job has nothing more to do: its last cut is decided.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the pending checkpoint is the end of all input.
    pub(crate) fn pending_end_of_input(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.cut.end_of_input)
    }

    /// The number of the pending checkpoint.
    pub(crate) fn pending_checkpoint(&self) -> Option<u64> {
        self.pending.as_ref().map(|pending| pending.cut.checkpoint)
    }

    /// The pending checkpoint, if it is this one and its parts are still being collected.
    pub(crate) fn collecting(&self, checkpoint: u64) -> Option<Cut> {
        let pending = self.pending.as_ref().filter(|pending| !pending.committing)?;
        (pending.cut.checkpoint == checkpoint).then_some(pending.cut)
    }

    /// How long no checkpoint begins, after one has failed.
    pub(crate) fn pause(&self, now: Instant) -> Duration {
        self.paused_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// The tick the next control message will open.
    pub(crate) fn next_tick(&self) -> u64 {
        self.next_tick
    }

    /// Takes note of what is finished everywhere.
    pub(crate) fn finished_before(&mut self, tick: u64) {
        self.oldest_unfinished = self.oldest_unfinished.max(tick);
    }

    /// Takes a report in.
    pub(crate) fn report(&mut self, node: usize, worker: usize, body: ReportBody) -> Step {
        match body {
            ReportBody::Ready(ready) => {
                if let Some(source) = self.sources.get_mut(&(node, worker)) {
                    source.ready = ready;
                }
                Step::None
            }
            ReportBody::Aligned(standing) => {
                if let Some(source) = self.sources.get_mut(&(node, worker)) {
                    source.standing = Some(standing);
                }
                Step::None
            }
            ReportBody::Ended => {
                if let Some(source) = self.sources.get_mut(&(node, worker)) {
                    *source = Source { ready: false, ended: true, standing: None };
                }
                Step::None
            }
            ReportBody::WakeAt(None) => {
                self.wakes_ms.remove(&(node, worker));
                Step::None
            }
            ReportBody::WakeAt(Some(at_ms)) => {
                self.wakes_ms.insert((node, worker), at_ms);
                Step::None
            }
            // For display only.
            ReportBody::Progress(_) | ReportBody::Figures(_) | ReportBody::Synchronous { .. } => Step::None,
            ReportBody::Part { checkpoint, json } => self.part(node, worker, checkpoint, json),
            ReportBody::Failed { checkpoint, kind, message } => match &self.pending {
                Some(pending) if pending.cut.checkpoint == checkpoint && !pending.committing => {
                    Step::Abort { cut: pending.cut, kind, message }
                }
                // A second participant of a checkpoint that has been given up.
                _ => Step::None,
            },
        }
    }

    fn part(&mut self, node: usize, worker: usize, checkpoint: u64, json: String) -> Step {
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.cut.checkpoint == checkpoint) else {
            return Step::None;
        };
        if pending.awaiting.remove(&(node, worker)) {
            pending.parts.insert((node, worker), json);
        }
        if !pending.awaiting.is_empty() || pending.committing {
            return Step::None;
        }
        pending.committing = true;
        Step::Commit { cut: pending.cut, begun: pending.begun, parts: std::mem::take(&mut pending.parts) }
    }

    /// The pending checkpoint if it has taken too long.
    pub(crate) fn overdue(&self, now: Instant) -> Option<Cut> {
        let pending = self.pending.as_ref().filter(|pending| !pending.committing)?;
        (now >= pending.begun + self.pace.checkpoint_timeout).then_some(pending.cut)
    }

    /// The pending checkpoint has become durable and its output is published.
    pub(crate) fn committed(&mut self, now: Instant) {
        self.resolve(now, true);
    }

    /// The pending checkpoint has come to nothing.
    pub(crate) fn gave_up(&mut self, now: Instant) {
        self.resolve(now, false);
    }

    fn resolve(&mut self, now: Instant, durable: bool) {
        let Some(pending) = self.pending.take() else { return };
        if pending.cut.persist {
            let told = if durable { &mut self.completed } else { &mut self.aborted };
            told.push(pending.cut.checkpoint);
        }
        if pending.cut.last && durable {
            self.over = true;
        } else if pending.cut.last {
            // The end is tried again with the next checkpoint.
            self.last_cut_sent = false;
            self.failed_ends += u32::from(pending.cut.end_of_input);
        }
        self.failures = if durable { 0 } else { self.failures.saturating_add(1) };
        // A store that is down is not asked again at once.
        self.paused_until = (!durable).then(|| {
            let doubled = FIRST_PAUSE.saturating_mul(1 << (self.failures - 1).min(16));
            now + doubled.min(LONGEST_PAUSE)
        });
        if let Some(interval) = self.pace.checkpoint_interval.filter(|_| self.pace.persist) {
            let due = (pending.begun + interval).max(now + self.pace.checkpoint_min_pause);
            self.checkpoint_due = Some(self.paused_until.map_or(due, |until| until.max(due)));
        }
    }

    /// Takes in splits that were found.
    pub(crate) fn found(&mut self, splits: Vec<NewSplit>) {
        self.splits.extend(splits);
    }

    /// The next control message, if there is a reason for one.
    pub(crate) fn poll(&mut self, now: Instant, now_ms: i64, request: JobRequest) -> Option<Control> {
        let (stopping, asked) = (request == JobRequest::Stop, request == JobRequest::Checkpoint);
        if self.over || self.last_cut_sent || self.next_tick - self.oldest_unfinished >= self.pace.ticks_in_flight {
            return None;
        }
        let ended = self.sources.values().all(|source| source.ended);
        let may_cut = self.pending.is_none() && self.paused_until.is_none_or(|until| now >= until);
        let cut = if may_cut && (ended || stopping) {
            self.last_cut_sent = true;
            Some(Cut {
                checkpoint: self.next_checkpoint,
                persist: self.pace.persist,
                end_of_input: ended,
                last: true,
                base: None,
            })
        } else if may_cut && (self.checkpoint_due.is_some_and(|due| now >= due) || asked && self.pace.persist) {
            Some(Cut { checkpoint: self.next_checkpoint, persist: true, end_of_input: false, last: false, base: None })
        } else {
            None
        };
        let align_ms = self.align_ms();
        let waiting = self.has_rows(&align_ms) || self.next_wake_ms() <= now_ms;
        let paced = self.paced_at.is_none_or(|at| now >= at + self.pace.tick_interval);
        let goes_on = waiting && paced && !stopping;
        let told = !self.completed.is_empty() || !self.aborted.is_empty() || !self.splits.is_empty();
        if cut.is_none() && !goes_on && !told {
            return None;
        }
        // Whoever is woken by this tick says so anew if that was not enough.
        self.wakes_ms.retain(|_, at_ms| *at_ms > now_ms);
        if let Some(cut) = cut {
            self.next_checkpoint += 1;
            self.pending = Some(PendingParts {
                cut,
                begun: now,
                awaiting: self.participants.clone(),
                parts: BTreeMap::new(),
                committing: false,
            });
        }
        if goes_on {
            self.paced_at = Some(now);
        }
        if !stopping {
            // The tick takes what waits. Whoever has more says so anew.
            self.sources.values_mut().filter_map(|source| source.standing.as_mut()).for_each(|standing| {
                standing.waiting_ms = None;
            });
        }
        self.next_tick += 1;
        Some(Control {
            cut,
            now_ms,
            read: !stopping,
            align_ms,
            splits: std::mem::take(&mut self.splits),
            completed: std::mem::take(&mut self.completed),
            aborted: std::mem::take(&mut self.aborted),
        })
    }

    /// For each source whose workers are aligned, the watermark that all its splits were read up to.
    fn align_ms(&self) -> BTreeMap<usize, i64> {
        let nodes: BTreeSet<usize> =
            self.sources.iter().filter(|(_, source)| source.standing.is_some()).map(|((node, _), _)| *node).collect();
        let least_ms = |node: usize| {
            let of_node = self.sources.range((node, 0)..=(node, usize::MAX)).filter(|(_, source)| !source.ended);
            // Of one that has not said anything yet, all is to come.
            of_node.map(|(_, source)| source.standing.map_or(i64::MIN, |standing| standing.read_ms)).min()
        };
        nodes.into_iter().map(|node| (node, least_ms(node).unwrap_or(i64::MAX))).collect()
    }

    /// Whether a source has rows for a tick.
    fn has_rows(&self, align_ms: &BTreeMap<usize, i64>) -> bool {
        self.sources.iter().any(|((node, _), source)| match source.standing.and_then(|standing| standing.waiting_ms) {
            Some(waiting_ms) => align_ms.get(node).is_some_and(|align_ms| waiting_ms <= *align_ms),
            None => source.ready,
        })
    }

    /// The earliest processing time at which an operator wants a tick.
    fn next_wake_ms(&self) -> i64 {
        self.wakes_ms.values().copied().min().unwrap_or(i64::MAX)
    }

    /// When the coordinator wants to be asked again, if nothing happens before.
    pub(crate) fn wake_at(&self, now: Instant, now_ms: i64) -> Option<Instant> {
        if self.over {
            return None;
        }
        let due = self.checkpoint_due.filter(|_| self.pending.is_none() && !self.last_cut_sent);
        // The last cut and one that was asked for wait for nothing else.
        let paused = self.paused_until.filter(|_| self.pending.is_none());
        let timeout = self.pending.as_ref().filter(|pending| !pending.committing);
        let timeout = timeout.map(|pending| pending.begun + self.pace.checkpoint_timeout);
        let paced = self.paced_at.map_or(now, |at| at + self.pace.tick_interval);
        let reads = self.has_rows(&self.align_ms()).then_some(paced);
        let wakes = (!self.wakes_ms.is_empty() && !self.last_cut_sent).then(|| {
            let wait_ms = self.next_wake_ms().saturating_sub(now_ms).clamp(0, LONGEST_WAIT_MS);
            paced.max(now + Duration::from_millis(wait_ms.unsigned_abs()))
        });
        // A time that has passed waits for something else (a tick to finish), which wakes the coordinator anyway.
        [due, paused, timeout, reads, wakes].into_iter().flatten().filter(|at| *at > now).min()
    }
}

#[cfg(test)]
mod tests;
