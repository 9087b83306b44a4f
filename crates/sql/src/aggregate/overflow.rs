//! Sums that grow beyond their type.

/// A value grew beyond its type at a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overflow {
    pub(super) row: usize,
}
