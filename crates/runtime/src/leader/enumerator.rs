//! Finding splits while a job runs.
//!
//! Sources that are watched are listed again and again, each on a thread of its own: a listing may take its time. What
//! is new goes to the coordinator, which gives it to workers with the next tick. So it is in every checkpoint whose
//! cut comes later, and what is in no checkpoint is found again after a restore.

use crate::control::NewSplit;
use crate::panics;
use crate::source::Source;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use headpond_state::{Context, Error, OperatorId, Result};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A source that is watched.
#[derive(Debug)]
pub(crate) struct Watched {
    /// Its node.
    pub(crate) node: usize,
    pub(crate) operator: OperatorId,
    pub(crate) source: Arc<dyn Source>,
    /// The splits that are known, by their ids.
    pub(crate) known: BTreeSet<String>,
    /// How often to look.
    pub(crate) interval: Duration,
}

/// The threads that look for new splits. Dropping it ends them.
#[derive(Debug, Default)]
pub(crate) struct Enumerator {
    threads: Vec<Sender<()>>,
}

impl Enumerator {
    /// Starts to watch a source whose splits go to `workers` workers in turn; what is found, or why nothing is any
    /// more, goes to `tell`.
    pub(crate) fn watch(
        &mut self,
        watched: Watched,
        workers: usize,
        tell: impl Fn(Result<Vec<NewSplit>>) + Send + 'static,
    ) -> Result<()> {
        let (stop, stopped) = bounded(0);
        std::thread::Builder::new()
            .name(format!("splits-{}", watched.node))
            .spawn(move || {
                let looked = panics::caught("the search for splits", || look(watched, workers, &tell, &stopped));
                if let Err(error) = looked {
                    tell(Err(error));
                }
            })
            .map_err(|error| Error::exhausted("a thread that looks for splits cannot be started").because(error))?;
        self.threads.push(stop);
        Ok(())
    }
}

fn look(mut watched: Watched, workers: usize, tell: &impl Fn(Result<Vec<NewSplit>>), stopped: &Receiver<()>) {
    while stopped.recv_timeout(watched.interval) == Err(RecvTimeoutError::Timeout) {
        match watched.source.splits() {
            Ok(splits) => {
                let new = watched.take_new(splits.into_iter().map(|split| split.id), workers);
                if !new.is_empty() {
                    tracing::info!(source = %watched.operator, splits = new.len(), "new splits were found");
                    tell(Ok(new));
                }
            }
            // A directory that cannot be read now may be readable later, and nothing is lost meanwhile.
            Err(error) => {
                let error = error.with(Context::Operator, &watched.operator);
                tracing::warn!(%error, "new splits could not be looked for; it is tried again");
            }
        }
    }
}

impl Watched {
    /// Which of these splits are new, and who is to read them: split `i` is worker `i mod n`'s, as at the start.
    fn take_new(&mut self, found: impl Iterator<Item = String>, workers: usize) -> Vec<NewSplit> {
        let mut new = Vec::new();
        for id in found {
            let worker = self.known.len() % workers;
            if self.known.insert(id.clone()) {
                new.push(NewSplit { node: self.node, worker, id });
            }
        }
        new
    }
}
