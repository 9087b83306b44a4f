//! `state export`: rows as a file, which is there when it is whole.

use crate::console;
use crate::format::Count;
use headpond_inspect::{FileFormat, RowWriter, StateCatalog};
use headpond_state::{Context, Error, Result};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Writes the rows of a table or a query to a file, over one that is there.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for a file of an unknown format and one that cannot be written.
pub(super) fn export(
    catalog: &StateCatalog,
    table_or_sql: &str,
    output: &Path,
    format: Option<FileFormat>,
) -> Result<()> {
    let format = format.map_or_else(|| FileFormat::of_path(output), Ok)?;
    let part = part_of(output)?;
    let written = write(catalog, table_or_sql, &part, format).and_then(|rows| {
        fs::rename(&part, output).map_err(|cause| Error::io("the file cannot get its name", output, cause))?;
        Ok(rows)
    });
    if written.is_err() {
        // Gone already if it could not be made.
        let _ = fs::remove_file(&part);
    }
    console::line(format_args!("{} rows written to {}", Count(written?), output.display()));
    Ok(())
}

fn write(catalog: &StateCatalog, table_or_sql: &str, part: &Path, format: FileFormat) -> Result<u64> {
    let file = File::create(part).map_err(|cause| Error::io("the file cannot be created", part, cause))?;
    let mut writer = RowWriter::new(format, Box::new(BufWriter::new(file)), part.display());
    catalog.rows_of(table_or_sql, &mut writer)?;
    writer.finish()
}

/// Where the file is until it is whole.
fn part_of(output: &Path) -> Result<PathBuf> {
    match output.file_name() {
        Some(name) => Ok(output.with_file_name(format!("{}.part", name.to_string_lossy()))),
        None => Err(Error::invalid("this is no file").with(Context::Path, output.display())),
    }
}
