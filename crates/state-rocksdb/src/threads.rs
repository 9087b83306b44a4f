//! A few named threads that run jobs in the order they come.

use headpond_state::{Error, Result};
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that end when the last clone is dropped and all jobs are done.
#[derive(Debug, Clone)]
pub(crate) struct Threads {
    jobs: mpsc::Sender<Job>,
    count: usize,
}

impl Threads {
    /// Starts `count` threads called `name`.
    pub(crate) fn start(name: &str, count: usize) -> Result<Threads> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let count = count.max(1);
        for _ in 0..count {
            let queue = Arc::clone(&queue);
            thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || run_jobs(&queue))
                .map_err(|cause| Error::exhausted(format!("cannot start a thread for {name}")).because(cause))?;
        }
        Ok(Threads { jobs, count })
    }

    /// The number of threads.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Runs the job on the next free thread.
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) {
        // Fails only when every thread is gone, and threads outlive their senders.
        let _ = self.jobs.send(Box::new(job));
    }
}

fn run_jobs(queue: &Mutex<mpsc::Receiver<Job>>) {
    loop {
        let next = queue.lock().recv();
        let Ok(job) = next else { return };
        // A job that panics must not take the thread with it: others wait in the queue.
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a background job of the RocksDB backend panicked");
        }
    }
}
