//! An entry of a state.

/// An entry a scan visits.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The whole entry key.
    pub key: &'a [u8],
    /// The stored value.
    pub value: &'a [u8],
}
