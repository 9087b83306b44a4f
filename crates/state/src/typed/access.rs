//! What all typed states share: registration, the key's buffer, the envelope of the TTL.

use super::context::KeyContext;
use crate::backend::{KeyedStateBackend, ScanRange, ScanStart};
use crate::clock::OperatorClock;
use crate::codec::Codec;
use crate::descriptor::{StateDescriptor, StateKind};
use crate::encoding::{EntryKeys, prefix_end};
use crate::error::{Context, Error, Result};
use crate::id::StateId;
use crate::ttl::{self, Stamped, TtlConfig};
use crate::write_batch::WriteBatch;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Visits an entry: its key behind a prefix, and its value without the envelope.
pub(super) type VisitEntry<'a> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>> + 'a;

/// A registered state and the buffers that calls to it reuse.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) name: String,
    pub(super) state: StateId,
    pub(super) keys: EntryKeys,
    pub(super) ttl: Option<TtlConfig>,
    pub(super) key: Vec<u8>,
    pub(super) batch: WriteBatch,
    clock: Arc<OperatorClock>,
}

impl Access {
    pub(super) fn register(
        backend: &mut dyn KeyedStateBackend,
        clock: &Arc<OperatorClock>,
        descriptor: &StateDescriptor,
        kind: StateKind,
    ) -> Result<Self> {
        descriptor.validate()?;
        if descriptor.kind != kind {
            return Err(Error::invalid(format!("a state declared as {:?} is used as {kind:?}", descriptor.kind))
                .with(Context::State, &descriptor.name));
        }
        Ok(Access {
            name: descriptor.name.clone(),
            state: backend.register(descriptor)?,
            keys: EntryKeys::new(backend.max_parallelism()),
            ttl: descriptor.ttl,
            key: Vec::new(),
            batch: WriteBatch::new(),
            clock: Arc::clone(clock),
        })
    }

    /// Fails unless the descriptor names this codec.
    pub(super) fn check_codec<T>(descriptor: &StateDescriptor, codec: &dyn Codec<T>) -> Result<()> {
        let id = codec.id();
        if descriptor.codec == id {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "a state declared with the codec `{}` version {} is used with `{}` version {}",
            descriptor.codec.name, descriptor.codec.version, id.name, id.version
        ))
        .with(Context::State, &descriptor.name))
    }

    #[inline]
    pub(super) fn now_ms(&self) -> i64 {
        self.ttl.map_or(i64::MIN, |ttl| self.clock.now_in(ttl.domain))
    }

    /// Begins a call: makes the key's buffer hold the context's entry, or prefix, and drops what a failed call left in
    /// the batch.
    #[inline]
    pub(super) fn locate(&mut self, context: KeyContext<'_>) {
        self.batch.clear();
        self.key.clear();
        self.keys.entry(context.key_group, context.key, context.namespace, &mut self.key);
    }

    /// Adds a put of `value` at the key's buffer to the batch.
    #[inline]
    pub(super) fn put<T>(&mut self, codec: &dyn Codec<T>, value: &T, now_ms: i64, row_ms: Option<i64>) -> Result<()> {
        let Access { state, ttl, key, batch, .. } = self;
        put_value(batch, *state, key, codec, value, ttl.map(|ttl| ttl.stamp_ms(now_ms, row_ms)))
            .map_err(|error| self.failed(error))
    }

    /// Visits the entries whose keys begin with the context's, beginning after the key `after`: each entry's key behind
    /// that prefix, and its value. Expired ones are passed over.
    pub(super) fn scan(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        after: Option<&[u8]>,
        visit: &mut VisitEntry<'_>,
    ) -> Result<()> {
        self.locate(context);
        let now_ms = self.now_ms();
        let Access { state, ttl, key, batch, .. } = self;
        let mut range = ScanRange::prefix(key);
        range.start = after.map(ScanStart::After);
        let scanned = backend.scan(*state, &range, &mut |entry| {
            let Some(seen) = open(ttl.as_ref(), entry.value, now_ms, context.row_ms)? else {
                return Ok(ControlFlow::Continue(()));
            };
            refresh(batch, *state, entry.key, seen);
            visit(&entry.key[key.len()..], seen.value)
        });
        scanned.map_err(|error| self.failed(error))?;
        self.flush(backend)
    }

    /// Removes all entries whose keys begin with the context's.
    pub(super) fn clear_prefix(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<()> {
        self.locate(context);
        let mut end = self.key.clone();
        // A key begins with a key group, which is below 32768, so there is always a key beyond it.
        if prefix_end(&mut end) {
            self.batch.delete_range(self.state, &self.key, &end);
        }
        self.flush(backend)
    }

    /// Applies the batch.
    #[inline]
    pub(super) fn flush(&mut self, backend: &mut dyn KeyedStateBackend) -> Result<()> {
        if self.batch.is_empty() { Ok(()) } else { backend.write(&mut self.batch) }
    }

    /// Empties the batch, whose writes belong to a call that failed, and names the state in the error.
    #[cold]
    pub(super) fn failed(&mut self, error: Error) -> Error {
        self.batch.clear();
        error.with(Context::State, &self.name)
    }
}

/// Adds a put to a batch. On an error the batch holds half a value and must be emptied.
#[inline]
pub(super) fn put_value<T>(
    batch: &mut WriteBatch,
    state: StateId,
    key: &[u8],
    codec: &dyn Codec<T>,
    value: &T,
    stamp_ms: Option<i64>,
) -> Result<()> {
    let mut result = Ok(());
    batch.put_with(state, key, |out| {
        ttl::seal(stamp_ms, out);
        result = codec.encode(value, out);
    });
    result
}

/// What a stored value is at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    /// The value without its envelope.
    pub(super) value: &'a [u8],
    /// The new stamp, if the read prolongs the value's life.
    pub(super) refreshed_ms: Option<i64>,
}

/// Opens the envelope of a stored value. `None`: it has expired.
#[inline]
pub(super) fn open<'a>(
    ttl: Option<&TtlConfig>,
    stored: &'a [u8],
    now_ms: i64,
    row_ms: Option<i64>,
) -> Result<Option<Seen<'a>>> {
    let Some(config) = ttl else {
        return Ok(Some(Seen { value: stored, refreshed_ms: None }));
    };
    let Stamped { stamp_ms, value } = ttl::open(stored)?;
    Ok(config
        .is_visible(stamp_ms, now_ms)
        .then(|| Seen { value, refreshed_ms: config.refreshed(stamp_ms, now_ms, row_ms) }))
}

/// Adds a put of the same value with a new stamp to a batch.
#[inline]
pub(super) fn refresh(batch: &mut WriteBatch, state: StateId, key: &[u8], seen: Seen<'_>) {
    if let Some(stamp_ms) = seen.refreshed_ms {
        batch.put_with(state, key, |out| {
            ttl::seal(stamp_ms, out);
            out.extend_from_slice(seen.value);
        });
    }
}
