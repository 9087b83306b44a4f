//! Pacing: no more than so many rows a second, whichever splits they are of.

use std::time::{Duration, Instant};

/// How long a reader sleeps at most when it may not read.
const NAP: Duration = Duration::from_millis(20);
/// How much a reader that was held up may catch up.
const BURST: Duration = Duration::from_millis(100);

/// Allows rows as time passes.
#[derive(Debug)]
pub(super) struct Pace {
    per_second: f64,
    allowed: f64,
    since: Instant,
}

impl Pace {
    /// A reader's share of `rows_per_second`.
    pub(super) fn new(rows_per_second: u64, readers: usize) -> Self {
        let per_second = rows_per_second.max(1) as f64 / readers.max(1) as f64;
        Pace { per_second, allowed: 0.0, since: Instant::now() }
    }

    /// How many rows may be read now, at most `wanted`. Zero after a short sleep when there are none.
    pub(super) fn allow(&mut self, wanted: usize) -> usize {
        self.refill();
        if self.allowed < 1.0 {
            let missing = Duration::from_secs_f64(((1.0 - self.allowed) / self.per_second).min(1.0));
            std::thread::sleep(missing.min(NAP));
            self.refill();
        }
        (self.allowed as usize).min(wanted)
    }

    /// Says that rows were read.
    pub(super) fn given(&mut self, rows: usize) {
        self.allowed -= rows as f64;
    }

    fn refill(&mut self) {
        let now = Instant::now();
        let passed = now.duration_since(self.since).as_secs_f64();
        self.since = now;
        let most = (self.per_second * BURST.as_secs_f64()).max(1.0);
        self.allowed = (self.allowed + passed * self.per_second).min(most);
    }
}
