//! Which backend reads what: the formats of concrete backends.

use headpond_config::{Config, options};
use headpond_inspect::StateReaders;
use headpond_launch::backend::reading_backend;
use headpond_launch::local_state::LocalState;
use headpond_state::state_reader::CanonicalStateReader;
use headpond_state::{MaxParallelism, RestoredState, Result, StateBackend, StateReader, canonical};
use headpond_state_rocksdb::EmbeddedRocksDbStateBackend;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the directory of fetched files is named after.
const LOCAL_NAME: &str = "state-command";

/// Readers of canonical handles and of RocksDB's. The files of the latter are fetched to local disk.
#[derive(Debug)]
pub(super) struct BackendReaders {
    rocksdb: EmbeddedRocksDbStateBackend,
    directories: Vec<PathBuf>,
    /// Made when it is first needed, removed at the end.
    local: Mutex<Option<LocalState>>,
    /// How many readers there have been.
    opened: AtomicUsize,
}

impl BackendReaders {
    pub(super) fn new(config: &Config) -> Self {
        BackendReaders {
            rocksdb: reading_backend(),
            directories: config.get(&options::ROCKSDB_LOCAL_DIRS),
            local: Mutex::new(None),
            opened: AtomicUsize::new(0),
        }
    }

    /// A directory for one reader.
    fn local_dir(&self) -> Result<PathBuf> {
        let mut local = self.local.lock();
        if local.is_none() {
            *local = Some(LocalState::create(&self.directories, LOCAL_NAME)?);
        }
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(local.as_ref().map(|local| local.first().join(number.to_string())).unwrap_or_default())
    }
}

impl StateReaders for BackendReaders {
    fn open<'a>(&self, state: RestoredState<'a>, max_parallelism: MaxParallelism) -> Result<Box<dyn StateReader + 'a>> {
        match state.handle.format == canonical::FORMAT {
            true => Ok(Box::new(CanonicalStateReader::open(state, max_parallelism)?)),
            false => self.rocksdb.open_reader(state, max_parallelism, &self.local_dir()?),
        }
    }
}
