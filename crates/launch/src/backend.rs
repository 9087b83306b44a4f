//! The state backends by name: the one place that knows concrete ones.

#[cfg(feature = "rocksdb")]
use crate::local_state::LocalState;
use crate::memory::default_state_limit;
use headpond_config::options::{self, StateBackendType};
use headpond_config::{Config, MemorySize};
use headpond_state::{Result, StateBackend};
use headpond_state_memory::MemoryStateBackend;
#[cfg(feature = "rocksdb")]
use headpond_state_rocksdb::{CompactionTotals, EmbeddedRocksDbStateBackend, RocksDbOptions};
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "rocksdb")]
mod rocksdb;

/// What the keys of the options of RocksDB begin with.
const ROCKSDB_PREFIX: &str = "state.backend.rocksdb.";

/// What reading a checkpoint takes: whoever reads goes through everything once.
#[cfg(feature = "rocksdb")]
const READING_MEMORY_BYTES: usize = 32 << 20;

/// The state backend of a run.
#[derive(Debug)]
pub enum Backend {
    /// Hash tables.
    Memory(Arc<MemoryStateBackend>),
    /// RocksDB, with its directories on local disk.
    #[cfg(feature = "rocksdb")]
    RocksDb(Arc<EmbeddedRocksDbStateBackend>, LocalState),
}

impl Backend {
    /// The backend that the settings choose. RocksDB's local directories are made, and those of dead runs removed.
    ///
    /// # Errors
    /// As [`LocalState::create`].
    pub fn open(config: &Config, job: &str) -> Result<Self> {
        match config.get(&options::STATE_BACKEND_TYPE) {
            StateBackendType::Memory => Ok(Self::memory(config)),
            #[cfg(not(feature = "rocksdb"))]
            StateBackendType::RocksDb => Err(headpond_state::Error::unsupported(format!(
                "the state backend 'rocksdb' is not in this program: it cannot hold the state of {job}"
            ))
            .with(headpond_state::Context::Option, options::STATE_BACKEND_TYPE.key())
            .hint("build the program with the feature `rocksdb` of the crate `headpond`")),
            #[cfg(feature = "rocksdb")]
            StateBackendType::RocksDb => {
                let mut options = rocksdb::rocksdb_options(config);
                let local = LocalState::create(&options.local_directories, job)?;
                options.local_directories = local.directories();
                Ok(Backend::RocksDb(Arc::new(EmbeddedRocksDbStateBackend::with_options(options)), local))
            }
        }
    }

    /// The backend in memory, with its limit.
    pub fn memory(config: &Config) -> Self {
        let limit = config.get(&options::STATE_MEMORY_LIMIT).map_or_else(default_state_limit, MemorySize::bytes);
        Backend::Memory(Arc::new(MemoryStateBackend::with_limit(limit)))
    }

    /// The backend as the runtime takes it.
    pub fn state_backend(&self) -> Arc<dyn StateBackend> {
        match self {
            Backend::Memory(memory) => Arc::clone(memory) as Arc<dyn StateBackend>,
            #[cfg(feature = "rocksdb")]
            Backend::RocksDb(rocksdb, _) => Arc::clone(rocksdb) as Arc<dyn StateBackend>,
        }
    }

    /// What compactions have done so far, if the backend has any.
    #[cfg(feature = "rocksdb")]
    pub fn compaction(&self) -> Option<CompactionTotals> {
        match self {
            Backend::Memory(_) => None,
            Backend::RocksDb(rocksdb, _) => Some(rocksdb.compaction_totals()),
        }
    }

    /// Where operators find their local disk.
    pub fn local_dir(&self) -> PathBuf {
        match self {
            // Never created.
            Backend::Memory(_) => PathBuf::new(),
            #[cfg(feature = "rocksdb")]
            Backend::RocksDb(_, local) => local.first().to_owned(),
        }
    }
}

/// What reads state of any format that a checkpoint may have, with little memory.
#[cfg(feature = "rocksdb")]
pub fn reading_backend() -> EmbeddedRocksDbStateBackend {
    let options = RocksDbOptions { memory_budget: READING_MEMORY_BYTES, threads: 1, ..RocksDbOptions::default() };
    EmbeddedRocksDbStateBackend::with_options(options)
}

/// Settings of RocksDB that are set although another backend holds the state.
pub fn settings_without_effect(config: &Config) -> Vec<String> {
    if config.get(&options::STATE_BACKEND_TYPE) == StateBackendType::RocksDb {
        return Vec::new();
    }
    let idle = config.settings().filter(|setting| setting.key().starts_with(ROCKSDB_PREFIX) && !setting.is_default());
    idle.map(|setting| {
        let (key, origin) = (setting.written_key(), setting.origin());
        format!("option '{key}' has no effect while 'state.backend.type' is 'memory' ({origin})")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(settings: &[&str]) -> Config {
        let mut config = Config::default();
        settings.iter().for_each(|setting| config.define(setting).expect("the setting is right"));
        config
    }

    #[test]
    fn options_of_rocksdb_are_said_to_be_idle_in_memory() {
        let idle = settings_without_effect(&config(&["spark.sql.streaming.rocksdb.compactOnCommit.enabled=true"]));
        assert_eq!(idle.len(), 1);
        assert!(idle[0].contains("'spark.sql.streaming.rocksdb.compactOnCommit.enabled' has no effect"), "{idle:?}");
    }
}
