//! How equality is written.

/// How `=` of two `DOUBLE`s is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Equality {
    /// By IEEE 754.
    OfValues,
    /// As an equality that rows can be joined by.
    OfKeys,
}
