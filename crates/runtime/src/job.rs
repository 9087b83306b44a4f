//! A job in one process: a leader and a process, and the links between them.

use crate::ending::Ending;
use crate::graph::JobGraph;
use crate::leader::Leader;
use crate::leader::job_control::JobControl;
use crate::leader::restore::{Assessment, Restoration};
use crate::link;
use crate::metrics::JobMetrics;
use crate::options::JobOptions;
use crate::panics;
use crate::process::{Connections, Process, ProcessOptions};
use headpond_state::{Error, Result};
use std::sync::Arc;

/// A job that is ready to run.
#[derive(Debug)]
pub struct Job {
    leader: Leader,
}

impl Job {
    /// Prepares a run: finds the checkpoint to start from, checks that the graph matches it, and makes the sinks'
    /// output what it was at that checkpoint.
    ///
    /// # Errors
    /// As [`Leader::prepare`].
    pub fn prepare(graph: JobGraph, options: JobOptions) -> Result<Self> {
        Ok(Job { leader: Leader::prepare(graph, options, 1)? })
    }

    /// The checkpoint the job starts from, if there is one.
    pub fn restoration(&self) -> Option<&Restoration> {
        self.leader.restoration()
    }

    /// What becomes of that checkpoint and of the job's parts.
    pub fn assessment(&self) -> Option<&Assessment> {
        self.leader.assessment()
    }

    /// Whether the checkpoint says that all input was read: there is nothing to run.
    pub fn is_finished(&self) -> bool {
        self.leader.is_finished()
    }

    /// What the input of a finished job has that it had not when the job ended: splits that are new or have more rows.
    pub fn new_input(&self) -> Vec<String> {
        self.leader.new_input()
    }

    /// Runs the job to its end, on threads of its own; blocks until then. `control` stops it from elsewhere, `metrics`
    /// can be looked at meanwhile.
    ///
    /// # Errors
    /// The first failure of any part of the job. The last checkpoint, if there is one, can be restored.
    pub fn run(self, control: JobControl, metrics: Arc<JobMetrics>) -> Result<Ending> {
        if self.is_finished() {
            return Ok(Ending::Finished);
        }
        let leader = self.leader;
        let (graph, plan, options) = (leader.graph().clone(), leader.plan().clone(), leader.options());
        let serialized = options.serialized_channels;
        let process_options = ProcessOptions {
            backend: options.backend.clone(),
            local_dir: options.local_dir.clone(),
            files: options.checkpointing.as_ref().map(|checkpointing| checkpointing.storage.files()),
            stores: options.stores.clone(),
            connections: if serialized { Connections::SerializedThreads } else { Connections::Threads },
        };
        let inbox = leader.inbox(0);
        let to_leader = if serialized { link::serialized(inbox) } else { link::direct(inbox) };
        let process = Process::new(graph, plan, process_options, to_leader);
        let inbox = process.inbox();
        let to_process = if serialized { link::serialized(inbox) } else { link::direct(inbox) };
        let running = std::thread::Builder::new()
            .name("process".to_owned())
            .spawn(move || process.run())
            .map_err(|error| Error::exhausted("the thread of a process cannot be started").because(error))?;
        let ended = leader.run(control, metrics, vec![to_process]);
        match running.join() {
            Ok(()) => ended,
            Err(panic) => ended.and(Err(panics::error("a process", panic.as_ref()))),
        }
    }
}
