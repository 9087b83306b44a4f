//! One value per key.

use super::{Declaration, TtlConfig};
use crate::stream::function::{Context, RuntimeContext};
use headpond_state::Result;
use headpond_state::codec::Codec;
use headpond_state::typed;

/// The declaration of a [`ValueState`].
#[derive(Debug)]
pub struct ValueStateDescriptor<T>(Declaration<T>);

impl<T> ValueStateDescriptor<T> {
    /// A state of this name, its values written by `codec`.
    pub fn new(name: impl Into<String>, codec: impl Codec<T> + 'static) -> Self {
        ValueStateDescriptor(Declaration::new(name, codec))
    }

    /// Makes values expire.
    #[doc(alias = "enableTimeToLive")]
    #[must_use]
    pub fn with_ttl(mut self, ttl: impl Into<TtlConfig>) -> Self {
        self.0.ttl = Some(ttl.into());
        self
    }

    pub(in crate::stream) fn register(self, ctx: &mut RuntimeContext<'_>) -> Result<ValueState<T>> {
        let descriptor = typed::ValueState::descriptor(&self.0.name, &*self.0.codec);
        let descriptor = self.0.complete(descriptor, ctx)?;
        typed::ValueState::register(ctx.backend, ctx.clock, &descriptor, self.0.codec).map(ValueState)
    }
}

/// One value per key.
#[derive(Debug)]
pub struct ValueState<T>(typed::ValueState<T>);

impl<T> ValueState<T> {
    /// The key's value.
    pub fn value<K>(&mut self, ctx: &mut Context<'_, K>) -> Result<Option<T>> {
        self.0.get(ctx.backend, ctx.key)
    }

    /// Sets the key's value.
    pub fn update<K>(&mut self, ctx: &mut Context<'_, K>, value: &T) -> Result<()> {
        self.0.set(ctx.backend, ctx.key, value)
    }

    /// Removes the key's value.
    pub fn clear<K>(&mut self, ctx: &mut Context<'_, K>) -> Result<()> {
        self.0.clear(ctx.backend, ctx.key)
    }
}
