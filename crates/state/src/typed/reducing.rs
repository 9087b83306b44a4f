//! The fold of values of one type.

use super::context::KeyContext;
use super::single::SingleEntry;
use crate::backend::KeyedStateBackend;
use crate::clock::OperatorClock;
use crate::codec::Codec;
use crate::descriptor::{MergeOperator, StateDescriptor, StateKind};
use crate::error::{Context, Error, Result};
use std::fmt;
use std::sync::Arc;

/// Per key and namespace, the fold of the values added: `reduce(old, new)`, or the first value itself.
///
/// With the merge operator [`AddI64`](MergeOperator::AddI64) in its descriptor (and the codec
/// [`Counter`](crate::codec::Counter)), adding is a blind write that the backend folds; `reduce` must then be the
/// wrapping sum.
///
/// # Errors
/// Calls fail as the backend does, and with what the codec says of a stored value; the error names the state.
pub struct ReducingState<T, F> {
    entry: SingleEntry<T>,
    reduce: F,
    merges: bool,
}

impl<T, F> fmt::Debug for ReducingState<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReducingState")
            .field("entry", &self.entry)
            .field("merges", &self.merges)
            .finish_non_exhaustive()
    }
}

impl<T> ReducingState<T, ()> {
    /// The declaration of such a state with values of `codec`; add key schema and TTL, or a merge operator, to it.
    pub fn descriptor(name: &str, codec: &dyn Codec<T>) -> StateDescriptor {
        SingleEntry::descriptor(name, StateKind::Reducing, codec)
    }
}

impl<T, F: Fn(T, &T) -> Result<T>> ReducingState<T, F> {
    /// Registers the state.
    ///
    /// # Errors
    /// As [`KeyedStateBackend::register`]; [`Invalid`](crate::ErrorKind::Invalid) when the descriptor is another kind's
    /// or codec's, or has a merge operator that does not fit the codec.
    pub fn register(
        backend: &mut dyn KeyedStateBackend,
        clock: &Arc<OperatorClock>,
        descriptor: &StateDescriptor,
        codec: Arc<dyn Codec<T>>,
        reduce: F,
    ) -> Result<Self> {
        match descriptor.merge {
            None => {}
            Some(MergeOperator::AddI64) if descriptor.codec.name == "counter" => {}
            Some(other) => {
                return Err(Error::invalid(format!(
                    "the merge operator {other:?} does not fold values of the codec `{}`",
                    descriptor.codec.name
                ))
                .with(Context::State, &descriptor.name)
                .hint("use AddI64 with the codec `counter`, or no merge operator"));
            }
        }
        let merges = descriptor.merge.is_some();
        let entry = SingleEntry::register(backend, clock, descriptor, StateKind::Reducing, codec)?;
        Ok(ReducingState { entry, reduce, merges })
    }

    /// The key's fold.
    pub fn get(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<Option<T>> {
        self.entry.get(backend, context)
    }

    /// Removes the key's fold.
    pub fn clear(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<()> {
        self.entry.clear(backend, context)
    }

    /// Folds `value` in.
    pub fn add(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>, value: T) -> Result<()> {
        if self.merges {
            return self.entry.merge(backend, context, &value);
        }
        let mut added = Some(value);
        let reduce = &self.reduce;
        self.entry.update_many(backend, &[context], &mut |_, old| match (old, added.take()) {
            (Some(old), Some(value)) => reduce(old, &value).map(Some),
            (old, value) => Ok(old.or(value)),
        })
    }

    /// Folds values into many keys' folds: `value(index)` is what is added for the context of that index. All are read
    /// with one call and written with one. The contexts must differ in key or namespace, and are best in ascending
    /// order.
    pub fn add_many(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        contexts: &[KeyContext<'_>],
        mut value: impl FnMut(usize) -> T,
    ) -> Result<()> {
        let reduce = &self.reduce;
        self.entry.update_many(backend, contexts, &mut |index, old| match old {
            Some(old) => reduce(old, &value(index)).map(Some),
            None => Ok(Some(value(index))),
        })
    }
}
