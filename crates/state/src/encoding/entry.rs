//! Whole keys of entries.

use super::read::KeyReader;
use super::write::put_i64;
use crate::error::{Error, Result};
use crate::key_group::{KeyGroup, MaxParallelism};

/// The namespace of states outside windows: no bytes.
pub const NO_NAMESPACE: &[u8] = &[];

/// Builds the keys of entries and takes them apart, for one max parallelism. All methods append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryKeys {
    max: MaxParallelism,
}

impl EntryKeys {
    /// Keys for a job with `max` key groups.
    pub fn new(max: MaxParallelism) -> Self {
        EntryKeys { max }
    }

    /// The key group of a key's bytes.
    #[inline]
    pub fn key_group(self, key: &[u8]) -> KeyGroup {
        self.max.key_group(key)
    }

    /// Appends `key group | key | namespace`: the key of a value, and the prefix of what a map or list holds for the
    /// key.
    #[inline]
    pub fn entry(self, group: KeyGroup, key: &[u8], namespace: &[u8], out: &mut Vec<u8>) {
        group.encode(self.max, out);
        out.extend_from_slice(key);
        out.extend_from_slice(namespace);
    }

    /// Appends `key group | key | namespace | user key`.
    #[inline]
    pub fn map_entry(self, group: KeyGroup, key: &[u8], namespace: &[u8], user_key: &[u8], out: &mut Vec<u8>) {
        self.entry(group, key, namespace, out);
        out.extend_from_slice(user_key);
    }

    /// Appends `key group | key | namespace | sequence`.
    #[inline]
    pub fn list_element(self, group: KeyGroup, key: &[u8], namespace: &[u8], sequence: u64, out: &mut Vec<u8>) {
        self.entry(group, key, namespace, out);
        out.extend_from_slice(&sequence.to_be_bytes());
    }

    /// Appends `key group | time | key | user key`: an entry of a state whose order is
    /// [`TimeFirst`](crate::EntryOrder::TimeFirst). What belongs to a time, or to a span of time known by its
    /// beginning, lies together in each key group, so that it can be dropped with one range.
    #[inline]
    pub fn timed(self, group: KeyGroup, time_ms: i64, key: &[u8], user_key: &[u8], out: &mut Vec<u8>) {
        self.timer(group, time_ms, key, user_key, out);
    }

    /// Appends `key group | time | key | namespace`.
    #[inline]
    pub fn timer(self, group: KeyGroup, time_ms: i64, key: &[u8], namespace: &[u8], out: &mut Vec<u8>) {
        self.timer_bound(group, time_ms, out);
        out.extend_from_slice(key);
        out.extend_from_slice(namespace);
    }

    /// Appends `key group | time`, which is at most every timer of that time and above every earlier one.
    #[inline]
    pub fn timer_bound(self, group: KeyGroup, time_ms: i64, out: &mut Vec<u8>) {
        group.encode(self.max, out);
        put_i64(time_ms, out);
    }

    /// The group of an entry, and what follows it.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) for bytes too short to have a group.
    #[inline]
    pub fn split_group(self, entry: &[u8]) -> Result<(KeyGroup, &[u8])> {
        let len = self.max.prefix_len();
        if entry.len() < len {
            return Err(Error::corrupt("an entry's key is too short for its key group"));
        }
        Ok((self.max.key_group_of_entry(entry), &entry[len..]))
    }

    /// Takes a timer's entry apart.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) for bytes too short to be a timer's.
    #[inline]
    pub fn split_timer(self, entry: &[u8]) -> Result<TimerEntry<'_>> {
        let (key_group, rest) = self.split_group(entry)?;
        let mut reader = KeyReader::new(rest);
        let time_ms = reader.i64()?;
        Ok(TimerEntry { key_group, time_ms, key_and_namespace: reader.rest() })
    }
}

/// The parts of a timer's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerEntry<'a> {
    /// The key's group.
    pub key_group: KeyGroup,
    /// When the timer is due.
    pub time_ms: i64,
    /// The key and, behind it, the namespace; [`KeySchema::split`](super::KeySchema::split) tells them apart.
    pub key_and_namespace: &'a [u8],
}

/// Appends the namespace of the window from `start_ms` (inclusive) to `end_ms` (exclusive).
#[inline]
pub fn window_namespace(start_ms: i64, end_ms: i64, out: &mut Vec<u8>) {
    put_i64(start_ms, out);
    put_i64(end_ms, out);
}

/// The start and end of the window whose namespace this is.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt) for bytes that are no window's namespace.
#[inline]
pub fn window_of_namespace(namespace: &[u8]) -> Result<(i64, i64)> {
    let mut reader = KeyReader::new(namespace);
    let window = (reader.i64()?, reader.i64()?);
    match reader.rest().len() {
        0 => Ok(window),
        more => Err(Error::corrupt(format!("a window's namespace is followed by {more} more bytes"))),
    }
}

/// Turns a prefix into the first key beyond every key that begins with it. `false`: there is none, and `prefix` is
/// empty.
pub fn prefix_end(prefix: &mut Vec<u8>) -> bool {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return true;
        }
    }
    false
}

/// The first 16 bytes of a key as a number that orders as the bytes do. Sorting by it first and by the bytes where it
/// is equal is sorting by the bytes, with hardly a look at them.
#[inline]
pub fn sort_prefix(key: &[u8]) -> u128 {
    match key.first_chunk::<16>() {
        Some(first) => u128::from_be_bytes(*first),
        None => {
            let mut first = [0; 16];
            first[..key.len()].copy_from_slice(key);
            u128::from_be_bytes(first)
        }
    }
}
