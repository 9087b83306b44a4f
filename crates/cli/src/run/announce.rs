//! What a user hears before a job runs, and when it fails.

use crate::figures::Figures;
use crate::format::{Count, Span};
use crate::progress::Style;
use crate::report;
use headpond_checkpoint::CheckpointStorage;
use headpond_config::{Config, options};
use headpond_runtime::restore::Restoration;
use headpond_runtime::{JobOptions, Restore};
use headpond_state::CheckpointId;
use serde_json::json;

/// What is about to run.
pub(super) fn start(style: Style, job: &JobOptions, config: &Config) {
    let directory = config.get(&options::CHECKPOINTING_DIR);
    let workers = match job.parallelism {
        1 => "1 worker".to_owned(),
        workers => format!("{workers} workers"),
    };
    let every = job.checkpointing.as_ref().and_then(|checkpointing| checkpointing.interval);
    let checkpoints = match (&directory, every) {
        (Some(directory), Some(every)) => format!("checkpoints every {} in {directory}", Span(every)),
        (Some(directory), None) => format!("checkpoints in {directory}"),
        (None, _) => "no checkpoints".to_owned(),
    };
    let text = format!("job {}: {workers}, state backend {}, {checkpoints}", job.name, job.backend);
    let figures = json!({
        "job": job.name,
        "parallelism": job.parallelism,
        "state_backend": job.backend.to_string(),
        "checkpoint_dir": directory.as_ref().map(ToString::to_string),
    });
    style.say("started", &text, figures);
    if directory.is_none() {
        report::warning(format_args!(
            "a crash loses the state: there is no checkpoint directory. Set one: SET '{key}' = 'file:///…', or -D {key}=…",
            key = options::CHECKPOINTING_DIR.key()
        ));
    }
}

/// Where a job begins, or that it has nothing left to do. `storage` and `wanted` are what the checkpoint was looked for
/// with.
pub(super) fn restoration(
    style: Style,
    restored: &Restoration,
    storage: Option<&CheckpointStorage>,
    wanted: &Restore,
    finished: bool,
) {
    let located = |id| match (wanted, storage) {
        (Restore::From(path), _) => path.clone(),
        (_, Some(storage)) => storage.locate(id),
        (_, None) => String::new(),
    };
    report::skipped(&restored.skipped, located);
    let (job, checkpoint, rows) = (&restored.manifest.job, restored.manifest.checkpoint, restored.rows_read());
    let skipped: Vec<u64> = restored.skipped.iter().map(|(skipped, _)| skipped.0).collect();
    let figures = json!({ "job": job, "checkpoint": checkpoint.0, "rows": rows, "skipped_checkpoints": skipped });
    if finished {
        let text = format!("job {job} has finished (checkpoint {checkpoint}); run it anew with --restore none");
        style.say("finished", &text, figures);
        return;
    }
    let fell_back = match restored.skipped.first() {
        None => String::new(),
        Some((newest, _)) => format!(", fallen back from checkpoint {newest}"),
    };
    let text =
        format!("resumed from checkpoint {checkpoint} at row {} ({}{fell_back})", Count(rows), located(checkpoint));
    style.say("resumed", &text, figures);
}

/// That a finished job's input has grown, and how to go on.
pub(super) fn new_input(splits: &[String]) {
    let Some(first) = splits.first() else { return };
    let others = match splits.len() {
        1 => String::new(),
        count => format!(" and {} more", Count(count as u64 - 1)),
    };
    report::warning(format_args!(
        "the input has grown since the job finished: {first}{others}. At the end of its input a job gives all that is open, so it \
         cannot go on behind it: read everything anew with --restore none, or go on from a checkpoint before the end with \
         --restore PATH (`headpond checkpoint list` has those that are kept). A table of files with 'source.monitor-interval' \
         takes in new files while the job runs, and does not end"
    ));
}

/// That the number of key groups is the checkpoint's, where someone has set another.
pub(super) fn key_groups(restored: &Restoration, config: &Config) {
    let (option, fixed) = (&options::MAX_PARALLELISM, restored.manifest.max_parallelism.get());
    if config.is_set(option) && config.get(option) != u32::from(fixed) {
        report::warning(format_args!(
            "option '{}' has no effect: the job's first checkpoint has fixed it at {fixed}; --restore none starts anew",
            option.key()
        ));
    }
}

/// How far a failed job came, and what is safe. `restored` is the checkpoint it began at.
pub(super) fn failure(
    style: Style,
    figures: &Figures,
    storage: Option<&CheckpointStorage>,
    restored: Option<CheckpointId>,
) {
    let last = figures.checkpoints.last.as_ref().map(|last| last.id).or(restored);
    let rows = Count(figures.rows_before + figures.rows_read);
    let safe = match (last, storage) {
        (Some(id), Some(storage)) if storage.load(id).is_err() => format!(
            "its last checkpoint {id} cannot be read any more ({}), so the next run goes on from an older one, or begins anew",
            storage.locate(id)
        ),
        (Some(id), Some(storage)) => format!("the next run goes on from checkpoint {id} ({})", storage.locate(id)),
        (Some(id), None) => format!("checkpoint {id}, where it began, is as it was"),
        (None, Some(_)) => "no checkpoint was complete, so the next run begins anew".to_owned(),
        (None, None) => "without checkpoints the next run begins anew".to_owned(),
    };
    style.say("failed", &format!("the job failed after {rows} rows; {safe}"), figures.to_json());
}
