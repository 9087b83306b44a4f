//! A control stream that every worker knows, and its state.
//!
//! Broadcast state is kept once for each key group, not once for each worker: a job that goes on with other workers
//! gives each what it needs, and a record finds the state in its own key group. So a control record is written as often
//! as there are key groups (128, unless the job says otherwise): a control stream should be small.

use super::data_stream::DataStream;
use super::function::{Collector, Context, Moment, RuntimeContext};
use super::keyed_function::KeyedFunction;
use super::keyed_stream::KeyedStream;
use super::record::{Record, read};
use super::side_output::{OutputTag, SideOutputs};
use super::state::MapStateDescriptor;
use headpond_runtime::KeyedInput;
use headpond_state::encoding::{KeyComponent, KeySchema, NO_NAMESPACE};
use headpond_state::typed::{self, KeyContext};
use headpond_state::{KeyedStateBackend, Result};
use std::any::type_name;
use std::fmt;
use std::ops::ControlFlow;

/// What is done with the records of a keyed stream and of a control stream: the control stream's records reach every
/// worker, which keep what they say in broadcast state for the others to read.
///
/// A record may come before or after a control record that concerns it: the two streams do not wait for each other.
pub trait KeyedBroadcastProcessFunction: Send + Sync + 'static {
    /// The stream's key.
    type Key: KeyComponent + 'static;
    /// The records of the keyed stream.
    type In: Record;
    /// The records of the control stream.
    type Control: Record;
    /// The records that come out.
    type Out: Record;
    /// The states: [`BroadcastState`]s, and any of the key's.
    type States: Send + 'static;

    /// Registers the states. Called on every worker before the first record.
    ///
    /// # Errors
    /// As [`KeyedProcessFunction::open`](super::KeyedProcessFunction::open).
    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States>;

    /// Takes a record of the keyed stream. Broadcast state can be read.
    ///
    /// # Errors
    /// As [`KeyedProcessFunction::process_element`](super::KeyedProcessFunction::process_element).
    fn process_element(
        &self,
        states: &mut Self::States,
        value: Self::In,
        ctx: &mut Context<'_, Self::Key>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()>;

    /// Takes a record of the control stream, on every worker. Broadcast state can be written: the same on each, so that
    /// a record is treated alike wherever it is.
    ///
    /// # Errors
    /// As [`process_element`](Self::process_element).
    fn process_broadcast_element(
        &self,
        states: &mut Self::States,
        value: Self::Control,
        ctx: &mut BroadcastContext<'_>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()>;

    /// A timer of the key fires; see [`KeyedProcessFunction::on_timer`](super::KeyedProcessFunction::on_timer). Event
    /// time is the keyed stream's alone.
    ///
    /// # Errors
    /// As [`process_element`](Self::process_element).
    fn on_timer(
        &self,
        _states: &mut Self::States,
        _timestamp: i64,
        _ctx: &mut Context<'_, Self::Key>,
        _out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        Ok(())
    }
}

/// A keyed stream with a control stream; see [`KeyedStream::connect_broadcast`].
#[derive(Debug)]
pub struct BroadcastConnectedStream<T, C, K> {
    pub(super) keyed: KeyedStream<T, K>,
    pub(super) control: DataStream<C>,
}

impl<T: Record, C: Record, K: KeyComponent + 'static> BroadcastConnectedStream<T, C, K> {
    /// What `function` makes of the records of both.
    pub fn process<F>(&self, function: F) -> DataStream<F::Out>
    where
        F: KeyedBroadcastProcessFunction<Key = K, In = T, Control = C>,
    {
        let inputs = vec![self.keyed.as_input(), KeyedInput::broadcast(self.control.as_rows())];
        self.keyed.apply("broadcast-process", type_name::<F>(), inputs, WithBroadcast(function))
    }
}

/// What a function has at hand for a record of the control stream: broadcast state, the time, the side outputs.
pub struct BroadcastContext<'a> {
    backend: &'a mut (dyn KeyedStateBackend + 'a),
    moment: Moment,
    sides: &'a mut SideOutputs,
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

/// A function of a keyed and a broadcast input.
#[derive(Debug)]
pub(crate) struct WithBroadcast<F>(pub(crate) F);

impl<F: KeyedBroadcastProcessFunction> KeyedFunction for WithBroadcast<F> {
    type Key = F::Key;
    type Out = F::Out;
    type States = F::States;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<F::States> {
        self.0.open(ctx)
    }

    fn element(
        &self,
        input: usize,
        record: &[u8],
        states: &mut F::States,
        ctx: &mut Context<'_, F::Key>,
        out: &mut Collector<F::Out>,
    ) -> Result<()> {
        if input == 0 {
            return self.0.process_element(states, read(record)?, ctx, out);
        }
        let mut ctx = BroadcastContext { backend: &mut *ctx.backend, moment: ctx.moment, sides: &mut *ctx.sides };
        self.0.process_broadcast_element(states, read(record)?, &mut ctx, out)
    }

    fn on_timer(
        &self,
        states: &mut F::States,
        timestamp: i64,
        ctx: &mut Context<'_, F::Key>,
        out: &mut Collector<F::Out>,
    ) -> Result<()> {
        self.0.on_timer(states, timestamp, ctx, out)
    }
}
