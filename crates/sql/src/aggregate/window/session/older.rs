//! The older open sessions of keys with very many.
//!
//! They are kept one by one, in the order of their ends, so that no row rewrites a long list:
//! `key group | key | end | start`, the value their accumulators. Such a session does not change where it is. A row
//! that joins one takes it back into the key's value. Each has a timer of its own at its end; one whose session has
//! been taken back fires for nothing.

use super::open::{OpenSessions, Origin};
use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::columns::WINDOW;
use crate::aggregate::group::ACCUMULATORS;
use crate::aggregate::group_codec::GroupCodec;
use crate::aggregate::layout::AggregatePlan;
use headpond_state::backend::{KeyBatch, ScanRange};
use headpond_state::encoding::{window_namespace, window_of_namespace};
use headpond_state::typed::{KeyContext, Timers};
use headpond_state::{
    AccessPattern, Context, KeyedStateBackend, MaxParallelism, Result, StateColumns, StateDescriptor, StateId,
    StateKind, WriteBatch,
};
use std::ops::ControlFlow;

/// The name of the state.
pub(super) const OLDER_SESSIONS: &str = "older sessions";

/// An end and a start.
pub(super) const TIMES: [&str; 2] = [WINDOW[1], WINDOW[0]];
/// The bytes of an end and a start.
const TIMES_LEN: usize = 16;

/// Sessions kept one by one.
#[derive(Debug)]
pub(super) struct OlderSessions {
    state: StateId,
    codec: GroupCodec,
}

/// A row that may touch older sessions: those of its key that end at `from_ms` or later and begin at `to_ms` or before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) key: u32,
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
}

impl OlderSessions {
    /// Registers the state.
    pub(super) fn register(plan: &AggregatePlan, backend: &mut dyn KeyedStateBackend) -> Result<Self> {
        let codec = plan.codec();
        let descriptor = StateDescriptor::new(OLDER_SESSIONS, StateKind::Aggregating, codec.codec_id())
            .with_key_schema(plan.key_schema.to_string())
            .with_value_schema(codec.schema().to_string())
            .with_columns(StateColumns { part_of: Some(ACCUMULATORS.to_owned()), ..plan.accumulators_shown(&TIMES)? })
            .with_access(AccessPattern::Scan);
        let codec = GroupCodec::new(plan, OLDER_SESSIONS);
        Ok(OlderSessions { state: backend.register(&descriptor)?, codec })
    }

    /// The state.
    pub(super) fn state(&self) -> StateId {
        self.state
    }

    /// Adds the sessions that rows may touch. `keys` are the entry keys of the batch's keys.
    pub(super) fn load(
        &mut self,
        mut wanted: Vec<Wanted>,
        keys: &KeyBatch,
        open: &mut OpenSessions,
        accumulators: &mut Accumulators,
        backend: &mut dyn KeyedStateBackend,
    ) -> Result<()> {
        wanted.sort_unstable_by_key(|wanted| (wanted.key, wanted.from_ms));
        let mut starts = KeyBatch::new();
        for wanted in &wanted {
            starts.push_with(|out| {
                out.extend_from_slice(keys.get(wanted.key as usize));
                window_namespace(wanted.from_ms, i64::MIN, out);
            });
        }
        let ranges = wanted
            .iter()
            .enumerate()
            .map(|(index, wanted)| ScanRange::prefix(keys.get(wanted.key as usize)).at(starts.get(index)));
        let ranges: Vec<ScanRange<'_>> = ranges.collect();
        // Ranges ascend, so those of one key overlap only where the ones before have been.
        let mut last: Option<(u32, i64)> = None;
        let codec = &mut self.codec;
        backend.scan_many(self.state, &ranges, &mut |index, entry| {
            let Wanted { key, to_ms, .. } = wanted[index];
            let (end_ms, start_ms) = times_of(entry.key)?;
            if start_ms > to_ms {
                return Ok(ControlFlow::Break(()));
            }
            if last.is_some_and(|(of, until_ms)| of == key && end_ms <= until_ms) {
                return Ok(ControlFlow::Continue(()));
            }
            last = Some((key, end_ms));
            codec.read(entry.value, accumulators)?;
            open.push(key, start_ms, end_ms, Origin::Older { end_ms, start_ms });
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Adds the keeping of a session to a batch, with its timer. `key` is its key's entry key.
    pub(super) fn put(
        &mut self,
        key: &[u8],
        (start_ms, end_ms): (i64, i64),
        accumulators: (&Accumulators, usize),
        max_parallelism: MaxParallelism,
        timers: &mut Timers,
        writes: &mut WriteBatch,
    ) -> Result<()> {
        let mut entry = key.to_vec();
        window_namespace(end_ms, start_ms, &mut entry);
        let mut result = Ok(());
        writes.put_with(self.state, &entry, |out| result = self.codec.write(accumulators.0, accumulators.1, out));
        let (key, namespace) = (&key[max_parallelism.prefix_len()..], &entry[key.len()..]);
        let key_group = max_parallelism.key_group_of_entry(&entry);
        timers.put(writes, KeyContext { key_group, key, namespace, row_ms: None }, end_ms);
        result
    }

    /// Adds the removal of a session to a batch.
    pub(super) fn delete(&self, key: &[u8], end_ms: i64, start_ms: i64, writes: &mut WriteBatch) {
        let mut entry = key.to_vec();
        window_namespace(end_ms, start_ms, &mut entry);
        writes.delete(self.state, &entry);
    }

    /// Reads sessions by their entry keys, adds the accumulators of those that are there and tells `take` which they
    /// are.
    pub(super) fn read(
        &mut self,
        keys: &KeyBatch,
        accumulators: &mut Accumulators,
        backend: &mut dyn KeyedStateBackend,
        mut take: impl FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        self.codec.read_many(backend, (self.state, keys), accumulators, |index, is_stored, _| match is_stored {
            true => take(index),
            false => Ok(()),
        })
    }
}

/// The end and the start at the end of an entry's key.
pub(super) fn times_of(key: &[u8]) -> Result<(i64, i64)> {
    window_of_namespace(&key[key.len().saturating_sub(TIMES_LEN)..])
        .map_err(|error| error.with(Context::State, OLDER_SESSIONS))
}
