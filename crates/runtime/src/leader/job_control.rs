//! A running job in the hands of other threads: the request to stop, requests for checkpoints.

use super::coordinator::JobRequest;
use crossbeam_channel::{Receiver, Sender, bounded};
use headpond_checkpoint::storage::{CheckpointStorage, Hold};
use headpond_state::{CheckpointId, Error, Result};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A handle by which other threads (a signal's, a progress display's) reach a running job.
#[derive(Debug, Clone, Default)]
pub struct JobControl(Arc<ControlInner>);

/// Wakes the leader.
type Waker = Box<dyn Fn() + Send>;

#[derive(Default)]
struct ControlInner {
    stop: AtomicBool,
    requests: Mutex<Vec<CheckpointRequest>>,
    waker: Mutex<Option<Waker>>,
}

impl fmt::Debug for ControlInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlInner").field("stop", &self.stop).finish_non_exhaustive()
    }
}

impl JobControl {
    /// A handle for a job to come.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the job to take a last checkpoint and stop.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether the job was asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.0.stop.load(Ordering::Acquire)
    }

    /// Asks the job to take a checkpoint now, or the next one it can; the answer comes when it is durable. Once the job
    /// has been asked to stop, that is its last one. An answer that never comes (the channel is closed) means that the
    /// job has ended.
    pub fn checkpoint(&self) -> Receiver<Result<HeldCheckpoint>> {
        self.request(false)
    }

    /// [Stops](Self::stop) the job and answers as [`checkpoint`](Self::checkpoint) does, with its last one.
    pub fn stop_with_checkpoint(&self) -> Receiver<Result<HeldCheckpoint>> {
        self.request(true)
    }

    fn request(&self, last: bool) -> Receiver<Result<HeldCheckpoint>> {
        let (sender, answer) = bounded(1);
        {
            // Both at once, for who looks at the same time: the request for a last checkpoint is none for another.
            let mut requests = self.0.requests.lock();
            requests.push(CheckpointRequest { sender, last });
            if last {
                self.0.stop.store(true, Ordering::Release);
            }
        }
        self.wake();
        answer
    }

    /// What is wanted of the job.
    pub(crate) fn pending(&self) -> JobRequest {
        let requests = self.0.requests.lock();
        match (self.is_stopping(), requests.is_empty()) {
            (true, _) => JobRequest::Stop,
            (false, false) => JobRequest::Checkpoint,
            (false, true) => JobRequest::None,
        }
    }

    /// Takes those who wait for the checkpoint that begins now, which is the `last` one or not.
    pub(crate) fn take_requests(&self, last: bool) -> Vec<CheckpointRequest> {
        self.0.requests.lock().extract_if(.., |request| last || !request.last).collect()
    }

    /// Nobody answers any more, and nobody is to be woken.
    pub(crate) fn close(&self) {
        self.take_requests(true);
        *self.0.waker.lock() = None;
    }

    fn wake(&self) {
        if let Some(waker) = self.0.waker.lock().as_ref() {
            waker();
        }
    }

    pub(crate) fn wake_by(&self, waker: impl Fn() + Send + 'static) {
        *self.0.waker.lock() = Some(Box::new(waker));
    }
}

/// A checkpoint that was asked for. It is kept, whatever the job's retention says, as long as this lives.
#[derive(Debug)]
pub struct HeldCheckpoint {
    /// Its number.
    pub id: CheckpointId,
    /// Where it is.
    pub location: String,
    _hold: Hold,
}

/// Somebody waits for a checkpoint.
#[derive(Debug)]
pub(crate) struct CheckpointRequest {
    sender: Sender<Result<HeldCheckpoint>>,
    /// Only the job's last one will do.
    last: bool,
}

impl CheckpointRequest {
    /// The checkpoint is there. Who does not wait any more does not hold it.
    pub(crate) fn answer(self, id: CheckpointId, storage: Option<&CheckpointStorage>) {
        if let Some(storage) = storage {
            let held = HeldCheckpoint { id, location: storage.locate(id), _hold: storage.hold(id) };
            let _ = self.sender.send(Ok(held));
        }
    }

    pub(crate) fn fail(self, error: &Error) {
        let failed = Error::new(error.kind(), "the checkpoint failed").because(error.to_string());
        let _ = self.sender.send(Err(failed));
    }
}
