//! An accumulator of values of another type.

use super::context::KeyContext;
use super::single::SingleEntry;
use crate::backend::KeyedStateBackend;
use crate::clock::OperatorClock;
use crate::codec::Codec;
use crate::descriptor::{StateDescriptor, StateKind};
use crate::error::Result;
use std::fmt::Debug;
use std::sync::Arc;

/// How inputs become an accumulator, and that a result.
pub trait AggregateFunction {
    /// What is added.
    type Input;
    /// What is kept.
    type Accumulator;
    /// What is read.
    type Output;

    /// The accumulator of no input.
    fn create(&self) -> Self::Accumulator;

    /// Adds an input.
    ///
    /// # Errors
    /// Whatever the function refuses, such as an overflow.
    fn add(&self, accumulator: &mut Self::Accumulator, input: &Self::Input) -> Result<()>;

    /// The result of what was added.
    ///
    /// # Errors
    /// Whatever the function refuses.
    fn result(&self, accumulator: &Self::Accumulator) -> Result<Self::Output>;
}

/// Per key and namespace, an accumulator of the inputs added.
///
/// # Errors
/// Calls fail as the backend and the function do, and with what the codec says of a stored value; the error names the
/// state.
pub struct AggregatingState<F: AggregateFunction> {
    entry: SingleEntry<F::Accumulator>,
    function: F,
}

impl<F: AggregateFunction> Debug for AggregatingState<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AggregatingState").field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl<F: AggregateFunction> AggregatingState<F> {
    /// The declaration of such a state with accumulators of `codec`; add key schema and TTL to it.
    pub fn descriptor(name: &str, codec: &dyn Codec<F::Accumulator>) -> StateDescriptor {
        SingleEntry::descriptor(name, StateKind::Aggregating, codec)
    }

    /// Registers the state.
    ///
    /// # Errors
    /// As [`KeyedStateBackend::register`]; [`Invalid`](crate::ErrorKind::Invalid) when the descriptor is another kind's
    /// or codec's.
    pub fn register(
        backend: &mut dyn KeyedStateBackend,
        clock: &Arc<OperatorClock>,
        descriptor: &StateDescriptor,
        codec: Arc<dyn Codec<F::Accumulator>>,
        function: F,
    ) -> Result<Self> {
        let entry = SingleEntry::register(backend, clock, descriptor, StateKind::Aggregating, codec)?;
        Ok(AggregatingState { entry, function })
    }

    /// The result of the key's inputs; `None` without any.
    pub fn get(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<Option<F::Output>> {
        self.entry.get(backend, context)?.map(|accumulator| self.function.result(&accumulator)).transpose()
    }

    /// Removes the key's accumulator.
    pub fn clear(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<()> {
        self.entry.clear(backend, context)
    }

    /// Adds an input.
    pub fn add(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        input: &F::Input,
    ) -> Result<()> {
        self.update_many(backend, &[context], |_, function, accumulator| function.add(accumulator, input))
    }

    /// Changes many keys' accumulators: `change` is given a context's index, the function and the accumulator, new or
    /// stored, to add inputs to. All are read with one call and written with one. The contexts must differ in key or
    /// namespace, and are best in ascending order.
    pub fn update_many(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        contexts: &[KeyContext<'_>],
        mut change: impl FnMut(usize, &F, &mut F::Accumulator) -> Result<()>,
    ) -> Result<()> {
        let function = &self.function;
        self.entry.update_many(backend, contexts, &mut |index, old| {
            let mut accumulator = old.unwrap_or_else(|| function.create());
            change(index, function, &mut accumulator).map(|()| Some(accumulator))
        })
    }
}
