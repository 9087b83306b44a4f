//! What to merge: decisions over sizes and key ranges, without I/O.
//!
//! ```text
//! level 0   | f8 | f7 | ... | f1 |   flushed files, newest first: each a run, any key range
//! level 1-5        | tier |          larger runs, newer above older
//! level 6   |  |  |  |  |  |  |  |   the base, split by key range
//! ```
//!
//! With `run_limit` files in level 0, the first that applies:
//!
//! 1. *Cheap*: the oldest file overlaps little of the base, and no tier lies between. It is merged into the base, and
//!    only what it overlaps is rewritten. So goes state that changes in one part of the key space at a time, or grows
//!    at one end.
//! 2. *Rewrite*: what has gathered above the base is a large enough share of it. Everything becomes the new base. For
//!    each byte changed, `1 / rewrite_ratio` bytes or a little more are rewritten, however the changes are spread.
//! 3. *Tier*: the files become one run above the base, together with tiers at most half their size. Tiers of one size
//!    stay beside each other until the five levels are used up, then become one.
//!
//! Files of the base and of tiers have the same size, so that few bytes of a tier, too, lie in files that straddle a
//! border when key groups move. Only where ranges were deleted tiers have larger files: see
//! [`placement`](crate::placement).
//!
//! Before all of these, whatever the number of files, comes what is dead ([`reclaim()`]), and before them, with
//! `run_limit` files in level 0, a base of too many files ([`coalesce()`]).

mod coalesce;
mod reclaim;

pub(super) use reclaim::{excess, reclaim};

use coalesce::coalesce;

use crate::column_family::BASE_LEVEL;
use crate::options::CompactionOptions;
use rust_rocksdb::LiveFile;

/// The files of a column family.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Level 0, newest first.
    runs: Vec<File>,
    /// Levels 1 to 6.
    levels: [Vec<File>; BASE_LEVEL as usize],
    /// Bytes that deletions hide, with the deletions themselves, which only merging everything gives back.
    pub(super) hidden: u64,
    /// Whether ranges have been deleted that files may still hold.
    pub(super) has_ranges: bool,
}

#[derive(Debug, Clone)]
struct File {
    name: String,
    size: u64,
    /// Bytes of entries that have expired.
    expired: u64,
    entries: u64,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    newest: u64,
}

/// A merge of files into a level.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Merge {
    /// The files by name.
    pub(super) files: Vec<String>,
    /// The level the result goes to.
    pub(super) output_level: i32,
    /// The size at which an output file ends.
    pub(super) file_size: u64,
    /// Why, in a word.
    pub(super) reason: &'static str,
}

impl Layout {
    /// The files of one column family; `expired` says how many bytes of a file have expired.
    pub(super) fn of(files: &[LiveFile], expired: impl Fn(&LiveFile) -> u64) -> Layout {
        let mut layout = Layout::default();
        for file in files {
            let level = usize::try_from(file.level).unwrap_or_default();
            let expired = expired(file);
            layout.push(
                level,
                File {
                    name: file.name.clone(),
                    size: file.size as u64,
                    expired,
                    entries: file.num_entries,
                    first_key: file.start_key.clone().unwrap_or_default(),
                    last_key: file.end_key.clone().unwrap_or_default(),
                    newest: file.largest_seqno,
                },
            );
        }
        layout.runs.sort_by_key(|run| std::cmp::Reverse(run.newest));
        layout.levels.iter_mut().for_each(|level| level.sort_by(|a, b| a.first_key.cmp(&b.first_key)));
        layout
    }

    /// The number of files.
    pub(super) fn file_count(&self) -> usize {
        self.above_base().count() + self.base().len()
    }

    /// Bytes that have expired.
    pub(super) fn expired(&self) -> u64 {
        self.above_base().chain(self.base()).map(|file| file.expired).sum()
    }

    fn push(&mut self, level: usize, file: File) {
        match level.checked_sub(1) {
            Some(below) if below < self.levels.len() => self.levels[below].push(file),
            _ => self.runs.push(file),
        }
    }

    fn base(&self) -> &[File] {
        &self.levels[self.levels.len() - 1]
    }

    /// The levels between level 0 and the base, newest first.
    fn tiers(&self) -> &[Vec<File>] {
        &self.levels[..self.levels.len() - 1]
    }

    fn above_base(&self) -> impl Iterator<Item = &File> {
        self.runs.iter().chain(self.tiers().iter().flatten())
    }
}

/// The next merge, if one is due.
pub(super) fn plan(layout: &Layout, options: &CompactionOptions) -> Option<Merge> {
    if layout.runs.len() < options.run_limit.max(2) {
        return None;
    }
    let next = coalesce(layout, options).or_else(|| cheap(layout, options));
    next.or_else(|| rewrite(layout, options)).or_else(|| Some(tier(layout, options)))
}

/// The next merge of what was flushed for a checkpoint whose files are not listed yet, and the bytes it reads,
/// `bytes_max` at most. A file that will go to the base in any case goes there before it is uploaded, or it would be
/// uploaded twice.
pub(super) fn plan_flushed(layout: &Layout, options: &CompactionOptions, bytes_max: u64) -> Option<(Merge, u64)> {
    layout.runs.last().filter(|oldest| oldest.size >= options.file_size_min)?;
    let merge = cheap(layout, options)?;
    let inputs = layout.runs.iter().chain(layout.base()).filter(|file| merge.files.contains(&file.name));
    let size = bytes(inputs);
    (size <= bytes_max).then_some((merge, size))
}

/// The merge of everything into the base, unless that is where everything is, and nothing has expired there.
pub(super) fn plan_everything(layout: &Layout, options: &CompactionOptions) -> Option<Merge> {
    (layout.above_base().next().is_some() || layout.expired() > 0).then(|| merge_all(layout, options, "asked for"))
}

fn cheap(layout: &Layout, options: &CompactionOptions) -> Option<Merge> {
    let oldest = layout.runs.last()?;
    let base = layout.base();
    // A tier must not be jumped over: it is older than the file, but newer than the base.
    if base.is_empty() || layout.tiers().iter().any(|tier| !tier.is_empty()) {
        return None;
    }
    let overlapping: Vec<&File> =
        base.iter().filter(|file| file.first_key <= oldest.last_key && oldest.first_key <= file.last_key).collect();
    let limit = oldest.size as f64 * options.cheap_overlap;
    if bytes(overlapping.iter().copied()) as f64 > limit {
        return None;
    }
    let files = std::iter::once(oldest).chain(overlapping).map(|file| file.name.clone()).collect();
    Some(Merge { files, output_level: BASE_LEVEL, file_size: base_file_size(layout, options), reason: "cheap" })
}

fn rewrite(layout: &Layout, options: &CompactionOptions) -> Option<Merge> {
    let base = layout.base();
    let due = |above: f64, base: f64| above >= base * options.rewrite_ratio;
    let large = due(bytes(layout.above_base()) as f64, bytes(base) as f64);
    // Entries count too: tombstones are small, what they hide is not.
    let many = match (entries(layout.above_base()), entries(base)) {
        (Some(above), Some(base)) => due(above, base),
        _ => false,
    };
    (large || many).then(|| merge_all(layout, options, "rewrite"))
}

fn tier(layout: &Layout, options: &CompactionOptions) -> Merge {
    let mut files: Vec<&File> = layout.runs.iter().collect();
    let tiers = layout.tiers();
    let mut size = bytes(files.iter().copied());
    let first_taken = tiers.iter().position(|tier| !tier.is_empty());
    let mut next = first_taken.unwrap_or(tiers.len());
    while let Some(tier) = tiers.get(next) {
        let tier_size = bytes(tier);
        // The topmost level has no room above it for another tier.
        if tier_size * 2 > size && next > 0 {
            break;
        }
        files.extend(tier);
        size += tier_size;
        next += 1;
    }
    // `next` is the newest tier left alone (or the base); the result goes right above it, to level `next`.
    Merge {
        files: files.into_iter().map(|file| file.name.clone()).collect(),
        output_level: next.max(1) as i32,
        file_size: if layout.has_ranges { options.file_size_max } else { base_file_size(layout, options) },
        reason: "tier",
    }
}

fn merge_all(layout: &Layout, options: &CompactionOptions, reason: &'static str) -> Merge {
    let files = layout.above_base().chain(layout.base()).map(|file| file.name.clone()).collect();
    Merge { files, output_level: BASE_LEVEL, file_size: base_file_size(layout, options), reason }
}

fn base_file_size(layout: &Layout, options: &CompactionOptions) -> u64 {
    let all = bytes(layout.above_base().chain(layout.base()));
    let most = options.file_size_max.max(1);
    (all / options.base_files.max(1)).clamp(options.file_size_min.clamp(1, most), most)
}

/// The entries of the files; `None` if RocksDB knows them of no file. It knows them of some files only, those it has
/// had reason to look into; the others are taken to be as dense.
fn entries<'a>(files: impl IntoIterator<Item = &'a File>) -> Option<f64> {
    let (mut all, mut known, mut entries) = (0.0, 0.0, 0.0);
    for file in files {
        all += file.size as f64;
        if file.entries > 0 {
            known += file.size as f64;
            entries += file.entries as f64;
        }
    }
    (known > 0.0).then(|| entries * all / known)
}

fn bytes<'a>(files: impl IntoIterator<Item = &'a File>) -> u64 {
    files.into_iter().map(|file| file.size).sum()
}

#[cfg(test)]
mod tests;
