//! `headpond savepoint`: copies of checkpoints.

use crate::arguments::{SavepointCommand, SavepointCreate, SavepointExport, SavepointTarget};
use crate::console;
use crate::format::{Bytes, Count};
use crate::report;
use crate::settings;
use headpond_checkpoint::layout::JobLayout;
use headpond_checkpoint::savepoint::{Original, export, name_of};
use headpond_checkpoint::{Failpoints, Recovered, Stores, open_checkpoint};
use headpond_config::{Config, options};
use headpond_launch::backend::reading_backend;
use headpond_launch::control::{self, Request};
use headpond_launch::local_state::LocalState;
use headpond_launch::stores::{location_of, stores};
use headpond_state::{Context, Error, Result};

/// Carries the command out.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is no such job, checkpoint or directory, and as the
/// settings', the job's and the stores'.
pub(crate) fn execute(command: &SavepointCommand) -> Result<()> {
    match command {
        SavepointCommand::Create(arguments) => create(arguments),
        SavepointCommand::Export(SavepointExport { checkpoint, target, settings }) => {
            let config = settings::load(settings)?;
            copy(&config, checkpoint, target)
        }
    }
}

fn create(arguments: &SavepointCreate) -> Result<()> {
    let SavepointCreate { job, target, stop, settings } = arguments;
    let config = settings::load(settings)?;
    // Before the job does anything.
    directory_of(&config, target)?;
    let request = if *stop { Request::Stop } else { Request::Checkpoint };
    let asked = control::find(job)?.ask(request)?;
    let answer = &asked.answer;
    let copied = copy(&config, &answer.location, target);
    copied.map_err(|error| match (report::ways_out(&error), stop) {
        (None, true) => error.hint(format!(
            "the job has stopped after checkpoint {}; try again with `headpond savepoint export {} DIR`",
            answer.checkpoint, answer.location
        )),
        _ => error,
    })
}

fn copy(config: &Config, checkpoint: &str, target: &SavepointTarget) -> Result<()> {
    let stores = stores(config, Failpoints::default());
    let (storage, Recovered { manifest, skipped }) = open_checkpoint(&stores, checkpoint)?;
    report::skipped(&skipped, |id| storage.locate(id));
    // The job as it calls itself: the names of directories are written with escapes.
    let job = manifest.savepoint.as_ref().map_or(&manifest.job, |origin| &origin.job);
    let name = target.name.clone().unwrap_or_else(|| name_of(job, &manifest.attempt, manifest.checkpoint));
    let directory = location_of(&directory_of(config, target)?)?;
    let within = config.get(&options::ROCKSDB_LOCAL_DIRS);
    let local = LocalState::create(&within, &name)?;
    let backend = reading_backend();
    let source = storage.source();
    let original =
        Original { manifest: &manifest, source: source.as_ref(), backend: &backend, local_dir: local.first() };
    let target = stores.open(&directory)?;
    let copied = export(original, target, &name).map_err(|error| error.with(Context::Path, &directory))?;
    let states = copied.operators.iter().flat_map(|operator| &operator.subtasks);
    let entries: u64 = states.filter_map(|subtask| subtask.state.as_ref()).map(|state| state.entries).sum();
    console::line(format_args!(
        "savepoint of checkpoint {}: {} entries, {}",
        copied.checkpoint,
        Count(entries),
        Bytes(copied.state_bytes())
    ));
    // What a script needs.
    console::data(&format!("{directory}/{}\n", JobLayout::new(&name)?.directory()))
}

fn directory_of(config: &Config, target: &SavepointTarget) -> Result<String> {
    let set = || config.get(&options::SAVEPOINT_DIR).map(|directory| directory.to_string());
    target.directory.clone().or_else(set).ok_or_else(|| {
        Error::invalid("a savepoint needs a directory")
            .with(Context::Option, options::SAVEPOINT_DIR.key())
            .hint("name one behind the job or checkpoint: a path, or the URL of a store")
    })
}
