//! The choice of the sink.

use super::append::AppendSink;
use super::current::CurrentSink;
use super::directory::Directory;
use super::files::local_path;
use super::rolling::check_current;
use super::row_writer::{OP, RowWriter};
use crate::options::{Options, declared};
use crate::sink_input::SinkInput;
use crate::table::TableDescription;
use crate::values::write::check_writable;
use headpond_config::Verbatim;
use headpond_runtime::sink::Sink;
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use std::sync::Arc;

/// Makes the sink of a table whose connector is `filesystem`.
pub(crate) fn sink(table: &TableDescription, input: &SinkInput) -> Result<Arc<dyn Sink>> {
    let options = Options::new(table);
    let ending = options.get(&declared::FORMAT)?.name();
    let Verbatim(text) = options.get(&declared::PATH)?;
    if text.contains(['*', '?', '[']) {
        return Err(Error::invalid("a table that is written to needs a directory, not a pattern")
            .with(Context::Option, declared::PATH.key())
            .with(Context::Path, text)
            .hint("name a directory"));
    }
    let path = local_path(&text)?;
    for field in table.schema.fields() {
        check_writable(field.data_type()).map_err(|error| error.with(Context::Column, field.name()))?;
    }
    // Made once here, so that bad options are found before the job starts.
    RowWriter::of(table)?;
    if !table.primary_key.is_empty() {
        check_current(table)?;
        let directory = Directory::new(path, "current", ending);
        return Ok(Arc::new(CurrentSink::new(table.clone(), directory, input.insert.clone(), input.upsert)));
    }
    if input.changelog && table.schema.field_with_name(OP).is_ok() {
        return Err(Error::invalid(format!(
            "the result changes, so each row says how in a first field 'op', and table {} has such a column",
            table.name
        ))
        .with(Context::Column, OP)
        .hint("give the column another name, or declare a PRIMARY KEY to have the current rows"));
    }
    let directory = Directory::new(path, "part", ending);
    AppendSink::new(table.clone(), directory, input.insert.clone(), input.changelog).map(|sink| Arc::new(sink) as _)
}
