//! The source.

use super::files::{Files, local_path};
use super::input::Input;
use super::reader::{FileReader, RowReader, position};
use crate::csv::Dialect;
use crate::csv::reader::CsvReader;
use crate::json::reader::JsonReader;
use crate::options::{Options, declared};
use crate::table::TableDescription;
use crate::values::Zone;
use arrow_schema::SchemaRef;
use headpond_runtime::source::{Backlog, BacklogUnit, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_runtime::{Error, Result};
use headpond_state::{Context, Remedy};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The source of a table of files.
#[derive(Debug)]
struct FileSource {
    table: TableDescription,
    projection: Option<Vec<usize>>,
    schema: SchemaRef,
    files: Files,
    format: Format,
    zone: Zone,
    rows_per_second: Option<u64>,
    rows_max: Option<u64>,
    monitor_interval: Option<Duration>,
    /// The length that each file had when the job began, in bytes: those that are read later must not be shorter.
    listed: Mutex<BTreeMap<String, u64>>,
}

#[derive(Debug)]
enum Format {
    Csv(Dialect),
    Json { ignore_errors: bool },
}

/// Makes the source of a table whose connector is `filesystem`.
pub(crate) fn source(table: &TableDescription, projection: Option<&[usize]>) -> Result<Arc<dyn Source>> {
    let options = Options::new(table);
    let format = match options.get(&declared::FORMAT)? {
        declared::Format::Csv => Format::Csv(Dialect::of(table)?),
        declared::Format::Json => Format::Json { ignore_errors: options.get(&declared::JSON_IGNORE_PARSE_ERRORS)? },
    };
    let source = FileSource {
        table: table.clone(),
        projection: projection.map(<[usize]>::to_vec),
        schema: table.projected(projection)?,
        files: Files::new(local_path(&options.get(&declared::PATH)?.0)?)?,
        format,
        zone: Zone::parse(&table.local_time_zone)?,
        rows_per_second: options.get(&declared::SCAN_ROWS_PER_SECOND)?,
        rows_max: options.get(&declared::SCAN_MAX_ROWS_PER_FILE)?,
        listed: Mutex::default(),
        monitor_interval: options.get(&declared::SOURCE_MONITOR_INTERVAL)?.filter(|interval| !interval.is_zero()),
    };
    // An unreadable type is an error of the table, not of its first row.
    source.schema.fields().iter().try_for_each(|field| crate::column::Column::new(field.clone()).map(drop))?;
    Ok(Arc::new(source))
}

impl FileSource {
    fn begin(&self, path: &Path, input: &mut Input) -> Result<Box<dyn RowReader>> {
        let projection = self.projection.as_deref();
        Ok(match &self.format {
            Format::Csv(dialect) => {
                Box::new(CsvReader::begin(&self.table, projection, dialect, self.zone, path, input)?)
            }
            Format::Json { ignore_errors } => Box::new(JsonReader::begin(path, *ignore_errors, self.zone, input)?),
        })
    }
}

impl Source for FileSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn is_bounded(&self) -> bool {
        self.monitor_interval.is_none()
    }

    fn splits_end(&self) -> bool {
        true
    }

    fn monitor_interval(&self) -> Option<Duration> {
        self.monitor_interval
    }

    fn rows_per_second(&self) -> Option<u64> {
        self.rows_per_second
    }

    fn splits(&self) -> Result<Vec<SourceSplit>> {
        let files = self.files.list(self.monitor_interval.is_some())?;
        let mut listed = self.listed.lock();
        for file in &files {
            // The first length counts: a file that is listed again must not be shorter then.
            listed.entry(file.id.clone()).or_insert_with(|| regular_length(&file.path));
        }
        Ok(files.into_iter().map(|file| SourceSplit { id: file.id }).collect())
    }

    fn backlog(&self, split: &SourceSplit, at: Option<&Value>) -> Option<Backlog> {
        if self.rows_max.is_some() {
            return None;
        }
        let at = at.and_then(|at| position(at).ok());
        let listed = || self.listed.lock().get(&split.id).copied();
        let found = || self.files.find(&split.id).ok().map(|path| regular_length(&path));
        let length = at.map(|at| at.length).filter(|length| *length > 0).or_else(listed).or_else(found)?;
        let read = at.map_or(0, |at| at.stored.unwrap_or(at.offset));
        Some(Backlog { unit: BacklogUnit::Bytes, total: length, left: length.saturating_sub(read) })
    }

    fn open(&self, split: &SourceSplit, at: Option<&Value>, _: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        let path = self.files.find(&split.id)?;
        let at = at.map(position).transpose().map_err(|error| error.with(Context::Path, path.display()))?;
        if !path.exists() {
            return Err(Error::incompatible("a file that the job has begun to read, or was to read, is gone")
                .with(Context::Path, path.display())
                .hint("bring it back, and 'path' as it was")
                .remedy(Remedy::StartAnew));
        }
        let mut input = Input::open(&path)?;
        let listed = self.listed.lock().get(&split.id).copied();
        input.require_length(listed.max(at.map(|at| at.length)).unwrap_or(0))?;
        let rows_reader = self.begin(&path, &mut input)?;
        let mut rows = 0;
        if let Some(at) = at {
            if at.offset < input.offset() {
                return Err(Error::incompatible("the checkpoint's position is within what is now the header")
                    .with(Context::Path, path.display())
                    .hint("bring back the file and the options as they were")
                    .remedy(Remedy::StartAnew));
            }
            input.skip_to(at.offset, at.line)?;
            rows = at.rows;
        }
        let reader = FileReader::new(self.schema(), input, rows_reader, rows)?;
        Ok(Box::new(reader.at_most(self.rows_max)))
    }
}

/// A file's length; 0 for what has none.
fn regular_length(path: &Path) -> u64 {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map_or(0, |metadata| metadata.len())
}
