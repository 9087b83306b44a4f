//! The fold of values.

use super::{Declaration, TtlConfig};
use crate::stream::function::{Context, RuntimeContext};
use headpond_state::Result;
use headpond_state::codec::Codec;
use headpond_state::typed;
use std::fmt;

/// Folds a value into the one before.
type Reduce<T> = Box<dyn Fn(T, &T) -> Result<T> + Send>;

/// The declaration of a [`ReducingState`].
pub struct ReducingStateDescriptor<T> {
    declaration: Declaration<T>,
    reduce: Reduce<T>,
}

impl<T> fmt::Debug for ReducingStateDescriptor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReducingStateDescriptor").field(&self.declaration).finish()
    }
}

impl<T> ReducingStateDescriptor<T> {
    /// A state of this name, its values written by `codec` and folded by `reduce(old, new)`.
    pub fn new(
        name: impl Into<String>,
        codec: impl Codec<T> + 'static,
        reduce: impl Fn(T, &T) -> Result<T> + Send + 'static,
    ) -> Self {
        ReducingStateDescriptor { declaration: Declaration::new(name, codec), reduce: Box::new(reduce) }
    }

    /// Makes values expire.
    #[doc(alias = "enableTimeToLive")]
    #[must_use]
    pub fn with_ttl(mut self, ttl: impl Into<TtlConfig>) -> Self {
        self.declaration.ttl = Some(ttl.into());
        self
    }

    pub(in crate::stream) fn register(self, ctx: &mut RuntimeContext<'_>) -> Result<ReducingState<T>> {
        let Declaration { name, codec, .. } = &self.declaration;
        let descriptor = typed::ReducingState::descriptor(name, &**codec);
        let descriptor = self.declaration.complete(descriptor, ctx)?;
        let codec = self.declaration.codec;
        typed::ReducingState::register(ctx.backend, ctx.clock, &descriptor, codec, self.reduce).map(ReducingState)
    }
}

/// Per key, the fold of the values added: the first itself, then `reduce(old, new)`.
pub struct ReducingState<T>(typed::ReducingState<T, Reduce<T>>);

impl<T> fmt::Debug for ReducingState<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> ReducingState<T> {
    /// The key's fold; `None` before the first value.
    pub fn get<K>(&mut self, ctx: &mut Context<'_, K>) -> Result<Option<T>> {
        self.0.get(ctx.backend, ctx.key)
    }

    /// Folds a value in.
    pub fn add<K>(&mut self, ctx: &mut Context<'_, K>, value: T) -> Result<()> {
        self.0.add(ctx.backend, ctx.key, value)
    }

    /// Removes the key's fold.
    pub fn clear<K>(&mut self, ctx: &mut Context<'_, K>) -> Result<()> {
        self.0.clear(ctx.backend, ctx.key)
    }
}
