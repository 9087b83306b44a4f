//! `headpond state`: the state in a checkpoint as SQL tables, whatever the job that took it does meanwhile.

mod describe;
mod difference;
mod export;
mod readers;
mod text_table;

use crate::arguments::{QueryFormat, StateCommand, StatePath};
use crate::{report, settings};
use headpond_checkpoint::Failpoints;
use headpond_config::Config;
use headpond_inspect::{FileFormat, InspectedCheckpoint, RowWriter, StateCatalog, StateReaders};
use headpond_launch::stores::stores;
use headpond_state::{ErrorKind, Result};
use readers::BackendReaders;
use std::io;
use std::sync::Arc;
use text_table::RowPrinter;

/// Carries the command out.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is no checkpoint at the path, or no such table, or the
/// query is wrong; [`Corrupt`](headpond_state::ErrorKind::Corrupt) for damaged state, and as the settings' and the
/// store's.
pub(crate) fn execute(command: &StateCommand) -> Result<()> {
    look(command).map_err(|error| match (error.kind(), report::ways_out(&error)) {
        (ErrorKind::Corrupt, None) => {
            error.hint("`headpond checkpoint verify` says which checkpoints are sound: give one of them")
        }
        _ => error,
    })
}

fn look(command: &StateCommand) -> Result<()> {
    match command {
        StateCommand::Tables { path } => describe::tables(&open(path)?),
        StateCommand::Schema { path, table } => describe::schema(&open(path)?, table.as_deref()),
        StateCommand::Query { path, sql, format } => query(&open(path)?, sql, *format),
        StateCommand::Export { path, table_or_sql, output, format } => {
            export::export(&open(path)?, table_or_sql, output, *format)
        }
        StateCommand::Diff { from, to, rows, settings } => {
            let config = settings::load(settings)?;
            let readers: Arc<dyn StateReaders> = Arc::new(BackendReaders::new(&config));
            let [from, to] = [open_with(&config, from, &readers)?, open_with(&config, to, &readers)?];
            difference::difference(&from, &to, *rows)
        }
    }
}

fn open(path: &StatePath) -> Result<StateCatalog> {
    let config = settings::load(&path.settings)?;
    let readers: Arc<dyn StateReaders> = Arc::new(BackendReaders::new(&config));
    open_with(&config, &path.location, &readers)
}

fn open_with(config: &Config, location: &str, readers: &Arc<dyn StateReaders>) -> Result<StateCatalog> {
    let stores = stores(config, Failpoints::default());
    let checkpoint = InspectedCheckpoint::open(&stores, location)?;
    report::skipped(checkpoint.skipped(), |_| location.to_owned());
    StateCatalog::open(checkpoint, Arc::clone(readers))
}

fn query(catalog: &StateCatalog, sql: &str, format: QueryFormat) -> Result<()> {
    let format = match format {
        QueryFormat::Table => {
            let mut printer = RowPrinter::default();
            catalog.rows_of(sql, &mut printer)?;
            return printer.finish();
        }
        QueryFormat::Csv => FileFormat::Csv,
        QueryFormat::Json => FileFormat::Json,
    };
    let mut writer = RowWriter::new(format, Box::new(io::stdout()), "standard output");
    catalog.rows_of(sql, &mut writer)?;
    writer.finish().map(drop)
}
