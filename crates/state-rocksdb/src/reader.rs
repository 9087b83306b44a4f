//! Reading the files of a handle as they are, without a database of one's own.

use crate::column_family::{column_family, column_family_name, database_options, prefix};
use crate::database::Rocks;
use crate::error::from_rocksdb;
use crate::handle_files::{check_format, fetch};
use crate::local_dir::LocalDir;
use crate::shared::Shared;
use headpond_state::state_reader::check_state;
use headpond_state::{
    Context, Entry, Error, KeyGroupRange, KeyedStateHandle, MaxParallelism, RestoredState, Result, ScanVisitor,
    StateReader,
};
use rust_rocksdb::ReadOptions;
use std::fmt;
use std::path::{Path, PathBuf};

/// Bytes that are read ahead: a reader goes through everything.
const READAHEAD_BYTES: usize = 1 << 20;

/// The fetched files of a handle, opened for reading.
pub(crate) struct RestoredFiles {
    rocks: Rocks,
    path: PathBuf,
    /// The names of the states.
    states: Vec<String>,
    max_parallelism: MaxParallelism,
}

impl RestoredFiles {
    /// Opens the files of `handle`, which lie in `path`.
    pub(crate) fn open(
        shared: &Shared,
        handle: &KeyedStateHandle,
        path: &Path,
        max_parallelism: MaxParallelism,
    ) -> Result<Self> {
        let families = handle.states.iter().map(|state| column_family(shared, state));
        let rocks = Rocks::open_cf_descriptors_read_only(&database_options(shared), path, families, false)
            .map_err(|cause| from_rocksdb("cannot read restored state", path, cause))?;
        let states = handle.states.iter().map(|state| state.name.clone()).collect();
        Ok(RestoredFiles { rocks, path: path.to_owned(), states, max_parallelism })
    }

    /// The database that the files are.
    pub(crate) fn rocks(&self) -> &Rocks {
        &self.rocks
    }
}

impl StateReader for RestoredFiles {
    fn read(&mut self, state: usize, key_groups: KeyGroupRange, visit: &mut ScanVisitor<'_>) -> Result<()> {
        check_state(self.states.len(), state)?;
        let name = &self.states[state];
        let family = self
            .rocks
            .cf_handle(&column_family_name(name))
            .ok_or_else(|| Error::corrupt("a state is missing from restored files").with(Context::State, name))?;
        let mut bounds = ReadOptions::default();
        bounds.set_iterate_lower_bound(prefix(key_groups.start, self.max_parallelism));
        bounds.set_iterate_upper_bound(prefix(key_groups.end, self.max_parallelism));
        bounds.fill_cache(false);
        bounds.set_readahead_size(READAHEAD_BYTES);
        let mut cursor = self.rocks.raw_iterator_cf_opt(&family, bounds);
        cursor.seek_to_first();
        while let Some((key, value)) = cursor.item() {
            if visit(Entry { key, value })?.is_break() {
                return Ok(());
            }
            cursor.next();
        }
        cursor.status().map_err(|cause| from_rocksdb("cannot read restored state", &self.path, cause))
    }
}

impl fmt::Debug for RestoredFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestoredFiles").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A reader with the directory of its files, which goes with it.
#[derive(Debug)]
pub(crate) struct RocksDbReader {
    // Dropped before its directory.
    files: RestoredFiles,
    _dir: LocalDir,
}

impl RocksDbReader {
    /// Fetches the handle's files into `local_dir` and opens them.
    pub(crate) fn open(
        shared: &Shared,
        restored: RestoredState<'_>,
        max_parallelism: MaxParallelism,
        local_dir: &Path,
    ) -> Result<Self> {
        check_format(restored.handle, max_parallelism)?;
        let dir = LocalDir::create(local_dir)?;
        fetch(&restored, &dir.database(), |_| true)?;
        let files = RestoredFiles::open(shared, restored.handle, &dir.database(), max_parallelism)?;
        Ok(RocksDbReader { files, _dir: dir })
    }
}

impl StateReader for RocksDbReader {
    fn read(&mut self, state: usize, key_groups: KeyGroupRange, visit: &mut ScanVisitor<'_>) -> Result<()> {
        self.files.read(state, key_groups, visit)
    }
}
