//! Where the leader's ticks wait for worker 0.

use crate::control::Control;
use parking_lot::Mutex;
use std::collections::VecDeque;
use timely::scheduling::activate::SyncActivator;

/// What the leader has sent for the dataflow.
#[derive(Debug)]
pub(crate) enum Gated {
    /// A tick to open.
    Tick(u64, Control),
    /// No tick follows.
    End,
}

/// A queue that wakes who takes from it.
#[derive(Debug, Default)]
pub(crate) struct ControlGate {
    waiting: Mutex<VecDeque<Gated>>,
    waker: Mutex<Option<SyncActivator>>,
}

impl ControlGate {
    pub(crate) fn put(&self, gated: Gated) {
        self.waiting.lock().push_back(gated);
        if let Some(waker) = self.waker.lock().as_ref() {
            // A worker that has ended takes nothing more.
            let _ = waker.activate();
        }
    }

    pub(crate) fn take(&self) -> VecDeque<Gated> {
        std::mem::take(&mut *self.waiting.lock())
    }

    /// Whom to wake from now on, for what has come before, too.
    pub(crate) fn wake_by(&self, waker: SyncActivator) {
        // First the waker, then the look at what has come: whoever puts does it the other way round.
        *self.waker.lock() = Some(waker.clone());
        if !self.waiting.lock().is_empty() {
            let _ = waker.activate();
        }
    }
}
