//! What is known of a database's files beyond what RocksDB says: how old their entries are, and how much deletions
//! hide.
//!
//! The owner notes what it writes. When it seals a memtable, the notes are closed with the sequence number they reach
//! to; the file that the memtable becomes is recognized by its own. Merges say what they have kept. All of it is in
//! memory: of files that a restore brings nothing is known, and their entries are taken to be of any age within a time
//! to live.

use crate::age::Ages;
use rust_rocksdb::LiveFile;
use std::collections::{HashMap, VecDeque};

/// Keys from the first one on, below the second.
type KeyRange = (Vec<u8>, Vec<u8>);

/// Deleted ranges of a state that are kept one by one.
const RANGES_MAX: usize = 2048;

/// Bytes of a deletion in a file, about.
const DELETION_LEN: f64 = 32.0;

/// Sealed memtables of a state that are remembered.
const SEALED_MAX: usize = 1024;

/// What was written to a state since its memtable was sealed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    /// Entries put, or merged into, and the bytes of their keys and values.
    pub(crate) puts: u64,
    pub(crate) put_bytes: u64,
    /// Keys deleted.
    pub(crate) deletes: u64,
    /// Ranges deleted.
    pub(crate) ranges: Vec<KeyRange>,
    /// The earliest and the latest stamp of the entries put, if they expire.
    pub(crate) stamps: Option<(i64, i64)>,
}

impl Written {
    pub(crate) fn is_empty(&self) -> bool {
        self.puts == 0 && self.deletes == 0 && self.ranges.is_empty()
    }

    /// Notes the stamp of an entry put.
    #[inline]
    pub(crate) fn stamp(&mut self, stamp_ms: i64) {
        let (earliest, latest) = self.stamps.unwrap_or((stamp_ms, stamp_ms));
        self.stamps = Some((earliest.min(stamp_ms), latest.max(stamp_ms)));
    }

    fn add(&mut self, other: &mut Written) {
        self.puts += other.puts;
        self.put_bytes += other.put_bytes;
        self.deletes += other.deletes;
        self.ranges.append(&mut other.ranges);
        for (earliest, latest) in other.stamps.into_iter() {
            self.stamp(earliest);
            self.stamp(latest);
        }
        *other = Written { ranges: std::mem::take(&mut other.ranges), ..Written::default() };
    }
}

/// The states of a database.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    families: HashMap<String, FamilyLedger>,
    /// The sequence number that what a restore brought reaches to.
    restored_to: u64,
}

impl Ledger {
    /// Begins, when the database holds what was restored and nothing else.
    pub(crate) fn begin(&mut self, sequence: u64) {
        self.restored_to = sequence;
        self.families.values_mut().for_each(|family| family.flushed_to = sequence);
    }

    /// What is known of a column family.
    pub(crate) fn family(&mut self, column_family: &str) -> &mut FamilyLedger {
        if !self.families.contains_key(column_family) {
            let family = FamilyLedger { flushed_to: self.restored_to, ..FamilyLedger::default() };
            self.families.insert(column_family.to_owned(), family);
        }
        self.families.entry(column_family.to_owned()).or_default()
    }
}

/// What is known of a column family.
#[derive(Debug, Default)]
pub(crate) struct FamilyLedger {
    /// What is in the memtable.
    open: Written,
    /// What is in sealed memtables, with the sequence numbers they reach to.
    sealed: VecDeque<(u64, Written)>,
    /// The sequence number that the last sealed memtable reached to whose file was seen.
    flushed_to: u64,
    /// The ages of files' entries, by the files' names.
    ages: HashMap<String, Ages>,
    /// All entries put, and their bytes.
    puts: u64,
    put_bytes: u64,
    /// Keys deleted by files since all files were merged.
    deletes: u64,
    ranges: DeletedRanges,
    /// Whether much more is dead than is allowed, so that writes wait for a merge.
    pub(crate) overdue: bool,
}

impl FamilyLedger {
    /// Notes what was written, and empties `written`.
    pub(crate) fn note(&mut self, written: &mut Written) {
        self.open.add(written);
    }

    /// Closes the notes: the memtable is sealed, and holds what was written up to this sequence number.
    pub(crate) fn seal(&mut self, sequence: u64) {
        if self.open.is_empty() {
            return;
        }
        if self.sealed.len() >= SEALED_MAX {
            self.sealed.pop_front();
        }
        self.sealed.push_back((sequence, std::mem::take(&mut self.open)));
    }

    /// What is in the memtable.
    pub(crate) fn open(&self) -> &Written {
        &self.open
    }

    /// Takes note of the files there are: the ages of new ones follow from what was sealed; `unknown` has those of
    /// files nothing is known of.
    pub(crate) fn observe(&mut self, files: &[LiveFile], unknown: Option<Ages>) {
        let mut ages = HashMap::with_capacity(files.len());
        for file in files {
            let name = file_name(&file.name);
            let known = self.ages.get(name).copied().or_else(|| self.flushed_ages(file)).or(unknown);
            if let Some(known) = known {
                ages.insert(name.to_owned(), known);
            }
        }
        self.ages = ages;
        // Memtables are flushed in order: what reaches beyond the one before is there.
        let flushed = files.iter().map(|file| file.largest_seqno).max().unwrap_or(0);
        while self.flushed_to < flushed {
            let Some((sequence, mut written)) = self.sealed.pop_front() else { break };
            self.flushed_to = sequence;
            self.puts += written.puts;
            self.put_bytes += written.put_bytes;
            self.deletes += written.deletes;
            written.ranges.drain(..).for_each(|range| self.ranges.push(range));
        }
    }

    /// The ages of the entries of a flushed file.
    fn flushed_ages(&self, file: &LiveFile) -> Option<Ages> {
        let mut after = self.flushed_to;
        let mut found: Option<(i64, i64)> = None;
        for (sequence, written) in &self.sealed {
            if file.largest_seqno > after && file.smallest_seqno <= *sequence {
                for (earliest, latest) in written.stamps.into_iter() {
                    let (from, to) = found.unwrap_or((earliest, latest));
                    found = Some((from.min(earliest), to.max(latest)));
                }
            }
            after = *sequence;
        }
        found.map(|(from, to)| Ages::even(from, to))
    }

    /// The ages of a file's entries.
    pub(crate) fn ages(&self, file: &str) -> Option<&Ages> {
        self.ages.get(file_name(file))
    }

    /// Notes what a merge has written.
    pub(crate) fn merged(&mut self, outputs: &[String], kept: Option<Ages>, everything: bool) {
        for (output, ages) in outputs.iter().zip(kept.into_iter().cycle()) {
            self.ages.insert(file_name(output).to_owned(), ages);
        }
        if everything {
            self.deletes = 0;
            self.ranges = DeletedRanges::default();
        }
    }

    /// Whether files hold deletions.
    pub(crate) fn has_deletions(&self) -> bool {
        self.deletes > 0
            || !self.ranges.ranges.is_empty()
            || self.sealed.iter().any(|(_, w)| w.deletes > 0 || !w.ranges.is_empty())
    }

    /// Bytes that deletions of single keys hide, if each hides an entry of the usual size, and their own.
    pub(crate) fn hidden_by_deletes(&self) -> u64 {
        self.usual_bytes(self.deletes)
    }

    /// The same of the deletions in the memtable.
    pub(crate) fn hidden_by_open(&self) -> u64 {
        self.usual_bytes(self.open.deletes)
    }

    /// Bytes of so many deletions and of as many entries of the usual size.
    fn usual_bytes(&self, deletes: u64) -> u64 {
        let (puts, put_bytes) = (self.puts + self.open.puts, self.put_bytes + self.open.put_bytes);
        let of_entry = if puts == 0 { 0.0 } else { put_bytes as f64 / puts as f64 };
        (deletes as f64 * (of_entry + DELETION_LEN)) as u64
    }

    /// The ranges deleted since all files were merged, or a sample of them, and how many each stands for.
    pub(crate) fn deleted_ranges(&mut self) -> (&[KeyRange], f64) {
        self.ranges.unite();
        (&self.ranges.ranges, self.ranges.each_stands_for as f64)
    }
}

/// Deleted ranges: all of them, united where they overlap, or a sample.
#[derive(Debug)]
struct DeletedRanges {
    ranges: Vec<KeyRange>,
    each_stands_for: u64,
    passed_over: u64,
}

impl Default for DeletedRanges {
    fn default() -> Self {
        DeletedRanges { ranges: Vec::new(), each_stands_for: 1, passed_over: 0 }
    }
}

impl DeletedRanges {
    fn push(&mut self, range: KeyRange) {
        self.passed_over += 1;
        if self.passed_over < self.each_stands_for {
            return;
        }
        self.passed_over = 0;
        self.ranges.push(range);
        if self.ranges.len() <= RANGES_MAX {
            return;
        }
        self.unite();
        if self.ranges.len() > RANGES_MAX / 2 {
            let mut index = 0;
            self.ranges.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.each_stands_for *= 2;
        }
    }

    fn unite(&mut self) {
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, last| {
            let overlaps = next.0 <= last.1;
            if overlaps && next.1 > last.1 {
                last.1 = std::mem::take(&mut next.1);
            }
            overlaps
        });
    }
}

/// A file's name without directories.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, smallest_seqno: u64, largest_seqno: u64) -> LiveFile {
        LiveFile {
            column_family_name: "state:s".to_owned(),
            name: format!("/{name}"),
            directory: String::new(),
            size: 1000,
            level: 0,
            start_key: None,
            end_key: None,
            smallest_seqno,
            largest_seqno,
            num_entries: 0,
            num_deletions: 0,
        }
    }

    fn written(stamp_ms: i64, deletes: u64) -> Written {
        let mut written = Written { puts: 10, put_bytes: 1000, deletes, ..Written::default() };
        written.stamp(stamp_ms);
        written
    }

    #[test]
    fn a_flushed_file_is_as_old_as_what_its_memtable_held() {
        let mut ledger = Ledger::default();
        ledger.begin(100);
        let family = ledger.family("state:s");
        for (stamp_ms, sequence) in [(1000, 200), (2000, 300), (3000, 400)] {
            family.note(&mut written(stamp_ms, 5));
            family.seal(sequence);
        }
        let unknown = Ages::even(0, 10);
        // The third memtable is not flushed yet; the file that a restore brought is not of any.
        family.observe(&[file("1.sst", 0, 100), file("2.sst", 150, 190), file("3.sst", 201, 280)], Some(unknown));
        assert_eq!(family.ages("1.sst"), Some(&unknown));
        assert_eq!(family.ages("/2.sst"), Some(&Ages::even(1000, 1000)));
        assert_eq!(family.ages("3.sst"), Some(&Ages::even(2000, 2000)));
        assert_eq!(family.hidden_by_deletes(), 10 * (100 + 32), "of two memtables");
        family.observe(&[file("4.sst", 301, 333)], Some(unknown));
        assert_eq!((family.ages("3.sst"), family.ages("4.sst")), (None, Some(&Ages::even(3000, 3000))));
        family.merged(&["/tmp/5.sst".to_owned()], Some(unknown), true);
        assert_eq!((family.ages("5.sst"), family.has_deletions()), (Some(&unknown), false));
    }

    #[test]
    fn deleted_ranges_are_united_and_sampled() {
        let mut ranges = DeletedRanges::default();
        for start in 0..10u8 {
            ranges.push((vec![start], vec![start + 1]));
        }
        ranges.unite();
        assert_eq!(ranges.ranges, [(vec![0], vec![10])]);
        let mut ranges = DeletedRanges::default();
        (0..60_000u32).for_each(|i| ranges.push(((2 * i).to_be_bytes().to_vec(), (2 * i + 1).to_be_bytes().to_vec())));
        let stood_for = ranges.ranges.len() as u64 * ranges.each_stands_for;
        assert!(ranges.ranges.len() <= RANGES_MAX && (40_000..80_000).contains(&stood_for), "{stood_for}");
    }
}
