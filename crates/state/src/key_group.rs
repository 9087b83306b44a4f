//! Key groups: the unit in which keyed state is dealt to workers, moved and restored.
//!
//! A key belongs to the group `xxh3_64(key bytes) mod max parallelism` (XXH3 is a published, frozen hash; this use of
//! it has the name [`KEY_GROUP_HASH`] in every manifest). Subtask `i` of `n` owns the contiguous range of groups `g`
//! with `g * n / max parallelism == i`, the rule Flink uses.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of the hash that assigns keys to key groups. A change of hash is a new name.
pub const KEY_GROUP_HASH: &str = "xxh3-64-v1";

/// The number of key groups of a job: fixed when its first checkpoint is taken, 128 by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct MaxParallelism(u16);

impl MaxParallelism {
    /// The default number of key groups.
    pub const DEFAULT: MaxParallelism = MaxParallelism(128);
    /// The largest number of key groups.
    pub const LARGEST: u32 = 32_768;

    /// `groups` key groups.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) unless `1 <= groups <= 32768`.
    pub fn new(groups: u32) -> Result<Self> {
        match u16::try_from(groups) {
            Ok(groups) if groups >= 1 && u32::from(groups) <= Self::LARGEST => Ok(MaxParallelism(groups)),
            _ => Err(Error::invalid(format!("max parallelism must be between 1 and {}, not {groups}", Self::LARGEST))),
        }
    }

    /// The number of key groups.
    pub fn get(self) -> u16 {
        self.0
    }

    /// The bytes a key group takes in an encoded key: 1 for up to 128 groups, else 2.
    pub fn prefix_len(self) -> usize {
        if self.0 <= 128 { 1 } else { 2 }
    }

    /// The key group of a key's bytes.
    #[inline]
    pub fn key_group(self, key: &[u8]) -> KeyGroup {
        KeyGroup((xxhash_rust::xxh3::xxh3_64(key) % u64::from(self.0)) as u16)
    }

    /// The key group an encoded entry key begins with.
    ///
    /// # Panics
    /// If `entry_key` is shorter than [`prefix_len`](Self::prefix_len).
    #[inline]
    pub fn key_group_of_entry(self, entry_key: &[u8]) -> KeyGroup {
        if self.prefix_len() == 1 {
            KeyGroup(u16::from(entry_key[0]))
        } else {
            KeyGroup(u16::from_be_bytes([entry_key[0], entry_key[1]]))
        }
    }

    /// The subtask (of `parallelism`) that owns `group`.
    #[inline]
    pub fn subtask_of(self, group: KeyGroup, parallelism: usize) -> usize {
        usize::from(group.0) * parallelism / usize::from(self.0)
    }

    /// The groups that `subtask` of `parallelism` owns; empty when there are more subtasks than groups.
    pub fn range_of(self, subtask: usize, parallelism: usize) -> KeyGroupRange {
        let max = usize::from(self.0);
        let start = (subtask * max).div_ceil(parallelism);
        let end = ((subtask + 1) * max).div_ceil(parallelism);
        KeyGroupRange { start: start as u16, end: end as u16 }
    }
}

impl TryFrom<u32> for MaxParallelism {
    type Error = Error;
    fn try_from(groups: u32) -> Result<Self> {
        MaxParallelism::new(groups)
    }
}

impl From<MaxParallelism> for u32 {
    fn from(max: MaxParallelism) -> u32 {
        u32::from(max.0)
    }
}

/// The number of a key group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyGroup(pub u16);

impl KeyGroup {
    /// Appends the group's prefix of an encoded key.
    #[inline]
    pub fn encode(self, max: MaxParallelism, out: &mut Vec<u8>) {
        if max.prefix_len() == 1 {
            out.push(self.0 as u8);
        } else {
            out.extend_from_slice(&self.0.to_be_bytes());
        }
    }
}

/// A contiguous range of key groups, `start` inclusive, `end` exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyGroupRange {
    /// The first group.
    pub start: u16,
    /// One beyond the last group.
    pub end: u16,
}

impl KeyGroupRange {
    /// Whether there is no group in the range.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The number of groups.
    pub fn len(self) -> usize {
        usize::from(self.end.saturating_sub(self.start))
    }

    /// Whether the range has `group`.
    #[inline]
    pub fn contains(self, group: KeyGroup) -> bool {
        self.start <= group.0 && group.0 < self.end
    }

    /// The groups both ranges have.
    #[must_use]
    pub fn intersection(self, other: KeyGroupRange) -> KeyGroupRange {
        let start = self.start.max(other.start);
        KeyGroupRange { start, end: self.end.min(other.end).max(start) }
    }

    /// The groups in ascending order.
    pub fn iter(self) -> impl Iterator<Item = KeyGroup> {
        (self.start..self.end).map(KeyGroup)
    }
}

impl fmt::Display for KeyGroupRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
