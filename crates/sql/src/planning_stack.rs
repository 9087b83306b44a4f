//! A stack of its own for parsing and planning, which recurse as deep as a query nests.

use headpond_state::{Error, Result};
use std::thread;

/// How large it is. Pages that are not touched cost nothing.
const STACK_BYTES: usize = 512 << 20;

/// Does the work on a thread with a large stack, and waits for it.
///
/// # Errors
/// [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted) when the system gives no such thread.
///
/// # Panics
/// As the work.
pub(crate) fn on_planning_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    thread::scope(|scope| {
        let thread =
            thread::Builder::new().name("planning".to_owned()).stack_size(STACK_BYTES).spawn_scoped(scope, work);
        match thread.map(|thread| thread.join()) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => Err(Error::new(
                headpond_state::ErrorKind::ResourceExhausted,
                "a thread for planning, with a stack of 512 MiB, cannot be started",
            )
            .because(error)),
        }
    })
}
