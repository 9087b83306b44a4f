//! One entry per key and namespace: what value, reducing and aggregating states are made of.

use super::access::{Access, open, put_value, refresh};
use super::context::KeyContext;
use crate::backend::{KeyBatch, KeyedStateBackend};
use crate::clock::OperatorClock;
use crate::codec::Codec;
use crate::descriptor::{StateDescriptor, StateKind};
use crate::error::Result;
use std::fmt::Debug;
use std::sync::Arc;

pub(super) struct SingleEntry<T> {
    access: Access,
    codec: Arc<dyn Codec<T>>,
    batch_keys: KeyBatch,
}

impl<T> Debug for SingleEntry<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SingleEntry").field("access", &self.access).field("codec", &self.codec).finish_non_exhaustive()
    }
}

impl<T> SingleEntry<T> {
    pub(super) fn descriptor(name: &str, kind: StateKind, codec: &dyn Codec<T>) -> StateDescriptor {
        StateDescriptor::new(name, kind, codec.id()).with_value_schema(codec.schema())
    }

    pub(super) fn register(
        backend: &mut dyn KeyedStateBackend,
        clock: &Arc<OperatorClock>,
        descriptor: &StateDescriptor,
        kind: StateKind,
        codec: Arc<dyn Codec<T>>,
    ) -> Result<Self> {
        Access::check_codec(descriptor, &*codec)?;
        let access = Access::register(backend, clock, descriptor, kind)?;
        Ok(SingleEntry { access, codec, batch_keys: KeyBatch::new() })
    }

    pub(super) fn get(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<Option<T>> {
        self.access.locate(context);
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

    pub(super) fn set(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        value: &T,
    ) -> Result<()> {
        self.access.locate(context);
        let now_ms = self.access.now_ms();
        self.access.put(&*self.codec, value, now_ms, context.row_ms)?;
        self.access.flush(backend)
    }

    pub(super) fn merge(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        operand: &T,
    ) -> Result<()> {
        self.access.locate(context);
        let mut bytes = Vec::new();
        self.codec.encode(operand, &mut bytes).map_err(|error| self.access.failed(error))?;
        let Access { state, key, batch, .. } = &mut self.access;
        batch.merge(*state, key, &bytes);
        self.access.flush(backend)
    }

    pub(super) fn clear(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<()> {
        self.access.locate(context);
        let Access { state, key, batch, .. } = &mut self.access;
        batch.delete(*state, key);
        self.access.flush(backend)
    }

    /// Reads the values of all contexts, then writes what `change` makes of them, together. A `None` deletes.
    pub(super) fn update_many(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        contexts: &[KeyContext<'_>],
        change: &mut dyn FnMut(usize, Option<T>) -> Result<Option<T>>,
    ) -> Result<()> {
        let now_ms = self.access.now_ms();
        let keys = self.access.keys;
        self.batch_keys.clear();
        for context in contexts {
            self.batch_keys.push_with(|out| keys.entry(context.key_group, context.key, context.namespace, out));
        }
        let Access { state, ttl, batch, .. } = &mut self.access;
        batch.clear();
        let (state, ttl) = (*state, ttl.as_ref());
        backend
            .read_many(state, &self.batch_keys, &mut |index, stored| {
                let row_ms = contexts[index].row_ms;
                let seen = match stored {
                    None => None,
                    Some(stored) => open(ttl, stored, now_ms, row_ms)?,
                };
                let old = seen.map(|seen| self.codec.decode(seen.value)).transpose()?;
                let key = self.batch_keys.get(index);
                match change(index, old)? {
                    Some(value) => {
                        let stamp_ms = ttl.map(|ttl| ttl.stamp_ms(now_ms, row_ms));
                        put_value(batch, state, key, &*self.codec, &value, stamp_ms)?;
                    }
                    None if stored.is_some() => batch.delete(state, key),
                    None => {}
                }
                Ok(())
            })
            .map_err(|error| self.access.failed(error))?;
        self.access.flush(backend)
    }
}
