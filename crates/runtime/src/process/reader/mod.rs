//! Reader threads: one per source and worker, ahead of its worker by a bounded number of batches.
//!
//! A reader has any number of splits. Which of them it reads next is [`choice`]'s matter, how it goes about it
//! [`interleaved`]'s, what it is told and says is in [`messages`]; this file has the thread.

mod backlog;
mod choice;
mod idleness;
mod interleaved;
mod messages;
mod pace;

pub(crate) use messages::{Assignment, FromReader, ReaderSetup, SplitBatch, Watermarks};

use crate::panics;
use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded, unbounded};
use headpond_state::{CheckpointId, Error, Result};
use interleaved::Interleaved;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use timely::scheduling::activate::SyncActivator;

/// Batches a reader may be ahead of its worker.
const BATCHES_AHEAD: usize = 16;
/// How soon a thread that waits looks whether it is to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// What a reader thread is told.
#[derive(Debug)]
enum ToReader {
    Read(Vec<Assignment>),
    /// A checkpoint is committed in which splits of these indices stood at these positions.
    Committed(CheckpointId, Vec<(usize, Value)>),
    /// There are no more splits to come.
    NoMore,
}

/// A running reader thread. Dropping it stops the thread and waits for it.
#[derive(Debug)]
pub(crate) struct Reader {
    orders: Sender<ToReader>,
    receiver: Option<Receiver<FromReader>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts a reader without splits, which wakes its worker by `activator`.
    pub(crate) fn start(setup: ReaderSetup, activator: SyncActivator) -> Result<Self> {
        let (sender, receiver) = bounded(BATCHES_AHEAD);
        let (orders, inbox) = unbounded();
        let stop = Arc::new(AtomicBool::new(false));
        let outlet = Outlet { sender, stop: stop.clone(), activator };
        let thread = std::thread::Builder::new()
            .name(format!("reader-{}", setup.context.subtask))
            .spawn(move || {
                let read = panics::caught("a reader", || read_all(setup, &inbox, &outlet));
                match read.and_then(|read| read) {
                    Ok(()) => outlet.send(FromReader::Ended),
                    Err(error) => outlet.send(FromReader::Failed(error)),
                }
            })
            .map_err(|error| Error::exhausted("a reader thread cannot be started").because(error))?;
        Ok(Reader { orders, receiver: Some(receiver), stop, thread: Some(thread) })
    }

    /// Gives the reader more splits.
    pub(crate) fn read(&self, splits: Vec<Assignment>) {
        // A thread that is gone has said why.
        let _ = self.orders.send(ToReader::Read(splits));
    }

    /// Says that a checkpoint is committed in which splits of these indices stood at these positions.
    pub(crate) fn committed(&self, checkpoint: CheckpointId, positions: Vec<(usize, Value)>) {
        let _ = self.orders.send(ToReader::Committed(checkpoint, positions));
    }

    /// Says that there are no more splits to come: the reader ends with those it has.
    pub(crate) fn no_more(&self) {
        let _ = self.orders.send(ToReader::NoMore);
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
            match self.sender.send_timeout(message, STOP_INTERVAL) {
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

/// Reads until all splits have ended and no more are to come, or until it is stopped.
fn read_all(setup: ReaderSetup, inbox: &Receiver<ToReader>, outlet: &Outlet) -> Result<()> {
    let mut splits = Interleaved::new(setup);
    let mut more = true;
    while !outlet.is_stopped() {
        // Orders are rare, and none is missed for long.
        while let Ok(order) = inbox.try_recv() {
            more &= obey(order, &mut splits)?;
        }
        if splits.has_any() {
            splits.step(&mut |message| outlet.send(message))?;
        } else if !more {
            return Ok(());
        } else {
            match inbox.recv_timeout(STOP_INTERVAL) {
                Ok(order) => more &= obey(order, &mut splits)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }
    Ok(())
}

/// Does what the worker says; false when no more splits are to come.
fn obey(order: ToReader, splits: &mut Interleaved) -> Result<bool> {
    match order {
        ToReader::Read(assignments) => splits.add(assignments),
        ToReader::Committed(checkpoint, positions) => splits.committed(checkpoint, &positions)?,
        ToReader::NoMore => return Ok(false),
    }
    Ok(true)
}
