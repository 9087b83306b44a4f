//! A process of a job: workers, readers and I/O threads, which run what a plan says and tell the leader.
//!
//! Between the two there are messages only ([`Link`]), so a process may be in the leader's program or in one of its
//! own. In reading order: [`environment`], [`worker`], [`dataflow`], [`restore`], [`reader`], [`uploads`].

mod connections;
mod control_gate;
pub(crate) mod dataflow;
mod environment;
mod in_flight;
mod message;
mod reader;
mod restore;
mod shared;
mod uploads;
mod worker;

pub use connections::Connections;

use crate::graph::JobGraph;
use crate::link::{Inbox, Link};
use crate::message::{Notice, Order, ToLeader, ToProcess};
use crate::panics;
use crate::plan::Plan;
use control_gate::{ControlGate, Gated};
use environment::Environment;
use headpond_checkpoint::storage::{StateFiles, find_checkpoints};
use headpond_checkpoint::{LocalStores, Stores};
use headpond_state::{CheckpointId, CheckpointSource, Context, Error, Result, StateBackend};
use parking_lot::Mutex;
use shared::Shared;
use std::path::PathBuf;
use std::sync::Arc;
use uploads::Uploads;

/// What a process has of its own.
#[derive(Debug)]
pub struct ProcessOptions {
    /// Where keyed state is held.
    pub backend: Arc<dyn StateBackend>,
    /// Local disk for backends that need it; each operator and worker gets a directory of its own below it, which its
    /// backend makes and removes.
    pub local_dir: PathBuf,
    /// The state files of the job's checkpoints; `None` for a job without checkpoints.
    pub files: Option<StateFiles>,
    /// Opens the store of a checkpoint that is restored from elsewhere.
    pub stores: Arc<dyn Stores>,
    /// The way to the workers of other processes.
    pub connections: Connections,
}

impl ProcessOptions {
    /// The options of a job's only process, without checkpoints.
    pub fn new(backend: Arc<dyn StateBackend>, local_dir: impl Into<PathBuf>) -> Self {
        ProcessOptions {
            backend,
            local_dir: local_dir.into(),
            files: None,
            stores: Arc::new(LocalStores::default()),
            connections: Connections::Threads,
        }
    }
}

/// A process of a job.
#[derive(Debug)]
pub struct Process {
    graph: JobGraph,
    plan: Plan,
    options: ProcessOptions,
    shared: Arc<Shared>,
    orders: Arc<Orders>,
}

impl Process {
    /// A process that runs its part of `plan` and tells the leader over `leader`. `graph` is the one the program
    /// builds, in every process.
    pub fn new(graph: JobGraph, plan: Plan, options: ProcessOptions, leader: Arc<dyn Link<ToLeader>>) -> Self {
        let shared = Arc::new(Shared::new(leader));
        let orders = Arc::new(Orders { shared: shared.clone(), gate: Arc::default(), uploads: Mutex::default() });
        Process { graph, plan, options, shared, orders }
    }

    /// Where the leader's messages go.
    pub fn inbox(&self) -> Arc<dyn Inbox<ToProcess>> {
        self.orders.clone()
    }

    /// Runs the process to the end of the job, on threads of its own; blocks until then. Whatever goes wrong, the
    /// leader hears of it.
    pub fn run(self) {
        let Process { graph, plan, options, shared, orders } = self;
        let ended = panics::caught("a process", || run(graph, plan, options, &shared, &orders));
        if let Err(error) = ended.and_then(|ended| ended) {
            shared.fail(error);
        }
        orders.forget_uploads();
        shared.tell(Notice::Ended);
    }
}

fn run(graph: JobGraph, plan: Plan, options: ProcessOptions, shared: &Arc<Shared>, orders: &Arc<Orders>) -> Result<()> {
    let (restored, uploads) = match begin(&graph, &plan, &options, shared) {
        Ok(begun) => begun,
        Err(error) => {
            // While the connections are open: that they break would be what the leader hears of first.
            shared.fail(error);
            drop(options);
            return Ok(());
        }
    };
    orders.upload_by(&uploads);
    let ProcessOptions { backend, local_dir, connections, .. } = options;
    let workers = plan.parallelism / plan.processes;
    let environment = Environment {
        graph,
        plan,
        backend,
        local_dir,
        restored,
        shared: shared.clone(),
        gate: orders.gate.clone(),
        uploads: uploads.clone(),
    };
    let ran = worker::run_all(Arc::new(environment), connections, workers);
    if ran.is_err() || shared.has_failed() {
        uploads.end();
    }
    uploads.finish();
    uploads.end();
    ran
}

type Restored = Option<Arc<dyn CheckpointSource>>;

/// Checks that the process runs the leader's plan, and opens what its operators need.
fn begin(
    graph: &JobGraph,
    plan: &Plan,
    options: &ProcessOptions,
    shared: &Arc<Shared>,
) -> Result<(Restored, Arc<Uploads>)> {
    plan.check_graph(graph)?;
    shared.tell(Notice::Started { plan: plan.hash()? });
    let files = options.files.as_ref();
    let restored = restored_source(plan, files, options.stores.as_ref())?;
    let restored_files = plan.restored.as_ref().map(|restored| (restored.checkpoint, plan.restored_files()));
    let uploads = Uploads::start(files.cloned(), plan.incremental, restored_files, shared.clone())?;
    Ok((restored, Arc::new(uploads)))
}

/// Where the files of the restored checkpoint come from.
fn restored_source(plan: &Plan, files: Option<&StateFiles>, stores: &dyn Stores) -> Result<Restored> {
    let Some(restored) = &plan.restored else { return Ok(None) };
    match &restored.path {
        None => Ok(files.map(StateFiles::source)),
        Some(path) => {
            let job = find_checkpoints(stores, path)?.jobs.into_iter().next();
            let job =
                job.ok_or_else(|| Error::invalid("there is no checkpoint at this path").with(Context::Path, path))?;
            Ok(Some(job.source()))
        }
    }
}

/// Takes the leader's messages to whom they concern.
#[derive(Debug)]
struct Orders {
    shared: Arc<Shared>,
    gate: Arc<ControlGate>,
    uploads: Mutex<Option<Arc<Uploads>>>,
}

impl Orders {
    fn upload_by(&self, uploads: &Arc<Uploads>) {
        *self.uploads.lock() = Some(uploads.clone());
    }

    fn forget_uploads(&self) {
        *self.uploads.lock() = None;
    }

    fn end(&self) {
        self.shared.end();
        if let Some(uploads) = self.uploads() {
            uploads.end();
        }
    }

    fn uploads(&self) -> Option<Arc<Uploads>> {
        self.uploads.lock().clone()
    }
}

impl Inbox<ToProcess> for Orders {
    fn receive(&self, ToProcess(order): ToProcess) {
        match order {
            Order::Tick { tick, control } => self.gate.put(Gated::Tick(tick, control)),
            Order::NoMoreTicks => self.gate.put(Gated::End),
            Order::Claimed { request } => {
                if let Some(uploads) = self.uploads() {
                    uploads.claimed(request);
                }
            }
            Order::CheckpointOver { checkpoint } => {
                if let Some(uploads) = self.uploads() {
                    uploads.checkpoint_over(CheckpointId(checkpoint));
                }
            }
            Order::End => self.end(),
        }
    }

    fn broken(&self, error: Error) {
        self.shared.fail(error);
        self.end();
    }
}
