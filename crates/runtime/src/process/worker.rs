//! The workers of a process: each builds the dataflow and runs it until it has ended or the job has failed.

use super::connections::Connections;
use super::dataflow;
use super::environment::Environment;
use crate::panics;
use headpond_state::{Error, Result};
use std::sync::Arc;
use std::time::Duration;
use timely::WorkerConfig;
use timely::worker::Worker;

/// How long a worker parks at most. Whoever has something for it wakes it.
const PARK: Duration = Duration::from_secs(1);

/// Runs all workers of a process, and waits for them.
pub(super) fn run_all(environment: Arc<Environment>, connections: Connections, workers: usize) -> Result<()> {
    let (builders, others) = connections.build(workers)?;
    let run = move |worker: &mut Worker| {
        let place = format!("worker {}", worker.index());
        // A panic must reach the other workers as a failure, or they would wait for this one for ever.
        if let Err(error) = panics::caught(&place, || run(worker, &environment)) {
            environment.shared.fail(error);
        }
        let dropped = panics::caught(&place, || {
            for dataflow in worker.installed_dataflows() {
                worker.drop_dataflow(dataflow);
            }
        });
        if let Err(error) = dropped {
            environment.shared.fail(error);
        }
    };
    let workers = timely::execute::execute_from(builders, others, WorkerConfig::default(), run)
        .map_err(|error| Error::internal(format!("the workers cannot be started: {error}")))?;
    // Threads that connect processes are joined with them, and a connection that breaks is a panic there.
    let ended = panics::caught("a connection between processes", || workers.join())?;
    match ended.into_iter().find(Result::is_err) {
        Some(Err(panic)) => Err(Error::internal(format!("a worker ended abnormally: {panic}"))),
        _ => Ok(()),
    }
}

fn run(worker: &mut Worker, environment: &Arc<Environment>) {
    let waker = worker.sync_activator_for(vec![0]);
    environment.shared.wake_by(waker);
    worker.dataflow::<u64, _, _>(|scope| dataflow::build(scope, environment));
    while worker.has_dataflows() && !environment.shared.has_failed() {
        worker.step_or_park(Some(PARK));
    }
}
