//! Values in the order of adding.

use super::{Declaration, TtlConfig};
use crate::stream::function::{Context, RuntimeContext};
use headpond_state::Result;
use headpond_state::codec::Codec;
use headpond_state::typed;
use std::ops::ControlFlow;

/// The declaration of a [`ListState`].
#[derive(Debug)]
pub struct ListStateDescriptor<T>(Declaration<T>);

impl<T> ListStateDescriptor<T> {
    /// A state of this name, its elements written by `codec`.
    pub fn new(name: impl Into<String>, codec: impl Codec<T> + 'static) -> Self {
        ListStateDescriptor(Declaration::new(name, codec))
    }

    /// Makes elements expire, each by itself.
    #[doc(alias = "enableTimeToLive")]
    #[must_use]
    pub fn with_ttl(mut self, ttl: impl Into<TtlConfig>) -> Self {
        self.0.ttl = Some(ttl.into());
        self
    }

    pub(in crate::stream) fn register(self, ctx: &mut RuntimeContext<'_>) -> Result<ListState<T>> {
        let descriptor = typed::ListState::descriptor(&self.0.name, &*self.0.codec);
        let descriptor = self.0.complete(descriptor, ctx)?;
        typed::ListState::register(ctx.backend, ctx.clock, &descriptor, self.0.codec).map(ListState)
    }
}

/// Per key, values in the order of adding. Adding does not read what is there.
#[derive(Debug)]
pub struct ListState<T>(typed::ListState<T>);

impl<T> ListState<T> {
    /// The key's list.
    pub fn get<K>(&mut self, ctx: &mut Context<'_, K>) -> Result<Vec<T>> {
        self.0.get(ctx.backend, ctx.key)
    }

    /// Visits the elements of the key's list one by one, with their sequence numbers, beginning after number `after`,
    /// until `visit` breaks: for a list too long to be held.
    pub fn scan<K>(
        &mut self,
        ctx: &mut Context<'_, K>,
        after: Option<u64>,
        mut visit: impl FnMut(u64, T) -> ControlFlow<()>,
    ) -> Result<()> {
        self.0.scan(ctx.backend, ctx.key, after, &mut visit)
    }

    /// Adds an element.
    pub fn add<K>(&mut self, ctx: &mut Context<'_, K>, element: &T) -> Result<()> {
        self.0.add(ctx.backend, ctx.key, element)
    }

    /// Adds elements, together.
    pub fn add_all<K>(&mut self, ctx: &mut Context<'_, K>, elements: &[T]) -> Result<()> {
        self.0.add_all(ctx.backend, ctx.key, elements)
    }

    /// Replaces the key's list.
    pub fn update<K>(&mut self, ctx: &mut Context<'_, K>, elements: &[T]) -> Result<()> {
        self.0.update(ctx.backend, ctx.key, elements)
    }

    /// Removes the key's list.
    pub fn clear<K>(&mut self, ctx: &mut Context<'_, K>) -> Result<()> {
        self.0.clear(ctx.backend, ctx.key)
    }
}
