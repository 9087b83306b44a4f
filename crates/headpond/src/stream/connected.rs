//! Two streams by one key, and what is done with their records together.

use super::data_stream::DataStream;
use super::function::{Collector, Context, RuntimeContext};
use super::keyed_function::KeyedFunction;
use super::keyed_stream::KeyedStream;
use super::record::{Record, read};
use headpond_state::Result;
use headpond_state::encoding::KeyComponent;
use std::any::type_name;

/// What is done with the records of two streams that have the same key: both see the states of their record's key.
///
/// As with [`KeyedProcessFunction`](super::KeyedProcessFunction), the function itself never changes: whatever is to be
/// remembered belongs in a state. Which of two records of a key comes first, when they are of different streams, is not
/// defined.
#[doc(alias = "CoProcessFunction")]
pub trait KeyedCoProcessFunction: Send + Sync + 'static {
    /// The key of both streams.
    type Key: KeyComponent + 'static;
    /// The records of the first stream.
    type In1: Record;
    /// The records of the second stream.
    type In2: Record;
    /// The records that come out.
    type Out: Record;
    /// The states: one, a tuple or a struct of them, or `()`.
    type States: Send + 'static;

    /// Registers the states. Called on every worker before the first record.
    ///
    /// # Errors
    /// As [`KeyedProcessFunction::open`](super::KeyedProcessFunction::open).
    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States>;

    /// Takes a record of the first stream.
    ///
    /// # Errors
    /// As [`KeyedProcessFunction::process_element`](super::KeyedProcessFunction::process_element).
    fn process_element1(
        &self,
        states: &mut Self::States,
        value: Self::In1,
        ctx: &mut Context<'_, Self::Key>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()>;

    /// Takes a record of the second stream.
    ///
    /// # Errors
    /// As [`process_element1`](Self::process_element1).
    fn process_element2(
        &self,
        states: &mut Self::States,
        value: Self::In2,
        ctx: &mut Context<'_, Self::Key>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()>;

    /// A timer of the key fires; see [`KeyedProcessFunction::on_timer`](super::KeyedProcessFunction::on_timer). Event
    /// time is the lesser of both streams'.
    ///
    /// # Errors
    /// As [`process_element1`](Self::process_element1).
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

/// Two streams by one key; see [`KeyedStream::connect`].
#[derive(Debug)]
pub struct ConnectedStreams<T, U, K> {
    pub(super) first: KeyedStream<T, K>,
    pub(super) second: KeyedStream<U, K>,
}

impl<T: Record, U: Record, K: KeyComponent + 'static> ConnectedStreams<T, U, K> {
    /// What `function` makes of the records of both.
    pub fn process<F>(&self, function: F) -> DataStream<F::Out>
    where
        F: KeyedCoProcessFunction<Key = K, In1 = T, In2 = U>,
    {
        let inputs = vec![self.first.as_input(), self.second.as_input()];
        self.first.apply("co-process", type_name::<F>(), inputs, TwoInputs(function))
    }
}

/// A function of two inputs.
#[derive(Debug)]
pub(crate) struct TwoInputs<F>(pub(crate) F);

impl<F: KeyedCoProcessFunction> KeyedFunction for TwoInputs<F> {
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
        match input {
            0 => self.0.process_element1(states, read(record)?, ctx, out),
            _ => self.0.process_element2(states, read(record)?, ctx, out),
        }
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
