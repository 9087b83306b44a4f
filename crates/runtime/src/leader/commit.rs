//! The commit of a checkpoint: begun at a cut, assembled from the parts of all participants, committed on an I/O
//! thread.

use super::led_job::LedJob;
use crate::checkpointing::{AFTER_SINK_COMMIT, BEFORE_SINK_COMMIT, DURING_SINK_COMMIT};
use crate::control::{Cut, KeyedPart, SinkPart, parse_part};
use crate::graph::{JobGraph, NodeId, NodeKind};
use crate::io_threads::IoThreads;
use crate::metrics::CompletedCheckpoint;
use crate::sink::Committable;
use crate::source::CommittedSplit;
use headpond_checkpoint::layout::SharedName;
use headpond_checkpoint::manifest::{Manifest, OperatorState, SinkState, SourceState, SplitState};
use headpond_checkpoint::storage::{PendingCheckpoint, TakenFiles};
use headpond_state::{CheckpointId, Context, Error, Result};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// All parts of a checkpoint by (node, worker), as JSON.
pub(crate) type Parts = BTreeMap<(usize, usize), String>;

/// How a commit ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The checkpoint is durable (if it was to be) and its output published.
    Committed(CheckpointId),
    /// The checkpoint does not exist; the job may go on if the failure is tolerable.
    Failed(Error),
    /// The checkpoint exists but its output could not be published: only a restart can repeat that.
    Unpublished(Error),
}

/// The leader's hand on the checkpoint storage.
#[derive(Debug)]
pub(crate) struct Committer {
    job: Arc<LedJob>,
    io: Arc<IoThreads>,
    pending: Option<PendingCheckpoint>,
    base: Arc<Mutex<Option<Manifest>>>,
}

impl Committer {
    /// For a job that was restored from `base`, if it was.
    pub(crate) fn new(job: Arc<LedJob>, io: Arc<IoThreads>, base: Option<Manifest>) -> Self {
        Committer { job, io, pending: None, base: Arc::new(Mutex::new(base)) }
    }

    /// Opens the way for the snapshots of a cut, and says whose files may be reused.
    pub(crate) fn begin(&mut self, cut: Cut) -> Result<Option<u64>> {
        let Some(checkpointing) = self.job.options.checkpointing.as_ref().filter(|_| cut.persist) else {
            return Ok(None);
        };
        let base = self.base.lock().clone();
        let attempt = &self.job.sink_job.attempt;
        let id = CheckpointId(cut.checkpoint);
        let pending = checkpointing.storage.begin(id, attempt, base.as_ref(), checkpointing.incremental)?;
        let base = pending.base().map(|base| base.0);
        self.pending = Some(pending);
        Ok(base)
    }

    /// Takes over what an upload has stored.
    ///
    /// # Errors
    /// Why the checkpoint cannot be completed.
    pub(crate) fn taken(&mut self, checkpoint: u64, files: TakenFiles) -> Result<()> {
        match &self.pending {
            Some(pending) if pending.id().0 == checkpoint => pending.take_over(files),
            // It was given up meanwhile.
            _ => {
                if let Some(checkpointing) = &self.job.options.checkpointing {
                    let storage = checkpointing.storage.files();
                    self.io.run(move || storage.discard(files));
                }
                Ok(())
            }
        }
    }

    /// Claims a name for a file that is being uploaded, and says so by `answer`. One of a checkpoint that is over gets
    /// no answer.
    pub(crate) fn claim(&self, checkpoint: u64, name: SharedName, answer: impl FnOnce() + Send + 'static) {
        let Some(pending) = self.pending.as_ref().filter(|pending| pending.id().0 == checkpoint) else { return };
        let (id, claims) = (pending.id(), pending.claims());
        // It waits for a deletion.
        self.io.run(move || {
            if claims.claim(id, &name).is_ok() {
                answer();
            }
        });
    }

    /// Gives the pending checkpoint up.
    pub(crate) fn abort(&mut self) {
        if let (Some(pending), Some(checkpointing)) = (self.pending.take(), &self.job.options.checkpointing) {
            pending.cancel();
            let storage = checkpointing.storage.clone();
            self.io.run(move || storage.abort(pending));
        }
    }

    /// Commits the pending checkpoint on an I/O thread, which says how that ended.
    pub(crate) fn commit(
        &mut self,
        cut: Cut,
        begun: Instant,
        parts: Parts,
        ended: impl FnOnce(Outcome) + Send + 'static,
    ) {
        let (job, base) = (self.job.clone(), self.base.clone());
        let pending = self.pending.take();
        self.io.run(move || ended(commit(&job, pending, &base, cut, begun, &parts)));
    }
}

fn commit(
    job: &LedJob,
    pending: Option<PendingCheckpoint>,
    base: &Mutex<Option<Manifest>>,
    cut: Cut,
    begun: Instant,
    parts: &Parts,
) -> Outcome {
    let id = CheckpointId(cut.checkpoint);
    let manifest = match assemble(job, cut, begun, parts) {
        Ok(manifest) => manifest,
        Err(error) => return Outcome::Failed(error),
    };
    let (sinks, sources) = (manifest.sinks.clone(), manifest.sources.clone());
    if let (Some(pending), Some(checkpointing)) = (pending, &job.options.checkpointing) {
        match checkpointing.storage.commit(pending, manifest) {
            Ok(manifest) => {
                job.metrics.checkpoint_completed(completed(id, begun, &manifest));
                *base.lock() = Some(manifest);
            }
            Err(error) => return Outcome::Failed(error),
        }
    }
    let published = publish(job, id, &sinks);
    if let Err(error) = published.and_then(|()| tell_sources(&job.graph, id, &sources)) {
        return Outcome::Unpublished(error);
    }
    if let Some(checkpointing) = &job.options.checkpointing {
        if let Err(error) = checkpointing.storage.collect(checkpointing.retained) {
            // The job can go on: the next collection tries again.
            tracing::warn!(%error, "old checkpoints could not be deleted");
        }
        job.metrics.checkpoints_retained(checkpointing.storage.retained());
        tracing::info!(checkpoint = id.0, last = ?job.metrics.checkpoints().last, "a checkpoint is complete");
    }
    Outcome::Committed(id)
}

fn completed(id: CheckpointId, begun: Instant, manifest: &Manifest) -> CompletedCheckpoint {
    let stats = &manifest.stats;
    CompletedCheckpoint {
        id,
        at: Instant::now(),
        duration: begun.elapsed(),
        uploaded_bytes: stats.uploaded_bytes,
        reused_bytes: stats.reused_bytes,
        state_bytes: manifest.state_bytes(),
        requests: stats.requests,
        sync: Duration::from_millis(stats.sync_ms),
    }
}

fn publish(job: &LedJob, id: CheckpointId, sinks: &[SinkState]) -> Result<()> {
    let failpoints = job.options.checkpointing.as_ref().map(|checkpointing| &checkpointing.failpoints);
    let reach = |name| {
        if let Some(failpoints) = failpoints {
            failpoints.reach(name);
        }
    };
    reach(BEFORE_SINK_COMMIT);
    for (published, state) in sinks.iter().enumerate() {
        if published > 0 {
            reach(DURING_SINK_COMMIT);
        }
        let node = job.graph.nodes().find(|(_, node)| node.id == state.operator);
        let Some((_, NodeKind::Sink { sink, .. })) = node.map(|(id, node)| (id, &node.kind)) else { continue };
        let committables = state.committables.iter().map(|value| serde_json::from_value(value.clone()));
        let committables: Vec<Committable> = committables
            .collect::<Result<_, _>>()
            .map_err(|error| Error::internal("a committable is not readable").because(error))?;
        sink.commit(&job.sink_job, id, &committables)
            .map_err(|error| error.with(Context::Operator, &state.operator).with(Context::Checkpoint, id))?;
    }
    reach(AFTER_SINK_COMMIT);
    Ok(())
}

/// Tells sources that a checkpoint is committed.
pub(super) fn tell_sources(graph: &JobGraph, id: CheckpointId, states: &[SourceState]) -> Result<()> {
    for (_, node) in graph.nodes() {
        let NodeKind::Source(source) = &node.kind else { continue };
        let Some(state) = states.iter().find(|state| state.operator == node.id) else { continue };
        let splits = state.splits.iter();
        let splits: Vec<CommittedSplit<'_>> = splits
            .map(|split| CommittedSplit { id: &split.id, position: &split.position, finished: split.finished })
            .collect();
        let told = source.source.checkpoint_committed(id, &splits);
        told.map_err(|error| error.with(Context::Operator, &node.id).with(Context::Checkpoint, id))?;
    }
    Ok(())
}

/// The manifest of a checkpoint whose parts are all there.
fn assemble(job: &LedJob, cut: Cut, begun: Instant, parts: &Parts) -> Result<Manifest> {
    let options = &job.options;
    let mut manifest = Manifest::new(
        options.name.clone(),
        job.sink_job.attempt.clone(),
        CheckpointId(cut.checkpoint),
        options.parallelism,
        options.max_parallelism,
    );
    manifest.finished = cut.end_of_input;
    let mut sync_us = 0;
    for (NodeId(index), node) in job.graph.nodes() {
        let of_node = || (0..options.parallelism).filter_map(|worker| parts.get(&(index, worker)));
        let mut keyed = Vec::new();
        match &node.kind {
            NodeKind::Source(_) => {
                let by_worker: Vec<Vec<SplitState>> = of_node().map(|json| parse_part(json)).collect::<Result<_>>()?;
                manifest.sources.push(SourceState { operator: node.id.clone(), splits: interleave(by_worker) });
            }
            NodeKind::Keyed { .. } if cut.persist => {
                keyed = of_node().map(|json| parse_part(json)).collect::<Result<_>>()?;
            }
            NodeKind::Sink { sink, .. } => {
                let mut committables = Vec::new();
                for json in of_node() {
                    let part: SinkPart = parse_part(json)?;
                    keyed.extend(part.state);
                    for committable in part.committables {
                        committables.push(serde_json::to_value(committable).map_err(|error| {
                            Error::internal("a committable cannot be written as JSON").because(error)
                        })?);
                    }
                }
                let rewindable = sink.can_rewind();
                manifest.sinks.push(SinkState { operator: node.id.clone(), committables, rewindable });
            }
            _ => {}
        }
        if !keyed.is_empty() {
            sync_us = keyed.iter().map(|part| part.sync_us).fold(sync_us, u64::max);
            let event_time_ms = keyed.iter().map(|part: &KeyedPart| part.event_time_ms).min();
            manifest.operators.push(OperatorState {
                operator: node.id.clone(),
                kind: node.kind_in_manifest(),
                description: node.description.clone(),
                event_time_ms: event_time_ms.filter(|time| *time != i64::MIN),
                subtasks: keyed.into_iter().map(|part| part.subtask).collect(),
            });
        }
    }
    manifest.stats.sync_ms = sync_us.div_ceil(1000);
    manifest.stats.async_ms = begun.elapsed().as_millis() as u64;
    Ok(manifest)
}

/// Splits in the order in which they were dealt: split `i` was worker `i mod n`'s.
fn interleave(by_worker: Vec<Vec<SplitState>>) -> Vec<SplitState> {
    let longest = by_worker.iter().map(Vec::len).max().unwrap_or(0);
    let mut by_worker: Vec<_> = by_worker.into_iter().map(Vec::into_iter).collect();
    (0..longest).flat_map(|_| by_worker.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>()).collect()
}
