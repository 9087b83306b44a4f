//! Pacing: no more than so many rows a second.

use std::time::{Duration, Instant};

/// How long a reader sleeps at most when it has no row to give.
const NAP: Duration = Duration::from_millis(20);
/// How much a reader that was held up may catch up.
const BURST: Duration = Duration::from_millis(100);

/// Allows rows as time passes.
#[derive(Debug)]
pub(crate) struct Pace {
    per_second: f64,
    allowed: f64,
    since: Instant,
}

impl Pace {
    /// A reader's share of `rows_per_second`.
    pub(crate) fn new(rows_per_second: u64, readers: usize) -> Self {
        let per_second = rows_per_second as f64 / readers.max(1) as f64;
        Pace { per_second, allowed: 0.0, since: Instant::now() }
    }

    /// How many rows may be given now, at most `wanted`. Zero after a short sleep when there are none.
    pub(crate) fn allow(&mut self, wanted: usize) -> usize {
        if wanted == 0 {
            return 0;
        }
        self.refill();
        if self.allowed < 1.0 {
            let missing = Duration::from_secs_f64(((1.0 - self.allowed) / self.per_second).min(1.0));
            std::thread::sleep(missing.min(NAP));
            self.refill();
        }
        (self.allowed as usize).min(wanted)
    }

    /// Says that rows were given.
    pub(crate) fn given(&mut self, rows: usize) {
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
