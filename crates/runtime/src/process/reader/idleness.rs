//! Whether a split has had nothing to read for too long.

use std::time::{Duration, Instant};

/// How long a split has had nothing to read. Only asking tells: time in which its reader reads other splits, or waits
/// for its worker, is none in which a split has nothing, unless it has nothing before and after.
#[derive(Debug, Default)]
pub(super) struct Idleness {
    /// Since when there has been nothing to read.
    waiting_since: Option<Instant>,
    told: bool,
}

impl Idleness {
    pub(super) fn has_rows(&mut self) {
        *self = Idleness::default();
    }

    /// There is nothing to read. True when the split is idle by now and that is news.
    pub(super) fn waits(&mut self, timeout: Option<Duration>) -> bool {
        let waiting_since = *self.waiting_since.get_or_insert_with(Instant::now);
        let begins = !self.told && timeout.is_some_and(|timeout| waiting_since.elapsed() >= timeout);
        self.told |= begins;
        begins
    }
}
