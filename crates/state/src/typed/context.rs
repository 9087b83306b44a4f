//! What a call to a state is about.

use crate::encoding::NO_NAMESPACE;
use crate::key_group::{KeyGroup, MaxParallelism};

/// The key, its group, the namespace, and the timestamp of the row on whose behalf a state is used.
///
/// A state is used with namespaces of one length throughout (or without): a list or map of a key without namespace
/// would include those of all its namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyContext<'a> {
    /// The key's group.
    pub key_group: KeyGroup,
    /// The encoded key.
    pub key: &'a [u8],
    /// The encoded namespace; empty outside windows.
    pub namespace: &'a [u8],
    /// The row's timestamp in milliseconds, for expiry by event time.
    pub row_ms: Option<i64>,
}

impl<'a> KeyContext<'a> {
    /// A key outside windows, without a row's timestamp.
    #[inline]
    pub fn new(max: MaxParallelism, key: &'a [u8]) -> Self {
        KeyContext { key_group: max.key_group(key), key, namespace: NO_NAMESPACE, row_ms: None }
    }

    /// The same key in a namespace.
    #[inline]
    #[must_use]
    pub fn in_namespace(self, namespace: &'a [u8]) -> Self {
        KeyContext { namespace, ..self }
    }

    /// The same key on behalf of a row of this timestamp.
    #[inline]
    #[must_use]
    pub fn at(self, row_ms: i64) -> Self {
        KeyContext { row_ms: Some(row_ms), ..self }
    }
}
