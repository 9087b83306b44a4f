//! Giving back what has expired, a little at a time.
//!
//! Reads never need it: they look at each value's timestamp. But keys that nobody asks for again would stay for ever.
//! So every write looks at a few pieces of each table whose entries expire, more of them the further the operator's
//! clock has moved on: a table is gone through once in a [`PASSES`]th of its time to live. A piece, a page or a leaf,
//! is passed over while nothing in it can have expired, so that a pass mostly touches what it removes.

use crate::expired::{Expiry, Swept};
use crate::table::Table;
use headpond_state::OperatorClock;
use headpond_state::ttl::TtlConfig;

/// How often a table is gone through during a time to live: about one part in so many of it may be expired and still
/// there.
const PASSES: i64 = 16;

/// Entries or pieces that are looked at for each write, at most ...
const STEPS_PER_WRITE: u64 = 8;

/// ... or in a call of few writes.
const STEPS_PER_CALL: u64 = 2048;

/// How far the sweep of a state has come.
#[derive(Debug)]
pub(crate) struct Sweeper {
    ttl: TtlConfig,
    /// The piece to look at next.
    pub(crate) shard: usize,
    pub(crate) piece: usize,
    /// Up to when the clock's progress has been made into steps.
    swept_ms: Option<i64>,
    /// Steps that are due.
    debt: u64,
    /// Bytes removed by the pass that goes on, and by the last one.
    pass_bytes: u64,
    last_pass_bytes: u64,
}

impl Sweeper {
    pub(crate) fn new(ttl: TtlConfig) -> Self {
        Sweeper { ttl, shard: 0, piece: 0, swept_ms: None, debt: 0, pass_bytes: 0, last_pass_bytes: 0 }
    }

    /// How many steps to take now through a table of this size, in a call with `writes` writes, and what has expired.
    pub(crate) fn due(&mut self, clock: &OperatorClock, table: &Table, writes: usize) -> (u64, Expiry) {
        let now_ms = clock.now_in(self.ttl.domain);
        let expiry = Expiry { ttl_ms: self.ttl.ttl_ms, now_ms };
        if now_ms == i64::MIN {
            // Event time has not begun: nothing expires.
            return (0, expiry);
        }
        // What a restore brings may have expired long ago: the first pass is due at once.
        let since_ms = self.swept_ms.unwrap_or(now_ms.saturating_sub(self.ttl.ttl_ms));
        let elapsed_ms = now_ms.saturating_sub(since_ms).max(0);
        // Pieces and shards are steps too, whatever is in them.
        let pass = match table.len() {
            0 => 0,
            entries => (entries + entries / 4 + 4 * table.shards()) as u128,
        };
        let steps = pass * elapsed_ms as u128 / (self.ttl.ttl_ms / PASSES).max(1) as u128;
        if steps > 0 {
            self.swept_ms = Some(now_ms);
            self.debt = (u128::from(self.debt) + steps).min(pass) as u64;
        }
        (self.debt.min((writes as u64 * STEPS_PER_WRITE).max(STEPS_PER_CALL)), expiry)
    }

    /// Notes that a step was taken, and returns how many it counts for.
    pub(crate) fn stepped(&mut self, swept: Option<Swept>, shards: usize) -> u64 {
        let steps = 1 + swept.map_or(0, |swept| swept.entries as u64);
        self.debt = self.debt.saturating_sub(steps);
        match swept {
            Some(swept) => {
                self.piece += usize::from(!swept.again);
                self.pass_bytes += swept.bytes as u64;
            }
            None => {
                self.piece = 0;
                self.shard += 1;
            }
        }
        if self.shard >= shards {
            self.shard = 0;
            self.last_pass_bytes = std::mem::take(&mut self.pass_bytes);
        }
        steps
    }

    /// Bytes that have expired and are still there, by what the last pass found: on average half of that has come
    /// since.
    pub(crate) fn expired_bytes(&self) -> u64 {
        self.last_pass_bytes.max(self.pass_bytes) / 2
    }
}
