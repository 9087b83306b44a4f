//! What the threads of one process share: the way to the leader, and whether the job is to end.

use crate::control::Report;
use crate::failure::Failure;
use crate::link::Link;
use crate::message::{Notice, ToLeader};
use headpond_state::Error;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use timely::scheduling::activate::SyncActivator;

/// Shared by the workers, readers and I/O threads of one process.
#[derive(Debug)]
pub(crate) struct Shared {
    leader: Arc<dyn Link<ToLeader>>,
    failed: AtomicBool,
    workers: Mutex<Vec<SyncActivator>>,
}

impl Shared {
    pub(crate) fn new(leader: Arc<dyn Link<ToLeader>>) -> Self {
        Shared { leader, failed: AtomicBool::new(false), workers: Mutex::default() }
    }

    /// Tells the leader.
    pub(crate) fn tell(&self, notice: Notice) {
        self.leader.send(ToLeader(notice));
    }

    /// Tells the leader what an operator has to say.
    pub(crate) fn report(&self, reports: Vec<Report>) {
        if !reports.is_empty() {
            self.tell(Notice::Reports(reports));
        }
    }

    /// The job cannot go on: the leader hears of the first failure, and every worker of the process leaves its loop.
    pub(crate) fn fail(&self, error: Error) {
        tracing::debug!(?error, "the job fails");
        if !self.failed.swap(true, Ordering::AcqRel) {
            self.tell(Notice::Failed(Failure(error)));
            self.wake();
        }
    }

    /// The leader has said that the job has failed, wherever that was.
    pub(crate) fn end(&self) {
        self.failed.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Whom to wake when the job fails: a worker, before it looks whether it has.
    pub(crate) fn wake_by(&self, worker: SyncActivator) {
        self.workers.lock().push(worker);
    }

    fn wake(&self) {
        for worker in self.workers.lock().iter() {
            // One that has ended already need not be woken.
            let _ = worker.activate();
        }
    }
}
