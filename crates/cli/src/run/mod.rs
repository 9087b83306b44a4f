//! `headpond run`: a job from its SQL file to its summary.

mod announce;
mod summary;

use crate::arguments::RunArguments;
use crate::progress::{Progress, Style};
use crate::{console, figures, report, script, settings, signals};
use headpond_checkpoint::CheckpointStorage;
use headpond_connectors::Connectors;
use headpond_launch::backend::{Backend, settings_without_effect};
use headpond_launch::control::{Endpoint, Served};
use headpond_launch::job_options::job_options;
use headpond_runtime::{Job, JobControl, JobMetrics};
use headpond_sql::PlannedJob;
use headpond_state::{Error, ErrorKind, Result};
use std::sync::Arc;

/// Runs a SQL file's job to its end.
///
/// # Errors
/// Whatever is wrong with settings, SQL, checkpoints or data, and the job's first failure.
pub(crate) fn run(arguments: &RunArguments, connectors: &Connectors) -> Result<()> {
    let planned = script::plan(&arguments.script, settings::load_for_run(arguments)?, connectors)?;
    planned.warnings.iter().for_each(report::warning);
    settings_without_effect(&planned.config).iter().for_each(report::warning);
    for shown in &planned.shown {
        console::data(&format!("{}\n", shown.trim_end()))?;
    }
    if planned.graph.nodes().next().is_none() {
        return match planned.shown.is_empty() {
            true => Err(Error::invalid("the SQL has neither an INSERT INTO nor a query: there is nothing to run")
                .hint("add INSERT INTO <table> SELECT …")),
            false => Ok(()),
        };
    }
    start(arguments, planned)
}

fn start(arguments: &RunArguments, planned: PlannedJob) -> Result<()> {
    let PlannedJob { name, graph, config, .. } = planned;
    let style = Style::of(arguments.progress);
    let backend = Backend::open(&config, &name)?;
    let mut options = job_options(&config, &name, &backend)?;
    options.allow_duplicates = arguments.allow_duplicates;
    options.allow_dropped_state = arguments.changes.allow_dropped_state;
    options.allow_empty_state = arguments.changes.allow_empty_state;
    let checkpoints = options.checkpointing.as_ref().map(|checkpointing| checkpointing.storage.clone());
    let compacts = options.checkpointing.as_ref().is_some_and(|checkpointing| checkpointing.compact);
    let restore = options.restore.clone();
    announce::start(style, &options, &config);

    let control = JobControl::new();
    signals::watch(control.clone(), checkpoints.is_some())?;
    let job = Job::prepare(graph, options)?;
    if let Some(restored) = job.restoration() {
        announce::restoration(style, restored, checkpoints.as_ref(), &restore, job.is_finished());
    }
    if job.is_finished() {
        announce::new_input(&job.new_input());
        return Ok(());
    }
    job.restoration().into_iter().for_each(|restored| announce::key_groups(restored, &config));
    job.assessment().iter().flat_map(|assessment| assessment.warnings()).for_each(report::warning);
    let rows_before = job.restoration().map_or(0, |restored| restored.rows_read());
    let restored = job.restoration().map(|restored| restored.manifest.checkpoint);
    let metrics = Arc::new(JobMetrics::default());
    let progress = Progress::start(style, Arc::clone(&metrics), rows_before)?;
    let endpoint = Endpoint::open(Served {
        job: name,
        checkpoints: checkpoints.as_ref().map(CheckpointStorage::location),
        rows_before,
        restored,
        metrics: Arc::clone(&metrics),
        dropped_lines: console::dropped_lines,
        ways_out: report::ways_out,
        control: control.clone(),
    });
    if let Err(error) = &endpoint {
        report::warning(format_args!("{error}; `headpond savepoint create` will not find this job"));
    }
    let ended = job.run(control, Arc::clone(&metrics));
    drop(endpoint);
    drop(progress);
    let figures = figures::now(&metrics, rows_before);
    match ended {
        Ok(ending) => {
            let compaction = backend.compaction().filter(|totals| compacts || totals.merges > 0);
            summary::Summary::new(ending, figures, compaction, checkpoints.is_some()).show(style);
            Ok(())
        }
        Err(error) => {
            // The error comes after it, so that it is the last thing a user reads.
            if error.kind() != ErrorKind::BrokenPipe {
                announce::failure(style, &figures, checkpoints.as_ref(), restored);
            }
            Err(error)
        }
    }
}
