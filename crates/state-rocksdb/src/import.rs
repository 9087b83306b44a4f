//! Table files of one database as a column family of another.

use crate::database::Rocks;
use rust_rocksdb::{ExportImportFilesMetaData, ImportColumnFamilyOptions, LiveFile, Options};
use std::path::{Path, PathBuf};

/// The comparator of every column family.
const COMPARATOR: &str = "leveldb.BytewiseComparator";

/// A table file on local disk that no database has.
#[derive(Debug, Clone)]
pub(crate) struct TableFile {
    pub(crate) directory: PathBuf,
    pub(crate) name: String,
    pub(crate) size: u64,
    /// The number of the state it belongs to.
    pub(crate) state: usize,
    /// The level it goes to.
    pub(crate) level: i32,
    /// The smallest and the largest sequence number.
    pub(crate) sequences: (u64, u64),
}

impl TableFile {
    /// A file that a database in `directory` had.
    pub(crate) fn of(file: &LiveFile, directory: &Path, state: usize, level: i32) -> TableFile {
        TableFile {
            directory: directory.to_owned(),
            name: file.name.trim_start_matches('/').to_owned(),
            size: file.size as u64,
            state,
            level,
            sequences: (file.smallest_seqno, file.largest_seqno),
        }
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }
}

/// Creates a column family that consists of these files, which are moved into the database. Those of a level above 0
/// must not overlap; those of level 0 are as new as their sequence numbers say.
pub(crate) fn import(
    rocks: &Rocks,
    name: &str,
    options: &Options,
    files: &[TableFile],
) -> Result<(), rust_rocksdb::Error> {
    let files: Vec<LiveFile> = files.iter().map(live_file).collect();
    let mut metadata = ExportImportFilesMetaData::default();
    metadata.set_db_comparator_name(COMPARATOR);
    metadata.set_files(&files)?;
    let mut moving = ImportColumnFamilyOptions::default();
    moving.set_move_files(true);
    rocks.create_column_family_with_import(options, name, &moving, &metadata)
}

/// How RocksDB is told of a file. It finds its first and last key itself.
fn live_file(file: &TableFile) -> LiveFile {
    LiveFile {
        column_family_name: String::new(),
        name: file.name.clone(),
        directory: file.directory.to_string_lossy().into_owned(),
        size: file.size as usize,
        level: file.level,
        start_key: None,
        end_key: None,
        smallest_seqno: file.sequences.0,
        largest_seqno: file.sequences.1,
        num_entries: 0,
        num_deletions: 0,
    }
}
