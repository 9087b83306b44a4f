//! The same for many, on a few threads.

use headpond_state::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does `work` with each item, on up to `threads` threads, and returns what came of each, in no order. A thread whose
/// work failed stops; the first error is returned when all threads have ended.
pub(crate) fn in_parallel<'a, T: Sync, U: Send>(
    threads: usize,
    items: &'a [T],
    work: impl Fn(&'a T) -> Result<U> + Sync,
) -> Result<Vec<U>> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            match work(item) {
                Ok(result) => done.push(result),
                Err(error) => {
                    // Nobody needs the others any more.
                    next.store(items.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(done)
    };
    let done: Result<Vec<Vec<U>>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.min(items.len())).map(|_| scope.spawn(take)).collect();
        let panicked = || Err(Error::internal("a thread that reads checkpoint files panicked"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
    });
    Ok(done?.into_iter().flatten().collect())
}
