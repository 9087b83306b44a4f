//! Parts of patterns.

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Literal(String),
    Field { letter: char, count: usize },
    Optional(Vec<Item>),
}
