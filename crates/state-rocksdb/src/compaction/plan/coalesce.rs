//! Keeping the number of files bounded.
//!
//! Merges that rewrite little leave little files: the rest of what they merged, or what was appended at one end of the
//! key space. A state that has shrunk consists of them, and so does one that was put together from many instances'.
//! Each is named by every checkpoint, so once the base has twice as many files as its size is worth, neighbours that
//! are small are merged, some at a time.

use super::{File, Layout, Merge, base_file_size, bytes};
use crate::column_family::BASE_LEVEL;
use crate::options::CompactionOptions;

/// Files of the base that are never too many.
const ALWAYS_FINE: u64 = 32;

/// Files of full size whose bytes are rewritten together.
const TOGETHER_MAX: u64 = 4;

/// The merge of small neighbours in the base, once it has too many files.
pub(super) fn coalesce(layout: &Layout, options: &CompactionOptions) -> Option<Merge> {
    let base = layout.base();
    let file_size = base_file_size(layout, options);
    if base.len() as u64 <= most_files(layout, options) {
        return None;
    }
    let (from, to) = smallest_neighbours(base, file_size)?;
    let files = base[from..to].iter().map(|file| file.name.clone()).collect();
    Some(Merge { files, output_level: BASE_LEVEL, file_size, reason: "coalesce" })
}

/// How many files the base may have.
pub(super) fn most_files(layout: &Layout, options: &CompactionOptions) -> u64 {
    2 * (bytes(layout.base()) / base_file_size(layout, options)) + ALWAYS_FINE
}

/// The neighbours whose merge saves the most files, of at most as many bytes as are rewritten together.
fn smallest_neighbours(base: &[File], file_size: u64) -> Option<(usize, usize)> {
    let mut best: Option<(u64, (usize, usize))> = None;
    let (mut from, mut size) = (0, 0);
    for (to, file) in (1..).zip(base) {
        size += file.size;
        while size > TOGETHER_MAX * file_size && from + 1 < to {
            size -= base[from].size;
            from += 1;
        }
        let saved = ((to - from) as u64).saturating_sub(size.div_ceil(file_size).max(1));
        if saved > best.map_or(0, |(most, _)| most) {
            best = Some((saved, (from, to)));
        }
    }
    best.map(|(_, range)| range)
}
