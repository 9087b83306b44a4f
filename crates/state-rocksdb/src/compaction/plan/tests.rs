use super::*;

const MIB: u64 = 1 << 20;

/// A file of `size` MiB over keys `from..=to` of 0..100.
fn file(name: &str, size: u64, from: u8, to: u8) -> File {
    File {
        name: name.to_owned(),
        size: size * MIB,
        expired: 0,
        entries: size * 10_000,
        first_key: vec![from],
        last_key: vec![to],
        newest: 0,
    }
}

/// A base of 100 files of 2 MiB, one per key, and `runs` files of 4 MiB above it.
fn layout(runs: usize, from: u8, to: u8) -> Layout {
    let mut layout = Layout::default();
    (0..100).for_each(|key| layout.push(6, file(&format!("b{key}"), 2, key, key)));
    (0..runs).for_each(|run| layout.push(0, file(&format!("r{run}"), 4, from, to)));
    layout
}

fn options() -> CompactionOptions {
    CompactionOptions::default()
}

#[test]
fn few_runs_are_left_alone() {
    assert_eq!(plan(&layout(7, 0, 99), &options()), None);
}

#[test]
fn a_file_that_overlaps_little_goes_to_the_base_with_what_it_overlaps() {
    let merge = plan(&layout(8, 10, 12), &options()).expect("8 runs are the limit");
    assert_eq!((merge.reason, merge.output_level), ("cheap", 6));
    assert_eq!(merge.files, ["r7", "b10", "b11", "b12"]);
}

#[test]
fn what_is_flushed_at_a_cut_goes_to_the_base_at_once_if_it_is_large_and_overlaps_little() {
    let merge = |from, to, size| {
        let mut layout = layout(1, from, to);
        layout.runs[0].size = size;
        plan_flushed(&layout, &options(), 64 * MIB).map(|(merge, bytes)| (merge.reason, bytes))
    };
    assert_eq!(merge(10, 12, 4 * MIB), Some(("cheap", 10 * MIB)));
    assert_eq!(merge(10, 16, 4 * MIB), None, "it overlaps 14 MiB");
    assert_eq!(merge(10, 10, MIB), None, "it is small");
    assert_eq!(merge(10, 39, 32 * MIB), None, "a checkpoint would have to wait for it");
}

#[test]
fn scattered_runs_become_a_tier_above_the_base() {
    let merge = plan(&layout(8, 0, 99), &options()).expect("8 runs are the limit");
    assert_eq!((merge.reason, merge.output_level, merge.files.len()), ("tier", 5, 8));
}

#[test]
fn a_larger_tier_stays_and_the_new_one_goes_above_it() {
    let mut layout = layout(8, 0, 99);
    layout.push(5, file("t", 60, 0, 99));
    let merge = plan(&layout, &options()).expect("8 runs are the limit");
    assert_eq!((merge.reason, merge.output_level, merge.files.len()), ("tier", 4, 8));
}

#[test]
fn a_tier_of_half_the_size_of_the_runs_is_merged_with_them() {
    let mut layout = layout(8, 0, 99);
    layout.push(5, file("t", 15, 0, 99));
    let merge = plan(&layout, &options()).expect("8 runs are the limit");
    assert_eq!((merge.reason, merge.output_level, merge.files.len()), ("tier", 5, 9));
}

#[test]
fn the_topmost_level_is_merged_since_nothing_fits_above_it() {
    let mut layout = Layout::default();
    layout.push(6, file("b", 2000, 0, 99));
    layout.push(1, file("t", 100, 0, 99));
    (0..8).for_each(|run| layout.push(0, file(&format!("r{run}"), 4, 0, 99)));
    let merge = plan(&layout, &options()).expect("8 runs are the limit");
    assert_eq!((merge.reason, merge.output_level, merge.files.len()), ("tier", 5, 9));
}

#[test]
fn the_base_is_rewritten_once_enough_has_gathered() {
    let mut layout = layout(8, 0, 99);
    layout.push(5, file("t", 80, 0, 99));
    let merge = plan(&layout, &options()).expect("8 runs are the limit");
    assert_eq!((merge.reason, merge.output_level, merge.files.len()), ("rewrite", 6, 109));
}

#[test]
fn many_small_tombstones_count_by_number() {
    let mut layout = layout(8, 0, 99);
    layout.runs.iter_mut().for_each(|run| (run.size, run.entries) = (MIB / 10, 200_000));
    assert_eq!(plan(&layout, &options()).map(|merge| merge.reason), Some("rewrite"));
}

#[test]
fn files_of_which_the_entries_are_unknown_are_taken_to_be_as_dense_as_the_others() {
    let mut layout = layout(8, 0, 99);
    layout.levels[5].iter_mut().skip(20).for_each(|file| file.entries = 0);
    assert_eq!(plan(&layout, &options()).map(|merge| merge.reason), Some("tier"));
    layout.levels[5].iter_mut().for_each(|file| file.entries = 0);
    assert_eq!(plan(&layout, &options()).map(|merge| merge.reason), Some("tier"));
}

#[test]
fn the_first_runs_become_the_base() {
    let mut layout = Layout::default();
    (0..8).for_each(|run| layout.push(0, file(&format!("r{run}"), 4, 0, 99)));
    let merge = plan(&layout, &options()).expect("8 runs are the limit");
    assert_eq!((merge.reason, merge.output_level), ("rewrite", 6));
}

#[test]
fn the_base_has_more_files_rather_than_large_ones_until_it_is_large() {
    let size = |all: u64| {
        let mut layout = Layout::default();
        layout.push(0, file("r", all, 0, 99));
        plan_everything(&layout, &options()).expect("a run is above the base").file_size
    };
    assert_eq!(size(100), 2 * MIB);
    assert_eq!(size(1280), 10 * MIB);
    assert_eq!(size(100_000), 64 * MIB);
}

#[test]
fn compacting_what_is_compacted_does_nothing() {
    assert_eq!(plan_everything(&layout(0, 0, 0), &options()), None);
}

/// A base of 40 files and a tier and two runs of 20 MiB above it.
fn aging() -> Layout {
    let mut layout = Layout::default();
    (0..40).for_each(|key| layout.push(6, file(&format!("b{key}"), 2, key, key)));
    layout.push(5, file("t", 20, 0, 39));
    (0..2).for_each(|run| layout.push(0, file(&format!("r{run}"), 20, 0, 39)));
    layout
}

fn expire(files: &mut [File], percent: u64) {
    files.iter_mut().for_each(|file| file.expired = file.size * percent / 100);
}

#[test]
fn a_little_that_has_expired_is_left_alone() {
    let mut layout = aging();
    expire(&mut layout.levels[5], 20);
    assert_eq!(reclaim(&layout, &options()), None);
}

#[test]
fn base_files_of_which_much_has_expired_are_rewritten_by_themselves() {
    let mut layout = aging();
    expire(&mut layout.levels[5], 25);
    expire(&mut layout.levels[5][10..14], 90);
    let merge = reclaim(&layout, &options()).expect("25 of 140 MiB have expired");
    assert_eq!((merge.reason, merge.output_level), ("expired", 6));
    assert_eq!(merge.files, ["b10", "b11", "b12", "b13"]);
}

#[test]
fn what_has_expired_above_the_base_goes_there_with_all_that_lies_between() {
    let mut layout = aging();
    expire(&mut layout.levels[4], 100);
    expire(&mut layout.runs[1..], 100);
    let merge = reclaim(&layout, &options()).expect("40 of 140 MiB have expired");
    assert_eq!((merge.reason, merge.output_level, merge.files.len()), ("expired", 6, 41));
    assert!(merge.files.contains(&"t".to_owned()) && !merge.files.contains(&"r1".to_owned()), "{:?}", merge.files);
}

#[test]
fn all_files_are_merged_once_deletions_hide_much() {
    let mut layout = aging();
    layout.hidden = 18 * MIB;
    assert_eq!(reclaim(&layout, &options()), None);
    layout.hidden = 24 * MIB;
    let merge = reclaim(&layout, &options()).expect("24 of 140 MiB are hidden");
    assert_eq!((merge.reason, merge.output_level, merge.files.len()), ("deleted", 6, 43));
}

/// A database of sizes and key ranges, in which merges happen at once.
struct Simulated {
    layout: Layout,
    next: u64,
}

impl Simulated {
    /// Flushes a file of these bytes and keys, then merges what the planner wants merged.
    fn flush(&mut self, size: u64, first: u32, last: u32) {
        let flushed = self.file(size, first, last);
        self.layout.runs.insert(0, flushed);
        while let Some(merge) = plan(&self.layout, &options()) {
            self.merge(&merge);
        }
    }

    fn file(&mut self, size: u64, first: u32, last: u32) -> File {
        self.next += 1;
        let (first_key, last_key) = (first.to_be_bytes().to_vec(), last.to_be_bytes().to_vec());
        File { name: self.next.to_string(), size, first_key, last_key, ..file("", 0, 0, 0) }
    }

    /// What a flushed file overwrites in the base is gone; the rest is dealt out to files of full size, and a smaller
    /// one.
    fn merge(&mut self, merge: &Merge) {
        let mut merged = Vec::new();
        let levels = std::iter::once(&mut self.layout.runs).chain(&mut self.layout.levels);
        for files in levels {
            let (taken, left) = files.drain(..).partition(|file| merge.files.contains(&file.name));
            *files = left;
            merged.extend::<Vec<File>>(taken);
        }
        let key = |key: &[u8]| u32::from_be_bytes(key.try_into().expect("four bytes"));
        let first = merged.iter().map(|file| key(&file.first_key)).min().expect("a merge has files");
        let last = merged.iter().map(|file| key(&file.last_key)).max().expect("a merge has files");
        // A key is worth 100 bytes.
        let size = bytes(&merged).min(u64::from(last - first + 1) * 100);
        let pieces = size.div_ceil(merge.file_size).max(1);
        let keys_of = |piece: u64| ((u64::from(last - first + 1) * (piece * merge.file_size).min(size)) / size) as u32;
        for piece in 0..pieces {
            let length = merge.file_size.min(size - piece * merge.file_size);
            let made = self.file(length, first + keys_of(piece), first + keys_of(piece + 1) - 1);
            self.layout.levels[merge.output_level as usize - 1].push(made);
        }
        self.layout.levels.iter_mut().for_each(|level| level.sort_by(|a, b| a.first_key.cmp(&b.first_key)));
    }

    fn assert_few_files(&self) {
        let most = coalesce::most_files(&self.layout, &options()) + 16;
        assert!(self.layout.base().len() as u64 <= most, "{} files, {most} at most", self.layout.base().len());
    }
}

#[test]
fn a_year_of_small_changes_leaves_a_bounded_number_of_files() {
    // 400 MB, of which a stretch of 100 kB or 6 MB changes between two checkpoints: some merges are cheap, some are
    // not.
    const KEYS: u32 = 4_000_000;
    let mut state = Simulated { layout: Layout::default(), next: 0 };
    state.flush(u64::from(KEYS) * 100, 0, KEYS - 1);
    let mut at = 7u32;
    for _ in 0..20_000 {
        at = at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let changed = if at.is_multiple_of(16) { 1000 } else { 60_000 };
        let first = at.rotate_left(16) % (KEYS - changed);
        state.flush(u64::from(changed) * 100, first, first + changed - 1);
        state.assert_few_files();
    }
    assert!(bytes(state.layout.base()) > 300_000_000, "the state is gone");
}

#[test]
fn a_state_that_grows_at_its_end_has_a_bounded_number_of_files() {
    // 2 MB at a time, up to 40 GB.
    let mut state = Simulated { layout: Layout::default(), next: 0 };
    for step in 0..20_000 {
        state.flush(2_000_000, step * 20_000, step * 20_000 + 19_999);
        state.assert_few_files();
    }
    assert!(bytes(state.layout.base()) > 39_000_000_000, "the state is gone");
    assert!(state.layout.base().len() < 1500, "{} files", state.layout.base().len());
}

#[test]
fn small_neighbours_become_files_of_full_size_once_they_are_too_many() {
    let mut layout = layout(8, 0, 99);
    layout.levels[5].iter_mut().for_each(|file| file.size = MIB / 4);
    layout.levels[5][40].size = 2 * MIB;
    let merge = plan(&layout, &options()).expect("100 files are too many for 27 MiB");
    assert_eq!((merge.reason, merge.output_level, merge.files.len()), ("coalesce", 6, 32));
    assert!(!merge.files.contains(&"b40".to_owned()), "a file of full size is rewritten");
}
