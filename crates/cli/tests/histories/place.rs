//! Where a history happens: input, output, two checkpoint directories, a bucket, savepoints.

use crate::job::{JOB, graph, sql};
use crate::server::Server;
use headpond_checkpoint::savepoint::{Original, export};
use headpond_checkpoint::{CheckpointStorage, CheckpointStore, DirectoryStore, Location, StorageOptions, Stores};
use headpond_object_store::ObjectStores;
use headpond_runtime::{Checkpointing, Ending, Error, Job, JobControl, JobMetrics, JobOptions, Restore, Result};
use headpond_state::StateBackend;
use headpond_state_memory::MemoryStateBackend;
use headpond_state_rocksdb::{EmbeddedRocksDbStateBackend, RocksDbOptions};
use headpond_store_conformance::{Crash, Mortal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Where checkpoints go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directory {
    None,
    One,
    Two,
    S3,
}

/// Where state is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Backend {
    Memory,
    RocksDb,
}

impl Backend {
    fn open(self) -> Arc<dyn StateBackend> {
        match self {
            Backend::Memory => Arc::new(MemoryStateBackend::new()),
            Backend::RocksDb => {
                let options = RocksDbOptions { memory_budget: 8 << 20, threads: 1, ..RocksDbOptions::default() };
                Arc::new(EmbeddedRocksDbStateBackend::with_options(options))
            }
        }
    }
}

/// A run.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) directory: Directory,
    pub(crate) backend: Backend,
    pub(crate) workers: usize,
    pub(crate) restore: Restore,
    /// The call of its store at which its process dies.
    pub(crate) dies_at: Option<(u32, Crash)>,
    /// When it is asked to stop.
    pub(crate) stops_after: Option<Duration>,
    pub(crate) rows_per_second: u64,
    /// Options of the table of copies: which files its rows come in.
    pub(crate) files: &'static str,
}

/// A job that is ready to run.
pub(crate) struct Ready {
    pub(crate) job: Job,
    pub(crate) control: JobControl,
    pub(crate) metrics: Arc<JobMetrics>,
    stops_after: Option<Duration>,
}

impl Ready {
    pub(crate) fn run(self) -> Result<Ending> {
        let Ready { job, control, metrics, stops_after } = self;
        let stop = stops_after.map(|after| {
            let control = control.clone();
            std::thread::spawn(move || {
                std::thread::sleep(after);
                control.stop();
            })
        });
        let ended = job.run(control, metrics);
        if let Some(thread) = stop {
            thread.join().expect("no panic");
        }
        ended
    }
}

/// The place of one history.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    stores: Arc<ObjectStores>,
    settings: Vec<String>,
    bucket: String,
}

impl Place {
    pub(crate) fn new(server: &Server, name: &str) -> Self {
        // In memory where the system has such a place: `fsync` takes its time on a disk.
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Place {
            dir: dir.expect("a temporary directory"),
            stores: Arc::new(ObjectStores::new(server.options())),
            settings: server.settings(),
            bucket: format!("s3://checkpoints/{name}"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    fn savepoints(&self) -> PathBuf {
        self.path().join("savepoints")
    }

    /// Where a directory of checkpoints is.
    pub(crate) fn location(&self, directory: Directory) -> Option<String> {
        match directory {
            Directory::None => None,
            Directory::One => Some(self.path().join("one").display().to_string()),
            Directory::Two => Some(self.path().join("two").display().to_string()),
            Directory::S3 => Some(self.bucket.clone()),
        }
    }

    /// The store of a directory of checkpoints.
    pub(crate) fn store(&self, directory: Directory) -> Option<Arc<dyn CheckpointStore>> {
        let location = Location::parse(&self.location(directory)?).expect("a location");
        Some(self.stores.open(&location).expect("a store"))
    }

    /// The job's checkpoints in a store.
    pub(crate) fn storage(store: Arc<dyn CheckpointStore>) -> CheckpointStorage {
        let options = StorageOptions { ownership_patience: Duration::from_millis(50), ..StorageOptions::default() };
        CheckpointStorage::over(store, JOB, options).expect("a job's name")
    }

    /// The job's checkpoints.
    pub(crate) fn checkpoints(&self, directory: Directory) -> Option<CheckpointStorage> {
        self.store(directory).map(Self::storage)
    }

    /// Prepares a run.
    pub(crate) fn prepare(&self, attempt: &Attempt) -> Result<Ready> {
        let store = self.store(attempt.directory).map(|store| match attempt.dies_at {
            Some((call, crash)) => Arc::new(Mortal::new(store, call, crash)) as Arc<dyn CheckpointStore>,
            None => store,
        });
        let mut options = self.options(attempt.backend, attempt.workers);
        options.restore = attempt.restore.clone();
        options.checkpointing = store.map(|store| checkpointing(Self::storage(store)));
        let job = Job::prepare(graph(self.path(), attempt)?, options)?;
        let stops_after = attempt.stops_after;
        Ok(Ready { job, control: JobControl::new(), metrics: Arc::default(), stops_after })
    }

    /// The options of a run without checkpoints.
    pub(crate) fn options(&self, backend: Backend, workers: usize) -> JobOptions {
        let mut options = JobOptions::new(JOB, backend.open(), self.path().join("local"));
        options.parallelism = workers;
        options.stores = Arc::clone(&self.stores) as Arc<dyn Stores>;
        options.tick_interval = Duration::from_millis(1);
        options
    }

    /// Copies the newest checkpoint of a directory, if there is one, and says where to.
    pub(crate) fn export(&self, directory: Directory, name: &str) -> Option<String> {
        let storage = self.checkpoints(directory)?;
        let found = storage.latest_verified().expect("it can be read")?;
        let (source, local, reader) = (storage.source(), self.path().join("copy"), Backend::RocksDb.open());
        let original =
            Original { manifest: &found.manifest, source: source.as_ref(), backend: &*reader, local_dir: &local };
        export(original, Arc::new(DirectoryStore::new(self.savepoints())), name).expect("a copy");
        Some(self.savepoints().join(name).display().to_string())
    }

    /// Runs the binary until it aborts at a point, or ends; its exit code (`None`: it aborted) and what it said.
    pub(crate) fn run_binary(&self, attempt: &Attempt, crash_at: &str) -> (Option<i32>, String) {
        std::fs::write(self.path().join("job.sql"), sql(self.path(), attempt)).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_headpond"));
        command.current_dir(self.path()).args(["run", "job.sql", "--progress", "none"]);
        for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HEADPOND_")) {
            command.env_remove(variable);
        }
        let backend = match attempt.backend {
            Backend::Memory => "memory",
            Backend::RocksDb => "rocksdb",
        };
        let mut settings = self.settings.clone();
        settings
            .extend(self.location(attempt.directory).map(|location| format!("execution.checkpointing.dir={location}")));
        settings.extend([
            format!("pipeline.name={JOB}"),
            format!("state.backend.type={backend}"),
            format!("parallelism.default={}", attempt.workers),
            "execution.checkpointing.interval=5ms".to_owned(),
        ]);
        for setting in &settings {
            command.args(["-D", setting]);
        }
        let restore = match &attempt.restore {
            Restore::Latest => None,
            Restore::None => Some("none"),
            Restore::From(path) => Some(path.as_str()),
        };
        if let Some(restore) = restore {
            command.args(["--restore", restore]);
        }
        command.env("HEADPOND_CRASH_AT", crash_at).stdin(Stdio::null()).stdout(Stdio::null());
        let output = command.stderr(Stdio::piped()).output().expect("the binary starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Checkpoints as often as they can be taken, whose failure ends the job as a process's death would.
pub(crate) fn checkpointing(storage: CheckpointStorage) -> Checkpointing {
    let mut checkpointing = Checkpointing::new(storage);
    checkpointing.interval = Some(Duration::from_millis(5));
    checkpointing.tolerable_failures = Some(0);
    checkpointing.retained = 3;
    checkpointing
}

/// An error in full.
pub(crate) fn told(error: &Error) -> String {
    format!("{:?}: {error}", error.kind())
}
