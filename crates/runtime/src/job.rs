//! A job: a graph with its options, restored from a checkpoint or fresh, then run to its end.

use crate::graph::JobGraph;
use crate::leader::job_control::JobControl;
use crate::leader::outputs::Outputs;
use crate::leader::restore::{self, Assessment, Restoration};
use crate::metrics::JobMetrics;
use crate::options::JobOptions;
use crate::process::dataflow::{self, Plan};
use crate::process::in_flight::Exchanges;
use crate::process::shared::Shared;
use crate::process::uploads::IoThreads;
use crate::sink::SinkJob;
use headpond_state::{AttemptId, Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use timely::communication::Config as Communication;
use timely::{Config, WorkerConfig};

/// Threads for uploads and commits.
const IO_THREADS: usize = 4;
/// How long a worker parks at most before it looks whether the job has failed elsewhere.
const PARK: Duration = Duration::from_millis(100);

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All input was read and all output published.
    Finished,
    /// The job was asked to stop; with checkpoints it can be resumed.
    Stopped,
}

/// A job that is ready to run.
#[derive(Debug)]
pub struct Job {
    plan: Plan,
    /// Held as long as the job may publish.
    outputs: Outputs,
}

impl Job {
    /// Prepares a run: finds the checkpoint to start from, checks that the graph matches it, and makes the sinks' output what it was
    /// at that checkpoint.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for options or places that cannot be used,
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) when graph and checkpoint do not match,
    /// [`Corrupt`](headpond_state::ErrorKind::Corrupt) when no checkpoint verifies,
    /// [`Fenced`](headpond_state::ErrorKind::Fenced) when the job is running elsewhere.
    pub fn prepare(graph: JobGraph, mut options: JobOptions) -> Result<Self> {
        if options.parallelism == 0 || options.parallelism > usize::from(options.max_parallelism.get()) {
            return Err(Error::invalid(format!(
                "parallelism must be between 1 and the {} key groups, not {}",
                options.max_parallelism.get(),
                options.parallelism
            ))
            .with(headpond_state::Context::Option, "parallelism.default")
            .hint("choose a smaller parallelism, or a larger pipeline.max-parallelism for a job without checkpoints"));
        }
        let attempt = new_attempt();
        let mut sink_job = SinkJob::new(&options.name, attempt.clone());
        let storage = options.checkpointing.as_ref().map(|checkpointing| &checkpointing.storage);
        sink_job.checkpoints = storage.map(|storage| storage.location());
        // Who must take the job away from a run that lives does not do so for an output that it will not get. Who waits for that
        // run to end waits before he looks at the output.
        let mut outputs = match storage.filter(|storage| storage.has_locks()) {
            Some(storage) => storage.own(&attempt).and_then(|()| Outputs::claim(&graph, &sink_job))?,
            None => Outputs::claim(&graph, &sink_job)?,
        };
        if let Some(storage) = storage {
            storage.own(&attempt)?;
        }
        let restored = restore::find(&graph, &options, &sink_job)?;
        sink_job.restored = restored.as_ref().map(Restoration::checkpoint);
        let mut assessment = None;
        if let Some(restored) = &restored {
            assessment = Some(restore::assess(&graph, &options, &sink_job, restored)?.restorable()?);
            options.max_parallelism = restored.manifest.max_parallelism;
        }
        let finished = restored.as_ref().is_some_and(|restored| restored.manifest.finished);
        let splits = if finished { Default::default() } else { restore::splits(&graph, restored.as_ref())? };
        outputs.take()?;
        restore::leave_behind(&options, restored.as_ref())?;
        restore::sinks(&graph, &options, &sink_job, restored.as_ref())?;
        // Behind what was restored in any directory: sinks name what they publish after its checkpoint.
        let mut first_checkpoint = restored.as_ref().map_or(1, |restored| restored.manifest.checkpoint.0 + 1);
        if let Some(checkpointing) = &options.checkpointing {
            first_checkpoint = first_checkpoint.max(checkpointing.storage.next_id()?.0);
        }
        let shared = Arc::new(Shared::new(JobControl::new(), Arc::default()));
        let io = Arc::new(IoThreads::start(IO_THREADS)?);
        let exchanges = Exchanges::new(&graph, options.parallelism);
        Ok(Job {
            outputs,
            plan: Plan {
                graph,
                options,
                sink_job,
                restored,
                assessment,
                splits,
                exchanges,
                first_checkpoint,
                shared,
                io,
            },
        })
    }

    /// The checkpoint the job starts from, if there is one.
    pub fn restoration(&self) -> Option<&Restoration> {
        self.plan.restored.as_ref()
    }

    /// What becomes of that checkpoint and of the job's parts.
    pub fn assessment(&self) -> Option<&Assessment> {
        self.plan.assessment.as_ref()
    }

    /// Whether the checkpoint says that all input was read: there is nothing to run.
    pub fn is_finished(&self) -> bool {
        self.plan.restored.as_ref().is_some_and(|restored| restored.manifest.finished)
    }

    /// What the input of a finished job has that it had not when the job ended: splits that are new or have more rows.
    pub fn new_input(&self) -> Vec<String> {
        let finished = self.plan.restored.as_ref().filter(|restored| restored.manifest.finished);
        finished.map(|restored| restore::new_input(&self.plan.graph, &restored.manifest)).unwrap_or_default()
    }

    /// Runs the job to its end, on threads of its own; blocks until then. `control` stops it from elsewhere, `metrics` can be looked
    /// at meanwhile.
    ///
    /// # Errors
    /// The first failure of any part of the job. The last checkpoint, if there is one, can be restored.
    pub fn run(mut self, control: JobControl, metrics: Arc<JobMetrics>) -> Result<Ending> {
        if self.is_finished() {
            return Ok(Ending::Finished);
        }
        let shared = Arc::new(Shared::new(control.clone(), metrics));
        self.plan.shared = shared.clone();
        let options = &self.plan.options;
        let communication = match (options.parallelism, options.serialized_channels) {
            (1, false) => Communication::Thread,
            (workers, false) => Communication::Process(workers),
            (workers, true) => Communication::ProcessBinary(workers),
        };
        let plan = Arc::new(self.plan);
        let ended = {
            let plan = plan.clone();
            let config = Config { communication, worker: WorkerConfig::default() };
            timely::execute(config, move |worker| {
                // A panic must reach the other workers as a failure, or they would wait for this one for ever.
                if catch_unwind(AssertUnwindSafe(|| run_worker(worker, &plan))).is_err() {
                    plan.shared.fail(Error::internal(format!("worker {} panicked", worker.index())));
                }
                for dataflow in worker.installed_dataflows() {
                    worker.drop_dataflow(dataflow);
                }
            })
            .map_err(|error| Error::internal(format!("the workers cannot be started: {error}")))?
            .join()
        };
        plan.io.finish();
        drop(plan);
        drop(self.outputs);
        control.close();
        if let Some(Err(panic)) = ended.into_iter().find(Result::is_err) {
            shared.fail(Error::internal(format!("a worker ended abnormally: {panic}")));
        }
        match shared.take_failure() {
            Some(error) => Err(error),
            None if shared.has_finished() => Ok(Ending::Finished),
            None => Ok(Ending::Stopped),
        }
    }
}

fn run_worker(worker: &mut timely::worker::Worker, plan: &Arc<Plan>) {
    worker.dataflow::<u64, _, _>(|scope| dataflow::build(scope, plan));
    while worker.has_dataflows() && !plan.shared.has_failed() {
        worker.step_or_park(Some(PARK));
    }
}

fn new_attempt() -> AttemptId {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    AttemptId(format!("{nanos:x}-{:x}", std::process::id()))
}
