//! Values by user key.

use super::{Declaration, TtlConfig};
use crate::stream::function::{Context, RuntimeContext};
use headpond_state::Result;
use headpond_state::codec::Codec;
use headpond_state::encoding::KeyComponent;
use headpond_state::typed;
use std::marker::PhantomData;
use std::ops::ControlFlow;

/// The declaration of a [`MapState`].
#[derive(Debug)]
pub struct MapStateDescriptor<U, V> {
    declaration: Declaration<V>,
    user_keys: PhantomData<fn() -> U>,
}

impl<U: KeyComponent, V> MapStateDescriptor<U, V> {
    /// A state of this name, its values written by `codec`.
    pub fn new(name: impl Into<String>, codec: impl Codec<V> + 'static) -> Self {
        MapStateDescriptor { declaration: Declaration::new(name, codec), user_keys: PhantomData }
    }

    /// Makes entries expire, each by itself.
    #[doc(alias = "enableTimeToLive")]
    #[must_use]
    pub fn with_ttl(mut self, ttl: impl Into<TtlConfig>) -> Self {
        self.declaration.ttl = Some(ttl.into());
        self
    }

    pub(in crate::stream) fn register(self, ctx: &mut RuntimeContext<'_>) -> Result<MapState<U, V>> {
        let Declaration { name, codec, .. } = &self.declaration;
        let descriptor = typed::MapState::<U, V>::descriptor(name, &**codec);
        let descriptor = self.declaration.complete(descriptor, ctx)?;
        typed::MapState::register(ctx.backend, ctx.clock, &descriptor, self.declaration.codec).map(MapState)
    }
}

/// Per key, values by user key, in the order of the user keys.
#[derive(Debug)]
pub struct MapState<U, V>(pub(in crate::stream) typed::MapState<U, V>);

impl<U: KeyComponent, V> MapState<U, V> {
    /// The value of a user key.
    pub fn get<K>(&mut self, ctx: &mut Context<'_, K>, user_key: &U) -> Result<Option<V>> {
        self.0.get(ctx.backend, ctx.key, user_key)
    }

    /// Whether a user key has a value.
    pub fn contains<K>(&mut self, ctx: &mut Context<'_, K>, user_key: &U) -> Result<bool> {
        self.0.contains(ctx.backend, ctx.key, user_key)
    }

    /// Sets the value of a user key.
    pub fn put<K>(&mut self, ctx: &mut Context<'_, K>, user_key: &U, value: &V) -> Result<()> {
        self.0.put(ctx.backend, ctx.key, user_key, value)
    }

    /// Removes a user key.
    pub fn remove<K>(&mut self, ctx: &mut Context<'_, K>, user_key: &U) -> Result<()> {
        self.0.remove(ctx.backend, ctx.key, user_key)
    }

    /// The key's map, in the order of the user keys.
    pub fn entries<K>(&mut self, ctx: &mut Context<'_, K>) -> Result<Vec<(U, V)>> {
        let mut entries = Vec::new();
        self.scan(ctx, None, |user_key, value| {
            entries.push((user_key, value));
            ControlFlow::Continue(())
        })?;
        Ok(entries)
    }

    /// Visits the entries of the key's map one by one, beginning after the user key `after`, until `visit` breaks:
    /// for a map too large to be held.
    pub fn scan<K>(
        &mut self,
        ctx: &mut Context<'_, K>,
        after: Option<&U>,
        mut visit: impl FnMut(U, V) -> ControlFlow<()>,
    ) -> Result<()> {
        self.0.scan(ctx.backend, ctx.key, after, &mut visit)
    }

    /// Removes the key's map.
    pub fn clear<K>(&mut self, ctx: &mut Context<'_, K>) -> Result<()> {
        self.0.clear(ctx.backend, ctx.key)
    }
}
