//! The keys a scan or a deletion of a range is about.

use headpond_state::backend::ScanStart;
use headpond_state::{KeyGroupRange, MaxParallelism, ScanRange};
use std::ops::{Bound, Range};

/// Keys with a prefix, from a lower bound on, below an end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds<'a> {
    prefix: &'a [u8],
    /// Never below the prefix.
    lower: Bound<&'a [u8]>,
    /// Whether what is lowest begins with the prefix.
    from_prefix: bool,
    end: Option<&'a [u8]>,
}

impl<'a> Bounds<'a> {
    pub(crate) fn of_scan(range: &ScanRange<'a>) -> Self {
        let from = |key: &[u8]| key.starts_with(range.prefix);
        let (lower, from_prefix) = match range.start {
            Some(ScanStart::At(key)) if from(key) => (Bound::Included(key), true),
            Some(ScanStart::After(key)) if from(key) => (Bound::Excluded(key), true),
            Some(ScanStart::At(key)) if key > range.prefix => (Bound::Included(key), false),
            Some(ScanStart::After(key)) if key > range.prefix => (Bound::Excluded(key), false),
            _ => (Bound::Included(range.prefix), true),
        };
        Bounds { prefix: range.prefix, lower, from_prefix, end: range.end }
    }

    pub(crate) fn between(start: &'a [u8], end: &'a [u8]) -> Self {
        Bounds { prefix: &[], lower: Bound::Included(start), from_prefix: true, end: Some(end) }
    }

    /// The lowest key that may be within.
    pub(crate) fn lowest(&self) -> &'a [u8] {
        match self.lower {
            Bound::Included(key) | Bound::Excluded(key) => key,
            Bound::Unbounded => &[],
        }
    }

    /// Whether the lowest key is not within itself.
    #[inline]
    pub(crate) fn excludes_lowest(&self) -> bool {
        matches!(self.lower, Bound::Excluded(_))
    }

    /// The prefix, where the lowest key begins with it.
    #[inline]
    pub(crate) fn prefix_of_lowest(&self) -> Option<&'a [u8]> {
        self.from_prefix.then_some(self.prefix)
    }

    /// Whether `key` comes before all that is within.
    pub(crate) fn begins_after(&self, key: &[u8]) -> bool {
        match self.lower {
            Bound::Included(lower) => key < lower,
            Bound::Excluded(lower) => key <= lower,
            Bound::Unbounded => false,
        }
    }

    /// Whether `key`, which is not before all that is within, comes after it.
    pub(crate) fn ends_before(&self, key: &[u8]) -> bool {
        !key.starts_with(self.prefix) || self.end.is_some_and(|end| key >= end)
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        !self.begins_after(key) && !self.ends_before(key)
    }

    /// The shards, counted from the first of `held`, that may have keys within.
    pub(crate) fn shards(&self, held: KeyGroupRange, max_parallelism: MaxParallelism) -> Range<usize> {
        let group = |key: &[u8], pad: u8| {
            let byte = |at: usize| usize::from(key.get(at).copied().unwrap_or(pad));
            if max_parallelism.prefix_len() == 1 { byte(0) } else { byte(0) << 8 | byte(1) }
        };
        let first = group(self.lowest(), 0);
        let last = self.end.map_or(usize::MAX, |end| group(end, 0)).min(group(self.prefix, 0xff));
        let start = first.clamp(usize::from(held.start), usize::from(held.end));
        let end = last.saturating_add(1).clamp(start, usize::from(held.end).max(start));
        start - usize::from(held.start)..end - usize::from(held.start)
    }
}
