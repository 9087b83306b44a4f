//! I/O threads: what blocks runs here, so that no worker waits for a disk or a store.

use crate::panics;
use crossbeam_channel::{Receiver, Sender, unbounded};
use headpond_state::{Error, Result};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

type Work = Box<dyn FnOnce() + Send>;
type OnPanic = Arc<dyn Fn(Error) + Send + Sync>;

/// A few threads that do what blocks.
pub(crate) struct IoThreads {
    work: Mutex<Option<Sender<Work>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl fmt::Debug for IoThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IoThreads").field("threads", &self.threads.lock().len()).finish_non_exhaustive()
    }
}

impl IoThreads {
    /// Starts threads. A panic in what they do goes to `on_panic`, and they go on.
    pub(crate) fn start(name: &str, count: usize, on_panic: impl Fn(Error) + Send + Sync + 'static) -> Result<Self> {
        let (sender, receiver) = unbounded::<Work>();
        let on_panic: OnPanic = Arc::new(on_panic);
        let spawn = |index| spawn(format!("{name}-{index}"), receiver.clone(), on_panic.clone());
        let threads = (0..count).map(spawn).collect::<Result<Vec<_>>>()?;
        Ok(IoThreads { work: Mutex::new(Some(sender)), threads: Mutex::new(threads) })
    }

    pub(crate) fn run(&self, work: impl FnOnce() + Send + 'static) {
        if let Some(sender) = self.work.lock().as_ref() {
            // Receivers live until the threads are joined, which takes the sender first.
            let _ = sender.send(Box::new(work));
        }
    }

    /// Lets the threads finish what they have and waits for them. Called by the thread that runs the job: work keeps
    /// this object alive, and a thread cannot wait for itself.
    pub(crate) fn finish(&self) {
        *self.work.lock() = None;
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // What they do is caught; their own loop does not panic.
            let _ = thread.join();
        }
    }
}

fn spawn(name: String, work: Receiver<Work>, on_panic: OnPanic) -> Result<JoinHandle<()>> {
    let place = format!("the I/O thread {name}");
    std::thread::Builder::new()
        .name(name)
        .spawn(move || {
            for work in work {
                if let Err(error) = panics::caught(&place, work) {
                    on_panic(error);
                }
            }
        })
        .map_err(|error| Error::exhausted("an I/O thread cannot be started").because(error))
}
