//! Cutting table files to key groups.
//!
//! A file that straddles the border of the wanted key groups is rewritten, by itself, into one that does not. It may lie at any
//! level, so what is in it is not the whole truth about its keys: deletions hide what lies beneath, operands wait for a value to be
//! merged into, and sequence numbers say which of two runs is newer. All of that must come through. RocksDB's own compaction
//! does it, in a database where each file has a column family of its own:
//!
//! ```text
//! level 0   |--deleted--|                 |--deleted--|    all that is not wanted
//! level 1             |-------- file --------|
//! level 2               |------ floor ------|              two keys that span what is wanted
//! ```
//!
//! Levels 0 and 1 are merged. What the ranges of level 0 cover is gone: keys, operands, deletions. Nothing lies beneath it, so
//! neither do the ranges themselves stay, nor any part of a deleted range of the file that they cover. Beneath the rest RocksDB
//! finds the floor, and keeps what might hide a part of it, with its sequence number.

use crate::column_family::{column_family_options, database_options, prefix};
use crate::database::Rocks;
use crate::error::from_rocksdb;
use crate::import::TableFile;
use crate::shared::Shared;
use headpond_state::{Error, KeyGroupRange, MaxParallelism, MergeOperator, Result};
use rust_rocksdb::{CompactionOptions, FlushOptions, Options, SstFileWriter, WriteBatch, WriteOptions};
use std::fs;
use std::path::{Path, PathBuf};

/// What the floor's last key ends with: no key reaches it.
const BEYOND_ALL_KEYS: [u8; 1024] = [u8::MAX; 1024];

/// Where the files lie that are cut, and their floors.
const FILE_LEVEL: i32 = 1;
const FLOOR_LEVEL: i32 = 2;

/// A database in which files are cut.
pub(crate) struct Clipping<'a> {
    shared: &'a Shared,
    rocks: Rocks,
    path: PathBuf,
    wanted: KeyGroupRange,
    max_parallelism: MaxParallelism,
    cut: Vec<TableFile>,
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
        Ok(Clipping { shared, rocks, path, wanted, max_parallelism, cut: Vec::new() })
    }

    /// Cuts a file of a state with this merge operator, and takes it.
    pub(crate) fn cut(&mut self, file: TableFile, merge: Option<MergeOperator>) -> Result<()> {
        let options = column_family_options(self.shared, merge);
        let name = format!("file-{}", self.cut.len());
        let floor = self.write_floor(&options)?;
        let (state, level) = (file.state, file.level);
        let files = [TableFile { level: FILE_LEVEL, ..file }, floor];
        crate::import::import(&self.rocks, &name, &options, &files).map_err(|cause| self.error(cause))?;
        let merged = self.merge(&name).map_err(|cause| self.error(cause))?;
        let live = self.rocks.live_files().map_err(|cause| self.error(cause))?;
        let kept = live.iter().filter(|file| merged && file.column_family_name == name && file.level == FILE_LEVEL);
        self.cut.extend(kept.map(|file| TableFile::of(file, &self.path, state, level)));
        Ok(())
    }

    /// The files that came of it, at the levels their originals had. They stay in the directory.
    pub(crate) fn finish(self) -> Vec<TableFile> {
        self.cut
    }

    /// Merges the column family's file with ranges that cover what is not wanted.
    fn merge(&self, name: &str) -> std::result::Result<bool, rust_rocksdb::Error> {
        let Some(family) = self.rocks.cf_handle(name) else { return Ok(false) };
        let prefix = |group| prefix(group, self.max_parallelism);
        let mut batch = WriteBatch::default();
        if self.wanted.start > 0 {
            batch.delete_range_cf(&family, Vec::new(), prefix(self.wanted.start));
        }
        // Ends of deleted ranges may lie at the end of the last group, and nothing beyond.
        batch.delete_range_cf(&family, prefix(self.wanted.end), vec![u8::MAX; 3]);
        let mut without_log = WriteOptions::default();
        without_log.disable_wal(true);
        self.rocks.write_opt(&batch, &without_log)?;
        self.rocks.flush_cf_opt(&family, &FlushOptions::default())?;
        let live = self.rocks.live_files()?;
        let inputs = live.iter().filter(|file| file.column_family_name == name && file.level <= FILE_LEVEL);
        let mut options = CompactionOptions::default();
        options.set_output_file_size_limit(u64::MAX);
        self.rocks.compact_files_cf(&family, &options, inputs.map(|file| file.name.as_str()), FILE_LEVEL)?;
        Ok(true)
    }

    fn write_floor(&self, options: &Options) -> Result<TableFile> {
        let name = format!("floor-{}.sst", self.cut.len());
        let path = self.path.join(&name);
        let last =
            [prefix(self.wanted.end.saturating_sub(1), self.max_parallelism).as_slice(), &BEYOND_ALL_KEYS].concat();
        let mut writer = SstFileWriter::create(options);
        writer
            .open(&path)
            .and_then(|()| writer.put(prefix(self.wanted.start, self.max_parallelism), b""))
            .and_then(|()| writer.put(&last, b""))
            .and_then(|()| writer.finish())
            .map_err(|cause| self.error(cause))?;
        let size = size_of(&path)?;
        Ok(TableFile { directory: self.path.clone(), name, size, state: 0, level: FLOOR_LEVEL, sequences: (0, 0) })
    }

    fn error(&self, cause: rust_rocksdb::Error) -> Error {
        from_rocksdb("cannot cut restored state to its key groups", &self.path, cause)
    }
}

fn size_of(path: &Path) -> Result<u64> {
    fs::metadata(path).map(|file| file.len()).map_err(|cause| Error::io("cannot inspect a file", path, cause))
}
