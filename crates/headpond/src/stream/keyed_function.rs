//! What a keyed operator of a stream runs, whatever the program calls it.

use super::function::{Collector, Context, KeyedProcessFunction, RuntimeContext};
use super::record::{Record, read};
use headpond_state::Result;
use headpond_state::encoding::KeyComponent;

/// A function over the records of one or more inputs, with states of their key.
pub(crate) trait KeyedFunction: Send + Sync + 'static {
    /// The key of all inputs.
    type Key: KeyComponent + 'static;
    /// The records that come out.
    type Out: Record;
    /// What [`open`](Self::open) registers.
    type States: Send + 'static;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States>;

    /// Takes a record of an input, still as bytes.
    fn element(
        &self,
        input: usize,
        record: &[u8],
        states: &mut Self::States,
        ctx: &mut Context<'_, Self::Key>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()>;

    fn on_timer(
        &self,
        states: &mut Self::States,
        timestamp: i64,
        ctx: &mut Context<'_, Self::Key>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()>;
}

/// A function of one input.
#[derive(Debug)]
pub(crate) struct OneInput<F>(pub(crate) F);

impl<F: KeyedProcessFunction> KeyedFunction for OneInput<F> {
    type Key = F::Key;
    type Out = F::Out;
    type States = F::States;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<F::States> {
        self.0.open(ctx)
    }

    fn element(
        &self,
        _: usize,
        record: &[u8],
        states: &mut F::States,
        ctx: &mut Context<'_, F::Key>,
        out: &mut Collector<F::Out>,
    ) -> Result<()> {
        self.0.process_element(states, read(record)?, ctx, out)
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
