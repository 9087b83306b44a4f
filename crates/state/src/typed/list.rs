//! Values in the order of appending.

use super::access::Access;
use super::context::KeyContext;
use crate::backend::{KeyedStateBackend, ScanRange};
use crate::clock::OperatorClock;
use crate::codec::Codec;
use crate::descriptor::{StateDescriptor, StateKind};
use crate::error::{Error, Result};
use crate::id::StateId;
use std::collections::HashSet;
use std::fmt::{self, Debug};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Per key and namespace, values in the order of appending.
///
/// Every element is an entry, numbered by a sequence that only grows, so appending writes without reading, elements
/// expire one by one, and a long list is read piece by piece.
///
/// # Errors
/// Calls fail as the backend does, and with what the codec says of a stored element; the error names the state.
pub struct ListState<T> {
    access: Access,
    codec: Arc<dyn Codec<T>>,
    sequence: Sequence,
}

impl<T> Debug for ListState<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListState").field("access", &self.access).field("codec", &self.codec).finish_non_exhaustive()
    }
}

impl<T> ListState<T> {
    /// The declaration of such a state with elements of `codec`; add key schema and TTL to it.
    pub fn descriptor(name: &str, codec: &dyn Codec<T>) -> StateDescriptor {
        StateDescriptor::new(name, StateKind::List, codec.id()).with_value_schema(codec.schema())
    }

    /// Registers the state. Only one `ListState` may append to a state of a backend instance at a time.
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
        Access::check_codec(descriptor, &*codec)?;
        let access = Access::register(backend, clock, descriptor, StateKind::List)?;
        let sequence = Sequence::after_what_is_there(backend, access.state)?;
        Ok(ListState { access, codec, sequence })
    }

    /// Appends an element.
    pub fn add(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>, element: &T) -> Result<()> {
        self.add_all(backend, context, std::slice::from_ref(element))
    }

    /// Appends elements, together.
    pub fn add_all(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        elements: &[T],
    ) -> Result<()> {
        self.access.locate(context);
        self.sequence.pass(backend, self.access.state, &self.access.key)?;
        self.put_all(context, elements)?;
        self.access.flush(backend)
    }

    /// Replaces the list, atomically.
    pub fn update(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        elements: &[T],
    ) -> Result<()> {
        self.access.locate(context);
        let Access { state, key, .. } = &self.access;
        let (state, prefix_len) = (*state, key.len());
        self.sequence.pass(backend, state, key)?;
        let batch = &mut self.access.batch;
        backend.scan(state, &ScanRange::prefix(&self.access.key[..prefix_len]), &mut |entry| {
            batch.delete(state, entry.key);
            Ok(ControlFlow::Continue(()))
        })?;
        self.put_all(context, elements)?;
        self.access.flush(backend)
    }

    /// Adds puts of the elements to the batch; the key's buffer holds the list's prefix.
    fn put_all(&mut self, context: KeyContext<'_>, elements: &[T]) -> Result<()> {
        let now_ms = self.access.now_ms();
        let prefix_len = self.access.key.len();
        for element in elements {
            let sequence = self.sequence.take().map_err(|error| self.access.failed(error))?;
            self.access.key.truncate(prefix_len);
            self.access.key.extend_from_slice(&sequence.to_be_bytes());
            self.access.put(&*self.codec, element, now_ms, context.row_ms)?;
        }
        Ok(())
    }

    /// The whole list.
    pub fn get(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<Vec<T>> {
        let mut elements = Vec::new();
        self.scan(backend, context, None, &mut |_, element| {
            elements.push(element);
            ControlFlow::Continue(())
        })?;
        Ok(elements)
    }

    /// Visits the elements, with their sequence numbers, beginning after number `after`, until `visit` breaks.
    pub fn scan(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        after: Option<u64>,
        visit: &mut dyn FnMut(u64, T) -> ControlFlow<()>,
    ) -> Result<()> {
        let after = after.map(|sequence| {
            self.access.locate(context);
            self.access.key.extend_from_slice(&sequence.to_be_bytes());
            self.access.key.clone()
        });
        let codec = &*self.codec;
        self.access.scan(backend, context, after.as_deref(), &mut |number, value| {
            Ok(visit(sequence_of(number)?, codec.decode(value)?))
        })
    }

    /// Removes all elements.
    pub fn clear(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>) -> Result<()> {
        self.access.clear_prefix(backend, context)
    }
}

fn sequence_of(number: &[u8]) -> Result<u64> {
    let number =
        number.try_into().map_err(|_| Error::corrupt("the key of a list's element does not end in its number"))?;
    Ok(u64::from_be_bytes(number))
}

/// The most lists remembered as passed; then all are forgotten, and looked at again when they are next appended to.
const PASSED_MAX: usize = 1 << 16;

/// The next sequence number.
///
/// One counter serves all lists of a state: numbers within a list grow, which is all the order needs. In a state that
/// was empty when it was registered the counter is beyond every number, so appending never reads. In a restored state a
/// list may hold numbers beyond the counter: the first time it is appended to, its last number is looked up and the
/// counter moves beyond it.
#[derive(Debug)]
struct Sequence {
    next: u64,
    /// The prefixes of lists known to be behind the counter. `None`: all are.
    passed: Option<HashSet<Box<[u8]>>>,
}

impl Sequence {
    fn after_what_is_there(backend: &mut dyn KeyedStateBackend, state: StateId) -> Result<Self> {
        let mut restored = false;
        backend.scan(state, &ScanRange::all().limit(1), &mut |_| {
            restored = true;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(Sequence { next: 0, passed: restored.then(HashSet::new) })
    }

    /// Moves the counter beyond the list's last number.
    fn pass(&mut self, backend: &mut dyn KeyedStateBackend, state: StateId, prefix: &[u8]) -> Result<()> {
        let Some(passed) = &mut self.passed else { return Ok(()) };
        if passed.contains(prefix) {
            return Ok(());
        }
        self.next = beyond_last(backend, state, prefix, self.next)?;
        if passed.len() >= PASSED_MAX {
            passed.clear();
        }
        passed.insert(prefix.into());
        Ok(())
    }

    fn take(&mut self) -> Result<u64> {
        let taken = self.next;
        self.next = taken.checked_add(1).ok_or_else(|| Error::corrupt("a list has used up its 2^64 numbers"))?;
        Ok(taken)
    }
}

/// The least number at or above `least` that is beyond every element of the list.
///
/// The contract has no backward scan, but "is there an element at or above n?" is a single seek, and the answer turns
/// from yes to no once: steps double while there is one, then the gap is halved.
fn beyond_last(backend: &mut dyn KeyedStateBackend, state: StateId, prefix: &[u8], least: u64) -> Result<u64> {
    let mut beyond = least;
    let mut step = 1u64;
    let mut empty_from = loop {
        let probe = beyond.saturating_add(step - 1);
        match first_from(backend, state, prefix, probe)? {
            Some(found) => {
                beyond = found.checked_add(1).ok_or_else(|| Error::corrupt("a list has used up its 2^64 numbers"))?;
                step = step.saturating_mul(2);
            }
            None => break probe,
        }
    };
    while beyond < empty_from {
        let middle = beyond + (empty_from - beyond) / 2;
        match first_from(backend, state, prefix, middle)? {
            Some(found) => beyond = found + 1,
            None => empty_from = middle,
        }
    }
    Ok(beyond)
}

/// The first number at or above `from` in the list.
fn first_from(backend: &mut dyn KeyedStateBackend, state: StateId, prefix: &[u8], from: u64) -> Result<Option<u64>> {
    let start = [prefix, &from.to_be_bytes()].concat();
    let mut found = None;
    backend.scan(state, &ScanRange::prefix(prefix).at(&start).limit(1), &mut |entry| {
        found = Some(sequence_of(&entry.key[prefix.len()..])?);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}
