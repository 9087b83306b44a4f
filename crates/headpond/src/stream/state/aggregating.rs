//! An accumulator of values of another type.

use super::{AggregateFunction, Declaration, TtlConfig};
use crate::stream::function::{Context, RuntimeContext};
use headpond_state::Result;
use headpond_state::codec::Codec;
use headpond_state::typed;
use std::fmt;

/// The declaration of an [`AggregatingState`].
pub struct AggregatingStateDescriptor<A: AggregateFunction> {
    declaration: Declaration<A::Accumulator>,
    function: A,
}

impl<A: AggregateFunction> fmt::Debug for AggregatingStateDescriptor<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AggregatingStateDescriptor").field(&self.declaration).finish()
    }
}

impl<A: AggregateFunction> AggregatingStateDescriptor<A> {
    /// A state of this name, its accumulators written by `codec` and made by `function`.
    pub fn new(name: impl Into<String>, codec: impl Codec<A::Accumulator> + 'static, function: A) -> Self {
        AggregatingStateDescriptor { declaration: Declaration::new(name, codec), function }
    }

    /// Makes accumulators expire.
    #[doc(alias = "enableTimeToLive")]
    #[must_use]
    pub fn with_ttl(mut self, ttl: impl Into<TtlConfig>) -> Self {
        self.declaration.ttl = Some(ttl.into());
        self
    }

    pub(in crate::stream) fn register(self, ctx: &mut RuntimeContext<'_>) -> Result<AggregatingState<A>> {
        let Declaration { name, codec, .. } = &self.declaration;
        let descriptor = typed::AggregatingState::<A>::descriptor(name, &**codec);
        let descriptor = self.declaration.complete(descriptor, ctx)?;
        let codec = self.declaration.codec;
        typed::AggregatingState::register(ctx.backend, ctx.clock, &descriptor, codec, self.function)
            .map(AggregatingState)
    }
}

/// Per key, an accumulator of the inputs added.
pub struct AggregatingState<A: AggregateFunction>(typed::AggregatingState<A>);

impl<A: AggregateFunction> fmt::Debug for AggregatingState<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<A: AggregateFunction> AggregatingState<A> {
    /// The result of the key's inputs; `None` before the first.
    pub fn get<K>(&mut self, ctx: &mut Context<'_, K>) -> Result<Option<A::Output>> {
        self.0.get(ctx.backend, ctx.key)
    }

    /// Adds an input.
    pub fn add<K>(&mut self, ctx: &mut Context<'_, K>, input: &A::Input) -> Result<()> {
        self.0.add(ctx.backend, ctx.key, input)
    }

    /// Removes the key's accumulator.
    pub fn clear<K>(&mut self, ctx: &mut Context<'_, K>) -> Result<()> {
        self.0.clear(ctx.backend, ctx.key)
    }
}
