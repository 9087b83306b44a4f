//! Mutexes whose data stay valid when a thread panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The guard of a mutex whose data stay valid when a thread panicked while it held it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
