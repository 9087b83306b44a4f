//! The leader: what a job has once, however many processes run it.
//!
//! It owns the job's storage, restores, assigns the splits, decides ticks and cuts, commits, and ends the job. All it
//! decides by it learns from its processes' messages. In reading order: [`restore`], [`events`], [`run`],
//! [`coordinator`], [`commit`], [`job_control`].

mod commit;
mod coordinator;
mod enumerator;
mod events;
pub(crate) mod job_control;
mod led_job;
mod outputs;
pub mod restore;
mod run;

use crate::checkpointing::Checkpointing;
use crate::ending::Ending;
use crate::graph::{JobGraph, NodeKind};
use crate::link::{Inbox, Link};
use crate::message::{ToLeader, ToProcess};
use crate::metrics::JobMetrics;
use crate::options::JobOptions;
use crate::plan::{Plan, RestoredFrom, RestoredState, describe};
use crate::sink::SinkJob;
use events::Events;
use headpond_state::{AttemptId, Context, Error, Result};
use job_control::JobControl;
use led_job::LedJob;
use outputs::Outputs;
use restore::{Assessment, Restoration};
use run::Start;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A job that is ready to run, in the hands of its leader.
#[derive(Debug)]
pub struct Leader {
    graph: JobGraph,
    options: JobOptions,
    plan: Plan,
    restored: Option<Restoration>,
    assessment: Option<Assessment>,
    /// The number of the first checkpoint of this run.
    first_checkpoint: u64,
    /// Held as long as the job may publish.
    outputs: Outputs,
    events: Events,
}

impl Leader {
    /// Prepares a run on so many processes: finds the checkpoint to start from, checks that the graph matches it, makes
    /// the sinks' output what it was at that checkpoint, and assigns the splits.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for options or places that cannot be used,
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) when graph and checkpoint do not match,
    /// [`Corrupt`](headpond_state::ErrorKind::Corrupt) when no checkpoint verifies,
    /// [`Fenced`](headpond_state::ErrorKind::Fenced) when the job is running elsewhere.
    pub fn prepare(graph: JobGraph, mut options: JobOptions, processes: usize) -> Result<Self> {
        check_parallelism(&options, processes)?;
        let attempt = new_attempt();
        let mut sink_job = SinkJob::new(&options.name, attempt.clone());
        let storage = options.checkpointing.as_ref().map(|checkpointing| &checkpointing.storage);
        sink_job.checkpoints = storage.map(|storage| storage.location());
        // Who must take the job away from a run that lives does not do so for an output that it will not get. Who waits
        // for that run to end waits before he looks at the output.
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
        let splits = match finished {
            true => BTreeMap::default(),
            false => restore::splits(&graph, restored.as_ref(), options.parallelism)?,
        };
        outputs.take()?;
        restore::leave_behind(&options, restored.as_ref())?;
        restore::sinks(&graph, &options, &sink_job, restored.as_ref())?;
        if let Some(restored) = &restored {
            commit::tell_sources(&graph, restored.manifest.checkpoint, &restored.manifest.sources)?;
        }
        // Behind what was restored in any directory: sinks name what they publish after its checkpoint.
        let mut first_checkpoint = restored.as_ref().map_or(1, |restored| restored.manifest.checkpoint.0 + 1);
        if let Some(checkpointing) = &options.checkpointing {
            first_checkpoint = first_checkpoint.max(checkpointing.storage.next_id()?.0);
        }
        let checkpointing = options.checkpointing.as_ref();
        let plan = Plan {
            sink_job,
            graph: describe(&graph),
            processes,
            parallelism: options.parallelism,
            max_parallelism: options.max_parallelism,
            rows_per_tick: options.rows_per_tick,
            source_idle_timeout: options.source_idle_timeout,
            compact: checkpointing.is_some_and(|checkpointing| checkpointing.compact),
            incremental: checkpointing.is_none_or(|checkpointing| checkpointing.incremental),
            splits,
            states: restored_states(&graph, restored.as_ref(), assessment.as_ref()),
            restored: restored.as_ref().map(|restored| restored_from(restored, checkpointing)),
        };
        let events = Events::new();
        Ok(Leader { graph, options, plan, restored, assessment, first_checkpoint, outputs, events })
    }

    /// What every process is to do.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Where the messages of a process go.
    ///
    /// # Panics
    /// If there are not as many processes.
    pub fn inbox(&self, process: usize) -> Arc<dyn Inbox<ToLeader>> {
        assert!(process < self.plan.processes, "the job has {} processes", self.plan.processes);
        self.events.inbox(process)
    }

    /// The checkpoint the job starts from, if there is one.
    pub fn restoration(&self) -> Option<&Restoration> {
        self.restored.as_ref()
    }

    /// What becomes of that checkpoint and of the job's parts.
    pub fn assessment(&self) -> Option<&Assessment> {
        self.assessment.as_ref()
    }

    /// Whether the checkpoint says that all input was read: there is nothing to run.
    pub fn is_finished(&self) -> bool {
        self.restored.as_ref().is_some_and(|restored| restored.manifest.finished)
    }

    /// What the input of a finished job has that it had not when the job ended: splits that are new or have more rows.
    pub fn new_input(&self) -> Vec<String> {
        let finished = self.restored.as_ref().filter(|restored| restored.manifest.finished);
        finished.map(|restored| restore::new_input(&self.graph, &restored.manifest)).unwrap_or_default()
    }

    /// Leads the job to its end; blocks until all processes have ended. `processes` are the ways to them, in their
    /// order. `control` stops the job from elsewhere, `metrics` can be looked at meanwhile.
    ///
    /// # Errors
    /// The first failure of any part of the job. The last checkpoint, if there is one, can be restored.
    pub fn run(
        self,
        control: JobControl,
        metrics: Arc<JobMetrics>,
        processes: Vec<Arc<dyn Link<ToProcess>>>,
    ) -> Result<Ending> {
        let Leader { graph, options, plan, restored, first_checkpoint, outputs, events, .. } = self;
        let sink_job = plan.sink_job.clone();
        let sources = graph.nodes().filter_map(|(id, node)| match &node.kind {
            NodeKind::Source(source) => Some((id.0, source.source.is_bounded())),
            _ => None,
        });
        let sources: BTreeMap<usize, bool> = sources.collect();
        if sources.values().all(|is_bounded| *is_bounded) {
            metrics.ends_with(sources.into_keys().collect());
        }
        let job = LedJob { graph, options, sink_job, metrics };
        let start = Start { plan, base: restored.map(|restored| restored.manifest), first_checkpoint };
        let ended = run::lead(job, start, &events, &control, processes);
        drop(outputs);
        ended
    }

    pub(crate) fn graph(&self) -> &JobGraph {
        &self.graph
    }

    pub(crate) fn options(&self) -> &JobOptions {
        &self.options
    }
}

/// Where processes find the restored checkpoint.
fn restored_from(restored: &Restoration, checkpointing: Option<&Checkpointing>) -> RestoredFrom {
    let checkpoint = restored.manifest.checkpoint;
    let own = checkpointing.map(|checkpointing| checkpointing.storage.locate(checkpoint));
    let path = (own.as_ref() != Some(&restored.location)).then(|| restored.location.clone());
    RestoredFrom { checkpoint, path }
}

fn check_parallelism(options: &JobOptions, processes: usize) -> Result<()> {
    let workers = options.parallelism;
    if workers == 0 || workers > usize::from(options.max_parallelism.get()) {
        return Err(Error::invalid(format!(
            "parallelism must be between 1 and the {} key groups, not {workers}",
            options.max_parallelism.get(),
        ))
        .with(Context::Option, "parallelism.default")
        .hint("choose a smaller parallelism, or a larger pipeline.max-parallelism for a job without checkpoints"));
    }
    if processes == 0 || !workers.is_multiple_of(processes) {
        return Err(Error::invalid(format!("{workers} workers cannot be dealt to {processes} processes evenly"))
            .with(Context::Option, "parallelism.default")
            .hint("choose a parallelism that is a multiple of the number of processes"));
    }
    Ok(())
}

/// The restored state of every node that has some, and how it is restored.
fn restored_states(
    graph: &JobGraph,
    restored: Option<&Restoration>,
    assessment: Option<&Assessment>,
) -> BTreeMap<usize, RestoredState> {
    let (Some(restored), Some(assessment)) = (restored, assessment) else { return BTreeMap::new() };
    let states = graph.nodes().filter_map(|(id, node)| {
        let (restore, state) = (assessment.states.get(&id.0)?, restored.manifest.operator(&node.id)?);
        Some((id.0, RestoredState { state: state.clone(), restore: restore.clone() }))
    });
    states.collect()
}

fn new_attempt() -> AttemptId {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    AttemptId(format!("{nanos:x}-{:x}", std::process::id()))
}
