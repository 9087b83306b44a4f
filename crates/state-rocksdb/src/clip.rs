//! Cutting table files to key groups.
//!
//! A file that straddles the border of the wanted key groups is rewritten into one that does not, and so are the runs
//! of a level 0 of which one does, all of them into one. They may lie at any level, so what is in them is not the whole
//! truth about their keys: deletions hide what lies beneath, operands wait for a value to be merged into, and sequence
//! numbers say which of two runs is newer. All of that must come through. RocksDB's own compaction does it, in a column
//! family of its own:
//!
//! ```text
//! level 0   |--deleted--|                 |--deleted--|    the *knife*: all that is not wanted
//! level 0             |-------- file --------|             each older than the one above
//! level 0        |-------- file --------|
//! level 2               |------ floor ------|              two keys that span what is wanted
//! ```
//!
//! Level 0 is merged into level 1. What the knife covers is gone: keys, operands, deletions. Nothing lies beneath it,
//! so neither does the knife itself stay, nor any part of a deleted range of the files that it covers. Beneath the rest
//! RocksDB finds the floor, and keeps what might hide a part of it, with its sequence number.

use crate::column_family::{column_family_options, database_options, prefix};
use crate::database::Rocks;
use crate::error::from_rocksdb;
use crate::import::{TableFile, import};
use crate::shared::Shared;
use headpond_state::{Error, KeyGroupRange, MaxParallelism, MergeOperator, Result};
use rust_rocksdb::{CompactionOptions, LiveFile, SstFileWriter};
use std::fs;
use std::path::PathBuf;

/// What the floor's last key ends with: no key reaches it.
const BEYOND_ALL_KEYS: [u8; 1024] = [u8::MAX; 1024];
/// No key group's number reaches it.
const BEYOND_ALL_GROUPS: [u8; 3] = [u8::MAX; 3];

const KNIFE: &str = "knife";
const FLOOR: &str = "floor";
/// Where what is kept goes, and where the floor lies.
const KEPT_LEVEL: i32 = 1;
const FLOOR_LEVEL: i32 = 2;

/// A database in which files are cut.
pub(crate) struct Clipping<'a> {
    shared: &'a Shared,
    rocks: Rocks,
    path: PathBuf,
    wanted: KeyGroupRange,
    max_parallelism: MaxParallelism,
    cuts: usize,
    kept: Vec<TableFile>,
}

impl<'a> Clipping<'a> {
    /// Opens a new database at `path` in which files are cut to the `wanted` key groups.
    pub(crate) fn open(
        shared: &'a Shared,
        path: PathBuf,
        wanted: KeyGroupRange,
        max_parallelism: MaxParallelism,
    ) -> Result<Self> {
        let rocks = Rocks::open(&database_options(shared), &path)
            .map_err(|cause| from_rocksdb("cannot open a database to cut files in", &path, cause))?;
        let clipping = Clipping { shared, rocks, path, wanted, max_parallelism, cuts: 0, kept: Vec::new() };
        clipping.write_tools().map_err(|cause| clipping.error(cause))?;
        Ok(clipping)
    }

    /// Cuts files of a state with this merge operator, one or all of its level 0, and takes them.
    pub(crate) fn cut(&mut self, files: Vec<TableFile>, merge: Option<MergeOperator>) -> Result<()> {
        let Some(&TableFile { state, level, .. }) = files.first() else { return Ok(()) };
        let name = format!("cut-{}", self.cuts);
        self.cuts += 1;
        let newest = files.iter().map(|file| file.sequences.1).max().unwrap_or(0) + 1;
        let knife = self.link(KNIFE, &name, 0, (newest, newest))?;
        let floor = self.link(FLOOR, &name, FLOOR_LEVEL, (0, 0))?;
        let files: Vec<_> =
            files.into_iter().map(|file| TableFile { level: 0, ..file }).chain([knife, floor]).collect();
        let kept = import(&self.rocks, &name, &column_family_options(self.shared, merge), &files)
            .and_then(|()| self.merge(&name))
            .map_err(|cause| self.error(cause))?;
        self.kept.extend(kept.iter().map(|file| TableFile::of(file, &self.path, state, level)));
        Ok(())
    }

    /// The files that came of it, at the levels their originals had. They stay in the directory.
    pub(crate) fn finish(self) -> Vec<TableFile> {
        self.kept
    }

    /// Merges the column family's level 0 into the next level, and returns the files there.
    fn merge(&self, name: &str) -> std::result::Result<Vec<LiveFile>, rust_rocksdb::Error> {
        let Some(family) = self.rocks.cf_handle(name) else { return Ok(Vec::new()) };
        let files = |level| -> std::result::Result<Vec<LiveFile>, rust_rocksdb::Error> {
            let live = self.rocks.live_files()?.into_iter();
            Ok(live.filter(|file| file.column_family_name == name && file.level == level).collect())
        };
        let inputs = files(0)?;
        let mut options = CompactionOptions::default();
        options.set_output_file_size_limit(u64::MAX);
        self.rocks.compact_files_cf(&family, &options, inputs.iter().map(|file| file.name.as_str()), KEPT_LEVEL)?;
        files(KEPT_LEVEL)
    }

    /// A file like the one of this name, for the column family `of`.
    fn link(&self, name: &str, of: &str, level: i32, sequences: (u64, u64)) -> Result<TableFile> {
        let linked = format!("{of}-{name}");
        let (from, to) = (self.path.join(name), self.path.join(&linked));
        fs::hard_link(&from, &to)
            .and_then(|()| fs::metadata(&to))
            .map(|file| TableFile {
                directory: self.path.clone(),
                name: linked,
                size: file.len(),
                state: 0,
                level,
                sequences,
            })
            .map_err(|cause| Error::io("cannot use a local file", &from, cause))
    }

    /// Writes the knife and the floor.
    fn write_tools(&self) -> std::result::Result<(), rust_rocksdb::Error> {
        let options = column_family_options(self.shared, None);
        let prefix = |group| prefix(group, self.max_parallelism);
        let start = prefix(self.wanted.start);
        let last = [prefix(self.wanted.end.saturating_sub(1)).as_slice(), &BEYOND_ALL_KEYS].concat();
        // Not at the next group's number, which may be a whole key: of a key that a file begins with, RocksDB takes
        // what is older than the file itself to be covered, and of this file it learns only later how new it is.
        let above = [last.as_slice(), &[0]].concat();
        let mut writer = SstFileWriter::create(&options);
        writer.open(self.path.join(KNIFE))?;
        if self.wanted.start > 0 {
            writer.delete_range([].as_slice(), start.as_slice())?;
        }
        writer.delete_range(above.as_slice(), BEYOND_ALL_GROUPS.as_slice())?;
        writer.finish()?;

        let mut writer = SstFileWriter::create(&options);
        writer.open(self.path.join(FLOOR))?;
        writer.put(&start, b"")?;
        writer.put(&last, b"")?;
        writer.finish()
    }

    fn error(&self, cause: rust_rocksdb::Error) -> Error {
        from_rocksdb("cannot cut restored state to its key groups", &self.path, cause)
    }
}
