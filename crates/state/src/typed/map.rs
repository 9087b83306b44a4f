//! Values by user key.

use super::access::{Access, open, refresh};
use super::context::KeyContext;
use crate::backend::KeyedStateBackend;
use crate::clock::OperatorClock;
use crate::codec::Codec;
use crate::descriptor::{StateDescriptor, StateKind};
use crate::encoding::{KeyComponent, KeyReader, KeySchema};
use crate::error::{Error, Result};
use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Per key and namespace, values by user key, in the order of the user keys.
///
/// # Errors
/// Calls fail as the backend does, and with what key encoding and codec say of a stored entry; the error names the
/// state.
pub struct MapState<K, V> {
    access: Access,
    codec: Arc<dyn Codec<V>>,
    user_keys: PhantomData<fn() -> K>,
}

impl<K, V> Debug for MapState<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapState").field("access", &self.access).field("codec", &self.codec).finish_non_exhaustive()
    }
}

impl<K: KeyComponent, V> MapState<K, V> {
    /// The declaration of such a state with values of `codec`; add key schema and TTL to it. Its value schema is
    /// `user key types -> the codec's schema`.
    pub fn descriptor(name: &str, codec: &dyn Codec<V>) -> StateDescriptor {
        StateDescriptor::new(name, StateKind::Map, codec.id()).with_value_schema(format!(
            "{} -> {}",
            KeySchema::of::<K>(),
            codec.schema()
        ))
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
        codec: Arc<dyn Codec<V>>,
    ) -> Result<Self> {
        Access::check_codec(descriptor, &*codec)?;
        let access = Access::register(backend, clock, descriptor, StateKind::Map)?;
        Ok(MapState { access, codec, user_keys: PhantomData })
    }

    fn locate(&mut self, context: KeyContext<'_>, user_key: &K) {
        self.access.locate(context);
        user_key.encode(&mut self.access.key);
    }

    /// The value of a user key.
    pub fn get(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        user_key: &K,
    ) -> Result<Option<V>> {
        self.locate(context, user_key);
        let now_ms = self.access.now_ms();
        let Access { state, ttl, key, batch, .. } = &mut self.access;
        let mut value = None;
        let read = backend.read(*state, key, &mut |stored| {
            if let Some(seen) = open(ttl.as_ref(), stored, now_ms, context.row_ms)? {
                refresh(batch, *state, key, seen);
                value = Some(self.codec.decode(seen.value)?);
            }
            Ok(())
        });
        read.map_err(|error| self.access.failed(error))?;
        self.access.flush(backend)?;
        Ok(value)
    }

    /// Whether the user key has a value. An access like any other: it prolongs the value's life where reads do.
    pub fn contains(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        user_key: &K,
    ) -> Result<bool> {
        self.get(backend, context, user_key).map(|value| value.is_some())
    }

    /// Sets the value of a user key.
    pub fn put(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        user_key: &K,
        value: &V,
    ) -> Result<()> {
        self.locate(context, user_key);
        let now_ms = self.access.now_ms();
        self.access.put(&*self.codec, value, now_ms, context.row_ms)?;
        self.access.flush(backend)
    }

    /// Removes a user key.
    pub fn remove(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>, user_key: &K) -> Result<()> {
        self.locate(context, user_key);
        let Access { state, key, batch, .. } = &mut self.access;
        batch.delete(*state, key);
        self.access.flush(backend)
    }

    /// Removes all user keys of the key.
    pub fn clear(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<()> {
        self.access.clear_prefix(backend, context)
    }

    /// Visits the entries of the key in ascending order of the user keys, beginning after `after`, until `visit`
    /// breaks.
    pub fn scan(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        after: Option<&K>,
        visit: &mut dyn FnMut(K, V) -> ControlFlow<()>,
    ) -> Result<()> {
        let after = after.map(|user_key| {
            self.locate(context, user_key);
            self.access.key.clone()
        });
        let codec = &*self.codec;
        self.access.scan(backend, context, after.as_deref(), &mut |user_key, value| {
            Ok(visit(decode_user_key(user_key)?, codec.decode(value)?))
        })
    }
}

fn decode_user_key<K: KeyComponent>(bytes: &[u8]) -> Result<K> {
    let mut reader = KeyReader::new(bytes);
    let user_key = K::decode(&mut reader)?;
    match reader.rest().len() {
        0 => Ok(user_key),
        more => Err(Error::corrupt(format!("a map's user key is followed by {more} more bytes"))),
    }
}
