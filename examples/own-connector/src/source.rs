//! Reading a ledger.

use headpond::connector::arrow_array::{
    ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray, UInt8Array,
};
use headpond::connector::arrow_schema::{Schema, SchemaRef};
use headpond::connector::serde_json::{Value, json};
use headpond::connector::{
    ChangeBatch, ChangeKind, ChangelogMode, CheckpointId, CommittedSplit, ReadBatch, ReaderContext, Result, Source,
    SourceSplit, SplitReader,
};
use headpond::{Error, ErrorKind};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Reads the file at a path, as one split.
#[derive(Debug)]
pub struct LedgerSource {
    path: PathBuf,
    follow: bool,
    schema: SchemaRef,
    /// Which of the key and the number are asked for, in which order.
    columns: Vec<usize>,
}

impl LedgerSource {
    /// A source of the columns 0 (the key) and 1 (the number) of `schema` that are asked for.
    pub fn new(path: impl AsRef<Path>, follow: bool, schema: SchemaRef, columns: Vec<usize>) -> Result<Self> {
        let nullable = |index: &usize| schema.field(*index).clone().with_nullable(true);
        let schema = Arc::new(Schema::new(columns.iter().map(nullable).collect::<Vec<_>>()));
        Ok(LedgerSource { path: path.as_ref().to_owned(), follow, schema, columns })
    }
}

impl Source for LedgerSource {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    // `put` gives the current row of a key, whether there was one or not; `delete` knows the key alone.
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::Upsert
    }

    fn is_bounded(&self) -> bool {
        !self.follow
    }

    fn splits(&self) -> Result<Vec<SourceSplit>> {
        if !self.path.is_file() {
            return Err(Error::invalid("there is no such ledger").hint(format!("create {}", self.path.display())));
        }
        Ok(vec![SourceSplit { id: "ledger".to_owned() }])
    }

    // Nobody needs the lines before a committed position any more. Whoever rotates ledgers reads it here.
    fn checkpoint_committed(&self, checkpoint: CheckpointId, splits: &[CommittedSplit<'_>]) -> Result<()> {
        for split in splits {
            let note = json!({ "checkpoint": checkpoint.0, "position": split.position });
            let path = self.path.with_extension("committed");
            // A note that cannot be written is no reason to end the job.
            if let Err(error) = fs::write(&path, note.to_string()) {
                eprintln!("warning: {} is not up to date: {error}", path.display());
            }
        }
        Ok(())
    }

    fn open(&self, _: &SourceSplit, position: Option<&Value>, _: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        let failed = |cause| Error::io("cannot read the ledger", &self.path, cause);
        let mut file = File::open(&self.path).map_err(failed)?;
        let offset = position.and_then(Value::as_u64).unwrap_or(0);
        // What was read and is gone cannot be read again: better no answer than a wrong one.
        if file.metadata().map_err(failed)?.len() < offset {
            let kind = ErrorKind::Incompatible;
            return Err(Error::new(kind, "the ledger is shorter than what was read of it").hint("bring it back"));
        }
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let (columns, schema) = (self.columns.clone(), self.schema.clone());
        Ok(Box::new(LedgerReader {
            path: self.path.clone(),
            lines: BufReader::new(file),
            offset,
            follow: self.follow,
            columns,
            schema,
        }))
    }
}

/// Reads lines.
#[derive(Debug)]
struct LedgerReader {
    path: PathBuf,
    lines: BufReader<File>,
    /// Behind the last whole line.
    offset: u64,
    follow: bool,
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl SplitReader for LedgerReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        let (mut kinds, mut keys, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let mut line = String::new();
        while kinds.len() < max_rows {
            line.clear();
            let read = self.lines.read_line(&mut line);
            let read = read.map_err(|cause| Error::io("cannot read the ledger", &self.path, cause))?;
            if read == 0 {
                break;
            }
            if self.follow && !line.ends_with('\n') {
                // Somebody is writing it.
                self.lines.seek_relative(-(read as i64)).ok();
                break;
            }
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["put", key, number] if number.parse::<i64>().is_ok() => {
                    kinds.push(ChangeKind::UpdateAfter as u8);
                    keys.push(key.to_owned());
                    numbers.push(number.parse().ok());
                }
                ["delete", key] => {
                    kinds.push(ChangeKind::Delete as u8);
                    keys.push(key.to_owned());
                    numbers.push(None);
                }
                _ => {
                    let place = format!("{} at byte {}", self.path.display(), self.offset);
                    return Err(Error::invalid(format!("{place}: '{}' is no line of a ledger", line.trim_end()))
                        .hint("write `put KEY NUMBER` or `delete KEY`"));
                }
            }
            self.offset += read as u64;
        }
        if kinds.is_empty() {
            if !self.follow {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(20));
        }
        let (rows, count) =
            ([Arc::new(StringArray::from(keys)) as ArrayRef, Arc::new(Int64Array::from(numbers))], kinds.len());
        let columns = self.columns.iter().map(|column| rows[*column].clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|error| Error::internal("a ledger's columns do not fit its table").because(error))?;
        let rows = ChangeBatch::with_kinds(rows, UInt8Array::from(kinds))?;
        Ok(Some(ReadBatch { rows, position: json!(self.offset), skipped: 0 }))
    }
}
