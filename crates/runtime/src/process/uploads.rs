//! I/O threads: uploads and commits run here, so that no worker waits for a disk or a store.

use crossbeam_channel::{Receiver, Sender, unbounded};
use headpond_state::{CheckpointId, CheckpointSink, Error, KeyedStateHandle, Result, Snapshot};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use timely::scheduling::activate::SyncActivator;

use crate::lock::lock;

type Work = Box<dyn FnOnce() + Send>;

/// A few threads that do what blocks.
pub(crate) struct IoThreads {
    work: Mutex<Option<Sender<Work>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    sinks: Mutex<BTreeMap<CheckpointId, Arc<dyn CheckpointSink>>>,
}

impl fmt::Debug for IoThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IoThreads").field("threads", &lock(&self.threads).len()).finish_non_exhaustive()
    }
}

impl IoThreads {
    pub(crate) fn start(count: usize) -> Result<Self> {
        let (sender, receiver) = unbounded::<Work>();
        let threads = (0..count).map(|index| spawn(index, receiver.clone())).collect::<Result<Vec<_>>>()?;
        Ok(IoThreads { work: Mutex::new(Some(sender)), threads: Mutex::new(threads), sinks: Mutex::default() })
    }

    pub(crate) fn run(&self, work: impl FnOnce() + Send + 'static) {
        if let Some(sender) = lock(&self.work).as_ref() {
            // Receivers live until the threads are joined, which takes the sender first.
            let _ = sender.send(Box::new(work));
        }
    }

    /// Lets the threads finish what they have and waits for them. Called by the thread that runs the job: work keeps this
    /// object alive, and a thread cannot wait for itself.
    pub(crate) fn finish(&self) {
        *lock(&self.work) = None;
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("an I/O thread panicked");
            }
        }
    }

    /// Says where snapshots of a checkpoint go, before its cut is announced.
    pub(crate) fn open_checkpoint(&self, id: CheckpointId, sink: Arc<dyn CheckpointSink>) {
        lock(&self.sinks).insert(id, sink);
    }

    pub(crate) fn close_checkpoint(&self, id: CheckpointId) {
        lock(&self.sinks).remove(&id);
    }

    /// Uploads a snapshot; the result arrives at `outcomes`.
    pub(crate) fn upload(&self, id: CheckpointId, snapshot: Box<dyn Snapshot>, outcomes: &Outcomes<Upload>) {
        let sink = lock(&self.sinks).get(&id).cloned();
        let inlet = outcomes.inlet();
        self.run(move || {
            let result = match sink {
                // A panic in a backend fails the checkpoint, not the process.
                Some(sink) => catch_unwind(AssertUnwindSafe(|| snapshot.upload(sink.as_ref())))
                    .unwrap_or_else(|_| Err(Error::internal("an upload panicked"))),
                None => Err(Error::closed("the checkpoint is over")),
            };
            inlet.send(Upload { id, result });
        });
    }
}

fn spawn(index: usize, work: Receiver<Work>) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(format!("io-{index}"))
        .spawn(move || {
            for work in work {
                work();
            }
        })
        .map_err(|error| Error::exhausted("an I/O thread cannot be started").because(error))
}

/// An upload that has ended.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) id: CheckpointId,
    pub(crate) result: Result<KeyedStateHandle>,
}

/// Where results arrive on a worker, which is woken by each.
#[derive(Debug)]
pub(crate) struct Outcomes<T> {
    sender: Sender<T>,
    receiver: Receiver<T>,
    activator: SyncActivator,
}

impl<T> Outcomes<T> {
    pub(crate) fn new(activator: SyncActivator) -> Self {
        let (sender, receiver) = unbounded();
        Outcomes { sender, receiver, activator }
    }

    pub(crate) fn inlet(&self) -> Inlet<T> {
        Inlet { sender: self.sender.clone(), activator: self.activator.clone() }
    }

    pub(crate) fn take(&self) -> impl Iterator<Item = T> + '_ {
        self.receiver.try_iter()
    }
}

/// The other end of [`Outcomes`].
#[derive(Debug)]
pub(crate) struct Inlet<T> {
    sender: Sender<T>,
    activator: SyncActivator,
}

impl<T> Inlet<T> {
    pub(crate) fn send(&self, outcome: T) {
        // A worker that has ended takes no results any more.
        if self.sender.send(outcome).is_ok() {
            let _ = self.activator.activate();
        }
    }
}
