//! Reader threads: one per source and worker, ahead of its worker by a bounded number of batches.

use crate::source::{ReadBatch, ReaderContext, Source, SourceSplit};
use crossbeam_channel::{Receiver, SendTimeoutError, Sender, bounded};
use headpond_state::{Context, Error, Result};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use timely::scheduling::activate::SyncActivator;

/// Rows a reader is asked for at once.
pub(crate) const ROWS_PER_BATCH: usize = 8192;
/// Batches a reader may be ahead of its worker.
const BATCHES_AHEAD: usize = 16;

/// What a reader thread sends.
#[derive(Debug)]
pub(crate) enum FromReader {
    /// Rows of the split with this index.
    Batch(usize, ReadBatch),
    /// The split has ended.
    SplitEnded(usize),
    /// All splits have ended.
    Ended,
    /// There have been no rows for as long as the time-out.
    Idle,
    /// Reading failed; nothing follows.
    Failed(Error),
}

/// A split a reader is to read, with the index its worker knows it by.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) index: usize,
    pub(crate) split: SourceSplit,
    pub(crate) position: Option<Value>,
}

/// A running reader thread. Dropping it stops the thread and waits for it.
#[derive(Debug)]
pub(crate) struct Reader {
    receiver: Option<Receiver<FromReader>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts reading the assigned splits one after another, waking the worker by `activator`. Says that it is idle when for
    /// `idle_timeout` there was nothing to read.
    pub(crate) fn start(
        source: Arc<dyn Source>,
        assignments: Vec<Assignment>,
        context: ReaderContext,
        idle_timeout: Option<Duration>,
        activator: SyncActivator,
    ) -> Result<Self> {
        let (sender, receiver) = bounded(BATCHES_AHEAD);
        let stop = Arc::new(AtomicBool::new(false));
        let outlet = Outlet { sender, stop: stop.clone(), activator };
        let thread = std::thread::Builder::new()
            .name(format!("reader-{}", context.subtask))
            .spawn(move || {
                let idleness = Idleness { timeout: idle_timeout, waiting_since: None, told: false };
                match read_all(source.as_ref(), assignments, &context, idleness, &outlet) {
                    Ok(()) => outlet.send(FromReader::Ended),
                    Err(error) => outlet.send(FromReader::Failed(error)),
                }
            })
            .map_err(|error| Error::exhausted("a reader thread cannot be started").because(error))?;
        Ok(Reader { receiver: Some(receiver), stop, thread: Some(thread) })
    }

    /// The next thing the thread has sent, if there is one.
    pub(crate) fn try_next(&self) -> Option<FromReader> {
        self.receiver.as_ref().and_then(|receiver| receiver.try_recv().ok())
    }

    /// Whether something waits.
    pub(crate) fn has_next(&self) -> bool {
        self.receiver.as_ref().is_some_and(|receiver| !receiver.is_empty())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // A thread that waits to send must see that no one receives.
        self.receiver = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("a reader thread panicked");
        }
    }
}

struct Outlet {
    sender: Sender<FromReader>,
    stop: Arc<AtomicBool>,
    activator: SyncActivator,
}

impl Outlet {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn send(&self, mut message: FromReader) {
        loop {
            match self.sender.send_timeout(message, Duration::from_millis(100)) {
                Ok(()) => break,
                Err(SendTimeoutError::Timeout(back)) if !self.is_stopped() => message = back,
                // No one is there to receive: the job has ended.
                Err(_) => return,
            }
        }
        // The worker may be gone already.
        let _ = self.activator.activate();
    }
}

/// Whether a reader has waited for rows too long. Time in which it reads, or waits for its worker, does not count: a source
/// that catches up is not idle.
#[derive(Debug)]
struct Idleness {
    timeout: Option<Duration>,
    /// Since when there has been nothing to read.
    waiting_since: Option<Instant>,
    told: bool,
}

impl Idleness {
    fn has_rows(&mut self) {
        (self.waiting_since, self.told) = (None, false);
    }

    /// There is nothing to read. True when that is news by now.
    fn waits(&mut self) -> bool {
        let waiting_since = *self.waiting_since.get_or_insert_with(Instant::now);
        let begins = !self.told && self.timeout.is_some_and(|timeout| waiting_since.elapsed() >= timeout);
        self.told |= begins;
        begins
    }
}

fn read_all(
    source: &dyn Source,
    assignments: Vec<Assignment>,
    context: &ReaderContext,
    mut idleness: Idleness,
    outlet: &Outlet,
) -> Result<()> {
    for Assignment { index, split, position } in assignments {
        let in_split = |error: Error| match error.place(Context::Path) {
            Some(_) => error,
            None => error.with(Context::Path, &split.id),
        };
        let mut reader = source.open(&split, position.as_ref(), context).map_err(in_split)?;
        while let Some(batch) = reader.next(ROWS_PER_BATCH).map_err(in_split)? {
            if outlet.is_stopped() {
                return Ok(());
            }
            if batch.rows.num_rows() > 0 || batch.skipped > 0 {
                idleness.has_rows();
                outlet.send(FromReader::Batch(index, batch));
            } else if idleness.waits() {
                outlet.send(FromReader::Idle);
            }
        }
        outlet.send(FromReader::SplitEnded(index));
    }
    Ok(())
}
