//! From a checkpoint to a job that goes on where it was: which checkpoint, whether it fits, and what each part gets of
//! it.
//!
//! What becomes of each part of job and checkpoint is one decision, made before anything is touched, and its result an
//! [`Assessment`]: [`check`] tells it, a run follows it. Keyed state is restored as it is or converted.
//!
//! In reading order: `restoration`, `verdict`, `assess`, `declared`.

mod assess;
mod declared;
mod new_input;
mod restoration;
mod verdict;

pub(crate) use assess::assess;
pub(crate) use new_input::new_input;
pub use restoration::Restoration;
pub use verdict::{AssessedPart, Assessment, PartKind, Verdict};

use crate::graph::{JobGraph, NodeKind};
use crate::options::{JobOptions, Restore};
use crate::plan::{AssignedSplit, Splits};
use crate::sink::{Committable, SinkJob};
use crate::source::SourceSplit;
use headpond_checkpoint::decisions::rewind::Start;
use headpond_checkpoint::manifest::{Manifest, SplitState};
use headpond_checkpoint::{Recovered, Resume, open_checkpoint};
use headpond_state::{AttemptId, Context, Error, OperatorId, Remedy, Result};
use restoration::{checkpoint_of, committables_of};
use std::collections::{BTreeMap, BTreeSet};

/// Finds the checkpoint to start from: one that is sound, and whose output can still be published.
pub(crate) fn find(graph: &JobGraph, options: &JobOptions, job: &SinkJob) -> Result<Option<Restoration>> {
    let checkpointing = match (&options.restore, &options.checkpointing) {
        (Restore::None, _) | (Restore::Latest, None) => return Ok(None),
        (Restore::Latest, Some(checkpointing)) => checkpointing,
        (Restore::From(path), _) => {
            let restored = open(options, path)?;
            staged(graph, job, &restored.manifest)?;
            return Ok(Some(restored));
        }
    };
    let resume = checkpointing.storage.resume(|manifest| staged(graph, job, manifest));
    let resume = resume.map_err(|error| match error.way_out() {
        Some(_) => error,
        None => error.hint("`headpond checkpoint verify` says what is damaged").remedy(Remedy::StartAnew),
    })?;
    match resume {
        Resume::Anew => Ok(None),
        Resume::From(recovered) => {
            let Recovered { manifest, skipped } = *recovered;
            let location = checkpointing.storage.locate(manifest.checkpoint);
            Ok(Some(Restoration { manifest, skipped, location, source: checkpointing.storage.source() }))
        }
        Resume::Elsewhere { location, skipped } => {
            let mut restored = open(options, &location)?;
            staged(graph, job, &restored.manifest)?;
            restored.skipped.splice(0..0, skipped);
            Ok(Some(restored))
        }
    }
}

/// Checks what sinks staged for a checkpoint and may not have published.
fn staged(graph: &JobGraph, job: &SinkJob, manifest: &Manifest) -> Result<()> {
    let job = job.restored_from(checkpoint_of(manifest));
    for (_, node) in graph.nodes() {
        if let (NodeKind::Sink { sink, .. }, Some(state)) = (&node.kind, manifest.sink(&node.id)) {
            let committables = committables_of(state)?;
            // Of output that is elsewhere nothing is missing; the assessment says what does not fit.
            if sink.check_restored(&job, &committables).is_err() {
                continue;
            }
            sink.check_staged(&job, manifest.checkpoint, &committables)
                .map_err(|error| error.with(Context::Operator, &node.id))?;
        }
    }
    Ok(())
}

fn open(options: &JobOptions, path: &str) -> Result<Restoration> {
    let (storage, Recovered { manifest, skipped }) = open_checkpoint(options.stores.as_ref(), path)?;
    let location = storage.locate(manifest.checkpoint);
    Ok(Restoration { manifest, skipped, location, source: storage.source() })
}

/// Makes sure, directly before the sinks' output is touched, that the run still owns the job, and notes which
/// checkpoints it leaves behind: a run after it would else go on from one whose output has been taken back.
pub(crate) fn leave_behind(options: &JobOptions, restored: Option<&Restoration>) -> Result<()> {
    let Some(checkpointing) = &options.checkpointing else { return Ok(()) };
    let storage = &checkpointing.storage;
    storage.check_ownership()?;
    let start = match (&options.restore, restored) {
        (Restore::Latest, None) => return Ok(()),
        (Restore::Latest, Some(restored)) if restored.skipped.is_empty() => return Ok(()),
        (_, Some(restored)) => storage.start_at(&restored.location, restored.manifest.checkpoint)?,
        (_, None) => Start::Anew,
    };
    storage.note_rewind(start)
}

/// What becomes of the checkpoint at a path, and of the job, when the job is restored from it. Nothing is changed.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is no checkpoint there,
/// [`Corrupt`](headpond_state::ErrorKind::Corrupt) for a damaged one, and as the operators' and the sources'. That the
/// job does not match it is no error, but part of the answer.
pub fn check(graph: &JobGraph, options: &JobOptions, path: &str) -> Result<Assessment> {
    let restored = open(options, path)?;
    let job = SinkJob::new(&options.name, AttemptId("check".to_owned())).restored_from(restored.checkpoint());
    let mut assessment = assess(graph, options, &job, &restored)?;
    assess::positions(graph, &restored, &mut assessment);
    Ok(assessment)
}

/// The splits of every source with their positions, those of the checkpoint in its order, then new ones, dealt to the
/// workers in turn.
pub(crate) fn splits(graph: &JobGraph, restored: Option<&Restoration>, parallelism: usize) -> Result<Splits> {
    let mut splits = Splits::new();
    for (id, node) in graph.nodes() {
        let NodeKind::Source(source) = &node.kind else { continue };
        let found = source.source.splits().map_err(|error| error.with(Context::Operator, &node.id))?;
        let before = restored.and_then(|restored| restored.manifest.source(&node.id));
        let before: Vec<SplitState> = before.map(|before| before.splits.clone()).unwrap_or_default();
        let known: BTreeSet<String> = before.iter().map(|state| state.id.clone()).collect();
        let mut merged: Vec<(SourceSplit, SplitState)> =
            before.into_iter().map(|state| (SourceSplit { id: state.id.clone() }, state)).collect();
        merged.extend(found.into_iter().filter(|split| !known.contains(&split.id)).map(|split| {
            let state = SplitState::unread(&split.id);
            (split, state)
        }));
        let assigned = merged.into_iter().enumerate();
        let assigned =
            assigned.map(|(index, (split, state))| AssignedSplit { split, state, worker: index % parallelism });
        splits.insert(id.0, assigned.collect());
    }
    Ok(splits)
}

/// Makes every sink's output what it was at the checkpoint: takes back what came later, publishes what belongs to it.
pub(crate) fn sinks(
    graph: &JobGraph,
    options: &JobOptions,
    job: &SinkJob,
    restored: Option<&Restoration>,
) -> Result<()> {
    let committables = committables(restored)?;
    for (_, node) in graph.nodes() {
        let NodeKind::Sink { sink, .. } = &node.kind else { continue };
        let located = |error: Error| error.with(Context::Operator, &node.id);
        sink.check(job).map_err(located)?;
        let Some(restored) = restored else {
            sink.rewind(job, None).map_err(located)?;
            continue;
        };
        let checkpoint = restored.manifest.checkpoint;
        // A damaged newer checkpoint may have published its output; so may one the user chose to go behind.
        let goes_back = !restored.skipped.is_empty() || matches!(options.restore, Restore::From(_));
        if goes_back && !sink.can_rewind() && !options.allow_duplicates {
            return Err(located(
                Error::incompatible(format!(
                    "the job goes back to checkpoint {checkpoint}, and this sink cannot take back what it has published since"
                ))
                .remedy(Remedy::AllowDuplicates),
            ));
        }
        sink.rewind(job, Some(checkpoint)).map_err(located)?;
        if let Some(committables) = committables.get(&node.id) {
            sink.commit(job, checkpoint, committables).map_err(located)?;
        }
    }
    Ok(())
}

fn committables(restored: Option<&Restoration>) -> Result<BTreeMap<OperatorId, Vec<Committable>>> {
    let sinks = restored.iter().flat_map(|restored| &restored.manifest.sinks);
    sinks.map(|sink| Ok((sink.operator.clone(), committables_of(sink)?))).collect()
}
