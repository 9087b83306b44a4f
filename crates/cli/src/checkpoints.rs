//! `headpond checkpoint`: what checkpoints there are, what is in them, and whether they are sound.

use crate::arguments::{CheckpointCommand, PruneArguments};
use crate::console;
use crate::format::{self, Bytes, Count, time};
use crate::settings;
use headpond_checkpoint::show::Show;
use headpond_checkpoint::verify::verify;
use headpond_checkpoint::{CheckpointSummary, Failpoints, Manifest, Stores, find_checkpoints};
use headpond_launch::stores::stores;
use headpond_state::printable::OneLine;
use headpond_state::{Context, Error, Result};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Carries the command out.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is no checkpoint at the path,
/// [`Corrupt`](headpond_state::ErrorKind::Corrupt) when one is damaged that was to be verified or shown, and as the
/// settings' and the store's.
pub(crate) fn execute(command: &CheckpointCommand) -> Result<()> {
    let stores_of = |arguments| Ok::<_, Error>(stores(&settings::load(arguments)?, Failpoints::default()));
    match command {
        CheckpointCommand::List(path) => list(&stores_of(&path.settings)?, &path.location),
        CheckpointCommand::Show(path) => show(&stores_of(&path.settings)?, &path.location),
        CheckpointCommand::Verify(path) => check(&stores_of(&path.settings)?, &path.location),
        CheckpointCommand::Prune(arguments) => prune(&stores_of(&arguments.settings)?, arguments),
    }
}

/// Deletes what no restart needs.
fn prune(stores: &dyn Stores, arguments: &PruneArguments) -> Result<()> {
    let found = find_checkpoints(stores, &arguments.location)?;
    if found.only.is_some() || found.jobs.is_empty() {
        return Err(Error::invalid("there is no job's directory at this path")
            .with(Context::Path, &arguments.location)
            .hint("give a job's directory, or a checkpoint directory for all jobs in it"));
    }
    for storage in &found.jobs {
        let pruned = storage.prune(arguments.keep, arguments.take_over)?;
        let (checkpoints, files) = (pruned.checkpoints.len() as u64, pruned.files);
        console::data(&format!(
            "{}: {} checkpoints and {} files deleted\n",
            OneLine(storage.job()),
            Count(checkpoints),
            Count(files)
        ))?;
    }
    Ok(())
}

const COLUMNS: [&str; 9] =
    ["job", "checkpoint", "taken (UTC)", "kind", "parallelism", "rows", "entries", "state", "uploaded"];

fn list(stores: &dyn Stores, location: &str) -> Result<()> {
    let mut table = vec![COLUMNS.map(str::to_owned)];
    let mut notes = String::new();
    let mut left_behind = BTreeMap::new();
    for storage in &find_checkpoints(stores, location)?.jobs {
        left_behind.insert(storage.job().to_owned(), storage.left_behind()?);
    }
    let is_left_behind = |job: &str, id| left_behind.get(job).is_some_and(|ids| ids.contains(&id));
    for (job, summary) in summaries(stores, location)? {
        match &summary.manifest {
            Ok(manifest) => table.push(row(&job, manifest, is_left_behind(&job, summary.id))),
            Err(error) => {
                let cells = [job, summary.id.to_string(), "damaged".to_owned()];
                let mut cells = cells.into_iter();
                table.push(std::array::from_fn(|_| cells.next().unwrap_or_default()));
                // Writing to a String does not fail.
                let _ = writeln!(notes, "checkpoint {}: {}", summary.id, OneLine(&error.to_string()));
            }
        }
    }
    if left_behind.values().any(|ids| !ids.is_empty()) {
        notes.push_str("left behind: the job went back to before it, and a restart does not take it\n");
    }
    console::data(&(format::table(&table) + &notes))
}

fn row(job: &str, manifest: &Manifest, left_behind: bool) -> [String; COLUMNS.len()] {
    let rows: u64 = manifest.sources.iter().flat_map(|source| &source.splits).map(|split| split.rows).sum();
    let states = manifest.operators.iter().flat_map(|operator| &operator.subtasks);
    let entries: u64 = states.filter_map(|subtask| subtask.state.as_ref()).map(|state| state.entries).sum();
    let kind = match (manifest.incremental && manifest.base.is_some(), manifest.finished) {
        (true, false) => "incremental",
        (false, false) => "full",
        (true, true) => "incremental, finished",
        (false, true) => "full, finished",
    };
    [
        job.to_owned(),
        manifest.checkpoint.to_string(),
        time(i64::try_from(manifest.created_ms).unwrap_or(i64::MAX)),
        if left_behind { format!("{kind}, left behind") } else { kind.to_owned() },
        manifest.parallelism.to_string(),
        Count(rows).to_string(),
        Count(entries).to_string(),
        Bytes(manifest.state_bytes()).to_string(),
        Bytes(manifest.stats.uploaded_bytes).to_string(),
    ]
}

fn show(stores: &dyn Stores, location: &str) -> Result<()> {
    let mut newest: Vec<(String, CheckpointSummary)> = Vec::new();
    for (job, summary) in summaries(stores, location)? {
        match newest.last_mut() {
            Some(last) if last.0 == job => last.1 = summary,
            _ => newest.push((job, summary)),
        }
    }
    let mut text = String::new();
    for (_, summary) in newest {
        let manifest = summary.manifest?;
        // Writing to a String does not fail.
        let _ = write!(text, "{}", Show::new(&manifest));
        write_positions(&manifest, &mut text);
    }
    console::data(&text)
}

/// Where each split of each source was.
fn write_positions(manifest: &Manifest, text: &mut String) {
    for source in &manifest.sources {
        let _ = writeln!(text, "positions of source {}", OneLine(source.operator.as_str()));
        for split in &source.splits {
            let _ = write!(text, "  {}: row {}", OneLine(&split.id), Count(split.rows));
            if split.skipped > 0 {
                let _ = write!(text, ", {} skipped", Count(split.skipped));
            }
            if let Some(watermark) = split.watermark_ms.filter(|time| *time != i64::MAX) {
                let _ = write!(text, ", watermark {}", time(watermark));
            }
            match split.finished {
                true => text.push_str(", finished\n"),
                false => {
                    let _ = writeln!(text, ", position {}", OneLine(&split.position.to_string()));
                }
            }
        }
    }
}

fn check(stores: &dyn Stores, location: &str) -> Result<()> {
    let report = verify(stores, location)?;
    console::data(&report.to_string())?;
    let damaged = report.checkpoints.iter().filter(|checkpoint| !checkpoint.problems.is_empty()).count();
    if report.is_sound() {
        return Ok(());
    }
    if let Some(lost) = report.lost_rewinds.into_iter().next() {
        return Err(lost.error);
    }
    let all = report.checkpoints.len();
    let error = Error::corrupt(format!("{damaged} of {all} checkpoints are damaged")).with(Context::Path, location);
    Err(match damaged == all {
        true => error.hint("bring the files back from a copy, or run the job anew with --restore none"),
        false => error.hint("`headpond run` takes the newest checkpoint that is sound"),
    })
}

/// The checkpoints at a path, by job, each job's in ascending order.
fn summaries(stores: &dyn Stores, location: &str) -> Result<Vec<(String, CheckpointSummary)>> {
    let found = find_checkpoints(stores, location)?;
    let mut summaries = Vec::new();
    for storage in &found.jobs {
        let listed = storage.list()?.into_iter();
        let wanted = listed.filter(|summary| found.only.is_none_or(|only| only == summary.id));
        summaries.extend(wanted.map(|summary| (storage.job().to_owned(), summary)));
    }
    if summaries.is_empty() {
        return Err(Error::invalid("there is no checkpoint at this path")
            .with(Context::Path, location)
            .hint("give a checkpoint directory, a job's directory in it, or one `chk-<n>` of a job"));
    }
    Ok(summaries)
}
