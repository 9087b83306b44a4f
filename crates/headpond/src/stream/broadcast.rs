//! A keyed stream with a control stream that every worker knows.
//!
//! A control record is written as often as there are key groups (128, unless the job says otherwise), see
//! [`BroadcastState`](super::BroadcastState): a control stream should be small.

use super::broadcast_state::BroadcastContext;
use super::data_stream::DataStream;
use super::function::{Collector, Context, RuntimeContext};
use super::keyed_function::KeyedFunction;
use super::keyed_stream::KeyedStream;
use super::record::{Record, read};
use headpond_runtime::KeyedInput;
use headpond_state::Result;
use headpond_state::encoding::KeyComponent;
use std::any::type_name;

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
    /// The states: [`BroadcastState`](super::BroadcastState)s, and any of the key's.
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
