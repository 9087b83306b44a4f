//! Giving back what is dead.
//!
//! What has expired is mostly old, and what is old lies deep. Where it is mostly in the base, the files with most of it
//! are rewritten by themselves, some at a time, so that hardly any space is needed for it. Otherwise the runs above the
//! base up to the one that holds enough of it are merged into the base: a merge that left older runs beneath would have
//! to write a deletion for each entry it leaves out. What deletions hide is given back by merging everything.

use super::{File, Layout, Merge, base_file_size, bytes, merge_all};
use crate::column_family::BASE_LEVEL;
use crate::options::CompactionOptions;

/// Bytes of base files that are rewritten together.
const TOGETHER_MAX: u64 = 64 << 20;

/// The share of what has expired that a merge should give back.
const WORTH: f64 = 0.5;

/// The merge that gives back what is dead, once it is too much.
pub(crate) fn reclaim(layout: &Layout, options: &CompactionOptions) -> Option<Merge> {
    if excess(layout, options) <= 1.0 {
        return None;
    }
    let expired = layout.expired();
    if layout.hidden > expired {
        return Some(merge_all(layout, options, "deleted"));
    }
    let expired_in_base: u64 = layout.base().iter().map(|file| file.expired).sum();
    let files = match expired_in_base as f64 >= WORTH * expired as f64 {
        true => most_expired(layout.base()),
        false => oldest_runs(layout, (WORTH * expired as f64) as u64),
    };
    let files = files.into_iter().map(|file| file.name.clone()).collect();
    Some(Merge { files, output_level: BASE_LEVEL, file_size: base_file_size(layout, options), reason: "expired" })
}

/// What is dead, as a multiple of what is allowed.
pub(crate) fn excess(layout: &Layout, options: &CompactionOptions) -> f64 {
    let all = bytes(layout.above_base().chain(layout.base()));
    let dead = layout.expired().saturating_add(layout.hidden).min(all);
    let allowed = (all - dead) as f64 * options.dead_ratio + options.dead_min as f64;
    dead as f64 / allowed.max(1.0)
}

/// The base file of which most has expired, with neighbours of which as much has, nearly.
fn most_expired(base: &[File]) -> Vec<&File> {
    let share = |file: &File| file.expired as f64 / file.size.max(1) as f64;
    let worst = (0..base.len()).max_by(|&a, &b| share(&base[a]).total_cmp(&share(&base[b]))).unwrap_or(0);
    let (mut from, mut to) = (worst, (worst + 1).min(base.len()));
    let like = |index: usize| share(&base[index]) >= share(&base[worst]) * 0.8;
    let fits = |from: usize, to: usize| bytes(&base[from..to]) <= TOGETHER_MAX;
    while to < base.len() && like(to) && fits(from, to + 1) {
        to += 1;
    }
    while from > 0 && like(from - 1) && fits(from - 1, to) {
        from -= 1;
    }
    base[from..to].iter().collect()
}

/// The base and the runs above it, oldest first, up to the one with which `wanted` bytes have expired.
fn oldest_runs(layout: &Layout, wanted: u64) -> Vec<&File> {
    let tiers = layout.tiers().iter().rev().filter(|tier| !tier.is_empty());
    let runs = tiers.map(|tier| tier.iter().collect()).chain(layout.runs.iter().rev().map(|run| vec![run]));
    let mut files: Vec<&File> = layout.base().iter().collect();
    let mut expired: u64 = files.iter().map(|file| file.expired).sum();
    for run in runs {
        if expired >= wanted {
            break;
        }
        let run: Vec<&File> = run;
        expired += run.iter().map(|file| file.expired).sum::<u64>();
        files.extend(run);
    }
    files
}
