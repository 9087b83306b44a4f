//! A stream of ever-new keys: what a backend takes while keys come, are written a few times within a short span, and
//! are never heard of again.
//!
//! [`Aging`] drives a backend through several times to live under a clock of its own, without waiting, and tells what
//! is live and what the backend takes. Entries go because they expire, or because their owner deletes them; either way
//! the space they took must come back. Scenarios run it small, examples of the backends print it as a curve.

use crate::Subject;
use crate::subject::{point_state, register, scan_state};
use headpond_state::ttl::{self, TimeDomain, TtlConfig};
use headpond_state::{
    CheckpointId, KeyedStateBackend, KeyedStateHandle, SnapshotOptions, StateId, StateUsage, WriteBatch,
};

/// Bytes of a key, with its key group.
const KEY_LEN: u64 = 17;

/// How entries come to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// They expire, by this time.
    Expiry(TimeDomain),
    /// Their owner deletes them one by one, as windows and timers go.
    Deletion,
    /// Their owner deletes them by ranges of time in each key group, as join buffers go.
    RangeDeletion,
}

/// What to drive a backend with.
#[derive(Debug, Clone, Copy)]
pub struct Aging {
    /// How entries end.
    pub end: End,
    /// How long they live, in milliseconds.
    pub ttl_ms: i64,
    /// How many times to live to go through.
    pub ttls: u64,
    /// New keys within a time to live: the number of live entries.
    pub live: u64,
    /// How often a key is written, within a fiftieth of a time to live.
    pub writes_per_key: u64,
    /// Bytes of a value, its timestamp included; they do not compress.
    pub value_len: usize,
    /// Checkpoints within a time to live.
    pub checkpoints_per_ttl: u64,
}

/// What was live, and what the backend took, at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Times to live since the beginning.
    pub ttls: f64,
    /// Entries that are live.
    pub entries: u64,
    /// Bytes of their keys and values.
    pub live_bytes: u64,
    /// What the backend said.
    pub usage: StateUsage,
}

impl Aging {
    /// Drives a new instance of the subject and calls `look` after every step, of which there are 200 in a time to
    /// live. Leaves the instance as it is at the end.
    ///
    /// # Panics
    /// If the backend fails.
    pub fn run(&self, subject: &Subject, look: &mut dyn FnMut(Sample)) -> Box<dyn KeyedStateBackend> {
        /// Steps in a time to live.
        const STEPS: u64 = 200;
        let mut keyed = subject.open();
        let descriptor = match self.end {
            End::Expiry(domain) => {
                point_state("keys").with_ttl(Some(TtlConfig { domain, ..TtlConfig::new(self.ttl_ms) }))
            }
            End::Deletion => point_state("keys"),
            End::RangeDeletion => scan_state("keys"),
        };
        let state = register(&mut *keyed, &descriptor);
        let (mut batch, mut base) = (WriteBatch::new(), Vec::new());
        for step in 0..self.ttls * STEPS {
            let now_ms = self.ttl_ms * step as i64 / STEPS as i64;
            subject.clock().advance_to(now_ms);
            subject.clock().advance_event_time_to(now_ms);
            let keys_at = |step: u64| step * self.live / STEPS;
            // Every key is written again in each of the steps that follow its first.
            for again in 0..self.writes_per_key.min(step + 1) {
                for index in keys_at(step - again)..keys_at(step - again + 1) {
                    self.put(&mut batch, state, index, now_ms);
                }
            }
            if let Some(over) = step.checked_sub(STEPS + self.writes_per_key) {
                self.end(&mut batch, state, keys_at(over)..keys_at(over + 1));
            }
            keyed.write(&mut batch).expect("the batch is written");
            keyed.time_passed().expect("an open instance");
            if self.checkpoints_per_ttl > 0 && step % (STEPS / self.checkpoints_per_ttl).max(1) == 0 {
                base = checkpoint(subject, &mut *keyed, step, base);
            }
            let first = step.saturating_sub(STEPS + self.writes_per_key - 1);
            let entries = keys_at(step + 1) - keys_at(first);
            look(Sample {
                ttls: (step + 1) as f64 / STEPS as f64,
                entries,
                live_bytes: entries * (KEY_LEN + self.value_len as u64),
                usage: keyed.usage(),
            });
        }
        keyed
    }

    fn key(&self, index: u64) -> [u8; KEY_LEN as usize] {
        let mut spread = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        spread ^= spread >> 29;
        let mut key = [0; KEY_LEN as usize];
        key[0] = (spread % 128) as u8;
        let (first, second) = match self.end {
            // What is deleted by ranges of time has its time first.
            End::RangeDeletion => (index, spread),
            _ => (spread, index),
        };
        key[1..9].copy_from_slice(&first.to_be_bytes());
        key[9..].copy_from_slice(&second.to_be_bytes());
        key
    }

    fn put(&self, batch: &mut WriteBatch, state: StateId, index: u64, now_ms: i64) {
        batch.put_with(state, &self.key(index), |value| {
            let end = value.len() + self.value_len;
            ttl::seal(now_ms, value);
            let mut random = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (now_ms as u64 | 1);
            while value.len() < end {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                value.extend_from_slice(&random.to_le_bytes());
            }
            value.truncate(end);
        });
    }

    /// Ends the life of keys whose time is over.
    fn end(&self, batch: &mut WriteBatch, state: StateId, keys: std::ops::Range<u64>) {
        match self.end {
            End::Expiry(_) => {}
            End::Deletion => keys.for_each(|index| batch.delete(state, &self.key(index))),
            End::RangeDeletion => {
                for group in 0..128u8 {
                    let bound = |index: u64| [&[group][..], &index.to_be_bytes()].concat();
                    batch.delete_range(state, &bound(0), &bound(keys.end));
                }
            }
        }
    }
}

fn checkpoint(
    subject: &Subject,
    keyed: &mut dyn KeyedStateBackend,
    step: u64,
    base: Vec<KeyedStateHandle>,
) -> Vec<KeyedStateHandle> {
    let id = CheckpointId(step + 1);
    let snapshot = keyed.snapshot(id, &SnapshotOptions::default()).expect("a snapshot");
    let handle = snapshot.upload(&subject.store().sink_on(&base)).expect("the snapshot uploads");
    keyed.checkpoint_completed(id).expect("the completion is noted");
    let base = vec![handle];
    subject.store().retain(&base);
    base
}

/// A curve of what a backend takes, as lines of a table.
#[derive(Debug, Default)]
pub struct Curve {
    /// The most of each figure since the last line.
    most: StateUsage,
    printed: u64,
}

impl Curve {
    /// The head of the table.
    pub const HEAD: &'static str = "| TTLs | live entries | live MB | memory MB | disk MB | expired MB | reclaimed MB | bound MB |\n\
                                    |---|---|---|---|---|---|---|---|";

    /// Adds a moment; a line of the table once half a time to live has passed.
    pub fn add(&mut self, moment: &Sample) -> Option<String> {
        let most = &mut self.most;
        most.memory_bytes = most.memory_bytes.max(moment.usage.memory_bytes);
        most.disk_bytes = most.disk_bytes.max(moment.usage.disk_bytes);
        most.expired_bytes = most.expired_bytes.max(moment.usage.expired_bytes);
        if ((moment.ttls * 2.0) as u64) <= self.printed {
            return None;
        }
        self.printed += 1;
        let mb = |bytes: u64| bytes as f64 / 1e6;
        let line = format!(
            "| {:.1} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
            moment.ttls,
            moment.entries,
            mb(moment.live_bytes),
            mb(most.memory_bytes),
            mb(most.disk_bytes),
            mb(most.expired_bytes),
            mb(moment.usage.reclaimed_bytes),
            mb(moment.live_bytes) * 1.2 + 32.0,
        );
        *most = StateUsage::default();
        Some(line)
    }
}
