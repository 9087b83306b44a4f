//! One value per key.

use super::context::KeyContext;
use super::single::SingleEntry;
use crate::backend::KeyedStateBackend;
use crate::clock::OperatorClock;
use crate::codec::Codec;
use crate::descriptor::{StateDescriptor, StateKind};
use crate::error::Result;
use std::sync::Arc;

/// One value per key and namespace.
///
/// # Errors
/// Calls fail as the backend does, and with what the codec says of a stored value; the error names the state.
#[derive(Debug)]
pub struct ValueState<T> {
    entry: SingleEntry<T>,
}

impl<T> ValueState<T> {
    /// The declaration of such a state with values of `codec`; add key schema and TTL to it.
    pub fn descriptor(name: &str, codec: &dyn Codec<T>) -> StateDescriptor {
        SingleEntry::descriptor(name, StateKind::Value, codec)
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
        codec: Arc<dyn Codec<T>>,
    ) -> Result<Self> {
        SingleEntry::register(backend, clock, descriptor, StateKind::Value, codec).map(|entry| ValueState { entry })
    }

    /// The key's value.
    pub fn get(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<Option<T>> {
        self.entry.get(backend, context)
    }

    /// Sets the key's value.
    pub fn set(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>, value: &T) -> Result<()> {
        self.entry.set(backend, context, value)
    }

    /// Removes the key's value.
    pub fn clear(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<()> {
        self.entry.clear(backend, context)
    }

    /// Replaces the values of many keys: `change` is given a context's index and value and returns the new value, or
    /// `None` to remove it. All are read with one call and written with one. The contexts must differ in key or
    /// namespace, and are best in ascending order.
    pub fn update_many(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        contexts: &[KeyContext<'_>],
        mut change: impl FnMut(usize, Option<T>) -> Result<Option<T>>,
    ) -> Result<()> {
        self.entry.update_many(backend, contexts, &mut change)
    }
}
