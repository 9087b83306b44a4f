//! What a program and those who run it have set.

use super::program_options::ProgramOptions;
use headpond_checkpoint::layout::JobLayout;
use headpond_checkpoint::storage::{CheckpointStorage, StorageOptions};
use headpond_checkpoint::{LocalStores, Location, Stores};
use headpond_config::{Config, options};
use headpond_launch::backend::Backend;
use headpond_launch::job_options::job_options;
use headpond_runtime::checkpointing::Checkpointing;
use headpond_runtime::options::{JobOptions, Restore};
use headpond_state::{Error, MaxParallelism, Result, StateBackend};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The settings that the program has made, and the options it is run with if it takes any.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) backend: Option<Arc<dyn StateBackend>>,
    pub(super) parallelism: Option<usize>,
    pub(super) max_parallelism: Option<MaxParallelism>,
    pub(super) checkpoint_dir: Option<String>,
    pub(super) checkpoint_stores: Option<Arc<dyn Stores>>,
    pub(super) checkpoint_interval: Option<Duration>,
    pub(super) restore: Option<Restore>,
    pub(super) allow_duplicates: bool,
    allow_dropped_state: bool,
    allow_empty_state: bool,
    pub(super) local_dir: Option<PathBuf>,
    pub(super) configure: Vec<Configure>,
    config: Option<Config>,
}

/// A change of a job's options.
#[derive(Clone)]
pub(super) struct Configure(pub(super) Arc<dyn Fn(&mut JobOptions) + Send + Sync>);

impl fmt::Debug for Configure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Configure")
    }
}

impl Settings {
    pub(super) fn of_program(given: &ProgramOptions) -> Result<Self> {
        Ok(Settings {
            config: Some(given.config()?),
            allow_duplicates: given.allow_duplicates,
            allow_dropped_state: given.allow_dropped_state,
            allow_empty_state: given.allow_empty_state,
            ..Settings::default()
        })
    }

    /// Whether the program is run with options.
    pub(super) fn is_of_program(&self) -> bool {
        self.config.is_some()
    }

    /// The options of a job, and the backend where it is not the program's own.
    pub(super) fn options(&self, name: &str) -> Result<(JobOptions, Option<Backend>)> {
        let (mut job, backend) = match &self.config {
            Some(config) => self.with_config(config, name)?,
            None => (self.without_config(name)?, None),
        };
        job.allow_duplicates = self.allow_duplicates;
        job.allow_dropped_state = self.allow_dropped_state;
        job.allow_empty_state = self.allow_empty_state;
        self.configure.iter().for_each(|change| (change.0)(&mut job));
        Ok((job, backend))
    }

    /// What the program sets holds where the options say nothing.
    fn with_config(&self, config: &Config, name: &str) -> Result<(JobOptions, Option<Backend>)> {
        let own = self.backend.as_ref().filter(|_| !config.is_set(&options::STATE_BACKEND_TYPE));
        // With a backend of its own the options' is only asked for its defaults.
        let opened = match own {
            Some(_) => Backend::memory(config),
            None => Backend::open(config, name)?,
        };
        let mut job = job_options(config, name, &opened)?;
        if let Some(backend) = own {
            job.backend = Arc::clone(backend);
            job.local_dir = self.local_dir(name)?;
        }
        if let Some(stores) = &self.checkpoint_stores {
            job.stores = Arc::clone(stores);
        }
        let interval = self.checkpoint_interval.filter(|_| !config.is_set(&options::CHECKPOINTING_INTERVAL));
        if job.checkpointing.is_none()
            && let Some(location) = &self.checkpoint_dir
        {
            let every = interval.or(Some(config.get(&options::CHECKPOINTING_INTERVAL)));
            job.checkpointing = Some(self.checkpointing(location, &job, every)?);
        } else if let (Some(checkpointing), Some(_)) = (&mut job.checkpointing, interval) {
            checkpointing.interval = interval;
        }
        if let Some(parallelism) = self.parallelism.filter(|_| !config.is_set(&options::PARALLELISM)) {
            job.parallelism = parallelism;
        }
        if let Some(max_parallelism) = self.max_parallelism.filter(|_| !config.is_set(&options::MAX_PARALLELISM)) {
            job.max_parallelism = max_parallelism;
        }
        if let Some(restore) = self.restore.as_ref().filter(|_| !config.is_set(&options::RESTORE)) {
            job.restore = restore.clone();
        }
        Ok((job, own.is_none().then_some(opened)))
    }

    fn without_config(&self, name: &str) -> Result<JobOptions> {
        let backend = self.backend.clone().ok_or_else(|| {
            Error::invalid("the program has no state backend")
                .hint("call `set_state_backend` with a `HashMapStateBackend` or an `EmbeddedRocksDbStateBackend`")
        })?;
        let mut job = JobOptions::new(name, backend, self.local_dir(name)?);
        job.stores = self.checkpoint_stores.clone().unwrap_or_else(|| Arc::new(LocalStores::default()));
        job.parallelism = self.parallelism.unwrap_or(job.parallelism);
        job.max_parallelism = self.max_parallelism.unwrap_or(job.max_parallelism);
        job.restore = self.restore.clone().unwrap_or(job.restore);
        job.checkpointing = match (&self.checkpoint_dir, self.checkpoint_interval) {
            (Some(location), interval) => Some(self.checkpointing(location, &job, interval)?),
            (None, Some(_)) => {
                return Err(
                    Error::invalid("checkpoints are enabled, but not where they go").hint("call `set_checkpoint_dir`")
                );
            }
            (None, None) => None,
        };
        Ok(job)
    }

    fn checkpointing(&self, location: &str, job: &JobOptions, interval: Option<Duration>) -> Result<Checkpointing> {
        let store = job.stores.open(&Location::parse(location)?)?;
        let storage = CheckpointStorage::over(store, &job.name, StorageOptions::default())?;
        let incremental = job.backend.capabilities().incremental_checkpoints;
        Ok(Checkpointing { interval, incremental, ..Checkpointing::new(storage) })
    }

    fn local_dir(&self, name: &str) -> Result<PathBuf> {
        match &self.local_dir {
            Some(dir) => Ok(dir.clone()),
            None => Ok(PathBuf::from(format!("{}.local", JobLayout::new(name)?.directory()))),
        }
    }
}
