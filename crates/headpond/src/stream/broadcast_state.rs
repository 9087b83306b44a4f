//! State that every worker knows alike, and what control records write it with.
//!
//! It is kept once for each key group, not once for each worker: a job that goes on with other workers gives each what
//! it needs, and a record finds the state in its own key group.

use super::function::{CallTimes, Context, RuntimeContext};
use super::record::Record;
use super::side_output::{OutputTag, SideOutputs};
use super::state::MapStateDescriptor;
use headpond_state::encoding::{KeyComponent, KeySchema, NO_NAMESPACE};
use headpond_state::typed::{self, KeyContext};
use headpond_state::{KeyedStateBackend, Result};
use std::fmt;
use std::ops::ControlFlow;

/// What a function has at hand for a record of the control stream: broadcast state, the time, the side outputs.
pub struct BroadcastContext<'a> {
    pub(super) backend: &'a mut (dyn KeyedStateBackend + 'a),
    pub(super) moment: CallTimes,
    pub(super) sides: &'a mut SideOutputs,
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext").field("moment", &self.moment).finish_non_exhaustive()
    }
}

impl BroadcastContext<'_> {
    /// The record's timestamp, if it has one.
    pub fn timestamp(&self) -> Option<i64> {
        self.moment.timestamp_ms
    }

    /// Event time, which is the keyed stream's alone.
    pub fn current_watermark(&self) -> i64 {
        self.moment.watermark_ms
    }

    /// Processing time in milliseconds since the epoch: the same for all records of a tick.
    pub fn current_processing_time(&self) -> i64 {
        self.moment.processing_time_ms
    }

    /// Gives a record to a side output, with the control record's timestamp. Every worker does.
    pub fn output<T: Record>(&mut self, tag: &OutputTag<T>, record: T) {
        self.sides.output(tag, &record, self.moment.of_results());
    }
}

/// A map that all workers know alike. Control records [write](Self::put) it, other records read it.
///
/// # Errors
/// Calls fail as the backend does, and with what the codec says of a stored value; the error names the state.
#[derive(Debug)]
pub struct BroadcastState<U, V>(typed::MapState<U, V>);

impl<U: KeyComponent, V> BroadcastState<U, V> {
    pub(super) fn register(descriptor: MapStateDescriptor<U, V>, ctx: &mut RuntimeContext<'_>) -> Result<Self> {
        // It is about no key, whatever the function's key is.
        let no_key = KeySchema::of::<()>();
        let mut ctx = RuntimeContext {
            backend: &mut *ctx.backend,
            clock: ctx.clock,
            key_schema: &no_key,
            subtask: ctx.subtask,
            parallelism: ctx.parallelism,
        };
        Ok(BroadcastState(descriptor.register(&mut ctx)?.0))
    }

    /// The value of a user key, for a record of the keyed stream or a timer.
    pub fn get<K>(&mut self, ctx: &mut Context<'_, K>, user_key: &U) -> Result<Option<V>> {
        self.0.get(ctx.backend, of_all_keys(ctx.key), user_key)
    }

    /// Visits the entries in the order of the user keys until `visit` breaks.
    pub fn scan<K>(&mut self, ctx: &mut Context<'_, K>, mut visit: impl FnMut(U, V) -> ControlFlow<()>) -> Result<()> {
        self.0.scan(ctx.backend, of_all_keys(ctx.key), None, &mut visit)
    }

    /// The entries, in the order of the user keys.
    pub fn entries<K>(&mut self, ctx: &mut Context<'_, K>) -> Result<Vec<(U, V)>> {
        let mut entries = Vec::new();
        self.scan(ctx, |user_key, value| {
            entries.push((user_key, value));
            ControlFlow::Continue(())
        })?;
        Ok(entries)
    }

    /// The value of a user key, for a control record.
    pub fn known(&mut self, ctx: &mut BroadcastContext<'_>, user_key: &U) -> Result<Option<V>> {
        match places(ctx).next() {
            Some(place) => self.0.get(ctx.backend, place, user_key),
            None => Ok(None),
        }
    }

    /// Sets the value of a user key.
    pub fn put(&mut self, ctx: &mut BroadcastContext<'_>, user_key: &U, value: &V) -> Result<()> {
        places(ctx).try_for_each(|place| self.0.put(ctx.backend, place, user_key, value))
    }

    /// Removes a user key.
    pub fn remove(&mut self, ctx: &mut BroadcastContext<'_>, user_key: &U) -> Result<()> {
        places(ctx).try_for_each(|place| self.0.remove(ctx.backend, place, user_key))
    }

    /// Removes all user keys.
    pub fn clear(&mut self, ctx: &mut BroadcastContext<'_>) -> Result<()> {
        places(ctx).try_for_each(|place| self.0.clear(ctx.backend, place))
    }
}

fn of_all_keys(key: KeyContext<'_>) -> KeyContext<'_> {
    KeyContext { key: &[], namespace: NO_NAMESPACE, ..key }
}

/// Where the state is kept: once for each of the worker's key groups.
fn places(ctx: &BroadcastContext<'_>) -> impl Iterator<Item = KeyContext<'static>> + use<> {
    let row_ms = ctx.moment.timestamp_ms;
    let place = move |key_group| KeyContext { key_group, key: &[], namespace: NO_NAMESPACE, row_ms };
    ctx.backend.key_groups().iter().map(place)
}
