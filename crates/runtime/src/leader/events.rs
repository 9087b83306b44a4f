//! What the leader waits for: messages of its processes, outcomes of its I/O, somebody outside.

use super::commit::Outcome;
use crate::control::NewSplit;
use crate::link::Inbox;
use crate::message::{Notice, ToLeader};
use crossbeam_channel::{Receiver, Sender, unbounded};
use headpond_state::Error;
use std::sync::Arc;
use std::time::Instant;

/// Something that has happened.
#[derive(Debug)]
pub(super) enum Event {
    /// A process says something.
    Notice(usize, Notice),
    /// A commit has ended.
    Ended(Outcome),
    /// Splits were found.
    Found(Vec<NewSplit>),
    /// The leader itself cannot go on.
    Failed(Error),
    /// Somebody wants something of the job.
    Woken,
}

/// The queue of what has happened.
#[derive(Debug)]
pub(super) struct Events {
    sender: Sender<Event>,
    receiver: Receiver<Event>,
}

impl Events {
    pub(super) fn new() -> Self {
        let (sender, receiver) = unbounded();
        Events { sender, receiver }
    }

    /// Adds what happens elsewhere.
    pub(super) fn sender(&self) -> impl Fn(Event) + Clone + Send + Sync + 'static {
        let sender = self.sender.clone();
        move |event| {
            // A leader that has ended waits for nothing.
            let _ = sender.send(event);
        }
    }

    /// Where the messages of a process go.
    pub(super) fn inbox(&self, process: usize) -> Arc<dyn Inbox<ToLeader>> {
        Arc::new(Notices { process, events: self.sender.clone() })
    }

    /// All that has happened; waits for it, but not beyond `until`.
    pub(super) fn wait(&self, until: Option<Instant>) -> Vec<Event> {
        let first = match until {
            Some(until) => self.receiver.recv_deadline(until).ok(),
            None => self.receiver.recv().ok(),
        };
        first.into_iter().chain(self.receiver.try_iter()).collect()
    }
}

#[derive(Debug)]
struct Notices {
    process: usize,
    events: Sender<Event>,
}

impl Inbox<ToLeader> for Notices {
    fn receive(&self, ToLeader(notice): ToLeader) {
        // A leader that has ended has heard of all its processes' ends.
        let _ = self.events.send(Event::Notice(self.process, notice));
    }

    fn broken(&self, error: Error) {
        let _ = self.events.send(Event::Failed(error));
    }
}
