//! What the threads of one process share: the first failure, the wish to stop, and what people look at.

use crate::leader::job_control::JobControl;
use crate::lock::lock;
use crate::metrics::JobMetrics;
use headpond_state::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Shared by the workers, readers and I/O threads of one process.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    failure: Mutex<Option<Error>>,
    failed: AtomicBool,
    finished: AtomicBool,
    pub(crate) control: JobControl,
    pub(crate) metrics: Arc<JobMetrics>,
}

impl Shared {
    pub(crate) fn new(control: JobControl, metrics: Arc<JobMetrics>) -> Self {
        Shared {
            failure: Mutex::new(None),
            failed: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            control,
            metrics,
        }
    }

    /// Records the first failure and makes every worker leave its loop.
    pub(crate) fn fail(&self, error: Error) {
        tracing::debug!(?error, "the job fails");
        lock(&self.failure).get_or_insert(error);
        self.failed.store(true, Ordering::Release);
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// All input was read and all output published.
    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Release);
    }

    pub(crate) fn has_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    pub(crate) fn take_failure(&self) -> Option<Error> {
        lock(&self.failure).take()
    }
}
