//! Timers of one time domain.

use super::context::KeyContext;
use crate::backend::{KeyedStateBackend, ScanRange};
use crate::bytes::{ByteReader, put_varint};
use crate::descriptor::{CodecId, StateDescriptor, StateKind};
use crate::encoding::EntryKeys;
use crate::error::{Context, Error, Result};
use crate::id::StateId;
use crate::key_group::KeyGroup;
use crate::write_batch::WriteBatch;
use std::ops::ControlFlow;

/// The version of a timer's value: the version, then the length of the key (varint), which tells key and namespace
/// apart.
const VERSION: u8 = 1;

/// Timers, in the order of their times within each key group. A key and namespace have at most one timer per time.
///
/// # Errors
/// Calls fail as the backend does; the error of a damaged timer names the state.
#[derive(Debug)]
pub struct Timers {
    name: String,
    state: StateId,
    keys: EntryKeys,
    key: Vec<u8>,
    batch: WriteBatch,
}

/// A timer that is due.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DueTimer {
    /// When it was due, in milliseconds.
    pub time_ms: i64,
    /// The key's group.
    pub key_group: KeyGroup,
    /// The encoded key.
    pub key: Vec<u8>,
    /// The encoded namespace.
    pub namespace: Vec<u8>,
}

impl DueTimer {
    /// The context in which the timer fires.
    pub fn context(&self) -> KeyContext<'_> {
        KeyContext { key_group: self.key_group, key: &self.key, namespace: &self.namespace, row_ms: None }
    }
}

/// Where a pass over due timers goes on. The default is the beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimerCursor {
    /// The entry of the last timer seen; empty before the first.
    after: Vec<u8>,
}

/// What [`Timers::due_in`] leaves in a key group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// There may be more that are due: call again with the same cursor.
    More,
    /// Nothing that is due; the first timer that is not, if there is one, is at this time, in milliseconds.
    Next(Option<i64>),
}

impl Timers {
    /// The declaration of such a state; add the key schema to it.
    pub fn descriptor(name: &str) -> StateDescriptor {
        StateDescriptor::new(name, StateKind::Timer, CodecId::new("timer", VERSION))
    }

    /// Registers the state.
    ///
    /// # Errors
    /// As [`KeyedStateBackend::register`]; [`Invalid`](crate::ErrorKind::Invalid) when the descriptor is of another
    /// kind, or has a TTL.
    pub fn register(backend: &mut dyn KeyedStateBackend, descriptor: &StateDescriptor) -> Result<Self> {
        if descriptor.kind != StateKind::Timer || descriptor.ttl.is_some() || descriptor.merge.is_some() {
            return Err(Error::invalid("a state of timers is of kind Timer, with neither TTL nor merge operator")
                .with(Context::State, &descriptor.name));
        }
        Ok(Timers {
            name: descriptor.name.clone(),
            state: backend.register(descriptor)?,
            keys: EntryKeys::new(backend.max_parallelism()),
            key: Vec::new(),
            batch: WriteBatch::new(),
        })
    }

    /// Sets a timer; one that is set already stays.
    pub fn set(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>, time_ms: i64) -> Result<()> {
        let mut batch = std::mem::take(&mut self.batch);
        self.put(&mut batch, context, time_ms);
        let result = backend.write(&mut batch);
        self.batch = batch;
        result
    }

    /// Adds the setting of a timer to a batch that the caller writes.
    pub fn put(&mut self, batch: &mut WriteBatch, context: KeyContext<'_>, time_ms: i64) {
        self.locate(context, time_ms);
        batch.put_with(self.state, &self.key, |out| {
            out.push(VERSION);
            put_varint(context.key.len() as u64, out);
        });
    }

    /// Removes a timer, if it is set.
    pub fn remove(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>, time_ms: i64) -> Result<()> {
        self.locate(context, time_ms);
        self.batch.delete(self.state, &self.key);
        backend.write(&mut self.batch)
    }

    /// Adds the removal of a timer to a batch that the caller writes.
    pub fn delete(&mut self, batch: &mut WriteBatch, context: KeyContext<'_>, time_ms: i64) {
        self.locate(context, time_ms);
        batch.delete(self.state, &self.key);
    }

    /// Adds the removal of the timers that one call of [`due`](Self::due) gave to a batch: those of a key group as one
    /// range, for backends to which a range is no more than the entries in it.
    pub fn delete_fired(&mut self, batch: &mut WriteBatch, timers: &[DueTimer]) {
        for timers in timers.chunk_by(|a, b| a.key_group == b.key_group) {
            let [first, .., last] = timers else {
                timers.iter().for_each(|timer| self.delete(batch, timer.context(), timer.time_ms));
                continue;
            };
            self.locate(last.context(), last.time_ms);
            // The key that comes next.
            let mut end = self.key.clone();
            end.push(0);
            self.locate(first.context(), first.time_ms);
            batch.delete_range(self.state, &self.key, &end);
        }
    }

    /// Removes timers that have fired, together.
    pub fn remove_all(&mut self, backend: &mut dyn KeyedStateBackend, timers: &[DueTimer]) -> Result<()> {
        for timer in timers {
            self.locate(timer.context(), timer.time_ms);
            self.batch.delete(self.state, &self.key);
        }
        if self.batch.is_empty() { Ok(()) } else { backend.write(&mut self.batch) }
    }

    fn locate(&mut self, context: KeyContext<'_>, time_ms: i64) {
        self.key.clear();
        self.keys.timer(context.key_group, time_ms, context.key, context.namespace, &mut self.key);
    }

    /// Appends at most `limit` timers due at `now_ms` or before to `due`, key group by key group, in each by time, and
    /// moves the cursor on. Returns whether there may be more: call again with the same cursor.
    ///
    /// Timers stay until they are [removed](Self::remove_all). Those set meanwhile are seen if they come after the
    /// cursor; one that comes before it, in a key group already passed, needs another pass from the beginning.
    pub fn due(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        now_ms: i64,
        limit: usize,
        cursor: &mut TimerCursor,
        due: &mut Vec<DueTimer>,
    ) -> Result<bool> {
        let full = due.len().saturating_add(limit);
        let first = match cursor.after.as_slice() {
            [] => backend.key_groups().start,
            after => self.keys.split_group(after)?.0.0,
        };
        for group in backend.key_groups().iter().filter(|group| group.0 >= first) {
            if due.len() >= full {
                return Ok(true);
            }
            self.due_in(backend, group, now_ms, full - due.len(), cursor, due)?;
        }
        Ok(due.len() >= full)
    }

    /// As [`due`](Self::due), in one key group: for a caller who knows which groups have timers that are due.
    pub fn due_in(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        group: KeyGroup,
        now_ms: i64,
        limit: usize,
        cursor: &mut TimerCursor,
        due: &mut Vec<DueTimer>,
    ) -> Result<Left> {
        let mut prefix = Vec::new();
        group.encode(backend.max_parallelism(), &mut prefix);
        let after = std::mem::take(&mut cursor.after);
        let mut range = ScanRange::prefix(&prefix);
        if after.starts_with(&prefix) {
            range = range.after(&after);
        }
        let full = due.len().saturating_add(limit);
        let (mut last, mut left) = (Vec::new(), Left::Next(None));
        let scanned = backend.scan(self.state, &range, &mut |entry| {
            let timer = due_timer(self.keys, entry.key, entry.value)?;
            left = if timer.time_ms > now_ms {
                Left::Next(Some(timer.time_ms))
            } else if due.len() >= full {
                Left::More
            } else {
                due.push(timer);
                last.clear();
                last.extend_from_slice(entry.key);
                return Ok(ControlFlow::Continue(()));
            };
            Ok(ControlFlow::Break(()))
        });
        cursor.after = if last.is_empty() { after } else { last };
        scanned.map_err(|error| error.with(Context::KeyGroup, group.0).with(Context::State, &self.name))?;
        Ok(left)
    }

    /// The time of the earliest timer. Looks into every key group.
    pub fn earliest(&mut self, backend: &mut dyn KeyedStateBackend) -> Result<Option<i64>> {
        let mut earliest: Option<i64> = None;
        for group in backend.key_groups().iter() {
            earliest = self.earliest_in(backend, group)?.into_iter().chain(earliest).min();
        }
        Ok(earliest)
    }

    /// The time of a key group's earliest timer.
    pub fn earliest_in(&mut self, backend: &mut dyn KeyedStateBackend, group: KeyGroup) -> Result<Option<i64>> {
        let mut prefix = Vec::new();
        group.encode(backend.max_parallelism(), &mut prefix);
        let mut first = None;
        let scanned = backend.scan(self.state, &ScanRange::prefix(&prefix).limit(1), &mut |entry| {
            first = Some(self.keys.split_timer(entry.key)?.time_ms);
            Ok(ControlFlow::Break(()))
        });
        scanned.map_err(|error| error.with(Context::State, &self.name))?;
        Ok(first)
    }
}

fn due_timer(keys: EntryKeys, entry_key: &[u8], value: &[u8]) -> Result<DueTimer> {
    let timer = keys.split_timer(entry_key)?;
    let mut input = ByteReader(value);
    let version = input.byte()?;
    if version != VERSION {
        return Err(crate::codec::unknown_version("timer", version, VERSION));
    }
    let key_len = input.length()?;
    let (key, namespace) = timer
        .key_and_namespace
        .split_at_checked(key_len)
        .ok_or_else(|| Error::corrupt("a timer's key is shorter than its value says"))?;
    Ok(DueTimer {
        time_ms: timer.time_ms,
        key_group: timer.key_group,
        key: key.to_vec(),
        namespace: namespace.to_vec(),
    })
}
