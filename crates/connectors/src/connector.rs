//! From a table to its source or sink.

use crate::options::{Options, declared};
use crate::sink_input::SinkInput;
use crate::table::TableDescription;
use crate::{blackhole, datagen, filesystem, nexmark, options, print};
use headpond_runtime::sink::Sink;
use headpond_runtime::source::Source;
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use std::sync::Arc;

/// Checks a table's options: that its connector and format know each and can read it.
///
/// # Errors
/// [`Invalid`](headpond_runtime::ErrorKind::Invalid), naming the option and the nearest one there is.
pub fn check(table: &TableDescription) -> Result<()> {
    options::check(table)
}

/// Makes the source that reads `projection`'s columns of a table, all without one.
///
/// # Errors
/// [`Invalid`](headpond_runtime::ErrorKind::Invalid) for an option that is unknown or wrong,
/// [`Unsupported`](headpond_runtime::ErrorKind::Unsupported) for a table that cannot be read.
pub fn source(table: &TableDescription, projection: Option<&[usize]>) -> Result<Arc<dyn Source>> {
    check(table)?;
    match Options::new(table).word(&declared::CONNECTOR)? {
        "filesystem" => filesystem::source(table, projection),
        "datagen" => datagen::source(table, projection),
        "nexmark" => nexmark::source(table, projection),
        other => Err(cannot(table, other, "read", "filesystem, datagen, nexmark")),
    }
}

/// Makes the sink that writes to a table. A [stateful](Sink::is_stateful) one needs its rows exchanged by the table's
/// primary key.
///
/// # Errors
/// [`Invalid`](headpond_runtime::ErrorKind::Invalid) for an option that is unknown or wrong,
/// [`Unsupported`](headpond_runtime::ErrorKind::Unsupported) for a table that cannot be written.
pub fn sink(table: &TableDescription, input: &SinkInput) -> Result<Arc<dyn Sink>> {
    check(table)?;
    match Options::new(table).word(&declared::CONNECTOR)? {
        "filesystem" => filesystem::sink(table, input),
        "print" => print::sink(table, input),
        "blackhole" => Ok(Arc::new(blackhole::BlackholeSink)),
        other => Err(cannot(table, other, "written", "filesystem, print, blackhole")),
    }
}

#[cold]
fn cannot(table: &TableDescription, connector: &str, what: &str, others: &str) -> Error {
    Error::unsupported(format!("table {} cannot be {what}: its connector is '{connector}'", table.name))
        .with(Context::Option, declared::CONNECTOR.key)
        .hint(format!("connectors that can: {others}"))
}
