//! From settings to the runtime's options.

use crate::backend::Backend;
use crate::failpoint;
use crate::settings::config_error;
use crate::stores::{location_of, stores};
use headpond_checkpoint::{CheckpointStorage, Failpoints, StorageOptions};
use headpond_config::{Config, options};
use headpond_runtime::{Checkpointing, JobOptions, Restore};
use headpond_state::{MaxParallelism, Result};
use std::sync::Arc;

/// The options of a run.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for settings that contradict each other.
pub fn job_options(config: &Config, name: &str, backend: &Backend) -> Result<JobOptions> {
    config.check().map_err(|error| config_error(&error))?;
    let mut job = JobOptions::new(name, backend.state_backend(), backend.local_dir());
    job.parallelism = config.get(&options::PARALLELISM);
    job.max_parallelism = MaxParallelism::new(config.get(&options::MAX_PARALLELISM))?;
    job.tick_interval = config.get(&options::TICK_INTERVAL);
    job.rows_per_tick = config.get(&options::TICK_MAX_ROWS);
    job.source_idle_timeout = Some(config.get(&options::SOURCE_IDLE_TIMEOUT)).filter(|timeout| !timeout.is_zero());
    job.restore = match config.get(&options::RESTORE) {
        options::Restore::Latest => Restore::Latest,
        options::Restore::None => Restore::None,
        options::Restore::From(location) => Restore::From(location.to_string()),
    };
    let failpoints = failpoint::from_environment()?;
    job.stores = Arc::new(stores(config, failpoints.clone()));
    if let Some(directory) = config.get(&options::CHECKPOINTING_DIR) {
        let store = job.stores.open(&location_of(directory.as_str())?)?;
        let storage_options = StorageOptions { failpoints: failpoints.clone(), ..StorageOptions::default() };
        let storage = CheckpointStorage::over(store, name, storage_options)?;
        job.checkpointing = Some(checkpointing(config, storage, failpoints));
    }
    Ok(job)
}

fn checkpointing(config: &Config, storage: CheckpointStorage, failpoints: Failpoints) -> Checkpointing {
    let mut checkpointing = Checkpointing::new(storage);
    checkpointing.interval = Some(config.get(&options::CHECKPOINTING_INTERVAL));
    checkpointing.min_pause = config.get(&options::CHECKPOINTING_MIN_PAUSE);
    checkpointing.timeout = config.get(&options::CHECKPOINTING_TIMEOUT);
    checkpointing.tolerable_failures = config
        .get(&options::CHECKPOINTING_TOLERABLE_FAILURES)
        .map(|tolerable| u32::try_from(tolerable).unwrap_or(u32::MAX));
    checkpointing.retained = config.get(&options::CHECKPOINTING_NUM_RETAINED);
    checkpointing.incremental = config.get(&options::CHECKPOINTING_INCREMENTAL);
    checkpointing.compact = config.get(&options::ROCKSDB_COMPACT_ON_CHECKPOINT);
    checkpointing.failpoints = failpoints;
    checkpointing
}
