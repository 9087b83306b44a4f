//! `headpond check`: what a job would restore of a checkpoint, before it is deployed.

use crate::arguments::CheckArguments;
use crate::format::Count;
use crate::{console, report, script, settings};
use headpond_checkpoint::Failpoints;
use headpond_config::options;
use headpond_connectors::Connectors;
use headpond_launch::backend::Backend;
use headpond_launch::stores::stores;
use headpond_runtime::JobOptions;
use headpond_runtime::restore::{self, AssessedPart, Assessment, PartKind, Verdict};
use headpond_state::{Context, Error, MaxParallelism, Result};
use std::fmt::Write;
use std::sync::Arc;

/// Shows what becomes of each part of the job and of the checkpoint.
///
/// # Errors
/// [`Incompatible`](headpond_state::ErrorKind::Incompatible) when the job cannot be restored, else as [`script::plan`]
/// and [`restore::check`].
pub(crate) fn check(arguments: &CheckArguments, connectors: &Connectors) -> Result<()> {
    let planned = script::plan(&arguments.script, settings::load_for_check(arguments)?, connectors)?;
    planned.warnings.iter().for_each(report::warning);
    if planned.graph.nodes().next().is_none() {
        return Err(Error::invalid("the SQL has neither an INSERT INTO nor a query: there is nothing to check"));
    }
    let config = &planned.config;
    let backend = Backend::open(config, &planned.name)?;
    let mut job = JobOptions::new(&planned.name, backend.state_backend(), backend.local_dir());
    job.parallelism = config.get(&options::PARALLELISM);
    job.max_parallelism = MaxParallelism::new(config.get(&options::MAX_PARALLELISM))?;
    job.stores = Arc::new(stores(config, Failpoints::default()));
    job.allow_dropped_state = arguments.changes.allow_dropped_state;
    job.allow_empty_state = arguments.changes.allow_empty_state;
    let assessment = restore::check(&planned.graph, &job, &arguments.against)?;
    report::skipped(&assessment.skipped, |_| arguments.against.clone());
    console::data(&shown(&planned.name, &assessment))?;
    let cannot = assessment.parts.iter().filter(|part| matches!(part.verdict, Verdict::Cannot(_))).count();
    match assessment.is_restorable() {
        true => Ok(()),
        false => {
            let (all, checkpoint) = (Count(assessment.parts.len() as u64), assessment.checkpoint);
            Err(Error::incompatible(format!("the job cannot go on from the checkpoint: {cannot} of {all} parts"))
                .with(Context::Checkpoint, checkpoint)
                .hint("each part that cannot names its way out"))
        }
    }
}

fn shown(job: &str, assessment: &Assessment) -> String {
    let mut text = format!("job {job} from checkpoint {} of job {}\n", assessment.checkpoint, assessment.job);
    for part in &assessment.parts {
        let mut line = |indent: usize, line: &str| {
            // Writing to a String does not fail.
            let _ = writeln!(text, "{:indent$}{line}", "");
        };
        line(0, &format!("{}: {}", heading(part), verdict(&part.verdict)));
        match &part.verdict {
            Verdict::Migrates(changes) => changes.iter().for_each(|change| line(2, change)),
            Verdict::StartsEmpty(why) => line(2, why),
            Verdict::Cannot(error) => {
                line(2, &error.to_string());
                report::ways_out(error).into_iter().for_each(|way_out| line(2, &format!("way out: {way_out}")));
            }
            Verdict::AsIs | Verdict::Dropped => {}
        }
        part.notes.iter().for_each(|note| line(2, note));
    }
    text
}

fn heading(part: &AssessedPart) -> String {
    match part.kind {
        PartKind::Job => "the job".to_owned(),
        PartKind::Source => format!("source {}", part.id),
        PartKind::Operator => format!("operator {}", part.id),
        PartKind::Sink => format!("sink {}", part.id),
    }
}

fn verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::AsIs => "restores as is",
        Verdict::Migrates(_) => "restores after a migration",
        Verdict::StartsEmpty(_) => "starts empty",
        Verdict::Dropped => "is dropped",
        Verdict::Cannot(_) => "cannot be restored",
    }
}
